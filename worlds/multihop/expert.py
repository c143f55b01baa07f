"""The expert of multi-hop questions, never given to an agent: gold paragraphs and answers."""

from __future__ import annotations

from worlds.multihop.questions import HopTask
from worlds.multihop.world import MultiHop


class Expert:
    """Searches for each gold paragraph by its title in the open setting, then answers."""

    def __init__(self, world: MultiHop) -> None:
        self._world = world

    def actions(self, task: HopTask) -> list[str]:
        """Actions with full score. A search may miss a paragraph whose title is shared by many.

        Raises LookupError for a task of another world.
        """
        question = self._world.hidden(task)
        searches = question.gold if self._world.setting == "open" else ()
        return [*(f"search {paragraph.title}" for paragraph in searches), f"answer {question.answer}"]
