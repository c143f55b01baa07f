"""Figure A.1: one problem of Unit Movement, how an episode solves it, and what §5 says about the graph."""

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

PRINTED_EDGES = 9  # edges beyond the tree in C.4.2, counted from its 17 lines


def answering(engine: str, others: Mapping[str, str] | None = None) -> Backbone:
    """The backbone that acts and verifies. others: operator -> its engine, where it differs.

    Raises BadEngine, and as `lab.models.connect.connect` does.
    """
    return connected(str(engines.routed(engine, others or {}, OPERATORS, "the episode")))


def request(instance: Instance) -> pd.DataFrame:
    """The request as the agent reads it, one row a line."""
    lines = [(line,) for line in instance.request.splitlines() if line]
    return readable(lines, ["request"])


def steps(trajectory: Trajectory, choice: engines.Engine) -> pd.DataFrame:
    """The episode, one row an iteration. choice: the engine that answered; for a replay, the recorded one."""

    table = readable(trajectory.steps, Step._fields)
    table.insert(0, "iteration", range(1, len(table) + 1))
    return table.assign(evidence=choice.evidence, backbone=choice.label)


def moves(instance: Instance, trajectory: Trajectory, choice: engines.Engine) -> pd.DataFrame:
    """The checker's verdict, and the share of the moves that follow an edge, which no rule requires."""
    import pandas as pd

    facts = {name: float(holds) for name, holds in trajectory.verdict.parts.items()}
    facts["share of moves along one edge"] = along_edges(instance, trajectory.answer)
    table = pd.DataFrame(facts.items(), columns=["fact", "value"])
    return table.assign(n=1, evidence=choice.evidence, backbone=choice.label)


def construction(count: int, n: int, k: int) -> pd.DataFrame:
    """In how many of `count` generated problems each statement of §5 about the graph holds, in percent.

    The other column is the example that the paper prints (C.4.2). Our generator follows §5, so our column holds by
    construction and reproduces nothing.
    """
    import pandas as pd

    problems = [instance.problem for instance in domain("units").instances(count, n=n, k=k)]
    # fact -> a test of a problem, and the value in the printed example
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
    rows = [
        {"fact": fact, "value": 100 * sum(map(holds, problems)) / count, "the paper's example": example}
        for fact, (holds, example) in facts.items()
    ]
    columns = {"unit": "% of problems, by construction", "n": count, "evidence": "measured"}
    return pd.DataFrame(rows).assign(**columns, backbone="none, a count")
