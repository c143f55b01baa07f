"""Monte Carlo tree search over predicted outcomes, with a predictor as value function (Appendix C.6.3).

A simulation descends by upper confidence bounds (UCT, Kocsis and Szepesvári 2006) to an unexpanded node. There K
actions are proposed, their outcomes predicted, and all of them scored in one batch. The simulation ends at the best
child: a rollout truncated after one step. At each real step the most visited action is taken. Its subtree is reused if
the world answers as predicted.
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
    """Hyperparameters of the search.

    simulations: per real step. width: K, actions proposed per node; 0 for all listed ones. exploration: factor of UCT's
    bound. discount: of rewards, per step. steps: maximum number of real steps. outcomes: maximum number of predicted
    outcomes per episode; 0 for no limit. A `Meter` limits model calls.

    K = 3 is the paper's; it does not give the other values. UCB1's factor of √2 is for values that fill [0, 1]. But
    gains are differences of two scores, mostly 0 to 0.3 (Table 17). So our exploration is 0.1: nodes with a clear gain
    get some visits before nodes without gain are tried again. The discount is ours too: without one a detour to the
    same score has the value of the direct path and is taken as often.
    """

    simulations: int = 16
    width: int = 3
    exploration: float = 0.1
    discount: float = 0.95
    steps: int = 50
    outcomes: int = 0

    def __post_init__(self) -> None:
        """Raises ValueError naming the values that are out of range."""
        least = {"simulations": 1, "width": 0, "exploration": 0, "steps": 1, "outcomes": 0}
        if wrong := [
            f"{name}={getattr(self, name)}" for name, minimum in least.items() if getattr(self, name) < minimum
        ]:
            raise ValueError(f"{', '.join(wrong)}: simulations and steps are at least 1, the others at least 0")
        if not 0 < self.discount <= 1:
            raise ValueError(f"discount={self.discount}: it is above 0 and at most 1")


@dataclass
class Node:
    """A predicted state of the tree; the root is the episode's current state. action: the one that leads to it.

    score: the predictor's, in [0, 1]. gain, repeated, reward: relative to the parent, see `lookahead.Candidate`. known:
    False if the world model could not predict the outcome. visits: number of simulations through the node. total: sum
    over these of the discounted rewards below it. children: None if not expanded yet. memory: the predictor's; None in
    a snapshot.
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
        """Mean over visits of the discounted rewards from this node on; before any visit, its own reward.

        Without the discount, rewards sum to the final score of a simulation minus the root's, minus penalties. A value
        includes the reward relative to the parent, so values stay valid when a child becomes the root.
        """
        return self.reward + (self.total / self.visits if self.visits else 0.0)

    @property
    def best(self) -> Node | None:
        """The most visited child, in ties the one with the highest value, then the first; None without children."""
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
    """The best child, its best child, and so on down to a leaf."""
    node = root.best
    while node is not None:
        yield node
        node = node.best


def frame(root: Node) -> pd.DataFrame:
    """A tree as a table, one row per node, with depth, value and whether the node is on the chosen line."""
    chosen = [id(node) for node in best_line(root)]
    depths: list[int] = []
    rows: list[list[Any]] = []
    for node, parent in in_order(root):
        depths.append(depths[parent] + 1 if parent >= 0 else 0)
        values = [getattr(node, name) for name in SHOWN]
        rows.append([len(rows), parent, depths[-1], *values, node.value, id(node) in chosen])
    return readable(rows, columns=["node", "parent", "depth", *SHOWN, "value", "chosen"])


def in_order(root: Node) -> Iterator[tuple[Node, int]]:
    """The nodes in preorder, each with its parent's index in this order; -1 for the root."""
    count, stack = 0, [(root, -1)]
    # No recursion, since a tree may be deeper than Python's stack.
    while stack:
        node, parent = stack.pop()
        yield node, parent
        stack += [(child, count) for child in reversed(node.children or ())]
        count += 1


@dataclass
class Episode:
    """State of an episode during planning.

    root: of the tree that continues the path. outcomes: number of predicted outcomes so far. surprises: number of real
    outcomes that differed from the prediction. trees: snapshots at each real step's decision.
    """

    path: Path
    root: Node
    history: History
    outcomes: int = 0
    surprises: int = 0
    trees: list[Node] = field(default_factory=list)


@dataclass
class Planner(Generic[M]):
    """A tree-search planner. meter: the backbone that lookahead and proposer share, if they ask one."""

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
        """Run one simulation: descend, expand, and back up the best child's reward.

        Raises OutOfBudget, which leaves the tree unchanged.
        """
        nodes, path = [episode.root], episode.path
        while nodes[-1].children:
            parent = nodes[-1]
            nodes.append(max(nodes[-1].children, key=lambda child: self._bound(parent, child)))
            path = path.then(nodes[-1].action, nodes[-1].observation)
        if not nodes[-1].done and nodes[-1].children is None:
            nodes[-1].children = self._children(episode, nodes, path)
            if best := max(nodes[-1].children, key=lambda child: child.reward, default=None):
                nodes.append(best)
        below = 0.0  # discounted sum of the rewards below a node
        for node in reversed(nodes):
            node.visits, node.total = node.visits + 1, node.total + below
            below = self.settings.discount * (node.reward + below)

    def search(self, episode: Episode) -> None:
        """Run the simulations of a real step, until the budget is exhausted."""
        with suppress(OutOfBudget):
            for _ in range(self.settings.simulations):
                self.simulate(episode)

    def act(self, episode: Episode, environment: Environment) -> None:
        """Take the most visited action in the environment. Reuse its subtree if the outcome is as predicted."""
        best = episode.root.best
        if best is None:
            # An expanded root has no proposed actions; an unexpanded one means that the budget was exhausted.
            episode.history = episode.history.ended(CALLS if episode.root.children is None else NO_ANSWER)
            return
        episode.trees.append(snapshot(episode.root))
        outcome = environment.act(best.action)
        thought = f"{best.visits} of {episode.root.visits} visits, value {best.value:+.2f}"
        spent, charged = self.cost, episode.history.cost
        cost = Cost(
            spent.calls - charged.calls, spent.tokens_in - charged.tokens_in,
            spent.tokens_out - charged.tokens_out,
        )  # fmt: skip
        turn = Turn(outcome.text, thought, best.action, fault="" if outcome.valid else INVALID, cost=cost)
        memory_before = episode.root.memory
        episode.path = episode.path.then(best.action, outcome.text)
        episode.history = episode.history.then(turn)
        if outcome.done or episode.history.steps >= self.settings.steps:
            episode.history = episode.history.ended(FINISHED if outcome.done else STEPS)
        elif best.done or best.observation != outcome.text:
            self._surprised(episode, memory_before)
        else:
            episode.root = best

    @property
    def cost(self) -> Cost:
        """Cost of all calls so far."""
        return self.meter.cost if self.meter else Cost()

    def _bound(self, parent: Node, child: Node) -> float:
        # visits + 1: an unvisited child is not unknown, since its outcome was scored at expansion.
        return child.value + self.settings.exploration * sqrt(log(parent.visits) / (child.visits + 1))

    def _children(self, episode: Episode, way: list[Node], path: Path) -> list[Node]:
        remaining = self.settings.outcomes - episode.outcomes if self.settings.outcomes else None
        if remaining == 0:
            raise OutOfBudget(f"all {self.settings.outcomes} outcomes were foreseen")
        actions = self.proposer.actions(path, self.settings.width)[:remaining]
        episode.outcomes += len(actions)
        candidates, after = self.lookahead.candidates(path, way[-1].memory, actions)
        return [
            Node(candidate.action, candidate.outcome.observation, candidate.score, candidate.gain, candidate.repeated,
                 candidate.reward, candidate.outcome.done, candidate.outcome.known, memory=memory)
            for candidate, memory in zip(candidates, after, strict=True)
        ]  # fmt: skip

    def _surprised(self, episode: Episode, before: M) -> None:
        """Start a new tree at the real state, since the old one continues from a wrong prediction."""
        predictor, (action, observation) = self.lookahead.predictor, episode.path.steps[-1]
        episode.surprises += 1
        try:
            memory = predictor.advance(before, action, observation)
            episode.root = Node(action, observation, predictor.score(memory), memory=memory)
        except OutOfBudget:
            episode.history = episode.history.ended(CALLS)


def plan(environment: Environment, goal: str, planner: Planner[Any]) -> Episode:
    """Play one task: search and act at each real step, until the episode ends or a cap is reached.

    Raises what planner and environment raise.
    """
    # The predictor gets the goal separately, so remove it where the environment puts it before the observation.
    episode = planner.begin(goal, environment.begin().removeprefix(f"Task: {goal}\n\n"))
    while not episode.history.end:
        planner.search(episode)
        planner.act(episode, environment)
    return episode
