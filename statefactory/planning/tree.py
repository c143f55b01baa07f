"""Search trees: what was foreseen at each node, how often it was visited, and what that was worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from lab.results.exports import readable

if TYPE_CHECKING:
    import pandas as pd


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
