"""BlocksWorld's language: PlanBench's clauses about blocks and the hand.

An observation names all that holds, so what is known of the blocks is replaced as a whole; a refusal changes nothing.
Words: ("red block", position = "on top of the blue block" | "on the table" | "in the hand", top = "clear" | "covered")
and ("hand", content = "empty" | "red block"). A position is in the observation's own words (see
`statefactory.experiments.wordings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from standins.statefactory.languages import Entities, Reading
from statefactory.state import Attribute, Entity, from_facts

Fact = tuple[str, Attribute]  # a block or the hand, and what is said of it

HAND = "hand"
_BLOCK = r"((?:[\w-]+ ){1,2}block(?: \d+)?)"
_SEPARATOR = re.compile(r"\s*(?:,\s*(?:and\s+)?|\band\s+(?=the\s)|\.\s*)")
_BLOCKS = re.compile(r"(?:the |holding )((?:(?!the |holding )[\w-]+ ){1,2}?block(?: \d+)?)")
_REFUSAL = re.compile(r"this is not possible; nothing has changed\.?")


def is_goal(goal: str) -> bool:
    """Whether the task is nothing but clauses about blocks."""
    found, unread = _clauses(goal)
    return bool(found) and not unread


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """The blocks as the observation has them; what was known stays where it states nothing."""
    if _REFUSAL.fullmatch(_plain(observation)):
        return Reading(tuple(known))
    found, unread = _clauses(observation)
    return Reading(from_facts(_completed(found)) if found else tuple(known), unread)


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The blocks that the task names, and the hand."""
    kept = {*_BLOCKS.findall(_plain(goal)), HAND}
    return tuple(entity for entity in known if entity.identity in kept)


def blueprint(goal: str) -> Entities:
    """Each clause of the task as a fact."""
    return from_facts(_clauses(goal)[0])


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal as it is: the task names every block itself."""
    return tuple(wanted)


def _position(block: str, where: str) -> Fact:
    return block, Attribute("position", where)


def _top(block: str, what: str) -> Fact:
    return block, Attribute("top", what)


# The forms of a clause, and the fact that each states.
CLAUSES: tuple[tuple[re.Pattern[str], Callable[..., Fact]], ...] = tuple(
    (re.compile(form), fact)
    for form, fact in (
        (f"(?:the )?{_BLOCK} is clear", lambda block: _top(block, "clear")),
        ("(?:the )?hand is empty", lambda: (HAND, Attribute("content", "empty"))),
        (
            f"(?:the )?hand is (?:currently )?holding (?:the )?{_BLOCK}",
            lambda block: (HAND, Attribute("content", block)),
        ),
        (
            f"(?:the )?{_BLOCK} is on top of (?:the )?{_BLOCK}",
            lambda upper, lower: _position(upper, f"on top of the {lower}"),
        ),
        (f"(?:the )?{_BLOCK} is on the table", lambda block: _position(block, "on the table")),
    )
)


def _clauses(text: str) -> tuple[list[Fact], tuple[str, ...]]:
    """The facts that the clauses of a text state, and the clauses that are in no form."""
    facts, unread = [], []
    for clause in filter(None, _SEPARATOR.split(_plain(text))):
        fact = next((fact(*match.groups()) for form, fact in CLAUSES if (match := form.fullmatch(clause))), None)
        if fact:
            facts.append(fact)
        else:
            unread.append(clause)
    return facts, tuple(unread)


def _completed(facts: Sequence[Fact]) -> list[Fact]:
    """With what the clauses imply: a held block is in the hand; a standing one that is not called clear is covered."""
    held = [fact.value for identity, fact in facts if identity == HAND and fact.value != "empty"]
    clear = {block for block, fact in facts if fact == Attribute("top", "clear")}
    standing = [block for block, fact in facts if fact.name == "position"]
    # PlanBench's text lists every clear block, so that silence says covered.
    covered = [_top(block, "covered") for block in standing if block not in clear]
    return [*facts, *(_position(block, "in the hand") for block in held), *covered]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
