"""Monte Carlo tree search over what a world model foresees, with a predictor as value (Appendix C.6.3).

One simulation walks down by upper confidence bounds (UCT, Kocsis and Szepesvári 2006) to a node that was not expanded
yet, asks there for K actions, foresees what each leads to and scores all of them at once. It ends at the best of them:
a rollout that is truncated after one step. At each real step the most visited action is taken, and what was thought of
it is kept as long as the world answers as foreseen.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import log, sqrt
from pathlib import Path as FilePath
from typing import Any, Generic, TypeVar

from agents.environment import Environment
from agents.history import CALLS, FINISHED, INVALID, NO_ANSWER, STEPS, History, Turn
from lab.machine.files import write_atomically
from lab.models.usage import Cost
from statefactory.planning.budget import Meter, OutOfBudget
from statefactory.planning.lookahead import Lookahead
from statefactory.planning.paths import Path
from statefactory.planning.proposals import Proposer
from statefactory.planning.tree import Node, Row, rows, tree

M = TypeVar("M")
Watch = Callable[["Episode"], None]


def unwatched(episode: Episode) -> None:
    """Watch nothing."""


@dataclass(frozen=True)
class Settings:
    """simulations: at each real step. width: K, the actions that are asked for at a node; 0 for all that are listed.
    exploration: the factor of UCT's bound. discount: of rewards that are a step further off. steps: real ones in an
    episode. outcomes: how often the world model may be asked in an episode; 0 for any number. The calls of models are
    capped by a `Meter`.

    K = 3 is the paper's; the others it does not give. UCB1's factor of √2 is for values that fill [0, 1]. Gains are
    differences of two scores in [0, 1], and most actions gain 0 to 0.3 (Table 17): ours is a tenth, so that a node of
    a clear gain is followed for some visits before those of no gain are looked at again. The discount is ours: without
    one a detour to the same score is worth as much as the straight way, and is taken as often.
    """

    simulations: int = 16
    width: int = 3
    exploration: float = 0.1
    discount: float = 0.95
    steps: int = 50
    outcomes: int = 0

    def __post_init__(self) -> None:
        """Raises ValueError naming what is too small."""
        least = {"simulations": 1, "width": 0, "exploration": 0, "steps": 1, "outcomes": 0}
        if wrong := [f"{name}={getattr(self, name)}" for name, few in least.items() if getattr(self, name) < few]:
            raise ValueError(f"{', '.join(wrong)}: simulations and steps are at least 1, the others at least 0")
        if not 0 < self.discount <= 1:
            raise ValueError(f"discount={self.discount}: it is above 0 and at most 1")


@dataclass
class Episode:
    """An episode as far as it was planned; JSON but for the memories.

    root: of the tree over what may follow the path. simulated: at this real step. outcomes: the world model's so far.
    surprises: how often the world answered other than was foreseen. trees: as rows, when each real step was decided.
    """

    path: Path
    root: Node
    history: History
    simulated: int = 0
    outcomes: int = 0
    surprises: int = 0
    trees: list[list[Row]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        about = {name: getattr(self, name) for name in ("simulated", "outcomes", "surprises", "trees")}
        return about | {"path": asdict(self.path), "root": rows(self.root), "history": self.history.to_json()}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Episode:
        """What `to_json` wrote."""
        steps = tuple((action, observation) for action, observation in kept["path"]["steps"])
        return cls(**{**kept, "path": Path(kept["path"]["goal"], kept["path"]["first"], steps),
                      "root": tree(kept["root"]), "history": History.from_json(kept["history"])})  # fmt: skip


@dataclass
class Planner(Generic[M]):
    """Who looks ahead, who proposes, and the caps. meter: the backbone that all of them ask, where any is asked."""

    lookahead: Lookahead[M]
    proposer: Proposer
    settings: Settings = Settings()
    meter: Meter | None = None

    def begin(self, goal: str, first: str) -> Episode:
        """An episode before any action. first: the first observation. Raises what the predictor raises."""
        path = Path(goal, first)
        try:
            memory = self.lookahead.start(path)
            root = Node("", first, self.lookahead.predictor.score(memory), memory=memory)
        except OutOfBudget:
            return Episode(path, Node("", first, 0.0), History(first, end=CALLS))
        return Episode(path, root, History(first))

    def simulate(self, episode: Episode) -> None:
        """One simulation: walk down, expand, and back up what the best child is worth.

        Raises OutOfBudget with the tree as it was before.
        """
        way, path = [episode.root], episode.path
        while way[-1].children:
            parent = way[-1]
            way.append(max(way[-1].children, key=lambda child: self._bound(parent, child)))
            path = path.then(way[-1].action, way[-1].observation)
        if not way[-1].done and way[-1].children is None:
            way[-1].children = self._children(episode, way, path)
            if best := max(way[-1].children, key=lambda child: child.reward, default=None):
                way.append(best)
        _back_up(way, self.settings.discount)

    def search(self, episode: Episode, simulated: Callable[[], None] = lambda: None) -> None:
        """The simulations of a real step that are still to do, as far as the budget goes; each is told when done."""
        with suppress(OutOfBudget):
            while episode.simulated < self.settings.simulations:
                self.simulate(episode)
                episode.simulated += 1
                simulated()

    def act(self, episode: Episode, environment: Environment) -> None:
        """Take the most visited action, and go on from there: with what was thought of it, if it came as foreseen."""
        best = episode.root.best
        if best is None:
            # A root that was expanded had no action proposed; any other was not for want of budget.
            episode.history = episode.history.ended(CALLS if episode.root.children is None else NO_ANSWER)
            return
        episode.trees.append(rows(episode.root))
        seen = environment.act(best.action)
        why = f"{best.visits} of {episode.root.visits} visits, value {best.value:+.2f}"
        cost = _less(self.cost, episode.history.cost)
        turn = Turn(seen.text, why, best.action, fault="" if seen.valid else INVALID, cost=cost)
        before = self._memory(episode, [episode.root])
        episode.path, episode.simulated = episode.path.then(best.action, seen.text), 0
        episode.history = episode.history.then(turn)
        if seen.done or episode.history.steps >= self.settings.steps:
            episode.history = episode.history.ended(FINISHED if seen.done else STEPS)
        elif best.done or best.observation != seen.text:
            self._surprised(episode, before)
        else:
            episode.root = best

    @property
    def cost(self) -> Cost:
        """Of all calls so far."""
        return self.meter.cost if self.meter else Cost()

    def _bound(self, parent: Node, child: Node) -> float:
        # One visit more than there were: a child that was not visited is not unknown, since its outcome was scored.
        return child.value + self.settings.exploration * sqrt(log(parent.visits) / (child.visits + 1))

    def _children(self, episode: Episode, way: list[Node], path: Path) -> list[Node]:
        left = self.settings.outcomes - episode.outcomes if self.settings.outcomes else None
        if left == 0:
            raise OutOfBudget(f"all {self.settings.outcomes} outcomes were foreseen")
        memory = self._memory(episode, way)
        actions = self.proposer.actions(path, self.settings.width)[:left]
        episode.outcomes += len(actions)
        found, after = self.lookahead.candidates(path, memory, actions)
        return [
            Node(one.action, one.outcome.observation, one.score, one.gain, one.repeated, one.reward, one.outcome.done,
                 one.outcome.known, memory=memory)
            for one, memory in zip(found, after, strict=True)
        ]  # fmt: skip

    def _surprised(self, episode: Episode, before: M) -> None:
        """What was thought is of another world: begin a tree where the episode really stands."""
        predictor, (action, observation) = self.lookahead.predictor, episode.path.steps[-1]
        episode.surprises += 1
        try:
            memory = predictor.advance(before, action, observation)
            episode.root = Node(action, observation, predictor.score(memory), memory=memory)
        except OutOfBudget:
            episode.history = episode.history.ended(CALLS)

    def _memory(self, episode: Episode, way: list[Node]) -> M:
        """The memory at the end of a way from the root; those that a resumed search lacks are made again."""
        with self.meter.again() if self.meter else nullcontext():
            if way[0].memory is None:
                way[0].memory = self.lookahead.start(episode.path)
            for before, node in pairwise(way):
                if node.memory is None:
                    node.memory = self.lookahead.predictor.advance(before.memory, node.action, node.observation)
        memory: M = way[-1].memory
        return memory


def plan(
    environment: Environment, goal: str, planner: Planner[Any], kept: FilePath | None = None, watch: Watch = unwatched
) -> Episode:
    """Play one task: at each real step search, then act, until it is done or a cap is met.

    kept: a file that the episode is written to after each simulation, and resumed from if it is there: the actions so
    far are played again, and model answers are expected in a cache. watch: is shown the episode before each search.
    Raises what planner and environment raise, and ValueError for a file of another episode.
    """
    # The goal is told apart from what is seen; where the environment put it before that, it is taken away again.
    first = environment.begin().removeprefix(f"Task: {goal}\n\n")
    of = {"goal": goal, "first observation": first, "penalty": planner.lookahead.penalty, **asdict(planner.settings)}
    episode = _resumed(kept, of, planner, environment) if kept and kept.exists() else planner.begin(goal, first)

    def save() -> None:
        if kept:
            state = {"of": of, "cost": asdict(planner.cost), "episode": episode.to_json()}
            write_atomically(kept, json.dumps(state).encode())

    while not episode.history.end:
        watch(episode)
        planner.search(episode, save)
        planner.act(episode, environment)
        save()
    return episode


def _resumed(kept: FilePath, of: Mapping[str, Any], planner: Planner[Any], environment: Environment) -> Episode:
    """The episode in the file, with the environment brought to where it stands."""
    state = json.loads(kept.read_bytes())
    if differing := [name for name in of if of[name] != state["of"].get(name)]:
        raise ValueError(f"{kept} is of an episode with another {', '.join(differing)}; name another, or remove it")
    episode = Episode.from_json(state["episode"])
    for action, observation in episode.path.steps:
        if environment.act(action).text != observation:
            raise ValueError(f"{kept}: {action!r} leads to another observation now; remove it to begin again")
    if planner.meter:
        planner.meter.cost = Cost(**state["cost"])
    return episode


def _back_up(way: list[Node], discount: float) -> None:
    """One more visit of each node of the way."""
    below = 0.0  # what was gathered below a node, as it is worth there
    for node in reversed(way):
        node.visits, node.total = node.visits + 1, node.total + below
        below = discount * (node.reward + below)


def _less(whole: Cost, part: Cost) -> Cost:
    return Cost(whole.calls - part.calls, whole.tokens_in - part.tokens_in, whole.tokens_out - part.tokens_out)
