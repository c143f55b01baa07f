"""Blocks World: bring some of b blocks into one stack of height h (paper §5, C.3, D.3).

There is no solver and there are no tools: the plan is written as it is. The documents say what the paper's say, in
other words; the specification shows a solved example, where §5 has none. The network has the paper's structure, down to
a method that nothing decomposes into (`m-solve`).
"""

from __future__ import annotations

from pathlib import Path

from procllm.domains.base import Domain
from procllm.domains.blocks.checker import check
from procllm.domains.blocks.instances import instances

__all__ = ["DOMAIN"]

FOLDER = Path(__file__).parent

DOMAIN = Domain(
    name="blocks",
    title="Blocks World",
    specification=(FOLDER / "specification.txt").read_text(encoding="utf-8"),
    human=(FOLDER / "human.json").read_text(encoding="utf-8"),
    check=check,
    instances=instances,
)
