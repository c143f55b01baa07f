"""ALFWorld's tasks as goals: what of a state bears on one, and which facts must hold in the end."""

from __future__ import annotations

from collections.abc import Sequence

from standins.statefactory.alfworld.tasks import AGENT, HAND, LAMP, NAMES, TOOLS, kind, parsed, placed
from standins.statefactory.languages import Entities
from statefactory.state import Attribute, Entity


def is_goal(goal: str) -> bool:
    """Whether a task description is one of ALFWorld's templates."""
    return parsed(goal) is not None


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The agent, things and places of the kinds that the task names, and the furniture that treats things so."""
    task = parsed(goal)
    if task is None:
        return tuple(known)
    # The lamp stands in for the place of a look, which names none.
    named = {AGENT, task.thing, task.place or LAMP} | TOOLS.get(task.treatment, set())
    return tuple(entity for entity in known if kind(entity.identity) in named)


def blueprint(goal: str) -> Entities:
    """The things of the task with all that it asks of them.

    Two things are two entities. A look is the thing held under the lamp, and the lamp on. Empty for other words.
    """
    task = parsed(goal)
    if task is None:
        return ()
    if not task.place:
        # No observation says that a thing was looked at: to hold it under a lamp that is on is the whole goal.
        held = Attribute("location", f"{HAND} under {LAMP}")
        return Entity(task.thing, (held,)), Entity(LAMP, (Attribute("power", "on"),))
    wanted = (Attribute("location", placed(task.place)), *filter(None, [task.treatment]))
    names = [task.thing] if task.copies == 1 else [f"first {task.thing}", f"second {task.thing}"]
    return tuple(Entity(name, wanted) for name in names)


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal with the very things that were observed in place of kinds: names alone (Table 10, 3c).

    A kind becomes the first thing of it that an observation shows, for good, and no thing stands for two. Places stay
    kinds ("in cabinet"): any one of the kind will do, and which it will be is not known before the thing is there.
    """
    known = {entity.identity for entity in state}
    names = [entity.identity for entity in wanted]
    for name in NAMES.findall(observation):
        # In the order of the observation: two copies become the first two that are seen.
        if name in known and name not in names:
            same = (n for n, old in enumerate(names) if not NAMES.fullmatch(old) and old.split(" ")[-1] == kind(name))
            # In place of the first name that is still its kind: "mug", "first mug".
            position = next(same, None)
            if position is not None:
                names[position] = name
    return tuple(Entity(name, entity.attributes) for name, entity in zip(names, wanted, strict=True))
