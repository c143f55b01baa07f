"""BlocksWorld's tasks, and the protocol of its two sources of problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from worlds.blocksworld.problem import BlocksProblem


@dataclass(frozen=True, slots=True)
class BlocksTask:
    """One problem. goal: in words; problem: the same and the start, as values."""

    id: str
    goal: str
    problem: BlocksProblem

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return len(self.problem.start.blocks)


class Problems(Protocol):
    """Where problems come from. data: "official" or "synthetic"."""

    # Properties, because sources are frozen dataclasses: a plain attribute of a protocol must be writable.
    @property
    def data(self) -> str: ...

    @property
    def splits(self) -> tuple[str, ...]: ...

    def tasks(self, split: str) -> Sequence[BlocksTask]: ...
