"""Acting agents as an experiment on any benchmark; a subclass provides the tasks and their environment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

from agents.environment import Environment, InWorld
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
from worlds.benchmark import Benchmark, Expert, along


class Agent(NamedTuple):
    """An acting agent. loop: plays one task. operators: those it asks. blanks: it plans or reflects: it has a placebo.

    searches: it only plays environments that search and finish. own_actions: it offers actions besides the world's, so
    they cannot be bound to the world's form. told: fields of the experiment that its loop takes as keyword arguments.
    """

    loop: Callable[..., None]
    operators: tuple[str, ...]
    blanks: bool = False
    searches: bool = False
    own_actions: bool = False
    told: tuple[str, ...] = ()


REACT = "ReAct"
ASKING = {  # agents that ask a model
    REACT: Agent(react, (ACT,)),
    "Reflexion": Agent(reflexion, (ACT, "judge", "reflect"), blanks=True),
    "Plan-and-Solve": Agent(plan_and_solve, ("plan", ACT), blanks=True),
    "GoalAct": Agent(goalact, ("plan", ACT), blanks=True),
    "Plan-and-Act": Agent(plan_and_act, ("plan", ACT), blanks=True),
    "TDP": Agent(tdp, ("supervise", ACT), blanks=True, own_actions=True),
    "retrieve once": Agent(retrieve_once, ("answer",), searches=True),
    "interleave": Agent(interleave, ("think", "answer"), searches=True),
}
IDLE, CONSTANT, FIRST, RANDOM = "do nothing", "constant action", "first action", "random action"
TRIVIAL = {  # agents that ask no model: the floor of a world
    IDLE: Agent(do_nothing, ()),
    CONSTANT: Agent(constant_action, (), told=("constant",)),
    FIRST: Agent(first_action, ()),
    RANDOM: Agent(random_action, (), told=("seed",)),
}
AGENTS = ASKING | TRIVIAL
BINDABLE = frozenset(name for name, agent in ASKING.items() if ACT in agent.operators and not agent.own_actions)
NOBODY = "first"  # the engine of agents that ask no model, whatever is chosen: their numbers are measured


@dataclass(frozen=True, kw_only=True)
class Acting(Playable):
    """An agent on some tasks: played, scored, watched, resumed, recorded and shown alike on every benchmark.

    agent: a key of AGENTS. settings: the caps, and how answers are parsed.
    """

    agent: str = REACT
    settings: Settings = Settings()

    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "agents")
    processes: ClassVar[int] = 1
    metric: ClassVar[str] = "score"
    tools: ClassVar[str] = ""  # the actions as text, for the default environment
    constant: ClassVar[str] = "look"  # the action that the agent "constant action" repeats
    searched: ClassVar[bool] = False  # whether its environment searches and finishes, for agents with `searches`
    ruled: ClassVar[tuple[str, ...]] = ()  # the kinds of data that rules can play; elsewhere `oracle` stands in

    def __post_init__(self) -> None:
        """Raises BadSetting for an agent that is unknown, does not fit the environment, or has nothing to blank."""
        names = [name for name, agent in AGENTS.items() if self.searched or not agent.searches]
        if self.settings.blank:
            names = [name for name in names if AGENTS[name].blanks]
        if self.agent not in names:
            blank = " with blank plans" if self.settings.blank else ""
            raise BadSetting(f"agent={self.agent!r} of {type(self).__name__}{blank}: choose one of {', '.join(names)}")

    def environment(self, task: str) -> Environment:
        """The environment of one episode, with its own world.

        Default: the world of the `worlds.Benchmark` that the class inherits from, with the valid actions that it lists.
        Prompts are named after the benchmark. Raises TypeError without `tools`.
        """
        if not (self.tools and isinstance(self, Benchmark)):
            name = type(self).__name__
            raise TypeError(f"{name}: inherit from a worlds.Benchmark and give it `tools`, or define `environment`")
        return InWorld(self.opened(), self.named(task), self.benchmark, self.tools, listed=True)

    def solution(self, task: str) -> Sequence[str]:
        """Actions in the environment that solve the task; only the engine `oracle` uses them. Raises NoSolution."""
        raise NoSolution(f"{type(self).__name__} says no way to solve {task}: define `solution`, or use another engine")

    def expert(self, task: str) -> Expert:
        """The expert that knows the next action, for the engine `oracle` alone; by default it follows `solution`."""
        return along(self.solution(task))

    def resolved(self) -> Self:
        """As for every experiment; an agent that asks no model is the same run with any engine."""
        asks = AGENTS[self.agent].operators
        return super(Acting, self if asks else replace(self, engine=NOBODY)).resolved()

    def operators(self) -> tuple[str, ...]:
        operators = AGENTS[self.agent].operators
        judges = self.settings.success == "model"  # else the environment's score replaces the judge
        return tuple(name for name in operators if judges or name != "judge")

    def answering(self, task: str, environment: Environment) -> AbstractContextManager[None]:
        """A context in which the engine `oracle` knows the task."""
        uses_oracle = any(part.name == ORACLE for part in self.who.parts)
        return rules.knowing("agents.oracle", environment, self.expert(task)) if uses_oracle else nullcontext()

    def acted(self, task: str, environment: Environment, backbone: Backbone, watch: Watch = unwatched) -> History:
        """Play a task; return the history. See `agents.play.Play` for display, counts and errors."""
        play, agent = Play(environment, backbone, self.settings, watch), AGENTS[self.agent]
        agent.loop(play, **{name: getattr(self, name) for name in agent.told})
        return play.history

    def came_to(self, task: str, environment: Environment) -> dict[str, Any]:
        """The result of an episode, with `score`; JSON values."""
        return environment.result()

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Play one episode; return its result, how it ended, its malformed and invalid answers, and its cost."""
        environment = self.environment(task)
        with self.answering(task, environment):  # first the expert's part, in the world that both may share
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
        """Play one episode; `seen` gets the timeline before each turn."""

        def so_far(history: History) -> None:
            seen(timeline(task, history, transcript.exchanges))

        environment = self.environment(task)
        with self.answering(task, environment):
            history = self.acted(task, environment, transcript, so_far)
        return timeline(task, history, transcript.exchanges, self.came_to(task, environment)["score"])

    def judged(self, episode: Episode) -> Judgement:
        """The stored score; below 1, the reason is how the episode ended, with its malformed and invalid answers."""
        if episode.failed:
            return super().judged(episode)
        result = episode.result
        faults = [f"{result[name]} {name}" for name in (MALFORMED, INVALID) if result[name]]
        return Judgement(result["score"], "" if result["score"] == 1 else ", ".join([result["end"], *faults]))

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The episode's history as a timeline."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        result = episode.result
        return timeline(episode.task, History.from_json(result["history"]), exchanges, result["score"])
