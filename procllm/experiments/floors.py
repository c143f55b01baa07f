"""The floors of ProcLLM's domains: an empty answer and a constant one, and rules under the hand-made network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from lab.models.backbone import Ledger
from lab.runs.experiment import spread
from lab.runs.floors import CONSTANT, DO_NOTHING, EXPERT, FIRST, PLACEBO, RANDOM, Panel
from procllm.conditions import HUMAN, NONE
from procllm.domains import domain
from procllm.experiments.episodes import Problems, Setup, split
from procllm.trajectory import Trajectory

COUNT = 30  # instances of the domains that make as many as one likes


@dataclass(frozen=True, kw_only=True)
class Limited(Setup):
    """ProcLLM's loop on at most `limit` of the problems, spread evenly; 0 for all."""

    def tasks(self) -> list[str]:
        return spread(super().tasks(), self.limit)


@dataclass(frozen=True, kw_only=True)
class Answering(Limited):
    """No agent: the same answer to each problem, "" for none."""

    answer: str = ""

    method: ClassVar[str] = "procllm-constant"

    def operators(self) -> tuple[str, ...]:
        return ()

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        problems, instance = self.instances()[split(task)[1]]
        verdict = domain(problems.domain).check(instance, self.answer)
        return Trajectory(instance.id, (), "done", (), self.answer, "", verdict).to_json()


def panel(name: str, answer: str, count: int = COUNT) -> Panel:
    problems = (Problems(name, count),)
    texts = "Act writes files, and no null model writes texts"
    return Panel(
        {
            DO_NOTHING: Answering(engine="first", problems=problems, conditions=(NONE,)),
            CONSTANT: Answering(engine="first", problems=problems, conditions=(NONE,), answer=answer),
            EXPERT: Limited(problems=problems, conditions=(HUMAN,)),
        },
        lacks=dict.fromkeys((FIRST, RANDOM, PLACEBO), texts),
    )


travel = partial(panel, "travel", "{}", -1)
recipes = partial(panel, "recipes", "Soup")
blocks = partial(panel, "blocks", "pick red")
units = partial(panel, "units", "[]")
