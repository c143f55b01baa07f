"""The forms of ScienceWorld's sentences, and what each says of the world.

Every form is a pattern with a function `(memory, match, action) -> None`; the first that matches a whole observation
reads it. Refusals and questions back are forms that say nothing of the world.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from standins.statefactory.scienceworld.descriptions import life_stage, substance
from standins.statefactory.scienceworld.memory import AGENT, CARRIED, ROOMS, Memory, Path

Says = Callable[[Memory, re.Match[str], str], None]
FORMS: list[tuple[re.Pattern[str], Says]] = []
CREATED = "created by mixing"
FOCUSED = "focused on"

_TARGET = re.compile(r" (?:in|on|to|into|from) .*")
_SMALL = frozenset({"in", "on", "the", "a", "of", "stage"})


def _form(pattern: str) -> Callable[[Says], Says]:
    def register(says: Says) -> Says:
        FORMS.append((re.compile(pattern, re.DOTALL), says))
        return says

    return register


def say(memory: Memory, action: str, text: str) -> bool:
    """Note what a sentence says; False if its form is not known."""
    for pattern, says in FORMS:
        match = pattern.fullmatch(text)
        if match:
            says(memory, match, action)
            return True
    return False


# --- the agent and what it moves --------------------------------------------------------------------------------


@_form(r"You (?:move|go) to the (.+)\.")
@_form(r"You move through the (?:.+) to the (.+)\.")
@_form(r"You teleport to the (.+)\.")
def _enters(memory: Memory, match: re.Match[str], action: str) -> None:
    memory.enter(match[1])


@_form(r"You move the (.+) to the (.+)\.")
def _moves(memory: Memory, match: re.Match[str], action: str) -> None:
    _move(memory, _meant(memory, match[1], action), match[2], action)


@_form(r"You pour the contents of the (.+) into the (.+)\.")
def _empties(memory: Memory, match: re.Match[str], action: str) -> None:
    holder = _meant(memory, match[1], action)
    for identity in memory.inside(holder):
        _move(memory, identity, match[2], action)
    memory.facts[holder]["contents"] = "nothing"


@_form(r"You pour the (.+) into the (.+)\.")
def _pours(memory: Memory, match: re.Match[str], action: str) -> None:
    _move(memory, _meant(memory, match[1], action), match[2], action)


@_form(r"You dunk the (.+) in the (.+), moving the liquids \((.*)\) to the (.+)\.")
def _dunks(memory: Memory, match: re.Match[str], action: str) -> None:
    for name in match[3].split(", "):
        liquid = memory.known(substance(name)[0], f"in {match[2]}")
        dunked = memory.here(memory.known(match[1], action.split(" into ")[0]))
        memory.put(liquid, memory.within(dunked), memory.room_of(dunked))


@_form(r"The (.+) was delicious\.")
def _eats(memory: Memory, match: re.Match[str], action: str) -> None:
    identity = memory.known(match[1], action)
    memory.leave(identity)
    memory.facts[identity]["condition"] = "eaten"


def _meant(memory: Memory, name: str, action: str) -> str:
    """The thing that a sentence names; its name may carry the state of matter."""
    name = re.sub(r"^(recipe|book|paper|document|note) titled .+", r"\1", name)
    bare, facts = substance(name)
    identity = memory.find(name, action) or memory.known(bare, action)
    memory.facts[identity].update(facts)
    return identity


def _move(memory: Memory, identity: str, target: str, action: str) -> None:
    path, room = _place(memory, target, action)
    memory.put(identity, path, room)


def _place(memory: Memory, name: str, action: str) -> tuple[Path, str | None]:
    """Where something is that was moved to what is called so."""
    if name == CARRIED:
        return (("in", CARRIED),), memory.room
    if name in ROOMS:
        return (), name
    # What an action says after its "to" or "into" is where to.
    holder = memory.find(name, re.split(r" (?:to|into|in) (?=cup|[a-z ]+$)", action, maxsplit=1)[-1])
    if holder is None:
        return (("on" if name in ("table", "stove") else "in", name),), memory.room
    return memory.within(holder), memory.room_of(holder) or memory.room


# --- focus, devices, doors --------------------------------------------------------------------------------------


@_form(r"You focus on the (.+)\.")
def _focuses(memory: Memory, match: re.Match[str], action: str) -> None:
    identity = _meant(memory, match[1], action)
    memory.facts[identity].update(life_stage(match[1]) | {"focus": FOCUSED})
    called = _TARGET.sub("", action.removeprefix("focus on ")) if action.startswith("focus on ") else ""
    if called and not set(called.split()) & set(match[1].split()) - _SMALL and not called.isdigit():
        memory.facts[identity]["alias"] = called


@_form(r"The (.+) is (?:now|already) (open|closed)\.?")
def _opens(memory: Memory, match: re.Match[str], action: str) -> None:
    name = match[1]
    if name == "door":
        leads = re.search(r"door to (?:the )?(.+)", action)
        if not leads:
            return
        name = f"door to {leads[1]}"
    identity = memory.here(memory.known(name, action))
    memory.facts[identity]["openness"] = match[2]


@_form(r"The (.+) is (?:now|already) (activated|deactivated|flushing)\.?")
def _switches(memory: Memory, match: re.Match[str], action: str) -> None:
    power = {"activated": "on", "deactivated": "off"}.get(match[2], match[2])
    memory.facts[memory.known(match[1], action)]["power"] = power


@_form(r"The (.+) appears broken, and can't be activated or deactivated\.")
def _is_broken(memory: Memory, match: re.Match[str], action: str) -> None:
    memory.facts[memory.known(match[1], action)]["condition"] = "broken"


@_form(r"The (.+) catches fire\.")
def _burns(memory: Memory, match: re.Match[str], action: str) -> None:
    memory.facts[memory.known(match[1], action)]["condition"] = "on fire"


@_form(r"You hit the (.+) with the axe, causing it to break\.")
def _breaks(memory: Memory, match: re.Match[str], action: str) -> None:
    memory.facts[memory.known(match[1], action)]["condition"] = "broken"


@_form(r"You chop down the (.+), creating wood\.")
def _fells(memory: Memory, match: re.Match[str], action: str) -> None:
    identity = memory.known(match[1], action)
    place = memory.path(identity), memory.room_of(identity) or memory.room
    memory.leave(identity)
    memory.facts[identity]["condition"] = "chopped down"
    memory.put(memory.known("wood"), *place)


@_form(r"You dig a hole in the ground, and place the soil nearby\.")
def _digs(memory: Memory, match: re.Match[str], action: str) -> None:
    for name in ("hole", "soil"):
        if name not in memory.facts:
            memory.put(name, (("in", "ground"),) if name == "hole" else (), memory.room)


# --- measuring --------------------------------------------------------------------------------------------------


@_form(r"the thermometer measures a temperature of (-?\d+ degrees celsius)")
def _measures(memory: Memory, match: re.Match[str], action: str) -> None:
    memory.facts[memory.known("thermometer")]["reading"] = match[1]
    measured = re.fullmatch(r"use (?:the )?thermometer(?: in inventory)? on (.+)", action)
    if measured:
        memory.facts[_referred(memory, measured[1])]["temperature"] = match[1]


def _referred(memory: Memory, phrase: str) -> str:
    """The thing that an action's words refer to: "liquid tin in metal pot", "substance in toilet"."""
    name = substance(_TARGET.sub("", phrase))[0]
    inside = re.search(r" in (.+)", phrase)
    if name == "substance" and inside:
        held = memory.inside(memory.find(inside[1]) or "")
        return held[0] if len(held) == 1 else memory.known(name)
    return memory.find(name, phrase) or memory.known(name)


@_form(r"The lighter heats up the (.+) a small amount\.")
def _warms(memory: Memory, match: re.Match[str], action: str) -> None:
    memory.known(match[1], action)


# --- mixing and reading -----------------------------------------------------------------------------------------


@_form(r"(.+) mix to produce (?:an? )?(.+)\.")
def _mixes(memory: Memory, match: re.Match[str], action: str) -> None:
    product, mixed = match[2], match[1].lower()
    called = _TARGET.sub("", re.sub(r" containing .*", "", action.removeprefix("mix ")))
    holder = memory.here(memory.known(called, action)) if action.startswith("mix ") else None
    for identity in memory.inside(holder) if holder else ():
        if identity != product and any(word.rstrip("s") in mixed for word in identity.split()):
            memory.leave(identity)
            memory.facts[identity]["condition"] = "used up"
    if holder:
        memory.put(product, memory.within(holder), memory.room_of(holder))
    memory.facts.setdefault(product, {})["origin"] = CREATED


@_form(r"The (?:recipe|book|paper|document|note)(?: titled [^:\n]+?)? reads:? ?\n?(.*)")
def _reads(memory: Memory, match: re.Match[str], action: str) -> None:
    recipe = re.search(r"To make (.+?), you need to mix (.+?)\.(?:\s|$)", match[1])
    if recipe:
        memory.facts[memory.known("recipe")].update({"product": recipe[1], "ingredients": recipe[2]})
    else:
        title = re.match(r"(.+?) by ", match[1])
        memory.facts[memory.known(f"book ({title[1]})" if title else "document", action)]["text"] = "read"


# --- connecting -------------------------------------------------------------------------------------------------

_POINT = r"(terminal \d|anode|cathode) on (.+?)"


@_form(rf"{_POINT} is now connected to {_POINT}")
def _connects(memory: Memory, match: re.Match[str], action: str) -> None:
    for point, name, other, its in ((*match.group(1, 2, 3, 4),), (*match.group(3, 4, 1, 2),)):
        if name not in (AGENT, CARRIED, "air") and name not in ROOMS:
            memory.facts[memory.known(name)][point.replace(" ", "-")] = f"connected to {other} on {its}"


@_form(r"(.+) has been disconnected")
def _disconnects(memory: Memory, match: re.Match[str], action: str) -> None:
    disconnect(memory, match[1])


def disconnect(memory: Memory, name: str) -> None:
    """Nothing is connected to what is called so."""
    identity = memory.find(name)
    for other, facts in memory.facts.items():
        for point, value in facts.items():
            connected = value.startswith("connected to ")
            if connected and (other == identity or value.endswith(f" on {name}")):
                facts[point] = "unconnected"


# --- what says nothing of the world -----------------------------------------------------------------------------


@_form(r"No known action matches that input\.")
@_form(r"Unknown action\..*")
@_form(r"Ambiguous request: .*")
@_form(r"Task [Dd]escription:\n.*")
@_form(r"You decide to wait for \d+ iterations?\.")
@_form(r"You reset the goal progress and focus\.")
@_form(r"(?:I'm not sure|It'?s not clear|You can't|You must|You don't feel|Something can't|Connections must) .*")
@_form(r"(?:That thing doesn't|That can't be|That object|That is|That container is|There is only one thing) ?.*")
@_form(r"Mixing the contents of the .+ does not appear to produce anything new\.")
@_form(r".+ is already connected, and must be disconnected before it can be connected to something else")
@_form(r"The .+ is not (?:something that can be activated|closeable|openable|moveable|edible)\.")
@_form(r"The .+ is not (?:a container|open|flammable)\.")
@_form(r"The .+ (?:isn't open, so you can't see inside|aren't able to move|is already on fire|is in is not movable)\.")
@_form(r"The .+ (?:is empty, so there's nothing to pour|does not contain any liquids to dunk into|isn't open)\.")
@_form(r"The .+ can't be poured out.*")
@_form(r"The .+ (?:does not appear to be in a location|is locked|is not currently passable)\.")
@_form(r"The door doesn't appear to go anywhere\.")
@_form(r"\s*")
def _nothing(memory: Memory, match: re.Match[str], action: str) -> None:
    """Refusals, questions back, time passing, and the task, which is no source of facts."""
