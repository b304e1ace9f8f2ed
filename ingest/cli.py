"""The write side of the `retrylens` command: ingest, simulate, formats, verify, rebuild.

Heavy imports stand inside the commands: `retrylens --help` and the read side pay for none of them.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ingest.options import Options
    from ingest.report import FileReport, RunReport

app = typer.Typer(add_completion=False, rich_markup_mode=None, no_args_is_help=True)

Warehouse = Annotated[
    Path, typer.Option("--warehouse", envvar="RETRYLENS_WAREHOUSE", help="Folder of the warehouse.", metavar="DIR")
]
DEFAULT_WAREHOUSE = Path("warehouse")
Compress = Literal["none", "gz", "zst"]


@app.command(epilog="Example: retrylens ingest /var/log/exchange 'postbacks/*.jsonl.gz' --warehouse warehouse")
def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files, folders, patterns, or - for standard input.")
    ],
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
    log_format: Annotated[
        str | None, typer.Option("--format", help="Name of a format, or a format file.", metavar="NAME")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="Zone of times without an offset, such as Europe/Kyiv.", metavar="ZONE")
    ] = None,
    dedup: Annotated[bool, typer.Option("--dedup", help="Drop lines whose bytes were seen before.")] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Go on: load what comes, until SIGTERM or Ctrl-C; --json gives a line a load."),
    ] = False,
    every: Annotated[float, typer.Option(min=0.1, help="With --follow: seconds between loads at least.")] = 2.0,
    keep_days: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Keep the events of N whole UTC days before the newest one's. Of older days the roll-ups stay: ranges"
            " of whole hours answer as before; single attempts, postbacks and orders, windows, Retry-After, signatures"
            " and back-off are unknown there. Lines from before those days become rejects.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Load what is new in logs, and publish it as one snapshot."""
    from ingest.errors import InputError
    from ingest.load import ingest as run
    from ingest.options import Options
    from ingest.progress import shown_steps

    if zone is not None and not _is_zone(zone):
        raise InputError(f"--zone {zone}: no such zone; give a name like Europe/Kyiv")
    if follow:
        _follow(paths, warehouse, Options(log_format, zone, dedup, keep_days), every, as_json=as_json)
        return

    with shown_steps() as on_step:
        report = run(paths, warehouse, Options(log_format, zone, dedup, keep_days), on_step=on_step)
    for file in report.files:
        _tell(file, as_json=as_json)
    if not report.files:
        _say(f"{', '.join(paths)}: nothing to load there; name files, or folders that hold some")
    if as_json:
        typer.echo(json.dumps(report.as_dict(), ensure_ascii=True))
    else:
        typer.echo(_total(report))
    if report.refused:
        raise typer.Exit(1)


@app.command(epilog="Example: retrylens simulate --out logs --seed 7 --minutes 60 --auctions-per-second 20")
def simulate(
    out: Annotated[Path, typer.Option(help="Folder to write to.", metavar="DIR")],
    seed: Annotated[int, typer.Option(help="The same seed gives the same logs.")] = 1,
    minutes: Annotated[int, typer.Option(min=1, help="Length of the logged time, of each day with --days.")] = 10,
    auctions_per_second: Annotated[float, typer.Option(min=0.001, help="Traffic.")] = 5.0,
    scenario: Annotated[str, typer.Option(help="Which partners and keys take part.", metavar="NAME")] = "default",
    start: Annotated[datetime | None, typer.Option(help="First instant, UTC.", formats=["%Y-%m-%dT%H:%M:%SZ"])] = None,
    days: Annotated[int, typer.Option(min=1, help="Repeat the minutes on so many days in a row.")] = 1,
    compress: Annotated[str, typer.Option(help="none, gz or zst.", metavar="HOW")] = "none",
    bad_lines: Annotated[int, typer.Option(min=0, help="So many broken lines among the good ones.")] = 0,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
) -> None:
    """Write seeded native logs with known truth, beside a truth.json."""
    del warehouse
    from ingest.errors import InputError
    from ingest.simulate import DEFAULT_START, SCENARIOS
    from ingest.simulate import simulate as run

    for given, name, choices in ((scenario, "--scenario", SCENARIOS), (compress, "--compress", ("none", "gz", "zst"))):
        if given not in choices:
            raise InputError(f"{name} {given}: unknown; choose one of {', '.join(choices)}")
    began = start.replace(tzinfo=UTC) if start else DEFAULT_START
    truth = run(
        out,
        seed,
        minutes,
        auctions_per_second,
        scenario,
        start=began,
        days=days,
        compress=cast(Compress, compress),
        bad_lines=bad_lines,
    )
    lines = truth["_lines"]
    typer.echo(f"{out}: {lines['lines']:,} lines, {lines['rejects']:,} of them broken; the truth is in truth.json")


@app.command(epilog="Example: retrylens formats nginx --try /var/log/nginx/access.log")
def formats(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="A format, or a format file.")] = None,
    tried: Annotated[
        Path | None, typer.Option("--try", metavar="FILE", help="Read its first lines; keep nothing.")
    ] = None,
    zone: Annotated[
        str | None, typer.Option(help="Zone of times without an offset, such as Europe/Kyiv.", metavar="ZONE")
    ] = None,
    warehouse: Warehouse = DEFAULT_WAREHOUSE,
) -> None:
    """List the log formats that ingest knows; say what one of them carries; try it on a file."""
    del warehouse
    from ingest.formats.describe import describe, describe_trial
    from ingest.formats.registry import list_formats, load_format
    from ingest.formats.trial import try_format

    if name is None:
        if tried is not None:
            raise _needs_name()
        for known in list_formats():
            typer.echo(f"{known.name:12} {known.title}")
        return
    fmt = load_format(name)
    if tried is None:
        typer.echo(plain_lines(describe(fmt)))
        return
    if zone is not None and not _is_zone(zone):
        from ingest.errors import InputError

        raise InputError(f"no time zone {zone!r}; write Area/City, such as Europe/Kyiv")
    typer.echo(plain_lines(describe_trial(fmt, tried, try_format(fmt, tried, zone=zone))))


@app.command(epilog="Example: retrylens verify --warehouse warehouse")
def verify(warehouse: Warehouse = DEFAULT_WAREHOUSE) -> None:
    """Check that files are as they were written, that lines are accounted for, that models agree with the facts."""
    from ingest.verify import verify as run

    faults = run(warehouse)
    for fault in faults:
        typer.echo(plain(fault))
    if faults:
        _say(f"{warehouse}: {len(faults)} {'fault' if len(faults) == 1 else 'faults'}")
        raise typer.Exit(1)
    typer.echo(f"{warehouse}: sound")


@app.command(epilog="Example: retrylens rebuild --warehouse warehouse")
def rebuild(warehouse: Warehouse = DEFAULT_WAREHOUSE) -> None:
    """Make all models again from the facts, as after a change of a setting that they depend on."""
    from ingest.rebuild import rebuild as run

    typer.echo(f"{warehouse}: rebuilt, snapshot {run(warehouse).name}")


def _follow(paths: list[str], warehouse: Path, options: Options, every_s: float, *, as_json: bool) -> None:
    """Load until a signal asks to stop; the load that runs then is ended first."""
    import signal

    from ingest.follow import Follower

    def on_load(report: RunReport) -> None:
        for file in report.files:
            _tell(file, as_json=as_json)
        if as_json:
            typer.echo(json.dumps(report.as_dict(), ensure_ascii=True))
        sys.stdout.flush()

    follower = Follower(paths, warehouse, options, every_s=every_s, on_load=on_load, on_wait=_say)
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: follower.stop())
    _say(f"following {', '.join(paths)}; stop with Ctrl-C or SIGTERM")
    follower.run()


def _tell(report: FileReport, *, as_json: bool) -> None:
    """Warnings and refusals to standard error; the sentence of a loaded file to standard output."""
    for warning in report.warnings:
        _say(warning)
    if report.status == "refused":
        _say(f"{report.file}: refused: {report.reason}")
    elif not as_json:
        typer.echo(plain(_sentence(report)))


def plain(text: str) -> str:
    """`text` with control characters written out, so that none reaches a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def plain_lines(lines: Iterable[str]) -> str:
    """Lines of text for a terminal."""
    return "\n".join(map(plain, lines))


def _needs_name() -> Exception:
    from ingest.errors import InputError

    return InputError("--try needs the name of a format: retrylens formats NAME --try FILE; see retrylens formats")


def _say(text: str) -> None:
    typer.echo(plain(text), err=True)


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _sentence(report: FileReport) -> str:
    if report.status == "unchanged":
        return f"{report.file}: unchanged, 0 lines"
    mended = ", ".join(f"{column} {count:,}" for column, count in sorted(report.mended.items())) or "none"
    data = report.as_dict()
    return (
        f"{report.file}: {report.lines:,} lines = {report.facts:,} facts + {report.rejects:,} rejects"
        f" + {report.blank:,} blank + {report.repeated:,} repeated; mended: {mended};"
        f" {report.seconds:.2f} s, {data['mb_per_s']} MB/s"
    )


def _total(report: RunReport) -> str:
    totals = report.totals()
    files = "1 file" if len(report.files) == 1 else f"{len(report.files)} files"
    return (
        f"total: {files}, {totals['lines']:,} lines = {totals['facts']:,} facts + {totals['rejects']:,} rejects"
        f" + {totals['blank']:,} blank + {totals['repeated']:,} repeated; {len(report.refused)} refused;"
        f" {report.seconds:.2f} s"
    )


def main() -> None:
    """Entry point of the write side alone."""
    from ingest.errors import UserError

    try:
        app()
    except UserError as error:
        _say(str(error))
        sys.exit(error.exit_code)
