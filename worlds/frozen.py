"""Reader of the synthetic data: JSON lines in `data/synthetic`, written by `python -m scripts.make_synthetic`."""

from __future__ import annotations

import json
from typing import Any

from lab.machine.paths import ROOT
from lab.machine.reading import damaged, read_text

FOLDER = ROOT / "data" / "synthetic"


def read_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file in FOLDER, gzipped or not. Raises DamagedFile if it is damaged or missing."""
    path = FOLDER / name
    try:
        return [json.loads(line) for line in read_text(path).split("\n") if line]
    except ValueError as error:
        raise damaged(path, error) from None
