"""Acting agents on each benchmark: its environment and its cap of steps, the same as SDP's if SDP plays it.

No honest rule can play most of these worlds: offline the engine `oracle`, the world's expert, stands in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from agents.environment import Environment
from agents.experiments.acting import Acting
from agents.play import Settings
from agents.worlds.assistantbench import Browsing
from agents.worlds.games import ALFWORLD, BLOCKSWORLD, TEXTWORLD
from agents.worlds.multihop import Asking
from agents.worlds.scienceworld import Visiting
from agents.worlds.travelplanner import Planning, delivered
from agents.worlds.webshop import Shopping
from lab.models.engines import ORACLE
from lab.results.outcomes import Judgement
from lab.runs.run import Episode
from worlds.alfworld import AlfWorldGames
from worlds.assistantbench import AssistantBenchQuestions
from worlds.benchmark import Benchmark
from worlds.blocksworld import BlocksWorldProblems
from worlds.multihop import HotpotQAQuestions, MultiHopQuestions, MuSiQueQuestions
from worlds.scienceworld import ScienceWorldTasks
from worlds.textworld import TextWorldQuests
from worlds.travelplanner import TravelPlannerQueries, first_failure
from worlds.webshop import WebShopInstructions


@dataclass(frozen=True, kw_only=True)
class Listing(Benchmark, Acting):
    """A world that can list valid actions. listed: show them before each turn, as to StateFactory's ReAct (C.6)."""

    engine: str = ORACLE
    settings: Settings = Settings(steps=50)
    listed: bool = False

    made: ClassVar[Callable[..., Environment]]  # builds the environment from a world, a task and `listed`

    def environment(self, task: str) -> Environment:
        return type(self).made(self.world(), self.named(task), self.listed)


@dataclass(frozen=True, kw_only=True)
class AlfWorld(AlfWorldGames, Listing):
    method: ClassVar[str] = "acting-alfworld"
    made = ALFWORLD.environment


@dataclass(frozen=True, kw_only=True)
class BlocksWorld(BlocksWorldProblems, Listing):
    constant: ClassVar[str] = "pick up the red block"
    method: ClassVar[str] = "acting-blocksworld"
    made = BLOCKSWORLD.environment


@dataclass(frozen=True, kw_only=True)
class TextWorld(TextWorldQuests, Listing):
    method: ClassVar[str] = "acting-textworld"
    made = TEXTWORLD.environment


@dataclass(frozen=True, kw_only=True)
class WebShop(WebShopInstructions, Listing):
    settings: Settings = Settings(steps=30)

    constant: ClassVar[str] = "search[gift]"
    method: ClassVar[str] = "acting-webshop"
    made = Shopping


@dataclass(frozen=True, kw_only=True)
class ScienceWorld(ScienceWorldTasks, Listing):
    """At most 500 steps, as for SDP (A.3). An endpoint's `context` limits what an agent reads.

    points: append the points that an action gained to its observation, as for SDP.
    """

    settings: Settings = Settings(steps=500)
    points: bool = True

    constant: ClassVar[str] = "look around"
    method: ClassVar[str] = "acting-scienceworld"

    def environment(self, task: str) -> Visiting:
        return Visiting(self.world(), self.named(task), self.listed, self.points)


@dataclass(frozen=True, kw_only=True)
class TravelPlanner(TravelPlannerQueries, Acting):
    """At most 100 steps, as for SDP.

    cities: "reference", given to the agent as SDP is given them by default (privileged), or "propose", chosen by the
    agent. Engines: `rules` answer synthetic queries with cities="reference"; `oracle` submits the plan of
    `worlds.travelplanner.expert.solve`.
    """

    engine: str = ORACLE
    cities: Literal["reference", "propose"] = "reference"
    settings: Settings = Settings(steps=100)

    constant: ClassVar[str] = "Submit[[]]"
    method: ClassVar[str] = "acting-travelplanner"
    informed: ClassVar[bool] = True  # what a synthetic query asks for is stored with it
    ruled: ClassVar[tuple[str, ...]] = ("synthetic",)

    def environment(self, task: str) -> Planning:
        query = self.named(task)
        return Planning(self.opened(), query, query.ref_cities if self.cities == "reference" else ())

    def judged(self, episode: Episode) -> Judgement:
        """The official evaluator's verdict on the plan, in addition to how the episode ended."""
        judged = super().judged(episode)
        if episode.failed or judged.score == 1:
            return judged
        failure = first_failure(self.verdict(episode.task, delivered(episode.result)))
        return Judgement(judged.score, f"{judged.reason}; {failure}")


@dataclass(frozen=True, kw_only=True)
class AssistantBench(AssistantBenchQuestions, Acting):
    """An agent that searches, reads and answers, in at most 20 steps, as SDP.

    No honest rule can read pages one by one: offline the engine is `oracle`, which knows the evidence and the answer.
    """

    engine: str = ORACLE

    constant: ClassVar[str] = "answer yes"
    method: ClassVar[str] = "acting-assistantbench"

    def environment(self, task: str) -> Browsing:
        return Browsing(self.opened(), self.named(task))

    def came_to(self, task: str, environment: Environment) -> dict[str, Any]:
        """The result with all measures that the official scorer gives the answer."""
        result = environment.result()
        return result | self.graded(task, result["answer"]) | {"injected": self.injected(result["read"])}


@dataclass(frozen=True, kw_only=True)
class MultiHop(MultiHopQuestions, Acting):
    """An agent that searches and answers; in the distractor setting it searches a question's own paragraphs."""

    constant: ClassVar[str] = "finish[yes]"
    searched: ClassVar[bool] = True
    ruled: ClassVar[tuple[str, ...]] = ("synthetic", "official")  # on real questions these rules give up, as SDP's do

    def environment(self, task: str) -> Asking:
        return Asking(self.opened(), self.named(task))

    def solution(self, task: str) -> list[str]:
        """A search for each gold paragraph by its title, then the answer, as actions of the environment."""
        question = self.world().hidden(self.named(task))
        return [*(f"search[{paragraph.title}]" for paragraph in question.gold), f"finish[{question.answer}]"]


@dataclass(frozen=True, kw_only=True)
class HotpotQA(HotpotQAQuestions, MultiHop):
    """At most 20 steps, as for SDP (A.5)."""

    method: ClassVar[str] = "acting-hotpotqa"


@dataclass(frozen=True, kw_only=True)
class MuSiQue(MuSiQueQuestions, MultiHop):
    """At most 25 steps, as for SDP (A.6)."""

    settings: Settings = Settings(steps=25)

    method: ClassVar[str] = "acting-musique"


ACTING: dict[str, type[Acting]] = {
    kind.benchmark: kind
    for kind in (
        AlfWorld, AssistantBench, BlocksWorld, HotpotQA, MuSiQue, ScienceWorld, TextWorld, TravelPlanner, WebShop,
    )
}  # fmt: skip
