"""Unit Movement: surround a target in a network of places from three sides (paper §5, C.4, D.4).

There is no solver and there are no tools: the moves are written as they are. The documents say what the paper's say, in
other words. The network has the paper's structure, down to a method that nothing decomposes into (`m-note-both`).
"""

from __future__ import annotations

from pathlib import Path

from procllm.domains.base import Domain
from procllm.domains.units.checker import check
from procllm.domains.units.instances import instances

__all__ = ["DOMAIN"]

FOLDER = Path(__file__).parent

DOMAIN = Domain(
    name="units",
    title="Unit Movement",
    specification=(FOLDER / "specification.txt").read_text(encoding="utf-8"),
    human=(FOLDER / "human.json").read_text(encoding="utf-8"),
    check=check,
    instances=instances,
)
