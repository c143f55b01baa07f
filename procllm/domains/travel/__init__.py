"""Travel Planner: two flights and a room for a trip to one city, looked up with tools (paper §5, C.1, D.1).

The problem specification says more than the paper's (C.1.1), which names the two tools, the format of the answer and
the odd names of accommodations. Ours adds what the checker holds an answer to: route and day of each flight, that the
accommodation is for all nights and has to suit the request and the party, how prices add up to a total within the
budget, and the order of §5. So an agent can fail here by choosing wrongly, and not by guessing what is asked of it.
"""

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
