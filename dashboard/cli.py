"""The command `retrylens`. Results go to standard output, everything else to standard error.

Only what a command needs is imported, and only when it runs: `--help` and `show` have to start fast.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dashboard.text import Format, visible
from ingest.cli import app as write_side

if TYPE_CHECKING:
    from dashboard.filters import Filters
    from dashboard.snapshot import Snapshot

app = typer.Typer(
    name="retrylens",
    help="RetryLens: where auctions leak, what retries earn, who refuses, throttles or is tripped.",
    epilog="Start with: retrylens demo",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Warehouse = Annotated[
    Path, typer.Option("--warehouse", envvar="RETRYLENS_WAREHOUSE", metavar="DIR", help="Folder of the loaded data.")
]
From = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Rows from here on; a date or ISO 8601.")]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Rows before this moment.")]
Partner = Annotated[
    list[str] | None,
    typer.Option("--partner", metavar="NAME", help="Only this partner (or postback key); may be repeated."),
]
Zone = Annotated[
    str | None, typer.Option("--zone", metavar="AREA/CITY", help="Zone of dates and local times; default: the setting.")
]
Kind = Annotated[Format, typer.Option("--format", help="How to write the rows.")]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Write to a file instead of standard output.")]
Host = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")]
MarksFile = Annotated[
    Path | None,
    typer.Option(
        "--marks",
        envvar="RETRYLENS_MARKS",
        metavar="FILE",
        help="CSV of marks on the charts: ts,label,partner. Default: marks.csv in the warehouse.",
    ),
]

DEFAULT_WAREHOUSE = Path("warehouse")
#: Tables that list single events: days that are not kept are not in them.
OF_EVENTS = ("attempts", "postbacks", "orders", "order_faults", "windows")
#: Tables that judge single events: where some of the range are not kept they tell nothing of these.
BY_EVENTS = ("signatures", "backoff")
#: Tables that tell of loads and of the product, not of a range of events.
OF_LOADS = ("loads", "rejects", "metrics", "flag_history")
MINUTE_US, HOUR_US = 60_000_000, 3_600_000_000
TABLE_NAMES = ", ".join(sorted(path.stem for path in (Path(__file__).parent / "tables" / "sql").glob("*.sql")))


@app.command(epilog="Example: retrylens show calls --from 2026-09-14 --to 2026-09-15 --partner dsp-a --format json")
def show(
    table: Annotated[str, typer.Argument(metavar="TABLE", help=f"One of: {TABLE_NAMES}.")],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    frm: From = None,
    to: To = None,
    partner: Partner = None,
    zone: Zone = None,
    auction: Annotated[str | None, typer.Option("--auction", metavar="ID", help="For attempts.")] = None,
    key: Annotated[str | None, typer.Option("--key", metavar="ID", help="For postbacks.")] = None,
    order: Annotated[str | None, typer.Option("--order", metavar="ID", help="For postbacks.")] = None,
    limit: Annotated[
        int | None,
        typer.Option("--limit", metavar="N", help="Most rows of attempts, orders, postbacks, rejects (1000)."),
    ] = None,
    kind: Kind = Format.TABLE,
    out: Out = None,
) -> None:
    """Print one result table: the very numbers of the pages and the reports."""
    from dashboard.filters import make_filters
    from dashboard.tables import get_table

    get_table(table)
    snapshot = _open(warehouse)
    filters = make_filters(
        frm=frm, to=to, partners=partner or (), zone=zone or snapshot.settings["zone"], limit=limit,
        auction=auction, key=key, order=order,
    )  # fmt: skip
    _show(snapshot, table, filters, kind, out)


@app.command(epilog="Example: retrylens flags --fail || echo 'switch some retries off'")
def flags(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    frm: From = None,
    to: To = None,
    partner: Partner = None,
    zone: Zone = None,
    fail: Annotated[bool, typer.Option("--fail", help="Exit with 1 when a verdict is disable or never.")] = False,
    kind: Kind = Format.TABLE,
    out: Out = None,
) -> None:
    """Which retries earn nothing and should be switched off, with the evidence."""
    from dashboard import tables
    from dashboard.filters import make_filters

    snapshot = _open(warehouse)
    filters = make_filters(frm=frm, to=to, partners=partner or (), zone=zone or snapshot.settings["zone"])
    _show(snapshot, "flags", filters, kind, out)
    if fail:
        bad = sum(row["verdict"] in ("disable", "never") for row in tables.rows(snapshot, "flags", filters))
        if bad:
            _say(f"{bad} {'flag says' if bad == 1 else 'flags say'} disable or never")
            raise typer.Exit(1)


@app.command(epilog="Example: retrylens report --week 2026-W48 --zone Europe/Kyiv --out reports")
def report(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    week: Annotated[
        str | None,
        typer.Option("--week", metavar="YYYY-Wnn", help="ISO week; default: the last whole week of the data."),
    ] = None,
    zone: Zone = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for the CSVs.")] = Path("reports"),
    whole: Annotated[
        Path | None, typer.Option("--zip", metavar="FILE", help="All topics in this one zip, instead of a folder.")
    ] = None,
) -> None:
    """Write the weekly CSVs, one a topic, each figure beside that of the week before."""
    from dashboard.report import is_outside, report_files, resolve_week, write_bundle, write_files

    snapshot = _open(warehouse)
    zone = zone or snapshot.settings["zone"]
    week = resolve_week(snapshot, week, zone)
    files = report_files(snapshot, week, zone)
    if whole is None:
        paths = write_files(files, out)
    else:
        write_bundle(files, whole)
        paths = [whole]
    _say(f"week {week} in {zone}{': no event of the data lies in it' if is_outside(snapshot, week, zone) else ''}")
    for path in paths:
        print(path)


@app.command(epilog="Example: retrylens status --warehouse /var/lib/retrylens")
def status(
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """How fresh the data is, what was loaded and rejected, how large it is."""
    from dashboard.status import status as figures_of
    from dashboard.status import status_text
    from dashboard.text import json_text

    figures = figures_of(_open(warehouse))
    sys.stdout.write(f"{json_text(figures)}\n" if as_json else status_text(figures))


@app.command(epilog="Example: retrylens serve --port 8080")
def serve(
    warehouse: Warehouse = DEFAULT_WAREHOUSE, host: Host = "127.0.0.1", port: Port = 8501, marks: MarksFile = None
) -> None:
    """Serve the dashboard and print its address."""
    from dashboard.serve import serve as run

    raise typer.Exit(run(warehouse, host, port, marks))


@app.command(epilog="Example: retrylens demo --no-serve")
def demo(
    warehouse: Annotated[
        Path, typer.Option("--warehouse", metavar="DIR", help="Folder for the demonstration; an older one is replaced.")
    ] = Path("warehouse-demo"),
    host: Host = "127.0.0.1",
    port: Port = 8501,
    no_serve: Annotated[bool, typer.Option("--no-serve", help="Load the sample, and stop there.")] = False,
) -> None:
    """Load the sample logs into a fresh warehouse and serve the dashboard on it."""
    from dashboard.demo import SAMPLE, fresh_warehouse
    from dashboard.serve import serve as run

    folder = fresh_warehouse(warehouse)
    began = time.monotonic()
    print(f"Loading the sample into {folder}", flush=True)
    code = app(["ingest", "--warehouse", str(folder), str(SAMPLE)], standalone_mode=False)
    print(f"Loaded in {time.monotonic() - began:.1f} s", flush=True)
    if not code and no_serve:
        print(f"To look at it: retrylens serve --warehouse {folder}")
    if code or no_serve:
        raise typer.Exit(code or 0)
    raise typer.Exit(run(folder, host, port))


@app.command(epilog="Example: retrylens whatif --policy policy.json --from 2026-09-14 --to 2026-09-15 --format json")
def whatif(
    policy: Annotated[
        Path, typer.Option("--policy", metavar="FILE", help="The policy, a JSON object; - for standard input.")
    ],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    frm: From = None,
    to: To = None,
    partner: Partner = None,
    zone: Zone = None,
    kind: Kind = Format.TABLE,
    out: Out = None,
) -> None:
    """Replay the logged retries under another policy: what it saves, and what it would have cost.

    What a policy removes is exact; what it adds is an estimate, labelled as one. The policy may have: triggers (a list
    of what may be repeated), max_retries, budget_guard (true: no retry without the time for it), breaker (window_s,
    min_attempts, failure_share, open_s), and partners, an object of such objects by name. Retries of postbacks are
    their senders' and are left out.
    """
    from dashboard import whatif as replaying
    from dashboard.errors import UserError
    from dashboard.filters import make_filters
    from dashboard.whatif.output import render, write

    if kind is Format.PARQUET:
        raise UserError("a replay is not a table: choose --format table, json or csv")
    rules = replaying.read(policy)
    snapshot = _open(warehouse)
    filters = make_filters(frm=frm, to=to, partners=partner or (), zone=zone or snapshot.settings["zone"])
    found = replaying.replay(snapshot, rules, filters)
    write(render(found, rules, filters, kind), out)
    unseen = sorted(set(rules.partners) - {row["partner"] for row in found.partners})
    if unseen and not partner:
        _say(f"no calls in this range, though the policy names them: {', '.join(unseen)}")


@app.command(epilog="Example: retrylens policy --out policy.json && retrylens whatif --policy policy.json")
def policy(warehouse: Warehouse = DEFAULT_WAREHOUSE, out: Out = None) -> None:
    """Write the policy that applies the flags of this moment, as JSON for an exchange, with the evidence.

    Flags on postbacks are left out: an exchange does not send those retries and cannot switch them off.
    """
    from dashboard.whatif import flag_policy
    from dashboard.whatif.output import write
    from dashboard.whatif.policy import policy_text

    _, fields = flag_policy(_open(warehouse))
    write(policy_text(fields).encode(), out)


app.add_typer(write_side)


def _open(warehouse: Path) -> Snapshot:
    from dashboard.snapshot import open_snapshot

    return open_snapshot(warehouse)


def _show(snapshot: Snapshot, name: str, filters: Filters, kind: Format, out: Path | None) -> None:
    from dashboard.output import show as write
    from dashboard.tables import get_table

    for option in get_table(name).ignored(filters):
        _say(f"the table {name} has no {option}: that filter changes nothing")
    gone = _gone(snapshot, name, filters)
    cut = write(snapshot, name, filters, kind, out)
    if gone:
        _say(gone)
    if cut is not None:
        _say(f"cut at {cut} rows; ask for more with --limit N")


def _gone(snapshot: Snapshot, name: str, filters: Filters) -> str:
    """What is to be said of a range from before the days that are kept.

    Raises UserError where a roll-up would have to be cut by single events that are gone.
    """
    from dashboard.errors import UserError

    since = snapshot.gone_before(filters.frm_us)
    if since is None or name in OF_LOADS:
        return ""
    gone = f"single events before {datetime.fromtimestamp(since // 1_000_000, UTC).date()} are gone (keep_days)"
    if name in OF_EVENTS:
        return f"{gone}: the table {name} tells what is left of them"
    if name in BY_EVENTS:
        return f"{gone}: what the table {name} tells by them is unknown; ask with --from for a range that begins then"
    unit, of = (HOUR_US, "hours") if name == "latency" else (MINUTE_US, "minutes")
    if any(edge is not None and edge < since and edge % unit for edge in (filters.frm_us, filters.to_us)):
        raise UserError(f"{gone}: before that the table {name} knows whole {of}; let --from and --to begin one")
    return f"{gone}: the stage converted of the auction funnel is unknown" if name in ("funnel", "losses") else ""


def _say(message: str) -> None:
    print(visible(message), file=sys.stderr)


def main() -> None:
    """Run the command line; errors are one line, and the exit code is 0, 1 or 2."""
    sys.exit(_run())


def _run() -> int:
    try:
        code = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _fail(f"{error.format_message().rstrip('.')}. {_where_to_look(error)}", error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        return _fail("stopped", 1)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        # The write side's errors have an exit code too; everything else is a fault of ours.
        code = getattr(error, "exit_code", None)
        if isinstance(code, int):
            return _fail(str(error), code)
        if os.environ.get("RETRYLENS_DEBUG"):
            raise
        return _fail(f"unexpected {type(error).__name__}: {error} (set RETRYLENS_DEBUG=1 for the details)", 1)
    return code if isinstance(code, int) else 0


def _where_to_look(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    command = f" {context.info_name}" if context is not None and context.parent is not None else ""
    return f"See retrylens{command} --help."


def _fail(message: str, code: int) -> int:
    _say(f"retrylens: {' '.join(message.split())}")
    return code


if __name__ == "__main__":
    main()
