"""The demonstration: the sample logs loaded into a warehouse of their own."""

from __future__ import annotations

import shutil
from pathlib import Path

from dashboard.errors import UserError

SAMPLE = Path(__file__).resolve().parent.parent / "sample_data"
FOLDER = Path("warehouse-demo")
MARK = "DEMO"


def fresh_warehouse(folder: Path) -> Path:
    """An empty demonstration warehouse at `folder`, where at most an older one stood.

    Raises UserError where something else lies there, or the sample is missing.
    """
    if not SAMPLE.is_dir():
        raise UserError(f"{SAMPLE}: the sample logs are missing; run this from a clone of the repository")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MARK).is_file():
            raise UserError(f"{folder}: is not empty, and no demonstration; name another folder with --warehouse DIR")
        shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARK).write_text("Made by `retrylens demo`, which may delete this folder.\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{folder}: cannot be made ({error.strerror}); name another with --warehouse DIR") from None
    return folder
