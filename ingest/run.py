"""What one load does with the files it was given: stage them, drop what is repeated, write facts and models, publish.

A run is all or nothing: until the publish, what it wrote is in files that no snapshot names. A file that is refused
counts for nothing and does not stop the others.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from ingest.compact import compact
from ingest.engine import engine
from ingest.errors import Refused
from ingest.facts.store import write_facts
from ingest.flag_history import update_history
from ingest.formats.registry import guess, guess_columns, native_format, open_as
from ingest.formats.spec import AnyFormat, Foreign, State
from ingest.keep import drop_days, horizon, reject_old
from ingest.models.build import Build
from ingest.models.empty import write_empty
from ingest.models.parts import Part, Parts, quote
from ingest.models.relations import FACTS
from ingest.options import Options, Patience, state_of
from ingest.progress import Meter
from ingest.repeated import drop_repeated_ids, drop_repeated_lines, mended_by_file
from ingest.report import FileReport
from ingest.rows.cells import whole_records
from ingest.rows.loader import Counts, RowLoader
from ingest.rows.parquet import parquet_columns
from ingest.rows.raw import whole_documents
from ingest.settings import Settings
from ingest.snapshot.content import Publication
from ingest.snapshot.current import State as Published
from ingest.snapshot.publish import publish
from ingest.snapshot.sweep import sweep
from ingest.sources import Found, Known, Limits, Reading, Tail, last_line_end

#: Where the last complete record ends, for splits whose records are no lines.
CUTS = {"csv": whole_records, "document": whole_documents}
#: Names of `evidence` with the staged rows that prove them.
EVIDENCE = {
    "attempts": "select 1 from stage_attempts",
    "auctions": "select 1 from stage_auctions",
    "postbacks": "select 1 from stage_postbacks",
    "winner": "select 1 from stage_auctions where winner is not null",
    **{
        kind: f"select 1 from stage_notices where kind = '{kind}' and not list_contains($unjoined::bigint[], file_no)"
        for kind in ("win", "loss", "billing", "impression", "click")
    },
    "click_id": "select 1 from stage_notices where kind = 'click' and click_id is not null",
    "postback_click_id": "select 1 from stage_postbacks where click_id is not null",
}


class Run:
    """One load, on the warehouse in `state`; its reports are those of the files in turn."""

    def __init__(
        self,
        warehouse: Path,
        state: Published,
        settings: Settings,
        given: AnyFormat | None,
        options: Options,
        meter: Meter,
    ) -> None:
        self.warehouse, self.state, self.settings = warehouse, state, settings
        self.given, self.options, self.meter = given, options, meter
        self.known = Known.from_rows(state.known)
        self.unjoined: dict[str, set[int]] = {}
        self.limits = Limits(
            line_bytes=settings.max_line_bytes, ratio=settings.max_ratio, decoded_bytes=settings.max_decoded_bytes
        )
        tmp = warehouse / "tmp"
        tmp.mkdir(parents=True, exist_ok=True)
        self.con = engine(tmp)
        generation = f"{state.generation + 1:08d}-{time.time_ns() & 0xFFFFFFFF:08x}"
        self.parts = Parts(self.con, warehouse, generation, state.parts, state.facts_from_us)
        self.loader = RowLoader(self.con, zone=options.zone, want_hashes=options.dedup)

    def read_all(self, found: Sequence[Found], patience: Patience | None) -> list[FileReport]:
        """Stage the files; with `patience` the reports of those that gave something, and of newly refused ones."""
        files: list[FileReport] = []
        for one in found:
            report = self.read(one, len(files))
            if patience is not None:
                patience.note(one, report)
                if report.status == "unchanged" or (report.status == "refused" and state_of(one) is None):
                    continue
            files.append(report)
        return files

    def read(self, found: Found, number: int) -> FileReport:
        """Stage one file."""
        began = time.monotonic()
        report = FileReport(found.name, number, _now())
        try:
            with Reading(found, self.known, self.limits) as reading:
                if reading.kind == "parquet":
                    self._parquet(reading, report)
                else:
                    self._lines(reading, report)
        except Refused as refused:
            self.loader.forget(number)
            report.refuse(refused.reason)
        self.meter.end_file(found)
        report.seconds = time.monotonic() - began
        report.finished = _now()
        return report

    def _lines(self, reading: Reading, report: FileReport) -> None:
        tail: Tail = "taken"
        fmt, state = self._format(reading)
        for event in [part.event for part in fmt.rows if not part.joins] if isinstance(fmt, Foreign) else ():
            self.unjoined.setdefault(event, set()).add(report.number)
        for segment in reading.segments(CUTS.get(state.split, last_line_end)):
            report.format = fmt.name
            data, first_line, offset = segment.data, segment.first_line, segment.offset
            if offset < state.header_bytes:
                skipped = state.header_bytes - offset
                data, first_line, offset = data[skipped:], first_line + 1, state.header_bytes
            if segment.tail and not reading.final and data and not self.loader.is_whole(data, fmt, state):
                tail = "waits"
                report.warnings.append(f"{report.file}: its last line is unfinished ({len(data)} bytes) and waits")
                continue
            if segment.tail and data and not self.loader.is_whole(data, fmt, state):
                tail = "rejected"
            counts = self.loader.load_lines(
                fmt, data, file_no=report.number, first_line=first_line, offset=offset, state=state
            )
            self._count(report, counts, len(data))
            self.meter.read(reading.taken, len(data), counts.lines, counts.rejects)
        self._reject_old(report)
        if reading.status == "new":
            self._some_facts(report)
        report.status = "unchanged" if reading.commit(tail) == "unchanged" else "loaded"

    def _parquet(self, reading: Reading, report: FileReport) -> None:
        if reading.status != "unchanged" and reading.path is not None:
            fmt = self.given or guess_columns(parquet_columns(self.con, reading.path))
            if isinstance(fmt, Foreign):
                raise Refused(f"is Parquet, which the format {fmt.name} is not read from")
            report.format = fmt.name
            counts = self.loader.load_parquet(fmt, reading.path, file_no=report.number)
            self._count(report, counts, reading.path.stat().st_size)
            self._reject_old(report)
            self._some_facts(report)
        report.status = "unchanged" if reading.commit() == "unchanged" else "loaded"

    def _format(self, reading: Reading) -> tuple[AnyFormat, State]:
        """The format of a file and how it is read; one that holds nothing but blanks is of any."""
        if self.given is not None and reading.head.strip():
            return self.given, open_as(self.given, reading.head)
        return guess(reading.head) or (self.given or native_format(), State("json"))

    def _count(self, report: FileReport, counts: Counts, size: int) -> None:
        report.lines += counts.lines
        report.facts += counts.facts
        report.rejects += counts.rejects
        report.blank += counts.blank
        report.mended += counts.mended
        report.bytes += size

    def _reject_old(self, report: FileReport) -> None:
        """Lines from before the days that are kept are no facts any more."""
        if self.state.facts_from_us:
            reject_old(self.con, report, self.state.facts_from_us)

    def _some_facts(self, report: FileReport) -> None:
        """Refuse a new file of which no line became a fact though some were rejected."""
        if report.rejects and not report.facts:
            first = self.con.execute(
                "select line, reason from stage_rejects where file_no = ? order by line limit 1", [report.number]
            ).fetchone()
            line, reason = first if first else (0, "")
            raise Refused(f"none of its {report.rejects} lines could be read; line {line}: {reason}")

    def finish(self, files: Sequence[FileReport]) -> Path:
        """Drop what is repeated, write facts and models, publish."""
        self.meter.make_models()
        repeated = drop_repeated_ids(self.parts, self.settings.event_id_days)
        if self.options.dedup:
            repeated += drop_repeated_lines(self.parts)
        mended = mended_by_file(self.con) if repeated else {}
        for report in files:
            report.repeated = repeated[report.number]
            report.facts -= report.repeated
            if report.repeated:
                report.mended = mended.get(report.number, Counter())
            report.check()
        write_empty(self.parts)
        publication = self._publication(files)
        first = not any(self.parts.of(relation) for relation in FACTS)
        publication.added_rows = sum(write_facts(self.parts).values())
        if files:
            self._write_rejects(files)
        billing = publication.evidence["billing"]
        Build(self.con, self.parts, self.settings, first=first).run(
            billing=billing, billing_is_new=billing and not self.state.evidence.get("billing", False)
        )
        publication.flag_history = update_history(
            self.con,
            self.parts,
            publication.streams,
            self.settings,
            self.state.flag_history,
            self.state.next_load + len(files) - 1,
        )
        self._tidy(publication)
        path = publish(self.warehouse, self.state, self.parts.all(), publication)
        sweep(self.warehouse, path, self.parts.all(), self.state, self.settings.snapshot_grace_s)
        return path

    def _tidy(self, publication: Publication) -> None:
        """Drop the days that are not kept, and merge small parts."""
        days = self.options.keep_days or self.settings.keep_days
        before = self.state.facts_from_us
        since = horizon(self.parts.all(), days, before, time.time_ns() // 1000)
        if since > before:
            publication.dropped_rows = drop_days(self.parts, since, self.settings)
            publication.facts_from_us = since
        newest_before, newest = (streams.get("all", (0, 0))[1] for streams in (self.state.streams, publication.streams))
        compact(self.parts, newest_before, newest, self.settings.notice_days + 1)

    def _publication(self, files: Sequence[FileReport]) -> Publication:
        evidence = {name: self.state.evidence.get(name, False) or self._proven(name) for name in EVIDENCE}
        loads = [report.load_row(self.state.next_load + report.number) for report in files]
        known, gone = self.known.changes()
        return Publication(self.settings, evidence, self._streams(), known, gone, loads)

    def _proven(self, name: str) -> bool:
        """Whether staged rows are evidence of this name; notices of a format that joins them to no call are none."""
        sql = f"{EVIDENCE[name]} limit 1"
        values = {"unjoined": sorted(self.unjoined.get(name, ()))} if "$unjoined" in sql else None
        return self.con.execute(sql, values).fetchone() is not None

    def _streams(self) -> dict[str, tuple[int, int]]:
        streams = dict(self.state.streams)
        for relation in FACTS:
            lo, hi = self.con.execute(f"select min(epoch_us(ts)), max(epoch_us(ts)) from stage_{relation}").fetchall()[
                0
            ]
            if lo is None:
                continue
            stream = {"attempts": "exchange", "postbacks": "postback"}.get(relation)
            for name in ("all", stream) if stream else ("all",):
                before = streams.get(name, (lo, hi))
                streams[name] = (min(before[0], lo), max(before[1], hi))
        return streams

    def _write_rejects(self, files: Sequence[FileReport]) -> None:
        names = ", ".join(
            f"({report.number}, {self.state.next_load + report.number}, {quote(report.file)})" for report in files
        )
        rows = (
            'select load_id, file, line, "offset", reason, raw from stage_rejects'
            f" inner join (values {names}) as files (file_no, load_id, file) using (file_no) order by load_id, line"
        )
        self._write("rejects", rows)
        if self.options.dedup:
            self._write("line_hashes", "select hash from stage_hashes order by hash")

    def _write(self, relation: str, rows: str) -> None:
        folder = self.warehouse / relation
        folder.mkdir(exist_ok=True)
        path = folder / f"{self.parts.generation}.parquet"
        counted = self.con.execute(f"copy ({rows}) to {quote(str(path))} (format parquet, compression zstd)").fetchone()
        if counted and counted[0]:
            self.parts.add(Part(relation, str(path.relative_to(self.warehouse)), int(counted[0]), 0, 0))
        else:
            path.unlink()


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
