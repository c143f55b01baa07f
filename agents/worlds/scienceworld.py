"""ScienceWorld for acting agents: free-text actions, and the current room and inventory, which SDP sees as well."""

from __future__ import annotations

from typing import Any

from agents.environment import Observation
from worlds.scienceworld import ScienceTask, ScienceWorld, protocol_score
from worlds.scienceworld.world import REFUSALS

NAME = "scienceworld"
TOOLS = """
You are in a text world of rooms, things and substances. The actions are:
go to ROOM; teleport to ROOM; look around; look at THING; look in THING; inventory; wait; read THING; eat THING;
open THING; close THING; activate THING; deactivate THING; pick up THING; put down THING; move THING to THING;
pour THING into THING; dunk THING into THING; mix THING; use THING on THING; connect THING to THING; disconnect THING;
flush THING; focus on THING.
ROOM is a room that is listed. THING is a name that stands in the room or in the inventory, without "a" or "the".
Focus on a thing only where the task asks for it: a wrong focus ends everything.
""".strip()


class Visiting:
    """One task as an episode. Only the world ends it: at full score, or with a failure.

    listed: also show the valid actions, which are hundreds. points: append the points that an action gained.
    """

    name, tools, form = NAME, TOOLS, ""

    def __init__(self, world: ScienceWorld, task: ScienceTask, listed: bool = False, points: bool = True) -> None:
        self.world, self.task, self.listed, self.points = world, task, listed, points
        self._native: list[int] = []  # the score after each step, in percent

    def begin(self) -> str:
        """The task's description and the rooms that can be reached, which SDP's Propose is given too (A.3)."""
        self._native = []
        goal: str = self.world.reset(self.task).facts["goal"]
        return f"{goal}\nRooms: {', '.join(self.world.rooms())}"

    def act(self, action: str) -> Observation:
        """Take a step of the world; the answer has the points that it gained, which SDP's Validate reads too."""
        before = self._native[-1] if self._native else 0
        step = self.world.step(action)
        self._native.append(step.facts["native"])
        gained = self._native[-1] - before
        text = f"{step.text}\nPoints gained: {gained}" if gained > 0 and self.points else step.text
        return Observation(text, step.done, valid=not REFUSALS.search(step.text))

    def view(self) -> str:
        """The room and the inventory; reading them takes no step."""
        room, inventory = self.world.looks()
        listed = f"\n\nValid actions: {'; '.join(self.valid_actions())}" if self.listed else ""
        return f"You see now: {room}\n{inventory}{listed}"

    def valid_actions(self) -> tuple[str, ...]:
        """The simulator's list of valid actions, which takes it about 30 ms."""
        return self.world.valid_actions()

    def result(self) -> dict[str, Any]:
        """The last score; for a failed task, the one before the failure (SwiftSage's rule)."""
        return {"score": protocol_score(self._native), "type": self.task.name}
