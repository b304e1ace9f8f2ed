"""The engine of a load."""

from __future__ import annotations

from pathlib import Path

import duckdb

from ingest.dictionary import load_outcomes
from ingest.models.relations import model_sql


def engine(tmp: Path) -> duckdb.DuckDBPyConnection:
    """The engine of a load: in memory, spilling to `tmp`, UTC, with the models' functions and outcomes."""
    con = duckdb.connect(config={"memory_limit": "700MB", "temp_directory": str(tmp / "spill")})
    # Nothing in memory outlives the load: writing it anew, compressed, every 16 MB costs a tenth of the work.
    con.execute("set checkpoint_threshold = '4GB'")
    con.execute("set TimeZone = 'UTC'; set autoinstall_known_extensions = false; set enable_progress_bar = false")
    con.execute(model_sql("functions"))
    con.execute("create table outcomes (outcome varchar, grp varchar, rnk bigint)")
    con.executemany("insert into outcomes values (?, ?, ?)", load_outcomes())
    return con
