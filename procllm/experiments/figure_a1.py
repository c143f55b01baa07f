"""Figure A.1: one problem of Unit Movement, how an episode solves it, and what §5 says of the graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lab.models import engines
from lab.models.backbone import Backbone
from lab.models.connect import connected
from lab.results.exports import readable
from procllm.domains import Instance, domain
from procllm.domains.units import MovementProblem, along_edges
from procllm.experiments.episodes import OPERATORS
from procllm.trajectory import Step, Trajectory

if TYPE_CHECKING:
    import pandas as pd

PRINTED_EDGES = 9  # beyond the tree, in C.4.2: counted from its 17 lines


def answering(engine: str, others: Mapping[str, str] | None = None) -> Backbone:
    """Who acts and verifies. others: instead, for single operators. Raises as `lab.models.connect.connect` does, and
    BadEngine.
    """
    return connected(str(engines.routed(engine, others or {}, OPERATORS, "the episode")))


def request(instance: Instance) -> pd.DataFrame:
    """The request as the agent reads it, a row a line."""
    lines = [(line,) for line in instance.request.splitlines() if line]
    return readable(lines, ["request"])


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
    """What §5 says of the graph: in how many of `count` generated problems it is so, in percent, and in the example
    that the paper prints (C.4.2).

    Our generator was written to §5, so that its column is so by construction and reproduces nothing.
    """
    import pandas as pd

    problems = [instance.problem for instance in domain("units").instances(count, seed=seed, n=n, k=k)]
    # fact -> whether it holds of a problem, and what the printed example has
    facts: dict[str, tuple[Callable[[MovementProblem], bool], str]] = {
        "the target has four neighbours": (lambda p: len(p.network[p.target]) == 4, "four"),
        "each neighbour has at least three outer places": (
            lambda p: all(len(set(p.network[place]) - {p.target}) >= 3 for place in p.network[p.target]), "three",
        ),
        "there are 17 places": (lambda p: len(p.network) == 17, "17"),
        "there are 12 edges beyond the 16 of the tree": (
            lambda p: sum(map(len, p.network.values())) // 2 == 28, f"{PRINTED_EDGES}",
        ),
        "three groups of n units": (lambda p: len(p.units) == 3 * n, "n = 15"),
        "every unit is one edge from a neighbour of the target": (
            lambda p: all(set(p.network[place]) & set(p.network[p.target]) for place in p.units.values()), "yes",
        ),
    }  # fmt: skip
    lines = [
        {"fact": fact, "value": 100 * sum(map(holds, problems)) / count, "the paper's example": example}
        for fact, (holds, example) in facts.items()
    ]
    about = {"unit": "% of problems, by construction", "n": count, "evidence": "measured"}
    return pd.DataFrame(lines).assign(**about, backbone="none, a count")
