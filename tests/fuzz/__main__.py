"""`python -m tests.fuzz N [--seed N] [--folder DIR]`: load N fuzzed lines and compare with the tests' own reading.

Prints one JSON object: the counts of both, the lines on which they differ, and what the load cost. Exits 1 where
they differ.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.fuzz.compare import compare


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        outcome = compare(options.folder or Path(scratch), options.number, options.seed)
    print(json.dumps(outcome.as_dict()))
    sys.exit(0 if outcome.agree else 1)


main()
