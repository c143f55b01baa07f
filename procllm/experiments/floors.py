"""Floors of ProcLLM's domains: an empty, a constant or a copied answer, and rules under the hand-made network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from lab.models.backbone import Ledger
from lab.runs.experiment import NOT_KEPT
from lab.runs.floors import CONSTANT, DO_NOTHING, EXPERT, FIRST, PLACEBO, RANDOM, Panel
from procllm.conditions import NONE
from procllm.domains import Domain, domain
from procllm.experiments.episodes import Episodes, result_of
from procllm.trajectory import Trajectory

COUNT = 30  # instances, in domains that generate any number
CONSTANTS = {"travel": "{}", "recipes": "Soup", "blocks": "pick red", "units": "[]"}  # answers of the right form


@dataclass(frozen=True, kw_only=True)
class Answering(Episodes):
    """No agent: gives the same answer to each problem, "" for none, or what it copies from the request.

    copy(request) -> the answer, in place of `answer`.
    """

    answer: str = ""
    copy: Callable[[str], str] | None = field(default=None, metadata=NOT_KEPT)

    method: ClassVar[str] = "procllm-constant"

    def operators(self) -> tuple[str, ...]:
        return ()

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        instance = self.instances()[task]
        answer = self.copy(instance.request) if self.copy else self.answer
        return result_of(Trajectory(task, (), "done", (), answer, "", domain(self.domain).check(instance, answer)))


def panel(of: str | Domain, answer: str, limit: int = COUNT) -> Panel:
    """The floors of a domain, by name or a reader's own: no answer, a constant answer, and rules as the expert."""
    domain_setting: dict[str, Any] = {"domain": of} if isinstance(of, str) else {"own": of}
    constant = partial(Answering, engine="first", network=NONE, **domain_setting)
    return Panel(
        {DO_NOTHING: constant(), CONSTANT: constant(answer=answer), EXPERT: Episodes(**domain_setting)},
        limit=limit,
        lacks=dict.fromkeys((FIRST, RANDOM, PLACEBO), "Act writes files, and no null model writes texts"),
    )


travel = partial(panel, "travel", CONSTANTS["travel"], 0)
recipes, blocks, units = (partial(panel, name, CONSTANTS[name]) for name in ("recipes", "blocks", "units"))
