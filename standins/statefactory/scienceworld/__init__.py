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

from standins.statefactory.forms import first, forms, pattern, sections
from standins.statefactory.languages import Entities, Reading
from standins.statefactory.scienceworld.descriptions import FILE, substance
from standins.statefactory.scienceworld.memory import AGENT, ROOMS, Memory, plain
from standins.statefactory.scienceworld.texts import CREATED, FOCUSED, describe, disconnect, say
from statefactory.state import Attribute, Entity, from_facts

POINTS = ("terminal-1", "terminal-2", "anode", "cathode")
PLANT_STAGE_COUNT = 4  # the task gives no number
# Kinds whose members text tells. It does not tell which animal lives longest, which plane is steeper or which box a
# trait calls for: a goal that took the agent's choice for the right one would reward any choice.
KINDS = re.compile(r"(?:living thing|non-living thing|animal|plant)|intermediate .* paint|.+ in life stage \d")
POWER_SOURCES = {
    "renewable power source": ("solar panel", "wind generator"),
    "nonrenewable power source": ("gas generator", "nuclear generator"),
}
_DISCONNECTING = re.compile(r"\(disconnecting ([^()\n]*(?:\([^()\n]*\))?)\)\s*")
_STAGE = re.compile(r"(.+?)( plant)? in life stage (\d)")
_COUNT = re.compile(r"focus on the (\d+) life stages")
# The order of the stages of a life, as descriptions word them.
ANIMAL_STAGES = {
    "egg": 1, "hatchling": 2, "baby": 2, "tadpole": 2, "caterpillar": 2, "juvenile": 3, "pupa": 3, "adult": 4,
}  # fmt: skip
PLANT_STAGES = {"seed": 1, "seedling": 2, "adult": 3, "reproducing": 4}
NAMED_BY_STAGE = ("tadpole", "caterpillar")  # their names do not say of which animal
# Plants and animals are called so at the end of a name: a flower pot is no flower, a bee hive is no bee.
_PLANT = pattern(FILE, r"(?:.+ )?\b(?:PLANT)\b(?: \d+)?")
_ANIMAL = pattern(FILE, r"(?:baby|hatchling|juvenile|adult) .+|(?:.+ )?(?:ANIMAL)(?: \d+)?")
_FOCUS = re.compile(r"You focus on the (.+)\.")
_LIQUID = re.compile(r"water|mercury|unknown .*")  # what need not be solid where no phase is named
_DEGREES = re.compile(r"the thermometer measures a temperature of (-?[\d.]+) degrees celsius")
_CASES = re.compile(
    r"If (?:the )?(.+?) temperature is (above|below) (-?[\d.]+) degrees celsius, place it in the (.+?)\."
)
_MELTS = re.compile(
    r"If the melting point of (?:the )?(.+?) is (above|below) (-?[\d.]+) degrees celsius, focus on the ([a-z ]+ box)\."
)


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


def blueprint(goal: str) -> Entities:
    """The goal state: the final facts of each milestone that the task names. Raises ValueError for another world's."""
    wanted = goal_of(goal)
    if wanted is None:
        raise ValueError(f"not a task of ScienceWorld: {goal[:80]!r}")
    return wanted


def goal_of(text: str) -> Entities | None:
    """The goal state of a task description; None if it is not in ScienceWorld's words."""
    reading = first(forms(FILE, "goals"), text)
    if reading is None:
        return None
    form, groups = reading
    facts = form.stated(groups | {"bare": substance(groups.get("thing", ""))[0]})
    stages: list[tuple[str, Attribute]] = []
    if kind := form.extra.get("stages", "").format_map(groups):
        count = int(groups.get("count", PLANT_STAGE_COUNT))
        stages = [(f"{kind} in life stage {number + 1}", Attribute("focus", FOCUSED)) for number in range(count)]
    return from_facts((*stages, *facts))


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The agent, what the task names or clearly implies, what was focused on, and what these are in.

    Terminals are left out where no task is about electricity.
    """
    memory = Memory(known)
    kinds = [pattern(FILE, kind["things"]) for kind in sections(FILE)["kinds"] if re.search(kind["words"], goal)]
    ingredients = ", ".join(filter(None, (entity.value("ingredients") for entity in known)))
    words = f" {goal.lower()} "
    chosen = {e.identity for e in known if _matters(e, words, kinds, ingredients)}
    # What a thing is in tells where it is: a holder is kept with it.
    chosen |= {holder for identity in tuple(chosen) for holder in memory.holders(identity)}
    left = (_without_points(e, goal) for e in known if e.identity in chosen)
    return tuple(entity for entity in left if entity.attributes)


def _matters(entity: Entity, goal: str, kinds: list[re.Pattern[str]], ingredients: str) -> bool:
    name = plain(entity.identity)
    if name == AGENT or entity.value("focus") or entity.value("origin"):
        return True
    # Rooms and doors are ways there, and no part of what a task asks for (Table 10: plans are no goals).
    if name in ROOMS or name.startswith("door to "):
        return False
    named = re.search(rf"\b{re.escape(name.lower())}s?\b", goal) is not None
    if named or any(kind.search(name) for kind in kinds):
        return True
    return any(re.search(rf"\b{re.escape(i)}\b", name) for i in ingredients.split(", ") if i)


def _without_points(entity: Entity, goal: str) -> Entity:
    if "electrical" in goal:
        return entity
    left: tuple[Attribute, ...] = tuple(a for a in entity.attributes if a.name not in POINTS)
    return entity if len(left) == len(entity.attributes) else Entity(entity.identity, left)


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
    focused = _focused(goal, tuple(wanted), state, observation)
    if not _DEGREES.fullmatch(observation.strip()):
        return _sourced(focused, state)
    return _melted(goal, _measured(goal, _sourced(focused, state), state), state)


def _focused(goal: str, wanted: Entities, state: Sequence[Entity], observation: str) -> Entities:
    """The next kind that waits for a focus becomes what was just focused on, if that can be of the kind."""
    match = _FOCUS.fullmatch(observation.strip())
    if not match:
        return wanted
    # The answer may put more words before the thing's own name.
    focus = f" {match[1]}"
    focused = [e for e in state if e.value("focus") == FOCUSED and focus.endswith(f" {plain(e.identity)}")]
    taken = {e.identity for e in wanted}
    new = next((e for e in reversed(focused) if e.identity not in taken), None)
    waiting = next((e.identity for e in wanted if KINDS.fullmatch(e.identity) and e.value("focus")), None)
    if new is None or waiting is None or _named(goal, wanted, match[1]):
        return wanted
    if staged := _STAGE.fullmatch(waiting):
        fits = _is_due(new, staged, goal, [e for e in focused if e.identity in taken])
    else:
        fits = _can_be(new, waiting, wanted)
    if not fits:
        return wanted
    return tuple(Entity(new.identity, e.attributes) if e.identity == waiting else e for e in wanted)


def _named(goal: str, wanted: Entities, name: str) -> bool:
    """Whether the thing focused on is one that the task names itself."""
    return name in goal and any(e.identity == name for e in wanted)


def _can_be(thing: Entity, kind: str, wanted: Entities) -> bool:
    """Whether a thing is of the kind, by its name, by what is known of it and by what else is wanted."""
    name = plain(thing.identity)
    if kind.endswith(" paint"):
        # A tertiary colour is named after the secondary one that it is mixed from: "violet-red".
        final = {word for e in wanted if e.value("origin") == CREATED for word in _colors(e.identity)}
        return thing.value("origin") == CREATED and name.endswith(" paint") and final.issuperset(_colors(name))
    return kind in _kinds(name)


def _colors(paint: str) -> set[str]:
    """The colours that a paint's name is made of."""
    return set(paint.removesuffix(" paint").split("-"))


def _is_due(thing: Entity, staged: re.Match[str], goal: str, earlier: Sequence[Entity]) -> bool:
    """Whether a thing is the life stage to be focused on after the earlier ones."""
    species, number, name = staged[1], int(staged[3]), plain(thing.identity)
    if "living thing" not in _kinds(name) or not (f" {species} " in f" {name} " or name in NAMED_BY_STAGE):
        return False
    stages = PLANT_STAGES if staged[2] else ANIMAL_STAGES
    stage, *before = (stages.get(e.value("stage") or "", 0) for e in (thing, *earlier))
    # A species of fewer stages leaves some out: a bear has no egg.
    count = _COUNT.search(goal)
    spare = len(set(stages.values())) - (int(count[1]) if count else len(stages))
    return number <= stage <= number + spare and stage > max(before, default=0)


def _kinds(name: str) -> tuple[str, ...]:
    """The kinds that a thing called so is of, among those that tasks ask to find."""
    if name == AGENT or name in ROOMS:
        return ()
    if _PLANT.fullmatch(name):
        return "plant", "living thing"
    if _ANIMAL.fullmatch(name) and not name.startswith("dead "):
        return "animal", "living thing"
    return ("non-living thing",)


def _sourced(wanted: Entities, state: Sequence[Entity]) -> Entities:
    """A power source of a kind becomes the first one of the kind that is known."""
    seen = [e.identity for e in state]
    sources = {kind: next((i for i in seen if plain(i) in names), kind) for kind, names in POWER_SOURCES.items()}
    return tuple(Entity(sources.get(e.identity, e.identity), e.attributes) for e in wanted)


def _measured(goal: str, wanted: Entities, state: Sequence[Entity]) -> Entities:
    """The box that a thing belongs in is decided once its temperature was measured."""
    for name, side, limit, box in _CASES.findall(goal):
        degrees = next((_number(e.value("temperature")) for e in state if plain(e.identity) == name), None)
        if degrees is not None and (degrees > float(limit)) == (side == "above"):
            return tuple(_placed(e, f"in {box}") if e.identity == name else e for e in wanted)
    return wanted


def _melted(goal: str, wanted: Entities, state: Sequence[Entity]) -> Entities:
    """The box to focus on is decided by a substance that is solid above the limit, or liquid below it."""
    cases = _MELTS.findall(goal)
    for name, side, limit, box in cases:
        known = next((e for e in state if plain(e.identity) == name), None)
        degrees = _number(known.value("temperature")) if known else None
        if known is None or degrees is None:
            continue
        phase = known.value("phase") or ("" if _LIQUID.fullmatch(name) else "solid")
        if (phase, side) in (("solid", "above"), ("liquid", "below")) and (degrees > float(limit)) == (side == "above"):
            either = " or ".join(case[-1] for case in cases)
            return tuple(Entity(box, e.attributes) if e.identity == either else e for e in wanted)
    return wanted


def _number(value: str | None) -> float | None:
    match = re.match(r"-?[\d.]+", value or "")
    return float(match[0]) if match else None


def _placed(entity: Entity, location: str) -> Entity:
    attributes = (Attribute(a.name, location) if a.name == "location" else a for a in entity.attributes)
    return Entity(entity.identity, tuple(attributes))
