"""Format files: how they are written, recognised, tried, and what is said of the mistakes in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ingest.errors import InputError, Refused
from ingest.formats.foreign import read_foreign
from ingest.formats.registry import FOLDER, fit, guess, list_formats, load_format, native_format
from ingest.formats.spec import Foreign
from tests.foreign_log import guide_sample, read
from tests.test_cli import run

README = (FOLDER / "README.md").read_text(encoding="utf-8")
MINIMAL = """\
name = "mine"
title = "Mine"

[split]
kind = "json"
columns = { time = "at", id = "ids.auction", who = "who", code = "code" }

[recognise]
keys = [["at", "ids"]]

[[rows]]
event = "attempt"
when = "who is not null"

[rows.columns]
ts = "time"
auction_id = "id"
partner = "who"
http_status = "code"
"""
LINE = '{"at":"2026-11-29T11:00:00Z","ids":{"auction":"a-1"},"who":"dsp-a","code":204}\n'


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(MINIMAL)
    return path


def blocks(language: str) -> list[str]:
    """The fenced blocks of the walk-through, in order."""
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.slow
def test_the_walk_through_gives_what_it_says(tmp_path: Path) -> None:
    (tmp_path / "calls.log").write_text(blocks("text")[0])
    (tmp_path / "calls.toml").write_text("\n".join(blocks("toml")))
    shown, load = blocks("console")[:2]
    commands = [line.removeprefix("$ ") for line in (shown + load).splitlines() if line.startswith("$ ")]
    tried = run(*commands[0].split()[1:], cwd=tmp_path)
    said = [line for line in shown.splitlines()[1:] if line != "..."]
    assert tried.stdout.splitlines()[: len(said)] == said
    loaded = run(*commands[1].split()[1:], "--warehouse", "w", cwd=tmp_path)
    assert "4 lines = 4 facts" in loaded.stdout
    outcomes = run("show", "outcomes", "--format", "csv", "--warehouse", "w", cwd=tmp_path).stdout
    assert outcomes.splitlines() == [
        "partner,outcome,attempts",
        "dsp-a,bid,1",
        "dsp-a,server_error,1",
        "dsp-b,timeout,1",
    ]
    assert "win,dsp-a" in run("show", "notices", "--format", "csv", "--warehouse", "w", cwd=tmp_path).stdout


def test_a_format_file_of_ones_own(mine: Path) -> None:
    loaded = read(str(mine), LINE)
    row = loaded.only
    assert (row["auction_id"], row["partner"], row["http_status"], row["outcome"]) == ("a-1", "dsp-a", 204, "no_bid")


@pytest.mark.parametrize(
    "line, reason",
    [
        ("{", r"no JSON: .*"),
        ('{"at":"2026-11-29T11:00:00Z","ids":{"auction":"a-1"}}', "nothing in it that gives a row: attempt"),
        ('{"ids":{"auction":"a-1"},"who":"dsp-a"}', "attempt: ts is missing"),
        ('{"at":"yesterday","ids":{"auction":"a-1"},"who":"dsp-a"}', "attempt: ts is no RFC 3339 time.*"),
        ('{"at":"2026-11-29T11:00:00Z","ids":"a-1","who":"dsp-a"}', "attempt: auction_id is missing"),
    ],
)
def test_what_gives_no_row_is_a_reject_with_the_reason(mine: Path, line: str, reason: str) -> None:
    (said,) = read(str(mine), line + "\n").reasons
    assert re.fullmatch(reason, said)


@pytest.mark.parametrize(
    "before, after, line, said",
    [
        ('name = "mine"', 'name = "mine', 1, "no TOML"),
        ('title = "Mine"', "", 1, "`title` is missing"),
        ('kind = "json"', 'kind = "xml"', 5, "`kind` must be one of json, csv, pairs, regex, cells"),
        ('kind = "json"', 'kind = "json"\nprefx = "x"', 6, "unknown key 'prefx'"),
        ('kind = "json"', "kind = \"json\"\nprefix = '('", 6, "no regular expression"),
        ('kind = "json"', "kind = \"json\"\nprefix = '(a)'", 6, "write (?:...) for groups without a name"),
        ('keys = [["at", "ids"]]', "", 8, "one of `keys`, `exact` and `line` must be given"),
        ('event = "attempt"', 'event = "try"', 12, "`event` must be one of attempt, auction"),
        ('partner = "who"', "", 11, "attempt needs partner"),
        ('partner = "who"', 'partner = "who"\nlatency = "1"', 19, "attempt has no key 'latency'"),
        ('partner = "who"', 'partner = "whom"', 18, "`partner`: Binder Error"),
        ('partner = "who"', 'partner = "lower(who"', 18, "`partner`: Parser Error"),
        ("who is not null", "whom is not null", 13, "`when`: Binder Error"),
        ('event = "attempt"', 'event = "attempt"\neach = "who"', 13, "`each`: Binder Error"),
        ("[recognise]", "[recognize]", 8, "unknown name 'recognize'"),
        ('keys = [["at", "ids"]]', 'keys = ["at", "ids"]', 9, "`keys` must be a list of lists of keys"),
        ('when = "who is not null"', 'unknown = ["http_stat"]', 13, "attempt has no key 'http_stat'"),
        ('kind = "json"', 'kind = "json"\nseparator = ","', 6, "`separator` means nothing for the kind json"),
        ('kind = "json"', 'kind = "cells"', 4, "`separator` is missing, which the kind cells needs"),
        ('kind = "json"', "kind = \"json\"\nprefix = '(?=a)'", 6, "no look-around"),
        ('title = "Mine"', 'title = "Mine"\nzone = "Mars/Base"', 3, "`zone`: no time zone 'Mars/Base'"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, before: str, after: str, line: int, said: str) -> None:
    assert before in MINIMAL
    path = tmp_path / "wrong.toml"
    path.write_text(MINIMAL.replace(before, after, 1))
    with pytest.raises(InputError) as error:
        load_format(str(path))
    assert str(error.value).startswith(f"{path}, line {line}: ")
    assert said in str(error.value)
    assert "\n" not in str(error.value)


PARTS = """\
name = "mine"
title = "Mine"

[split]
kind = "regex"
# ] a comment 'with' "marks"
parts = [
    '(?P<time>[^\\] ]+) ',  # the [time]
    "(?P<id>\\"?[a-z]+) ",
    '''
(?P<who>[a-z]+)''', '(?P<code>[0-9]+)',
]

[recognise]
line = "^x"

[[rows]]
event = "attempt"

[rows.columns]
ts = "time"
auction_id = "id"
partner = "who"
"""


@pytest.mark.parametrize(
    "before, after, line, said",
    [
        ("(?P<time>", "(", 8, "write (?:...)"),
        ("(?P<id>", "(?P<id", 9, "no regular expression"),
        ("(?P<id>", "(?P<time>", 9, "two groups have the name time"),
        ("(?P<who>", "(?=(?P<who>", 10, "no regular expression"),
        ("(?P<code>", "(?!x)(?P<code>", 11, "no look-around"),
    ],
)
def test_a_mistake_in_one_of_several_parts_is_told_with_its_own_line(
    tmp_path: Path, before: str, after: str, line: int, said: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(PARTS)
    assert isinstance(load_format(str(path)), Foreign)
    path.write_text(PARTS.replace(before, after, 1))
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}, line {line}: ") as error:
        load_format(str(path))
    assert said in str(error.value)


LAYOUTS = """\
name = "mine"
title = "Mine"

[split]
kind = "cells"
separator = ";"

[[split.layout]]
name = "bid"
columns = ["time", "id"]

[[split.layout]]
name = "imp"
columns = ["time", "id", "who"]

[recognise]
line = ";"

[[rows]]
event = "impression"

[rows.columns]
ts = "time"
auction_id = "id"
"""


@pytest.mark.parametrize(
    "before, after, line, said",
    [
        (', "who"]', "]", 14, "two layouts have as many columns"),
        (', "who"]', ', "id"]', 14, "a column of the layout imp stands there twice"),
        ('name = "imp"', 'name = "bid"', 13, "two layouts have one name"),
        ('name = "imp"', 'name = "imp"\ncells = 3', 14, "unknown key 'cells'"),
        ('name = "imp"', "name = 7", 13, "`name` must be a text"),
    ],
)
def test_a_mistake_in_the_second_layout_is_told_with_its_own_line(
    tmp_path: Path, before: str, after: str, line: int, said: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(LAYOUTS)
    assert isinstance(load_format(str(path)), Foreign)
    path.write_text(LAYOUTS.replace(before, after, 1))
    with pytest.raises(InputError, match=f"^{re.escape(str(path))}, line {line}: ") as error:
        load_format(str(path))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "expression",
    [
        "(select content from read_text('{secret}'))",
        "(select max(content) from read_text(['{secret}']))",
        "case when who = 'nobody' then (select content from read_text('{secret}')) end",
        "(select content from query('select content from read_text(''{secret}'')'))",
        "(select max(file) from glob('{secret}'))",
        "(select max(a) from read_csv('{secret}', header = false, names = ['a']))",
        "(select max(a) from '{secret}')",
        "(select content from read_text('http://127.0.0.1:9/secret'))",
        "who) as t from (select 1) as s; copy (select 1) to '{secret}.csv'; select (1",
    ],
)
def test_the_sql_of_a_format_reads_no_files_and_no_addresses(mine: Path, tmp_path: Path, expression: str) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("secret-7\n")
    told = expression.format(secret=secret)
    mine.write_text(MINIMAL.replace('partner = "who"', f'partner = "{told}"'))
    with pytest.raises(InputError, match=r"line 18: `partner`: ") as error:
        load_format(str(mine))
    assert "secret-7" not in str(error.value)
    assert [path.name for path in tmp_path.iterdir() if path != mine] == ["secret.csv"]


def test_a_macro_reads_no_files(mine: Path) -> None:
    mine.write_text(MINIMAL + "\n[macros]\nstolen = \"(x) as (select x || content from read_text('mine.toml'))\"\n")
    with pytest.raises(InputError, match=r"line 22: the macro stolen: .*no files and no addresses"):
        load_format(str(mine))


def test_a_macro_carries_no_statement_behind_it(mine: Path) -> None:
    mine.write_text(MINIMAL + '\n[macros]\nlow = "(x) as lower(x); create table t (a integer)"\n')
    with pytest.raises(InputError, match="line 22: the macro low: one expression is wanted"):
        load_format(str(mine))


def test_an_expression_that_fails_rejects_its_line_alone(mine: Path) -> None:
    mine.write_text(MINIMAL.replace('http_status = "code"', 'http_status = "cast(code as integer)"'))
    loaded = read(str(mine), LINE + LINE.replace("204", '"secret-7"') + LINE)
    assert (loaded.counts.facts, loaded.counts.rejects) == (2, 1)
    assert loaded.reasons == ["attempt: the format's expression for http_status fails (ConversionException)"]
    assert "secret-7" not in loaded.kept()


def test_of_several_rows_those_that_can_be_read_are_kept(mine: Path) -> None:
    mine.write_text(
        MINIMAL.replace('who = "who"', 'who = "who", names = "list"')
        .replace('when = "who is not null"', 'each = "from_json(names, \'[\\"VARCHAR\\"]\')"')
        .replace('partner = "who"', 'partner = "item"\nattempt = "item_no"')
    )
    line = '{"at":"2026-11-29T11:00:00Z","ids":{"auction":"a-1"},"code":204,"list":["dsp-a",null,"dsp-c"]}\n'
    loaded = read(str(mine), line)
    assert [(row["partner"], row["attempt"]) for row in loaded.rows["attempts"]] == [("dsp-a", 1), ("dsp-c", 3)]
    assert (loaded.counts.lines, loaded.counts.facts, dict(loaded.counts.mended)) == (1, 1, {"attempt": 1})


@pytest.mark.slow
def test_every_format_has_its_guide_and_says_what_it_is(tmp_path: Path) -> None:
    for fmt in list_formats():
        if isinstance(fmt, Foreign):
            guide = (FOLDER / "guides" / f"{fmt.name}.md").read_text(encoding="utf-8")
            assert guide.startswith("# ")
            assert len(guide) > 1_500
            assert fmt.path.stem == fmt.name
            assert fmt.title in run("formats", cwd=tmp_path).stdout
            assert f"`{fmt.name}`" in (FOLDER.parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_engine_plans_every_expression_of_the_formats_that_ship() -> None:
    for fmt in list_formats()[1:]:
        assert isinstance(fmt, Foreign)
        read_foreign(fmt.path, native_format(), plan=True)


def test_lines_of_two_formats_are_refused_with_the_choice() -> None:
    both = LINE.replace('"at"', '"event":"attempt","ts":"2026-11-29T11:00:00Z","start_time"').replace(
        '"who"', '"response_code":204,"response_flags":"-","upstream_cluster":"dsp-a","who"'
    )
    with pytest.raises(Refused, match="fits more than one format; name one with --format: native, envoy"):
        guess(both.encode())


def test_text_of_no_format_is_refused_with_the_list() -> None:
    with pytest.raises(Refused, match=r"fits no known format; name one with --format: native, .*envoy.*nginx"):
        guess(b"to be or not to be\n" * 30)


def test_a_try_says_what_is_recognised_unknown_and_rejected(mine: Path, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(LINE + "{}\n" + "{}\n")
    said = run("formats", str(mine), "--try", "log.jsonl", cwd=tmp_path).stdout
    assert "3 lines tried as mine: 1 facts, 2 rejects" in said
    assert "not recognised as mine" not in said
    assert "recognised as mine; load it with --format " in said
    assert "2 x nothing in it that gives a row: attempt" in said
    assert "first: line 2:" in said
    assert re.search(r"unknown in all rows: attempt, request_id, tmax_ms, .*, nbr", said)


def test_a_line_of_the_native_log_is_of_no_other_format() -> None:
    native = b'{"event":"attempt","ts":"2026-11-29T11:00:00Z","auction_id":"a","partner":"p","http_status":204}\n'
    assert [fmt.name for fmt in list_formats() if fit(fmt, native) is not None] == ["native"]


FOREIGN = [fmt.name for fmt in list_formats()[1:]]


@pytest.mark.parametrize("name", FOREIGN)
def test_a_log_of_each_format_is_recognised_and_by_no_other(name: str) -> None:
    sample = guide_sample(name).encode()
    assert [fmt.name for fmt in list_formats() if fit(fmt, sample) is not None] == [name]
    for line in sample.splitlines(keepends=True):
        assert [fmt.name for fmt in list_formats() if fit(fmt, line) is not None] in ([name], [])


@pytest.mark.slow
def test_a_folder_of_all_formats_loads_each_as_its_own(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    native = '{"event":"attempt","ts":"2026-11-29T11:00:00Z","auction_id":"a","partner":"p","http_status":204}\n'
    for name in ("native", *FOREIGN):
        (tmp_path / "logs" / f"{name}.log").write_text(native if name == "native" else guide_sample(name))
    loaded = run("ingest", "logs", "--zone", "Europe/Kyiv", "--warehouse", "w", "--json", cwd=tmp_path)
    assert loaded.returncode == 0, loaded.stderr
    shown = run("show", "loads", "--format", "json", "--warehouse", "w", cwd=tmp_path).stdout
    rows = {Path(row["file"]).stem: row for row in json.loads(shown)}
    for name in ("native", *FOREIGN):
        row = rows[name]
        assert (row["format"], row["status"], row["rejects"]) == (name, "loaded", 0), row
        assert row["facts"] > 0
