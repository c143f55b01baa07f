"""Travel Planner: two flights and a room for a trip to one city, looked up with tools (paper §5, C.1, D.1)."""

from __future__ import annotations

from pathlib import Path

from procllm.domains.base import Domain
from procllm.domains.travel.checker import check
from procllm.domains.travel.instances import instances

_HERE = Path(__file__).parent

DOMAIN = Domain(
    name="travel",
    title="Travel Planner",
    specification=(_HERE / "specification.txt").read_text(encoding="utf-8"),
    tools_specification=(_HERE / "tools_specification.txt").read_text(encoding="utf-8"),
    human=(_HERE / "human.json").read_text(encoding="utf-8"),
    check=check,
    instances=instances,
    solver=True,
)
