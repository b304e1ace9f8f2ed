"""The published snapshot of a warehouse, opened for reading.

Every relation is a view over the snapshot's own list of files, taken relative to the warehouse as it lies now (a moved
warehouse opens). The views live in a private in-memory database beside the read-only catalog, so nothing here can
hold up or alter what the writer does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from dashboard.errors import UserError
from dashboard.settings import in_force

SCHEMA_VERSION = 5
"""The snapshot layout that this reader knows."""

POINTER = "CURRENT"


class DataFile(NamedTuple):
    """A Parquet file of a relation; its rows lie within [lo_us, hi_us] (None: not known)."""

    path: str
    lo_us: int | None
    hi_us: int | None


class Span(NamedTuple):
    """First and newest event of a stream, in epoch microseconds (None: no event)."""

    first_us: int | None
    newest_us: int | None


@dataclass(frozen=True)
class Snapshot:
    """One published state of a warehouse: what it reads never changes while it is open.

    Take one `cursor()` per query and thread.
    """

    warehouse: Path
    id: str
    connection: duckdb.DuckDBPyConnection
    meta: Mapping[str, str]
    settings: Mapping[str, str]
    evidence: Mapping[str, bool]
    streams: Mapping[str, Span]
    files: Mapping[str, tuple[DataFile, ...]]
    models: Mapping[str, str]

    @contextmanager
    def cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection of its own, in which the relations, small tables and macros go by their plain names."""
        cursor = self.connection.cursor()
        try:
            cursor.execute("set search_path = 'memory.main,snap.main'; set timezone = 'UTC'")
            yield cursor
        finally:
            cursor.close()

    def gone_before(self, frm_us: int | None) -> int | None:
        """Since when single events are kept, where a range from `frm_us` on reaches behind that; else None."""
        since = int(self.meta.get("facts_from_us", "0"))
        return since if since and (frm_us is None or frm_us < since) else None

    def span(self, stream: str) -> Span:
        """First and newest event of a stream (exchange, postback), or of everything (all)."""
        return self.streams.get(stream, Span(None, None))

    def query(self, sql: str, parameters: object = None) -> list[tuple[Any, ...]]:
        """All rows of one statement."""
        with self.cursor() as cursor:
            return cursor.execute(sql, parameters).fetchall()

    def pruned(self, relation: str, lo_us: int | None, hi_us: int | None) -> str | None:
        """SQL that reads only the files of `relation` that may hold rows of [lo_us, hi_us); None where all may."""
        every = self.files[relation]
        kept = [
            file
            for file in every
            if (lo_us is None or file.hi_us is None or file.hi_us >= lo_us)
            and (hi_us is None or file.lo_us is None or file.lo_us <= hi_us)
        ] or list(every[:1])
        return None if len(kept) == len(every) else _read(kept)

    def close(self) -> None:
        """Let go of the files; cursors still open become useless."""
        self.connection.close()


def open_older(warehouse: Path, name: str) -> Snapshot:
    """Open the snapshot `name`, which `warehouse` has published at some time. Raises UserError where it is gone."""
    try:
        return _open(warehouse.resolve(), name)
    except duckdb.IOException:
        raise UserError(f"{warehouse}: the snapshot {name} is gone; newer data have taken its place") from None


def open_snapshot(warehouse: Path) -> Snapshot:
    """Open what `warehouse` last published.

    Raises UserError where there is no warehouse, nothing published yet, or a snapshot of a newer RetryLens.
    """
    for last_try in (False, True):
        name = current_name(warehouse)
        try:
            return _open(warehouse.resolve(), name)
        except duckdb.IOException as error:
            # A publish may have replaced and a cleaning removed what the pointer named a moment ago.
            if last_try:
                raise UserError(
                    f"{warehouse}: the snapshot {name} cannot be read ({_first_line(error)}); restore it from a backup,"
                    " or load the logs into a new warehouse"
                ) from None
    raise AssertionError("unreachable")


def current_name(warehouse: Path) -> str:
    """Name of the snapshot that is published now: cheap enough to ask on every rerun of a page."""
    try:
        name = (warehouse / POINTER).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        hint = "load logs first: retrylens ingest PATH"
        if warehouse.is_dir():
            raise UserError(f"{warehouse}: nothing is published in this warehouse yet; {hint}") from None
        raise UserError(f"{warehouse}: no warehouse here; name one with --warehouse DIR, or {hint}") from None
    except OSError as error:
        raise UserError(f"{warehouse}: cannot be read ({error.strerror}); name another with --warehouse DIR") from None
    return name.removesuffix(".duckdb")


def _open(warehouse: Path, name: str) -> Snapshot:
    path = warehouse / "snapshots" / f"{name}.duckdb"
    connection = duckdb.connect()
    try:
        connection.execute(f"attach {_quote(str(path))} as snap (read_only)")
        meta = dict(_pairs(connection, "select key, value from snap.meta"))
        if int(meta["schema_version"]) > SCHEMA_VERSION:
            raise UserError(
                f"{warehouse}: written by a newer RetryLens (layout {meta['schema_version']}, this one reads "
                f"{SCHEMA_VERSION}); upgrade RetryLens"
            )
        if int(meta["schema_version"]) < SCHEMA_VERSION:
            raise UserError(
                f"{warehouse}: its models are of an older RetryLens; run `retrylens rebuild --warehouse {warehouse}`,"
                " which keeps the data"
            )
        files = _files(connection, warehouse)
        for relation, parts in files.items():
            connection.execute(f'create view memory.main."{relation}" as from {_read(parts)}')
        return Snapshot(
            warehouse=warehouse,
            id=name,
            connection=connection,
            meta=meta,
            settings=in_force(
                warehouse,
                dict(_pairs(connection, "select name, value from snap.settings")),
                tuple(meta["stored_settings"].split(",")),
            ),
            evidence=dict(_pairs(connection, "select name, present from snap.evidence")),
            streams={
                stream: Span(first, newest)
                for stream, first, newest in connection.execute(
                    "select stream, first_us, newest_us from snap.streams"
                ).fetchall()
            },
            files=files,
            models=dict(_pairs(connection, "select name, sql from snap.models")),
        )
    except BaseException:
        connection.close()
        raise


def _files(connection: duckdb.DuckDBPyConnection, warehouse: Path) -> dict[str, tuple[DataFile, ...]]:
    grouped: dict[str, list[DataFile]] = {}
    for relation, path, lo_us, hi_us in connection.execute(
        "select relation, path, lo_us, hi_us from snap.files order by relation, path"
    ).fetchall():
        grouped.setdefault(relation, []).append(DataFile(os.path.join(warehouse, path), lo_us, hi_us))
    return {relation: tuple(parts) for relation, parts in grouped.items()}


def _read(parts: list[DataFile] | tuple[DataFile, ...]) -> str:
    return f"read_parquet([{', '.join(_quote(part.path) for part in parts)}], hive_partitioning = false)"


def _pairs(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, Any]]:
    return [(row[0], row[1]) for row in connection.execute(sql).fetchall()]


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _first_line(error: Exception) -> str:
    return str(error).split("\n", 1)[0]
