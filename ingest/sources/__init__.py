"""Which bytes of the named paths are new, handed out as segments of complete lines.

    found = discover(["logs", "-"], outside=[warehouse])
    known = Known.from_rows(rows of the last snapshot)
    for one in found:                               # strictly one after the other
        with Reading(one, known) as reading:        # Refused: unreadable, damaged, not text
            for segment in reading.segments():      # Refused as well: drop what was staged of this file
                ...
            status = reading.commit(tail="taken")   # only what was accepted is remembered
    known.rows()                                    # to be published with the facts, in one snapshot

**What is known.** A file is known by its decoded content (`marks` says how two contents are compared, `known` what is
kept). Name, time, inode and compression decide nothing, with two exceptions: below 1 KiB of shared content a growth
or a shorter copy is recognised under the same name (real path) only; and a file whose device, inode, size, mtime and
ctime are those of its last reading is not read again. The same content twice in one run is recognised as well, for
`commit` updates `Known` at once: open a `Reading` only when the one before it is committed or given up. A file that
was refused, or never committed, leaves no trace.

**Status.** `new`; `grown` (a known content goes on here: only what lies behind it is handed out, line numbers and
offsets continue); `unchanged` (the same, or a shorter copy: nothing is handed out). `commit` returns the final one:
`grown` falls back to `unchanged` when nothing but a waiting tail had come.

**Lines.** A line is what stands between LFs. Segments are cut behind an LF, hold at least one line and grow with a
line longer than a segment; a line longer than the limit refuses the file. CR before LF, and a byte order mark at the
start of the file, are left in the line: the reader of lines strips them. `segments(cut)` takes another rule for where
the last complete record ends (CSV with line ends inside quotes).

**Tail.** Bytes behind the last line end come as a last segment with `tail=True`. The caller decides:
`commit("taken")` when the tail counted as a line (a fact, say: whole JSON without a line end), `commit("waits")` when
it is unfinished and the file may grow, `commit("rejected")` when it is unfinished and cannot grow (`Reading.final`:
compressed, or a pipe). A taken tail that is later followed by LF or CRLF is complete by that, no line is added; when
other bytes follow, they are handed out as a line of their own with the same line number. A rejected tail is handed
out again, as part of the whole line, when a longer content shows how it goes on. A waiting one is handed out each
time.

**Parquet** (`kind == "parquet"`) has no lines: `Reading.path` is for the engine, only an equal whole is known.
"""

from ingest.sources.decode import Decoded, open_decoded
from ingest.sources.discover import Found, discover
from ingest.sources.known import COLUMNS, Content, FileState, Known
from ingest.sources.limits import Limits
from ingest.sources.read import Reading, Segment, Status, Tail, file_state, is_whole_json, last_line_end

__all__ = [
    "COLUMNS",
    "Content",
    "Decoded",
    "FileState",
    "Found",
    "Known",
    "Limits",
    "Reading",
    "Segment",
    "Status",
    "Tail",
    "discover",
    "file_state",
    "is_whole_json",
    "last_line_end",
    "open_decoded",
]
