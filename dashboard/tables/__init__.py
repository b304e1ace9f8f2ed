"""The result tables: defined once in `sql/`, read by the command line, the pages and the reports alike.

`rows`, `fetch` and `run` give a table's rows, `series` the same table by time buckets, `sql` the statement that gives
them in any DuckDB shell opened on the snapshot file. `Lines` and `save_parquet`
pass a table of any length on to a file.
"""

from __future__ import annotations

from dashboard.tables.read import Lines, Result, fetch, rows, run, save_parquet, series, sql
from dashboard.tables.spec import TABLES, Table, get_table

__all__ = ["TABLES", "Lines", "Result", "Table", "fetch", "get_table", "rows", "run", "save_parquet", "series", "sql"]
