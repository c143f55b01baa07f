"""Monte Carlo tree search over what a world model foresees, with a predictor as value (Appendix C.6.3).

One simulation walks down by upper confidence bounds (UCT, Kocsis and Szepesvári 2006) to a node that was not expanded
yet, asks there for K actions, foresees what each leads to and scores all of them at once. It ends at the best of them:
a rollout that is truncated after one step. At each real step the most visited action is taken. Its subtree is kept as
long as the world answers as foreseen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from math import log, sqrt
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from agents.environment import Environment
from agents.history import CALLS, FINISHED, INVALID, NO_ANSWER, STEPS, History, Turn
from lab.models.backbone import Cost
from lab.results.exports import readable
from statefactory.planning.lookahead import Lookahead, Meter, OutOfBudget
from statefactory.planning.proposals import Proposer
from statefactory.predictors import Path

if TYPE_CHECKING:
    import pandas as pd

M = TypeVar("M")


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
class Node:
    """What an action is thought to lead to, and what lies below it; at the root, where the episode stands.

    score: the predictor's, in [0, 1]. gain, repeated, reward: over the parent, see `lookahead.Candidate`.
    known: False where the world model found no outcome. visits: how many simulations came through. total: the sum over
    these of the rewards that they gathered below it, discounted. children: None where it was not expanded yet. memory:
    the predictor's, None in a snapshot.
    """

    action: str
    observation: str
    score: float
    gain: float = 0.0
    repeated: bool = False
    reward: float = 0.0
    done: bool = False
    known: bool = True
    visits: int = 0
    total: float = 0.0
    children: list[Node] | None = None
    memory: Any = field(default=None, repr=False, compare=False)

    @property
    def value(self) -> float:
        """The mean over its visits of the rewards from its parent on; before any visit, its own reward.

        Rewards add up to the score where a simulation ended less the root's, less penalties, but for the discount.
        Counted from the parent, no value has to be changed when the root moves on to a child.
        """
        return self.reward + (self.total / self.visits if self.visits else 0.0)

    @property
    def best(self) -> Node | None:
        """The child that was visited most, of several the one of most value, then the first; None without children."""
        return max(self.children or (), key=lambda child: (child.visits, child.value), default=None)


SHOWN = tuple(field.name for field in fields(Node) if field.name not in ("children", "memory"))


def snapshot(root: Node) -> Node:
    """A copy of the tree without memories."""
    copies: list[Node] = []
    for node, parent in in_order(root):
        copies.append(replace(node, memory=None, children=None if node.children is None else []))
        if parent >= 0:
            siblings = copies[parent].children
            assert siblings is not None, "a parent is expanded"
            siblings.append(copies[-1])
    return copies[0]


def best_line(root: Node) -> Iterator[Node]:
    """The chosen child, then the one that would be chosen there, and so on to a leaf."""
    node = root.best
    while node is not None:
        yield node
        node = node.best


def frame(root: Node) -> pd.DataFrame:
    """A tree as a table, a row a node, with its depth, its value and whether it lies on the chosen line."""
    chosen = [id(node) for node in best_line(root)]
    depths: list[int] = []
    rows: list[list[Any]] = []
    for node, parent in in_order(root):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        values = [getattr(node, name) for name in SHOWN]
        rows.append([len(rows), parent, depths[-1], *values, node.value, id(node) in chosen])
    return readable(rows, columns=["node", "parent", "depth", *SHOWN, "value", "chosen"])


def in_order(root: Node) -> Iterator[tuple[Node, int]]:
    """The nodes, each before its children, with the number of its parent in this order; -1 for none."""
    count, waiting = 0, [(root, -1)]
    # Without recursion: a tree may be deeper than Python's stack.
    while waiting:
        node, parent = waiting.pop()
        yield node, parent
        waiting += [(child, count) for child in reversed(node.children or ())]
        count += 1


@dataclass
class Episode:
    """An episode as far as it was planned.

    root: of the tree over what may follow the path. outcomes: the world model's so far. surprises: how often the world
    answered other than was foreseen. trees: as they were when each real step was decided.
    """

    path: Path
    root: Node
    history: History
    outcomes: int = 0
    surprises: int = 0
    trees: list[Node] = field(default_factory=list)


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
        below = 0.0  # what was gathered below a node, as it is worth there
        for node in reversed(way):
            node.visits, node.total = node.visits + 1, node.total + below
            below = self.settings.discount * (node.reward + below)

    def search(self, episode: Episode) -> None:
        """The simulations of a real step, as far as the budget goes."""
        with suppress(OutOfBudget):
            for _ in range(self.settings.simulations):
                self.simulate(episode)

    def act(self, episode: Episode, environment: Environment) -> None:
        """Take the most visited action, and go on from there: with what was thought of it, if it came as foreseen."""
        best = episode.root.best
        if best is None:
            # A root that was expanded had no action proposed; any other was not for want of budget.
            episode.history = episode.history.ended(CALLS if episode.root.children is None else NO_ANSWER)
            return
        episode.trees.append(snapshot(episode.root))
        seen = environment.act(best.action)
        why = f"{best.visits} of {episode.root.visits} visits, value {best.value:+.2f}"
        spent, before_it = self.cost, episode.history.cost
        cost = Cost(
            spent.calls - before_it.calls, spent.tokens_in - before_it.tokens_in,
            spent.tokens_out - before_it.tokens_out,
        )  # fmt: skip
        turn = Turn(seen.text, why, best.action, fault="" if seen.valid else INVALID, cost=cost)
        before = episode.root.memory
        episode.path = episode.path.then(best.action, seen.text)
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
        actions = self.proposer.actions(path, self.settings.width)[:left]
        episode.outcomes += len(actions)
        candidates, after = self.lookahead.candidates(path, way[-1].memory, actions)
        return [
            Node(candidate.action, candidate.outcome.observation, candidate.score, candidate.gain, candidate.repeated,
                 candidate.reward, candidate.outcome.done, candidate.outcome.known, memory=memory)
            for candidate, memory in zip(candidates, after, strict=True)
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


def plan(environment: Environment, goal: str, planner: Planner[Any]) -> Episode:
    """Play one task: at each real step search, then act, until it is done or a cap is met.

    Raises what planner and environment raise.
    """
    # The goal is told apart from what is seen; where the environment put it before that, it is taken away again.
    episode = planner.begin(goal, environment.begin().removeprefix(f"Task: {goal}\n\n"))
    while not episode.history.end:
        planner.search(episode)
        planner.act(episode, environment)
    return episode
