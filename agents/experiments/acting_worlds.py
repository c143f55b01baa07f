"""Acting agents on the worlds of StateFactory's benchmark: the tasks that are reported on, and our caps of steps.

No honest rule plays these worlds: offline the engine `oracle`, the world's expert, stands in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from agents.environment import Environment
from agents.experiments.acting import Acting
from agents.experiments.worlds import Tasks, of_thread
from agents.play import Settings
from agents.prompts import Past
from agents.stand_in import Expert, along, from_the_beginning
from agents.worlds.alfworld import household
from agents.worlds.blocksworld import stacking
from agents.worlds.textworld import adventure
from agents.worlds.webshop import Shopping
from lab.models.engines import ORACLE
from lab.runs.experiment import NOT_TOLD
from worlds.pool import Pool


@dataclass(frozen=True, kw_only=True)
class Setup(Tasks, Acting):
    """An agent on a world. listed: show it the valid actions before each turn, as StateFactory's ReAct is (C.6)."""

    engine: str = ORACLE
    settings: Settings = Settings(steps=50)
    listed: bool = False

    def solution(self, task: str) -> Sequence[str]:
        actions: Sequence[str] = self.solver().actions(self.named(task))
        return actions


@dataclass(frozen=True, kw_only=True)
class AlfWorld(Setup):
    """The games of unseen rooms, in 50 steps. Of the released ones there are 134, which StateFactory's Table 2 fits:
    its shares are 46 and 75 of 134.
    """

    name: ClassVar[str] = "alfworld"
    reported: ClassVar[str] = "valid_unseen"
    method: ClassVar[str] = "acting-alfworld"
    benchmark: ClassVar[str] = "AlfWorld"

    def environment(self, task: str) -> Environment:
        return household(self.world(), self.named(task), self.listed)

    def expert(self, task: str) -> Expert:
        """Plans anew before each action, in a game of its own; where no way is found, it takes the known one."""
        from worlds.alfworld.expert import next_command

        given, known = self.named(task), along(self.solution(task))
        own = of_thread(self._key("the expert's"), lambda: Pool(self.opened, given, size=1))

        def expert(turns: Sequence[Past]) -> str:
            if own.task is not given:  # another episode of this thread was played since the last turn
                own.on(given)
            return next_command(own.world([turn.action for turn in turns]), given) or known(turns)

        return expert


@dataclass(frozen=True, kw_only=True)
class BlocksWorld(Setup):
    """PlanBench's problems, or synthetic ones."""

    constant: str = field(default="pick up the red block", metadata=NOT_TOLD)

    name: ClassVar[str] = "blocksworld"
    method: ClassVar[str] = "acting-blocksworld"
    benchmark: ClassVar[str] = "BlocksWorld"

    def environment(self, task: str) -> Environment:
        return stacking(self.world(), self.named(task), self.listed)

    def expert(self, task: str) -> Expert:
        """Plans anew where a block was moved that should not have been: no other plan would go on from there."""
        from worlds.blocksworld.expert import Expert as Planner
        from worlds.blocksworld.expert import state_after

        given, planner = self.named(task), Planner(self.world(), "planner")

        def expert(turns: Sequence[Past]) -> str:
            state = state_after(given.problem, (turn.action for turn in turns))
            return planner.actions(replace(given, problem=replace(given.problem, start=state)))[0]

        return expert


@dataclass(frozen=True, kw_only=True)
class TextWorld(Setup):
    """Quests. quests: how many there are to choose from; RewardPrediction's first ones, with the same seed."""

    quests: int = 30

    name: ClassVar[str] = "textworld"
    selection: ClassVar[tuple[str, ...]] = (*Tasks.selection, "quests")
    method: ClassVar[str] = "acting-textworld"
    benchmark: ClassVar[str] = "TextWorld"

    def options(self) -> dict[str, Any]:
        return {"games": dict.fromkeys(("test", "train"), self.quests)}

    def environment(self, task: str) -> Environment:
        return adventure(self.world(), self.named(task), self.listed)


@dataclass(frozen=True, kw_only=True)
class WebShop(Setup):
    """Instructions. The expert begins again where it was led astray: a page is one of its way only in that order."""

    settings: Settings = Settings(steps=30)
    constant: str = field(default="search[gift]", metadata=NOT_TOLD)

    name: ClassVar[str] = "webshop"
    method: ClassVar[str] = "acting-webshop"
    benchmark: ClassVar[str] = "WebShop"

    def environment(self, task: str) -> Environment:
        return Shopping(self.world(), self.named(task), self.listed)

    def expert(self, task: str) -> Expert:
        return from_the_beginning(self.solution(task), "click[back to search]")
