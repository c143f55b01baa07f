"""An oracle for ScienceWorld: rules that know the gold path of their task, since no honest rule makes plans here.

Whatever they answer is simulated. Even so a plan is conditions on the world, fewer than the actions that they cover,
and Validate reads the observation alone: it does not know the path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sdp.adapters.scienceworld.prompts import MOST_TARGETS, ActFields, Action, Judged, JudgeFields, PlanFields, Targets

# What the simulator answers, and the condition that then holds.
CONDITIONS = (
    (r"You (?:move|teleport) to the ([\w ]+)\.", "The agent is in the {0}."),
    (r"You move the (.+) to the inventory\.", "The inventory contains the {0}."),
    (r"You move the (.+) to the (.+)\.", "The {0} is in the {1}."),
    (r"You focus on the (.+)\.", "The agent has focused on the {0}."),
    (r"The (.+) is now (open|closed|activated|deactivated)\.", "The {0} is {1}."),
    (r"You pour the contents of the (.+) into the (.+)\.", "The contents of the {0} are in the {1}."),
)
GAINED = "What was waited for has happened, and points were gained."


@dataclass(frozen=True, slots=True)
class Played:
    """An action of the gold path with what the world answered. gained: points."""

    action: str
    answer: str
    gained: int


def condition(answer: str, gained: int) -> str:
    """What an observation shows to hold, "" if nothing."""
    for pattern, words in CONDITIONS:
        if found := re.match(pattern, answer):
            return words.format(*found.groups())
    return GAINED if gained > 0 else ""


def milestones(path: Sequence[Played], longest: int) -> list[int]:
    """Indices of the actions that a plan names a condition for: those that gain points, and between them as many more
    that no stretch is longer than `longest` actions.
    """
    shown = [bool(condition(one.answer, one.gained)) for one in path]
    found, last = list[int](), -1
    for index, one in enumerate(path[:-1]):  # the last one brings the goal
        if one.gained > 0 and shown[index]:
            found.append(index)
            last = index
        elif index - last >= longest:
            within = [each for each in range(last + 1, index + 1) if shown[each]]
            if within:
                last = within[-1]
                found.append(last)
    return found


class Oracle:
    """The rules of one episode. path: gold actions, as they were played. longest: see `milestones`."""

    def __init__(self, path: Sequence[Played], longest: int) -> None:
        self.path, self.longest = path, longest
        self._next, self._asked = 0, ""

    def plan(self, fields: PlanFields) -> Targets:
        """The conditions from the next action on."""
        rest = self.path[self._next :]
        found = [condition(rest[index].answer, rest[index].gained) for index in milestones(rest, self.longest)]
        return Targets(targets=found[:MOST_TARGETS] or [GAINED])

    def act(self, fields: ActFields) -> Action:
        """The next action of the path; the same again where another one was done in its place."""
        if fields.recent and fields.recent[-1].action == self._asked:
            self._next += 1
        self._asked = self.path[self._next].action if self._next < len(self.path) else "wait"
        return Action(action=self._asked)


def judge(fields: JudgeFields) -> Judged:
    """How many of the conditions the answer itself shows."""
    shown = condition(fields.answer, fields.gained)
    held = 0
    for target in fields.targets:
        if target != shown and not (target == GAINED and fields.gained > 0):
            break
        held += 1
    return Judged(reason="the answer says so" if held else "the answer does not show it", held=held)
