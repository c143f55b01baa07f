"""Multi-hop questions as experiments: which questions, for any method; and the agents that answer in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, Literal, Self

from agents import noise, rules  # noqa: F401  (registers what answers offline)
from agents.chain_of_thought import chain_of_thought
from agents.direct import direct
from agents.prompts import DIRECT
from agents.worlds.multihop import FORM
from lab.models.backbone import Ledger
from lab.models.engines import parse
from lab.models.usage import cost_of
from lab.results.outcomes import Judged
from lab.runs.experiment import Experiment, spread
from lab.runs.run import Episode
from worlds.multihop import HopTask, MultiHop, load
from worlds.multihop.metrics import recall
from worlds.multihop.world import as_text


@dataclass(frozen=True, kw_only=True)
class Questions(Experiment):
    """Some questions of a dataset, by the official exact match.

    setting: "distractor", where ten or twenty paragraphs come with a question, or "open", where they are searched.
    split: as the world has them: the templates of synthetic questions, or how well evidence is annotated; "" for the
    first.
    """

    setting: Literal["distractor", "open"] = "distractor"
    split: str = ""

    dataset: ClassVar[str]
    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "setting", "split")
    metric: ClassVar[str] = "exact match"

    def decided(self) -> Self:
        """With `data` and `split` decided. For rules "auto" means synthetic data: they read no other."""
        read = "synthetic" if self.data == "auto" and parse(self.engine).needs_rules else self.data
        world = replace(self, data=read).world()
        return replace(self, data=world.data, split=self.split or world.splits[0])

    def world(self) -> MultiHop:
        """The questions and, in the open setting, what is searched; shared by all episodes."""
        return _world(self.dataset, self.setting, self.data, self.seed)

    def tasks(self) -> list[str]:
        """Ids of the questions, sorted. Raises ValueError for a split that there is not."""
        known = self.world().tasks(self.split or self.world().splits[0])
        return spread(sorted(task.id for task in known), self.limit)


AGENTS: dict[str, Callable[..., str]] = {"direct": direct, "chain of thought": chain_of_thought}
EVIDENCE = {"none": "closed book", "shown": "the paragraphs of the distractor setting", "gold": "the gold paragraphs"}


@dataclass(frozen=True, kw_only=True)
class Setup(Questions):
    """An agent that answers in one call, from what it is given; `HotpotQA` and `MuSiQue` are the datasets.

    evidence: "none", a closed book; "shown", all paragraphs of the distractor setting; or "gold", the annotated ones
    alone, which no agent would be given: the ceiling of a model that reads.
    """

    agent: Literal["direct", "chain of thought"] = "direct"
    evidence: Literal["none", "shown", "gold"] = "shown"

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents")

    def operators(self) -> tuple[str, ...]:
        return (DIRECT.operator,)

    def calls(self, task: str) -> dict[str, int]:
        return {DIRECT.operator: 1}

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """The answer, its EM and F1, the share of gold paragraphs in the evidence (None if unknown), and its cost."""
        world = self.world().apart()
        asked = world.named(task)
        shown = self._evidence(world, asked)
        answer = AGENTS[self.agent](ledger, asked.goal, FORM, as_text(shown))
        told = world.step(f"answer {answer}").facts if answer.strip() else {"em": 0.0, "f1": 0.0}
        gold, cost = world.hidden(asked).gold, cost_of(ledger.calls)
        return {
            "score": told["em"], "answer": answer, "em": told["em"], "f1": told["f1"],
            "gold_seen": recall(shown, gold) if gold else None,
            "calls": cost.calls, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out,
        }  # fmt: skip

    def judged(self, episode: Episode) -> Judged:
        """Exact match of the answer."""
        return super().judged(episode) if episode.failed else Judged(episode.result["em"])

    def _evidence(self, world: MultiHop, task: HopTask) -> tuple[Any, ...]:
        """Raises ValueError for gold paragraphs that nobody annotated."""
        start = world.reset(task)
        if self.evidence == "none":
            return ()
        if self.evidence == "shown":
            return tuple(start.facts["paragraphs"])
        gold = world.hidden(task).gold
        if not gold:
            raise ValueError(f"the gold paragraphs of {task.id} are not annotated; choose another split or evidence")
        return tuple(gold)


@dataclass(frozen=True, kw_only=True)
class HotpotQA(Setup):
    """One call on HotpotQA."""

    dataset: ClassVar[str] = "hotpotqa"
    method: ClassVar[str] = "agents-hotpotqa"


@dataclass(frozen=True, kw_only=True)
class MuSiQue(Setup):
    """One call on MuSiQue."""

    dataset: ClassVar[str] = "musique"
    method: ClassVar[str] = "agents-musique"


@cache
def _world(dataset: str, setting: str, data: str, seed: int) -> MultiHop:
    return load(dataset, setting, data, seed, list_actions=False)
