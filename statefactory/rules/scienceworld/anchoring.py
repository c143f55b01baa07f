"""Module C's legal evolution of ScienceWorld's goals: kinds of things become the very things (Table 10)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from statefactory.rules.scienceworld.memory import AGENT, ROOMS, plain
from statefactory.rules.scienceworld.relevance import ANIMALS, PLANTS
from statefactory.rules.scienceworld.sentences import CREATED, FOCUSED
from statefactory.state import Attribute, Entity

Entities = tuple[Entity, ...]
KINDS = re.compile(
    r"(?:living thing|non-living thing|animal|plant)|.* or .* box|animal with the .* life span|"
    r"inclined plane with the .*|intermediate .* paint|.+ in life stage \d"
)
POWER_SOURCES = {
    "renewable power source": ("solar panel", "wind generator"),
    "nonrenewable power source": ("gas generator", "nuclear generator"),
}
_STAGE = re.compile(r"(.+?)(?: plant)? in life stage \d")
# Plants and animals are called so at the end of a name: a flower pot is no flower, a bee hive is no bee.
_PLANT = re.compile(rf"(?:.+ )?{PLANTS.pattern}(?: \d+)?")
_ANIMAL = re.compile(rf"(?:baby|hatchling|juvenile|adult) .+|(?:.+ )?(?:{ANIMALS.pattern})(?: \d+)?")
_FOCUS = re.compile(r"You focus on the (.+)\.")
_DEGREES = re.compile(r"the thermometer measures a temperature of (-?[\d.]+) degrees celsius")
_CASES = re.compile(
    r"If (?:the )?(.+?) temperature is (above|below) (-?[\d.]+) degrees celsius, place it in the (.+?)\."
)


def anchor(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal after an observation; see `statefactory.rules.scienceworld.anchored`."""
    return _measured(goal, _sourced(_focused(goal, tuple(wanted), state, observation), state), state, observation)


def _focused(goal: str, wanted: Entities, state: Sequence[Entity], observation: str) -> Entities:
    """The next kind that waits for a focus becomes what was just focused on, if that can be of the kind."""
    match = _FOCUS.fullmatch(observation.strip())
    if not match:
        return wanted
    # The answer may put more words before the thing's own name.
    said = f" {match[1]}"
    focused = [e for e in state if e.value("focus") == FOCUSED and said.endswith(f" {plain(e.identity)}")]
    taken = {e.identity for e in wanted}
    new = next((e for e in reversed(focused) if e.identity not in taken), None)
    waiting = next((e.identity for e in wanted if KINDS.fullmatch(e.identity) and e.value("focus")), None)
    if new is None or waiting is None or _named(goal, wanted, match[1]) or not _can_be(new, waiting):
        return wanted
    return tuple(Entity(new.identity, e.attributes) if e.identity == waiting else e for e in wanted)


def _named(goal: str, wanted: Entities, name: str) -> bool:
    """Whether the thing focused on is one that the task names itself."""
    return name in goal and any(e.identity == name for e in wanted)


def _can_be(thing: Entity, kind: str) -> bool:
    """Whether a thing can be of the kind, by its name and by what is known of it."""
    name, staged = plain(thing.identity), _STAGE.fullmatch(kind)
    if staged:
        return f" {staged[1]} " in f" {name} " and "living thing" in _kinds(name)
    if kind.endswith(" box"):
        return name in kind.split(" or ")
    if kind.endswith(" paint"):
        return name.endswith(" paint") and thing.value("origin") == CREATED
    if kind.startswith("inclined plane"):
        return name.startswith("inclined plane")
    return ("animal" if kind.startswith("animal with") else kind) in _kinds(name)


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
    found = {kind: next((i for i in seen if plain(i) in names), kind) for kind, names in POWER_SOURCES.items()}
    return tuple(Entity(found.get(e.identity, e.identity), e.attributes) for e in wanted)


def _measured(goal: str, wanted: Entities, state: Sequence[Entity], observation: str) -> Entities:
    """The box is decided once the thing's temperature was measured."""
    if not _DEGREES.fullmatch(observation.strip()):
        return wanted
    for name, side, limit, box in _CASES.findall(goal):
        degrees = next((_number(e.value("temperature")) for e in state if plain(e.identity) == name), None)
        if degrees is not None and (degrees > float(limit)) == (side == "above"):
            return tuple(_placed(e, f"in {box}") if e.identity == name else e for e in wanted)
    return wanted


def _number(value: str | None) -> float | None:
    match = re.match(r"-?[\d.]+", value or "")
    return float(match[0]) if match else None


def _placed(entity: Entity, location: str) -> Entity:
    attributes = (Attribute(a.name, location) if a.name == "location" else a for a in entity.attributes)
    return Entity(entity.identity, tuple(attributes))
