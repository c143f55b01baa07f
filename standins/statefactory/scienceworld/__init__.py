"""The language of ScienceWorld (Wang et al., EMNLP 2022), read by rules.

A thing has a `location` from the nearest holder outwards ("in metal pot on stove"), the `room` that this is in, and
what else its descriptions tell, each attribute named by one word. What the agent once focused on stays "focused on":
tasks ask for several in turn. The attribute `alias` is bookkeeping and no goal asks for it: the agent may call "common
toad" what the world calls "frog egg" when it is focused on, and later sentences repeat the agent's word.

The rules were written on plays of the package's development split and of train variations. Of the benchmark one goal
of each type and the forms of its sentences, with the names masked, were seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from standins.statefactory.languages import Entities, Reading
from standins.statefactory.scienceworld.memory import Memory
from standins.statefactory.scienceworld.sentences import disconnect, say
from standins.statefactory.scienceworld.tasks import anchor, goal_of, kept
from standins.statefactory.scienceworld.views import describe
from statefactory.state import Entity

_DISCONNECTING = re.compile(r"\(disconnecting ([^()\n]*(?:\([^()\n]*\))?)\)\s*")


def is_goal(goal: str) -> bool:
    """Whether a task description is one of ScienceWorld's thirty types."""
    return goal_of(goal) is not None


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """What is known after an action and its observation."""
    memory = Memory(known)
    for name in _DISCONNECTING.findall(observation):
        disconnect(memory, name)
    text = _DISCONNECTING.sub("", observation).strip("\n ")
    unread: list[str] = []
    if not say(memory, action, text):
        lines = describe(memory, action, text)
        unread = [text] if lines is None else lines
    return Reading(memory.entities(), tuple(unread))


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The agent, what the task names or clearly implies, what was focused on, and what these are in."""
    return kept(goal, known)


def blueprint(goal: str) -> Entities:
    """The goal state: the final facts of each milestone that the task names. Raises ValueError for another world's."""
    wanted = goal_of(goal)
    if wanted is None:
        raise ValueError(f"not a task of ScienceWorld: {goal[:80]!r}")
    return wanted


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal with kinds replaced by the very things, as the observation shows them.

    A kind that is to be focused on becomes the thing that the agent focuses on, milestone by milestone, if that is of
    the kind by what text tells: an animal for an animal, a paint mixed on the way to the final one, the life stage of
    the turtle that is due. No text tells which animal lives longest, which inclined plane is steepest or which box a
    trait calls for: these stay as the task words them, or any choice of the agent's would count as the right one.

    A "renewable power source" becomes the first of its kind that is seen. "in red box or green box" becomes one of them
    when the thermometer says which, and so does the box of a melting point; where an experiment decides that no
    sentence tells the outcome of (conductivity), it stays.
    """
    return anchor(goal, wanted, state, observation)
