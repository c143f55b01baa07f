"""Acting agents on any benchmark as an experiment: a subclass says which tasks, and in which environment."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from agents.environment import Environment
from agents.history import ACT, INVALID, MALFORMED, History, timeline
from agents.loops import goalact, plan_and_act, plan_and_solve, react, reflexion, tdp
from agents.play import Play, Settings, Watch, unwatched
from agents.search import interleave, retrieve_once
from agents.trivial import constant_action, do_nothing, first_action, random_action
from lab.models import rules
from lab.models.backbone import Backbone, Ledger
from lab.models.engines import ORACLE
from lab.results.outcomes import Judgement
from lab.runs.experiment import BadSetting
from lab.runs.playable import OnStep, Playable
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline
from lab.viewer.transcripts import Transcript
from worlds.base import NoSolution
from worlds.benchmark import Expert, along


class Agent(NamedTuple):
    """loop: plays one task. operators: that it asks. blanks: whether it plans or reflects, and so has a placebo.

    searches: whether it is for environments that search and finish alone. told: what of the experiment its loop takes
    by name.
    """

    loop: Callable[..., None]
    operators: tuple[str, ...]
    blanks: bool = False
    searches: bool = False
    told: tuple[str, ...] = ()


REACT = "ReAct"
ASKING = {  # a model
    REACT: Agent(react, (ACT,)),
    "Reflexion": Agent(reflexion, (ACT, "judge", "reflect"), blanks=True),
    "Plan-and-Solve": Agent(plan_and_solve, ("plan", ACT), blanks=True),
    "GoalAct": Agent(goalact, ("plan", ACT), blanks=True),
    "Plan-and-Act": Agent(plan_and_act, ("plan", ACT), blanks=True),
    "TDP": Agent(tdp, ("supervise", ACT), blanks=True),
    "retrieve once": Agent(retrieve_once, ("answer",), searches=True),
    "interleave": Agent(interleave, ("think", "answer"), searches=True),
}
IDLE, CONSTANT, FIRST, RANDOM = "do nothing", "constant action", "first action", "random action"
TRIVIAL = {  # they ask nobody: the floor of a world
    IDLE: Agent(do_nothing, ()),
    CONSTANT: Agent(constant_action, (), told=("constant",)),
    FIRST: Agent(first_action, ()),
    RANDOM: Agent(random_action, (), told=("seed",)),
}
AGENTS = ASKING | TRIVIAL
NOBODY = "first"  # the engine of agents that ask nobody, whatever is chosen: their numbers are measured


@dataclass(frozen=True, kw_only=True)
class Acting(Playable):
    """An agent on some tasks: played, scored, watched, resumed, recorded and shown alike on every benchmark.

    agent: of AGENTS. settings: the caps, and how answers are read.
    """

    agent: str = REACT
    settings: Settings = Settings()

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents")
    processes: ClassVar[int] = 1
    metric: ClassVar[str] = "score"
    constant: ClassVar[str] = "look"  # what the agent "constant action" does
    searched: ClassVar[bool] = False  # whether its environment searches and finishes, for agents that do no more
    ruled: ClassVar[tuple[str, ...]] = ()  # the kinds of data on which rules play it; elsewhere `oracle` stands in

    def __post_init__(self) -> None:
        """Raises BadSetting for an agent that there is not, that does not fit, or that has nothing to be blanked."""
        fit = [name for name, one in AGENTS.items() if self.searched or not one.searches]
        if self.settings.blank:
            fit = [name for name in fit if AGENTS[name].blanks]
        if self.agent not in fit:
            blank = " with blank plans" if self.settings.blank else ""
            raise BadSetting(f"agent={self.agent!r} of {type(self).__name__}{blank}: choose one of {', '.join(fit)}")

    @abstractmethod
    def environment(self, task: str) -> Environment:
        """The environment of one episode, with a world of its own."""

    def solution(self, task: str) -> Sequence[str]:
        """Actions in the environment that solve the task, for the engine `oracle` alone. Raises NoSolution."""
        raise NoSolution(f"{type(self).__name__} says no way to solve {task}: define `solution`, or use another engine")

    def expert(self, task: str) -> Expert:
        """Who knows the next action, for the engine `oracle` alone; by default it keeps to the solution."""
        return along(self.solution(task))

    def resolved(self) -> Self:
        """As of every experiment; an agent that asks nobody is the same run with any engine."""
        asks = AGENTS[self.agent].operators
        return super(Acting, self if asks else replace(self, engine=NOBODY)).resolved()

    def operators(self) -> tuple[str, ...]:
        operators = AGENTS[self.agent].operators
        judges = self.settings.success == "model"  # else the environment's score says what a judge would
        return tuple(name for name in operators if judges or name != "judge")

    def answering(self, task: str, environment: Environment) -> AbstractContextManager[None]:
        """Within, the engine `oracle` knows the task."""
        known = any(part.name == ORACLE for part in self.who.parts)
        return rules.knowing("agents.oracle", environment, self.expert(task)) if known else nullcontext()

    def acted(self, task: str, environment: Environment, backbone: Backbone, watch: Watch = unwatched) -> History:
        """The history of the agent on a task. `agents.play.Play` says what is shown, counted and raised."""
        play, agent = Play(environment, backbone, self.settings, watch), AGENTS[self.agent]
        agent.loop(play, **{name: getattr(self, name) for name in agent.told})
        return play.history

    def came_to(self, task: str, environment: Environment) -> dict[str, Any]:
        """What an episode came to, with `score`; JSON."""
        return environment.result()

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """One episode: what it came to, how it ended, what could not be used, and what it took."""
        environment = self.environment(task)
        with self.answering(task, environment):  # what an expert knows first, in the world that both may share
            history = self.acted(task, environment, ledger)
        cost = history.cost
        return {
            **self.came_to(task, environment), "end": history.end, "steps": history.steps,
            "malformed": history.count(MALFORMED), "invalid": history.count(INVALID),
            "cut": sum(turn.cut for turn in history.turns),
            "calls": cost.calls, "tokens_in": cost.tokens_in, "tokens_out": cost.tokens_out,
            "history": history.to_json(),
        }  # fmt: skip

    def watch(self, task: str, transcript: Transcript, seen: OnStep = lambda shown: None) -> Timeline:
        """One episode, shown before each turn."""

        def so_far(history: History) -> None:
            seen(timeline(task, history, transcript.exchanges))

        environment = self.environment(task)
        with self.answering(task, environment):
            history = self.acted(task, environment, transcript, so_far)
        return timeline(task, history, transcript.exchanges, self.came_to(task, environment)["score"])

    def judged(self, episode: Episode) -> Judgement:
        """The score that the run kept; short of the best one, with how the episode ended and what could not be used."""
        if episode.failed:
            return super().judged(episode)
        kept = episode.result
        faults = [f"{kept[name]} {name}" for name in (MALFORMED, INVALID) if kept[name]]
        return Judgement(kept["score"], "" if kept["score"] == 1 else ", ".join([kept["end"], *faults]))

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The history."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        kept = episode.result
        return timeline(episode.task, History.from_json(kept["history"]), exchanges, kept["score"])
