"""Whether the SQL of a format file runs, and reads nothing but the records that it is given."""

from __future__ import annotations

import duckdb

from ingest.formats.source import Source
from ingest.formats.spec import Foreign, Rows
from ingest.rows.mapping import declare_macros, mapped_rows, quote_name

#: The engine as it plans a format's SQL. A file may come from anybody: what it names on disk or in the net is out of
#: reach, and stays so. Over no records nothing is read that a plan does not ask for, so what passes here never does.
SHUT = {"enable_external_access": "false", "lock_configuration": "true", "python_enable_replacements": "false"}


def check_sql(source: Source, fmt: Foreign) -> None:
    """Lets the engine plan every expression over no records; raises InputError with the line of one that it refuses."""
    con = duckdb.connect(config=dict(SHUT))
    try:
        macros = declare_macros(fmt.macros)
        con.execute(macros.pop(""))
        for name, definition in macros.items():
            _try(source, con, definition, source.line_of("macros", name), f"the macro {name}")
        listed = ", ".join(f"cast(null as varchar) as {quote_name(name)}" for name in fmt.splitting.columns)
        records = f"(select 0 as line_no, false as suspect, true as exact, {listed} where false)"
        for nth, part in enumerate(fmt.rows):
            if part.each:
                each = Rows(part.event, {}, each=part.each)
                _try(source, con, mapped_rows(each, records), source.line_of("rows", "each", nth), "`each`")
            when = Rows(part.event, {}, when=part.when, each=part.each)
            _try(source, con, mapped_rows(when, records), source.line_of("rows", "when", nth), "`when`")
            for key, expression in part.columns.items():
                one = Rows(part.event, {key: expression}, each=part.each)
                _try(source, con, mapped_rows(one, records), source.line_of("rows.columns", key, nth), f"`{key}`")
    finally:
        con.close()


def _try(source: Source, con: duckdb.DuckDBPyConnection, sql: str, line: int, what: str) -> None:
    try:
        if len(con.extract_statements(sql)) != 1:
            source.fail(line, f"{what}: one expression is wanted, and no statement behind it")
        con.execute(sql)
    except duckdb.PermissionException:
        source.fail(line, f"{what}: the SQL of a format reads its records, no files and no addresses")
    except duckdb.Error as error:
        source.fail(line, f"{what}: {str(error).splitlines()[0]}")
