"""TextWorld's answers to actions: taking, putting, opening, cooking, examining, the inventory and the cookbook."""

from __future__ import annotations

import re
from collections.abc import Callable

from standins.statefactory.textworld.filler import ANSWER, LOOKS
from standins.statefactory.textworld.words import (
    INVENTORY,
    STATED,
    THING,
    YOU,
    Knowledge,
    listed,
    sentences,
    unprocessed,
)

Rule = tuple[re.Pattern[str], Callable[..., None]]

RECIPE = re.compile(
    r"and start reading:.*?\n *Ingredients:\s*\n(?P<ingredients>.*?)\n\s*\n? *Directions:\s*\n(?P<directions>.*)",
    re.DOTALL,
)
_OPENNESS = re.compile(
    r"(?:(?P<looks>.*?) )?(?:it is (?P<state>open|closed|locked)|you can (?P<seen>see) inside it|"
    r"you can't see inside it because the lid's in your way|"
    r"there is a lock on it)"
)
_FOOD = re.compile(r"the (?P<one>.+?) looks .+|.* eat that (?P<two>.+)|that's an? (?P<three>.+)")
COOKING = ("fried", "roasted", "grilled", "burned")
_ONE_OF_ALL = re.compile(rf"^{THING}: (?=you )")  # "key: You drop the key on the ground", where all was dropped
CUTTING = {"slice": "sliced", "dice": "diced", "chop": "chopped"}


def read_outcome(known: Knowledge, action: str, text: str) -> list[str]:
    """Read an answer that shows no room; the sentences that are in no form."""
    recipe = RECIPE.search(text)
    if recipe:
        read_recipe(known, action, recipe)
        text = text[text.index("\n\n", recipe.end()) :] if "\n\n" in text[recipe.end() :] else ""
    examined = action.lower().removeprefix("examine ") if action.lower().startswith("examine ") else None
    return [s for s in sentences(text) if not _read(known, s, examined)]


def read_recipe(known: Knowledge, action: str, recipe: re.Match[str]) -> None:
    """The cookbook's page: that it was read, and what the recipe needs."""
    book = action.lower().partition(" ")[2] or "cookbook"
    known.say(book, status="read")
    known.say("recipe", ingredients=", ".join(_lines(recipe["ingredients"])), directions=", ".join(directions(recipe)))


def directions(recipe: re.Match[str]) -> list[str]:
    """The steps of a recipe: "chop the cilantro", "prepare meal"."""
    return _lines(recipe["directions"].split("\n\n")[0])


def _lines(text: str) -> list[str]:
    return [line.strip().lower() for line in text.splitlines() if line.strip()]


def _read(known: Knowledge, sentence: str, examined: str | None) -> bool:
    # An action on "all" puts the thing's name before each answer.
    sentence = _ONE_OF_ALL.sub("", sentence)
    for form, rule in RULES:
        if match := form.fullmatch(sentence):
            rule(known, **match.groupdict())
            return True
    if _read_examined(known, sentence, examined):
        return True
    # Last: filler states no fact, and a form above may have words in common with it.
    return bool(ANSWER.fullmatch(sentence))


def _read_examined(known: Knowledge, sentence: str, examined: str | None) -> bool:
    """The looks of a thing, which may tell whether it is open, or how a food was cooked."""
    match = _OPENNESS.fullmatch(sentence)
    if examined and match and (not match["looks"] or LOOKS.fullmatch(match["looks"])):
        is_open = match["seen"] or match["state"] == "open"
        known.say(examined, state="open" if is_open else "closed")
        return True
    if not (LOOKS.fullmatch(sentence) or sentence in _names(examined)):
        return False
    if match := _FOOD.fullmatch(sentence):
        name, found = unprocessed(match["one"] or match["two"] or match["three"])
        if found:
            known.say(name, **found)
    return True


def _names(examined: str | None) -> tuple[str, ...]:
    """What the cooking challenge says of a food that is examined: its name."""
    return (f"that's a {examined}", f"that's an {examined}") if examined else ()


def _take(known: Knowledge, thing: str, holder: str | None = None) -> None:
    known.food(thing, location=INVENTORY, origin=f"the {holder or 'floor'}")


def _drop(known: Knowledge, thing: str) -> None:
    here = known.value(YOU, "location")
    known.food(thing, location=f"on the floor of {here.removeprefix('in ')}" if here else "on the floor")


def _put(known: Knowledge, thing: str, where: str, holder: str) -> None:
    known.food(thing, location=f"{'in' if where == 'into' else where} the {holder}")


def _open(known: Knowledge, thing: str, items: str | None = None) -> None:
    known.say(thing, state="open")
    for item in listed(items or ""):
        known.food(item, location=f"in the {thing}")


def _hold(known: Knowledge, where: str, holder: str, items: str) -> None:
    if where == "in":
        known.say(holder, state="open")
    for item in listed(items):
        known.food(item, location=f"{where} the {holder}")


def _carry(known: Knowledge, items: str | None = None) -> None:
    """The inventory is listed as a whole: what is not in it is elsewhere."""
    carried = {known.food(item, location=INVENTORY) for item in listed(items or "")}
    for gone in set(known.at(INVENTORY)) - carried:
        known.forget(gone, "location")


def _consume(known: Knowledge, thing: str) -> None:
    known.food(thing, consumption="eaten")
    known.forget(unprocessed(thing)[0], "location")


def _prepare(known: Knowledge) -> None:
    """The meal takes what the recipe names."""
    known.say("meal", location=INVENTORY, preparation="prepared")
    for ingredient in (known.value("recipe", "ingredients") or "").split(", "):
        known.forget(ingredient, "location")


def _say(**attributes: str) -> Callable[..., None]:
    def rule(known: Knowledge, thing: str) -> None:
        known.say(unprocessed(thing)[0], **attributes)

    return rule


def _turned(known: Knowledge, thing: str, state: str) -> None:
    known.turned(thing, state)


def _processed(known: Knowledge, thing: str, done: str) -> None:
    known.say(unprocessed(thing)[0], **{"cooking" if done in COOKING else "cut": done})


# THING: a name, and no more of a sentence.
_FORMS: tuple[tuple[str, Callable[..., None]], ...] = (
    (r"you pick up the (?P<thing>THING) from the ground", _take),
    (r"you take the (?P<thing>THING) from the (?P<holder>THING)", _take),
    (r"you drop the (?P<thing>THING) on the ground", _drop),
    (r"you put the (?P<thing>THING) (?P<where>into|on) the (?P<holder>THING)", _put),
    (r"you open (?:the )?(?P<thing>THING)(?:, revealing (?P<items>.+))?", _open),
    (r"you close (?:the )?(?P<thing>THING)", _say(state="closed")),
    (r"you unlock (?:the )?(?P<thing>THING)", _say(state="closed", lock="unlocked")),
    (r"you lock (?:the )?(?P<thing>THING)", _say(state="closed", lock="locked")),
    (r"you (?:eat|drink) the (?P<thing>THING)", _consume),
    (r"not bad", lambda known: None),
    (r"you are carrying nothing", _carry),
    (r"you are carrying: (?P<items>.+)", _carry),
    (r"(?P<where>in|on) the (?P<holder>THING) (?:is|are) (?P<items>(?:an?|some|the) .+)", _hold),
    (STATED.pattern, _turned),
    (rf"the (?P<thing>THING) is already (?P<done>{'|'.join((*COOKING, *CUTTING.values()))})", _processed),
    (r"adding the meal to your inventory", _prepare),
    *((rf"you {done} the (?P<thing>THING)", _say(cooking=done)) for done in COOKING),
    *((rf"you {verb} the (?P<thing>THING)", _say(cut=done)) for verb, done in CUTTING.items()),
)
RULES: tuple[Rule, ...] = tuple((re.compile(form.replace("THING", THING)), rule) for form, rule in _FORMS)
