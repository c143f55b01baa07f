"""ALFWorld as a benchmark: the games of unseen rooms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from worlds.benchmark import Benchmark, Expert, along, of_thread
from worlds.pool import Pool


@dataclass(frozen=True, kw_only=True)
class AlfWorldGames(Benchmark):
    """Of the released games of unseen rooms there are 134, which StateFactory's Table 2 fits: its shares are 46 and 75
    of 134.
    """

    benchmark: ClassVar[str] = "AlfWorld"
    package: ClassVar[str] = "alfworld"
    reported: ClassVar[str] = "valid_unseen"

    def expert(self, task: str) -> Expert:
        """Plans again before each action, in a game of its own; without a plan it follows the known solution."""
        from worlds.alfworld.expert import next_command

        given, known = self.named(task), along(self.solution(task))
        own = of_thread(self._key("the expert's"), lambda: Pool(self.opened, given, size=1))

        def expert(actions: Sequence[str]) -> str:
            if own.task is not given:  # another episode of this thread was played since the last turn
                own.on(given)
            return next_command(own.world(actions), given) or known(actions)

        return expert
