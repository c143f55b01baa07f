"""ALFWorld's tasks as goals: what of a state bears on one, and which facts must hold in the end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from statefactory.language import Entities
from statefactory.language.alfworld.tasks import AGENT, HAND, LAMP, NAMES, TOOLS, Task, kind, parsed, placed
from statefactory.state import Attribute, Entity


def is_goal(goal: str) -> bool:
    """Whether a task description is one of ALFWorld's templates."""
    return parsed(goal) is not None


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The agent, things and places of the kinds that the task names, and the furniture that treats things so."""
    task = parsed(goal)
    if task is None:
        return tuple(known)
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
        held = Attribute("location", f"{HAND} under {LAMP}")
        return Entity(task.thing, (held,)), Entity(LAMP, (Attribute("power", "on"),))
    wanted = (Attribute("location", placed(task.place)), *filter(None, [task.treatment]))
    names = [task.thing] if task.copies == 1 else [f"first {task.thing}", f"second {task.thing}"]
    return tuple(Entity(name, wanted) for name in names)


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal with the very things that were observed in place of kinds: names and places alone (Table 10, 3c).

    A kind becomes the first thing of it that an observation shows, and no thing stands for two. Any thing of the kind
    will do, so that one which is picked up replaces one that was anchored earlier and does not fulfil the goal: that
    was not the one meant. A place becomes the very one when the thing is there, a lamp when it is seen.
    """
    task = parsed(goal)
    if task is None:
        return tuple(wanted)
    known = {entity.identity: entity for entity in state}
    names = _anchored_names(wanted, known, observation)
    lamp = next((name for name in names if kind(name) == LAMP), LAMP)
    return tuple(
        Entity(name, tuple(_anchored_place(task, attribute, known.get(name), lamp) for attribute in entity.attributes))
        for name, entity in zip(names, wanted, strict=True)
    )


def _anchored_names(wanted: Sequence[Entity], known: Mapping[str, Entity], observation: str) -> list[str]:
    names = [entity.identity for entity in wanted]
    for name in NAMES.findall(observation):
        if name in names or name not in known:
            continue
        for position, entity in enumerate(wanted):
            if _stands_for(known[name], names[position], entity, known):
                names[position] = name
                break
    return names


def _stands_for(thing: Entity, name: str, wanted: Entity, known: Mapping[str, Entity]) -> bool:
    """Whether an observed thing is meant by a goal entity that is called `name` so far, a kind or another thing."""
    if not NAMES.fullmatch(name):
        return name.split(" ")[-1] == kind(thing.identity)
    if kind(name) != kind(thing.identity) or name not in known:
        return False
    return _in_use(thing) and not _in_use(known[name]) and not _fulfils(known[name], wanted)


def _in_use(thing: Entity) -> bool:
    return (thing.value("location") or "").startswith(HAND) or thing.value("power") == "on"


def _fulfils(thing: Entity, wanted: Entity) -> bool:
    """Whether a thing is as wanted; any piece of furniture of the wanted kind will do."""
    return all((thing.value(a.name) or "").startswith(a.value.rstrip("0123456789")) for a in wanted.attributes)


def _anchored_place(task: Task, attribute: Attribute, thing: Entity | None, lamp: str) -> Attribute:
    if attribute.name != "location":
        return attribute
    if not task.place:
        return Attribute("location", f"{HAND} under {lamp}")
    where = thing.value("location") or "" if thing else ""
    return Attribute("location", where) if where.startswith(f"{placed(task.place)} ") else attribute
