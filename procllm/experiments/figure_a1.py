"""Figure A.1: one problem of Unit Movement, how an episode solves it, and whether the generator builds what §5 says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from lab.models import engines
from lab.models.backbone import Backbone
from lab.models.connect import connected
from lab.results.exports import readable
from procllm.domains import Instance, domain
from procllm.domains.units.checker import along_edges
from procllm.experiments.episodes import OPERATORS
from procllm.trajectory import Step, Trajectory

if TYPE_CHECKING:
    import pandas as pd


def answering(engine: str, others: Mapping[str, str] | None = None) -> Backbone:
    """Who acts and verifies. others: instead, for single operators. Raises as `lab.models.connect.connect` does, and
    UnknownOperator.
    """
    return connected(str(engines.routed(engine, others or {}, OPERATORS, "the episode")))


def steps(trajectory: Trajectory, choice: engines.Engine) -> pd.DataFrame:
    """The episode, an iteration a row. choice: the engine that answered; of a replay, the recorded one."""

    table = readable(trajectory.steps, Step._fields)
    table.insert(0, "iteration", range(1, len(table) + 1))
    return table.assign(evidence=choice.evidence, backbone=choice.label)


def moves(instance: Instance, trajectory: Trajectory, choice: engines.Engine) -> pd.DataFrame:
    """How the answer was judged, and which share of its moves goes along one edge, which no rule asks for."""
    import pandas as pd

    facts = {name: float(held) for name, held in trajectory.verdict.parts.items()}
    facts["share of moves along one edge"] = along_edges(instance, trajectory.answer)
    table = pd.DataFrame(facts.items(), columns=["fact", "value"])
    return table.assign(n=1, evidence=choice.evidence, backbone=choice.label)


def construction(count: int, n: int, k: int, seed: int = 0) -> pd.DataFrame:
    """What §5 says of the graph, held against `count` generated problems: in how many of them it is so, in percent."""
    import pandas as pd

    problems = [instance.problem for instance in domain("units").instances(count, seed=seed, n=n, k=k)]
    facts = {
        "the target has four neighbours": lambda p: len(p.network[p.target]) == 4,
        "each neighbour has at least three outer places": lambda p: all(
            len(set(p.network[place]) - {p.target}) >= 3 for place in p.network[p.target]
        ),
        "there are 17 places": lambda p: len(p.network) == 17,
        "there are 12 edges beyond the 16 of the tree": lambda p: sum(map(len, p.network.values())) // 2 == 28,
        "three groups of n units": lambda p: len(p.units) == 3 * n,
        "every unit is one edge from a neighbour of the target": lambda p: all(
            set(p.network[place]) & set(p.network[p.target]) for place in p.units.values()
        ),
    }
    lines = [{"fact": fact, "value": 100 * sum(map(holds, problems)) / count} for fact, holds in facts.items()]
    return pd.DataFrame(lines).assign(unit="% of problems", n=count, evidence="measured", backbone="none, a count")
