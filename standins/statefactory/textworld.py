"""TextWorld's language: quests, rooms and answers of the "house" theme and of the cooking challenge.

chest    location "in the attic", state "open" or "closed", lock "locked" or "unlocked"
portal   location "south of the attic", state, lock
key      location "on the floor of the attic", "on the table", "in the chest" or "in your inventory"; origin "the
         chest" or "the floor", where it was last taken from; foods also cooking, cut and consumption
attic    visited "yes", location "south of the hall" (how it was first entered), exits "east, north" (without doors)
you      location "in the attic"
recipe   ingredients, directions; and of a cookbook: status "read"

Each instruction of a quest becomes the fact in which it ends. If a thing was taken and is then put elsewhere, having
taken it stays a milestone: that it was taken from its place is true to the end.

The forms (`textworld.yaml`) are those that state facts. The game adds many sentences that state none: greetings, jokes,
looks, refusals; these count as unread. The forms were written on the package's own text grammars and sources, and on
synthetic games outside the benchmark's pairs: lock-and-key quests, treasure hunts and cooking of the training split.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from standins.statefactory.forms import Fact, Facts, as_entities, as_facts, first, forms, note, pattern, sections
from standins.statefactory.languages import Entities, Reading
from statefactory.state import Entity

YOU, INVENTORY = "you", "in your inventory"
FILE = Path(__file__).with_name("textworld.yaml")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
OPPOSITE = {"north": "south", "south": "north", "east": "west", "west": "east"}
TITLE = re.compile(r"^-= (.+?) =-[ \t]*$", re.MULTILINE)
RECIPE = re.compile(
    r"and start reading:.*?\n *Ingredients:\s*\n(?P<ingredients>.*?)\n\s*\n? *Directions:\s*\n(?P<directions>.*)",
    re.DOTALL,
)
_UNKNOWN = re.compile(rf"(?:{'|'.join(ORDINALS)}) room, to the ({'|'.join(OPPOSITE)})")
_ENDING = re.compile(r"(?=\n(?:Your score|\*\*\*))")
_SENTENCE_END = re.compile(r"(?<=[!?])\s+|(?<=\.)\s+(?=[A-Z\"'])|(?<=[Oo]h well)\s+(?=[A-Z])|\n+")
_ARTICLE = re.compile(r"(?:an?|the|some) ")
_ONE_OF_ALL = pattern(FILE, "NAME: (?=you )")  # "key: You drop the key on the ground", after "drop all"
# Words before an instruction: "Once you have opened the box, recover ...".
_LEAD = re.compile(
    r"(?:first (?:off|of all|stop|step)|then|next|following that|that done|and then|okay|having [^,]+|after [^,]+|"
    r"once [^,]+|if [^,]+|with [^,]+|you could|like|first)\b,\s*"
)
_OPENING = re.compile(
    r"(?:your first objective is|first thing i need you to do is|i need you|your task for today is) to |"
    r"your objective is to |"
    r"it would be (?:good|great|fantastic|a great idea) if you could |please |you can |"
    r"(?:try|attempt|make an (?:effort|attempt)) to "
)


def is_goal(goal: str) -> bool:
    """Whether a task description is TextWorld's: a greeting with an instruction, or the cooking quest."""
    text = " ".join(goal.lower().split())
    greeted = "textworld" in text or text.startswith("your objective is to ")
    return _cooking(text) or greeted and any(milestones(goal))


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """What is known after an answer. A quest before the first room is not read."""
    facts = as_facts(known)
    unread: list[str] = []
    # Split at the titles of rooms: the text before the first title, then a title and its text, alternately.
    preamble, *titles_and_texts = TITLE.split(observation)
    if preamble.strip() and not (titles_and_texts and is_goal(preamble)) or not titles_and_texts:
        unread += _read_answer(facts, action, preamble)
    for title, text in zip(titles_and_texts[::2], titles_and_texts[1::2], strict=True):
        body = _ENDING.split(text, maxsplit=1)[0]  # without the score and the ending
        unread += _read_room(facts, title.lower(), body, action) + _read_answer(facts, action, text[len(body) :])
    return Reading(as_entities(facts), tuple(unread))


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The things that the quest names, all things in a cooking quest, the rooms in a quest with moves, and you."""
    text = f" {re.sub(r'[^a-z0-9-]+', ' ', goal.lower())} "
    # A cooking quest names no ingredient: only the cookbook does, so all things may be relevant.
    cooking = _cooking(goal.lower())
    moves = any(_UNKNOWN.fullmatch(identity) for facts in milestones(goal) for identity, _ in facts)
    entities = []
    for entity in known:
        visited = entity.value("visited") is not None
        named = f" {re.sub(r'[^a-z0-9-]+', ' ', entity.identity)} " in text
        if entity.identity == YOU or (moves if visited else cooking or named):
            entities.append(Entity(entity.identity, tuple(a for a in entity.attributes if a.name != "exits")))
    return tuple(entity for entity in entities if entity.attributes)


def blueprint(goal: str) -> Entities:
    """The fact of each instruction; a later one for the same property of a thing replaces the earlier one."""
    facts: Facts = {}
    for milestone in milestones(goal):
        note(facts, milestone)  # "take the key, put it on the table": the last location is the goal
    return as_entities(facts)


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal; a room to which a move leads gets its name once the agent is there.

    Rooms are named in the order of the quest's moves, if the room is seen to be in that direction from the one before.
    What a recipe requires of the ingredients is not part of the goal: the task does not say it (Table 10).
    """
    titles = TITLE.findall(observation)
    unknown = [(n, match[1]) for n, entity in enumerate(wanted) if (match := _UNKNOWN.fullmatch(entity.identity))]
    room = titles[-1].lower() if titles else ""
    known = next((entity for entity in state if entity.identity == room), None)
    if not titles or not unknown or known is None or any(entity.identity == room for entity in wanted):
        return tuple(wanted)
    number, direction = unknown[0]
    earlier_rooms = [entity.identity for entity in wanted[:number] if entity.value("visited")]
    location = known.value("location") or ""
    matches_move = location == f"{direction} of the {earlier_rooms[-1]}" if earlier_rooms else True
    if not matches_move or not location.startswith((f"{direction} of", f"to the {direction}")):
        return tuple(wanted)
    return (*wanted[:number], Entity(room, wanted[number].attributes), *wanted[number + 1 :])


def milestones(goal: str) -> Iterator[list[Fact]]:
    """The facts of each instruction, in order; for the cooking quest, all at once."""
    text = " ".join(goal.lower().split())
    if quest := first(forms(FILE, "quests"), text):
        form, groups = quest
        yield form.stated(groups)
        return
    moves = 0
    for sentence in instructions(text):
        if instruction := first(forms(FILE, "instructions"), sentence):
            form, groups = instruction
            yield form.stated(groups | {"ordinal": ORDINALS[min(moves, len(ORDINALS) - 1)]})
            moves += "direction" in groups


def instructions(text: str) -> Iterator[str]:
    """The sentences of a quest without their introductory words; greetings are among them."""
    for sentence in re.split(r"[.!?]+\s*", text):
        before = None
        while before != sentence:
            before, sentence = sentence, _OPENING.sub("", _LEAD.sub("", sentence.strip(), count=1).strip(), count=1)
        if sentence:
            yield sentence


def _cooking(text: str) -> bool:
    return first(forms(FILE, "quests"), text) is not None


def _read_room(facts: Facts, room: str, body: str, action: str) -> list[str]:
    """Read the text below a room's title; returns the sentences that match no form. action: what led here."""
    _arrive(facts, room, action)
    # The first paragraph only greets the player in the room, which the title names.
    described = "\n".join(body.strip("\n").split("\n\n")[1:])
    groups = {"room": room, "here": f"in the {room}", "floor": f"on the floor of the {room}"}
    unread = []
    for sentence in sentences(described):
        reading = _note(
            facts, "rooms", re.sub(r", (?:so there's that|unfortunately|what a horrible day)$", "", sentence), groups
        )
        if reading is None:
            unread.append(sentence)
        elif "thing" in reading:
            groups["thing"] = reading["thing"]
    return unread


def _arrive(facts: Facts, room: str, action: str) -> None:
    """Set where the agent is; on the first visit by a move, also how the room lies relative to the one before."""
    before = facts.get(YOU, {}).get("location")
    direction = action.lower().removeprefix("go ").strip()
    # Only on the first visit: otherwise a room entered from elsewhere later would seem to have moved.
    if direction in OPPOSITE and before != f"in the {room}" and "visited" not in facts.get(room, {}):
        location = f"{direction} of the {before.removeprefix('in the ')}" if before else f"to the {direction}"
        facts.setdefault(room, {})["location"] = location
    facts.setdefault(YOU, {})["location"] = f"in the {room}"
    facts.setdefault(room, {})["visited"] = "yes"


def _read_answer(facts: Facts, action: str, text: str) -> list[str]:
    """Read an answer that shows no room; returns the sentences that match no form."""
    verb, _, thing = action.lower().partition(" ")
    if recipe := RECIPE.search(text):
        # The cookbook was read, and the recipe states ingredients and directions.
        ingredients, directions = (_lines(part) for part in (recipe[1], recipe[2].split("\n\n")[0]))
        facts.setdefault(thing or "cookbook", {})["status"] = "read"
        facts.setdefault("recipe", {}).update({"ingredients": ingredients, "directions": directions})
        text = text[text.index("\n\n", recipe.end()) :] if "\n\n" in text[recipe.end() :] else ""
    here = facts.get(YOU, {}).get("location", "").removeprefix("in ")
    groups = {"floor": f"on the floor of {here}" if here else "on the floor"}
    if verb == "examine" and thing:
        groups["examined"] = thing
    # An action on "all" puts the thing's name before each answer.
    answers = (_ONE_OF_ALL.sub("", sentence, count=1) for sentence in sentences(text))
    return [answer for answer in answers if _note(facts, "answers", answer, groups) is None]


def _lines(text: str) -> str:
    return ", ".join(line.strip().lower() for line in text.splitlines() if line.strip())


def _note(facts: Facts, section: str, sentence: str, given: dict[str, str]) -> dict[str, str] | None:
    """Set what a sentence states and return its groups; None if it matches no form. given: additional groups."""
    reading = first(forms(FILE, section), sentence)
    if reading is None:
        return None
    form, own = reading
    groups = given | own | sections(FILE)["turned"].get(own.get("turned"), {})
    if "food" in groups:
        groups["food"] = _note_food(facts, groups["food"])
    note(facts, form.stated(groups))
    items = [_note_food(facts, item) for item in listed(groups.get("items", ""))]
    for item in items:
        facts[item]["location"] = form.extra["items"].format_map(groups)
    if form.rule == "leads":
        exits = facts[groups["room"]].get("exits", groups["direction"]).split(", ")
        facts[groups["room"]]["exits"] = ", ".join(sorted({*exits, groups["direction"]}))
    removed: list[str] = []
    if form.rule == "consumed":
        removed = [groups["food"]]
    elif form.rule == "prepared":  # the meal uses up the recipe's ingredients
        removed = facts.get("recipe", {}).get("ingredients", "").split(", ")
    elif form.rule == "carried":  # the inventory is complete: a thing that it does not list is elsewhere
        removed = [name for name, known in facts.items() if known.get("location") == INVENTORY and name not in items]
    for name in removed:
        facts.get(name, {}).pop("location", None)
    return groups


def _note_food(facts: Facts, text: str) -> str:
    """Set what the name of a portable thing says about its preparation; returns its own name."""
    name, preparation = unprocessed(named(text))
    facts.setdefault(name, {}).update(preparation)
    return name


def sentences(text: str) -> list[str]:
    """The text's sentences in lower case, without the final punctuation."""
    return [part for part in (piece.strip().lower().rstrip(".!?") for piece in _SENTENCE_END.split(text)) if part]


def named(text: str) -> str:
    """A thing's name without its article, in lower case."""
    plain = text.strip().lower()
    return plain[match.end() :] if (match := _ARTICLE.match(plain)) else plain


def listed(text: str) -> list[str]:
    """The names in "a key, some water and a chest", with their articles."""
    return [part for part in re.split(r", (?:and )?| and (?=an? |some |the )", text) if part]


def unprocessed(name: str) -> tuple[str, dict[str, str]]:
    """A food's own name, and how it was cooked and cut: "diced raw onion" is an onion."""
    preparation: dict[str, str] = {}
    kinds = {"cooking": pattern(FILE, "COOKED"), "cut": pattern(FILE, "CUT")}
    while True:
        word, _, remainder = name.partition(" ")
        kind = next((kind for kind, words in kinds.items() if words.fullmatch(word)), None)
        if kind is None or not remainder or kind in preparation:
            return name, preparation
        preparation[kind], name = word, remainder
