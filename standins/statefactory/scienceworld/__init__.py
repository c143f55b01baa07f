"""ScienceWorld's language (Wang et al., EMNLP 2022), read by rules.

A thing has a `location`, from the nearest holder outwards ("in metal pot on stove"), the `room` of that location, and
what else its descriptions say; an attribute's name is one word. A thing that the agent once focused on stays "focused
on": tasks ask for several in turn. The attribute `alias` is bookkeeping, and no goal asks for it: when focusing, the
agent may say "common toad" for what the world calls "frog egg", and later sentences repeat the agent's word.

The rules were written on plays of the package's development split and of train variations. From the benchmark, one goal
of each type and the forms of its sentences, with masked names, were seen.
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
# Kinds whose members a text reveals. It does not reveal which animal lives longest, which plane is steeper or which box
# a trait calls for: a goal that took the agent's choice for the right one would reward any choice.
KINDS = re.compile(r"(?:living thing|non-living thing|animal|plant)|intermediate .* paint|.+ in life stage \d")
POWER_SOURCES = {
    "renewable power source": ("solar panel", "wind generator"),
    "nonrenewable power source": ("gas generator", "nuclear generator"),
}
_DISCONNECTING = re.compile(r"\(disconnecting ([^()\n]*(?:\([^()\n]*\))?)\)\s*")
_STAGE = re.compile(r"(.+?)( plant)? in life stage (\d)")
_COUNT = re.compile(r"focus on the (\d+) life stages")
# The order of the life stages, in the words of descriptions.
ANIMAL_STAGES = {
    "egg": 1, "hatchling": 2, "baby": 2, "tadpole": 2, "caterpillar": 2, "juvenile": 3, "pupa": 3, "adult": 4,
}  # fmt: skip
PLANT_STAGES = {"seed": 1, "seedling": 2, "adult": 3, "reproducing": 4}
NAMED_BY_STAGE = ("tadpole", "caterpillar")  # these names do not state the animal
# A name ends in the plant's or animal's kind: a flower pot is no flower, a bee hive is no bee.
_PLANT = pattern(FILE, r"(?:.+ )?\b(?:PLANT)\b(?: \d+)?")
_ANIMAL = pattern(FILE, r"(?:baby|hatchling|juvenile|adult) .+|(?:.+ )?(?:ANIMAL)(?: \d+)?")
_FOCUS = re.compile(r"You focus on the (.+)\.")
_LIQUID = re.compile(r"water|mercury|unknown .*")  # substances that may not be solid if no phase is stated
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
    """The goal state: the final facts of each milestone in the task. Raises ValueError for another world's task."""
    wanted = goal_of(goal)
    if wanted is None:
        raise ValueError(f"not a task of ScienceWorld: {goal[:80]!r}")
    return wanted


def goal_of(text: str) -> Entities | None:
    """The goal state of a task description; None if its words are not ScienceWorld's."""
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
    """The agent, what the task names or clearly implies, what was focused on, and the holders of all these.

    Terminals are left out unless the task is about electricity.
    """
    memory = Memory(known)
    kinds = [pattern(FILE, kind["things"]) for kind in sections(FILE)["kinds"] if re.search(kind["words"], goal)]
    ingredients = ", ".join(filter(None, (entity.value("ingredients") for entity in known)))
    words = f" {goal.lower()} "
    chosen = {e.identity for e in known if _matters(e, words, kinds, ingredients)}
    # The holder of a thing says where it is, so it is relevant too.
    chosen |= {holder for identity in tuple(chosen) for holder in memory.holders(identity)}
    entities = (_without_points(e, goal) for e in known if e.identity in chosen)
    return tuple(entity for entity in entities if entity.attributes)


def _matters(entity: Entity, goal: str, kinds: list[re.Pattern[str]], ingredients: str) -> bool:
    name = plain(entity.identity)
    if name == AGENT or entity.value("focus") or entity.value("origin"):
        return True
    # Rooms and doors only lead to things, and are not part of what a task asks for (Table 10: plans are no goals).
    if name in ROOMS or name.startswith("door to "):
        return False
    named = re.search(rf"\b{re.escape(name.lower())}s?\b", goal) is not None
    if named or any(kind.search(name) for kind in kinds):
        return True
    return any(re.search(rf"\b{re.escape(i)}\b", name) for i in ingredients.split(", ") if i)


def _without_points(entity: Entity, goal: str) -> Entity:
    if "electrical" in goal:
        return entity
    attributes: tuple[Attribute, ...] = tuple(a for a in entity.attributes if a.name not in POINTS)
    return entity if len(attributes) == len(entity.attributes) else Entity(entity.identity, attributes)


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal with kinds replaced by the things themselves, as the observation shows them.

    A kind that must be focused on becomes the thing on which the agent focuses, milestone by milestone, if the text
    shows that it is of the kind: an animal for an animal, a paint mixed on the way to the final one, the next life
    stage of the turtle. No text reveals which animal lives longest, which inclined plane is steepest or which box a
    trait calls for. These stay as in the task; otherwise any choice of the agent would count as the right one.

    A "renewable power source" becomes the first of its kind that is seen. "in red box or green box" becomes one of them
    when the thermometer decides it, and so does the box of a melting point. It stays if the decision depends on an
    experiment whose outcome no sentence tells (conductivity).
    """
    focused = _focused(goal, tuple(wanted), state, observation)
    if not _DEGREES.fullmatch(observation.strip()):
        return _sourced(focused, state)
    return _melted(goal, _measured(goal, _sourced(focused, state), state), state)


def _focused(goal: str, wanted: Entities, state: Sequence[Entity], observation: str) -> Entities:
    """The next kind that waits for a focus becomes what was just focused on, if that may be of the kind."""
    match = _FOCUS.fullmatch(observation.strip())
    if not match:
        return wanted
    # The answer may have more words before the thing's own name.
    focus = f" {match[1]}"
    focused = [e for e in state if e.value("focus") == FOCUSED and focus.endswith(f" {plain(e.identity)}")]
    in_goal = {e.identity for e in wanted}
    new = next((e for e in reversed(focused) if e.identity not in in_goal), None)
    waiting = next((e.identity for e in wanted if KINDS.fullmatch(e.identity) and e.value("focus")), None)
    if new is None or waiting is None or _named(goal, wanted, match[1]):
        return wanted
    if staged := _STAGE.fullmatch(waiting):
        fits = _is_due(new, staged, goal, [e for e in focused if e.identity in in_goal])
    else:
        fits = _can_be(new, waiting, wanted)
    if not fits:
        return wanted
    return tuple(Entity(new.identity, e.attributes) if e.identity == waiting else e for e in wanted)


def _named(goal: str, wanted: Entities, name: str) -> bool:
    """Whether the task itself names the thing focused on."""
    return name in goal and any(e.identity == name for e in wanted)


def _can_be(thing: Entity, kind: str, wanted: Entities) -> bool:
    """Whether a thing may be of the kind, by its name, by what is known about it and by what else is wanted."""
    name = plain(thing.identity)
    if kind.endswith(" paint"):
        # A tertiary colour contains the name of the secondary one in its mixture: "violet-red".
        final = {word for e in wanted if e.value("origin") == CREATED for word in _colors(e.identity)}
        return thing.value("origin") == CREATED and name.endswith(" paint") and final.issuperset(_colors(name))
    return kind in _kinds(name)


def _colors(paint: str) -> set[str]:
    """The colours in a paint's name."""
    return set(paint.removesuffix(" paint").split("-"))


def _is_due(thing: Entity, staged: re.Match[str], goal: str, earlier: Sequence[Entity]) -> bool:
    """Whether a thing is the life stage to be focused on after the earlier ones."""
    species, number, name = staged[1], int(staged[3]), plain(thing.identity)
    if "living thing" not in _kinds(name) or not (f" {species} " in f" {name} " or name in NAMED_BY_STAGE):
        return False
    stages = PLANT_STAGES if staged[2] else ANIMAL_STAGES
    stage, *before = (stages.get(e.value("stage") or "", 0) for e in (thing, *earlier))
    # A species with fewer stages skips some: a bear has no egg.
    count = _COUNT.search(goal)
    spare = len(set(stages.values())) - (int(count[1]) if count else len(stages))
    return number <= stage <= number + spare and stage > max(before, default=0)


def _kinds(name: str) -> tuple[str, ...]:
    """The kinds of a thing of this name, among those that tasks ask to find."""
    if name == AGENT or name in ROOMS:
        return ()
    if _PLANT.fullmatch(name):
        return "plant", "living thing"
    if _ANIMAL.fullmatch(name) and not name.startswith("dead "):
        return "animal", "living thing"
    return ("non-living thing",)


def _sourced(wanted: Entities, state: Sequence[Entity]) -> Entities:
    """A kind of power source becomes the first known source of that kind."""
    seen = [e.identity for e in state]
    sources = {kind: next((i for i in seen if plain(i) in names), kind) for kind, names in POWER_SOURCES.items()}
    return tuple(Entity(sources.get(e.identity, e.identity), e.attributes) for e in wanted)


def _measured(goal: str, wanted: Entities, state: Sequence[Entity]) -> Entities:
    """The box for a thing is decided once its temperature was measured."""
    for name, side, limit, box in _CASES.findall(goal):
        degrees = next((_number(e.value("temperature")) for e in state if plain(e.identity) == name), None)
        if degrees is not None and (degrees > float(limit)) == (side == "above"):
            return tuple(_placed(e, f"in {box}") if e.identity == name else e for e in wanted)
    return wanted


def _melted(goal: str, wanted: Entities, state: Sequence[Entity]) -> Entities:
    """The box to focus on is decided once the substance is solid above the limit, or liquid below it."""
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
