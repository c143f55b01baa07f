"""Recipe Generator: name a dish that can be made from what the user has, found with two tools (paper §5, C.2, D.2).

The documents say what the paper's say, in other words. That only dishes known to the tools count stands, as there, in
the tools specification alone; `procllm.studies.recipes.chances` counts how often a guess without the tools is right.
The network has the paper's structure, down to three methods that nothing decomposes into (`m-solve` and the two that
note one document).
"""

from __future__ import annotations

from pathlib import Path

from procllm.domains.base import Domain
from procllm.domains.recipes.checker import check
from procllm.domains.recipes.instances import instances

__all__ = ["DOMAIN"]

FOLDER = Path(__file__).parent

DOMAIN = Domain(
    name="recipes",
    title="Recipe Generator",
    specification=(FOLDER / "specification.txt").read_text(encoding="utf-8"),
    tools_specification=(FOLDER / "tools_specification.txt").read_text(encoding="utf-8"),
    human=(FOLDER / "human.json").read_text(encoding="utf-8"),
    check=check,
    instances=instances,
    solver=True,
)
