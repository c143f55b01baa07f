"""BlocksWorld's language: PlanBench's clauses about blocks and the hand.

An observation names everything that holds, so it replaces all that is known about the blocks; a refusal changes
nothing. Entities: ("red block", position = "on top of the blue block" | "on the table" | "in the hand", top = "clear" |
"covered") and ("hand", content = "empty" | "red block"). A position uses the observation's own words (see
`statefactory.experiments.scoring`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from standins.statefactory.forms import Fact, first, forms
from standins.statefactory.languages import Entities, Reading
from statefactory.state import Attribute, Entity, from_facts

HAND = "hand"
_FILE = Path(__file__).with_name("blocksworld.yaml")
_SEPARATOR = re.compile(r"\s*(?:,\s*(?:and\s+)?|\band\s+(?=the\s)|\.\s*)")
_BLOCKS = re.compile(r"(?:the |holding )((?:(?!the |holding )[\w-]+ ){1,2}?block(?: \d+)?)")
_REFUSAL = re.compile(r"this is not possible; nothing has changed\.?")


def is_goal(goal: str) -> bool:
    """Whether the task consists only of clauses about blocks."""
    facts, unread = _clauses(goal)
    return bool(facts) and not unread


def read(known: Sequence[Entity], action: str, observation: str) -> Reading:
    """The blocks according to the observation; what was known stays if it states nothing."""
    if _REFUSAL.fullmatch(_plain(observation)):
        return Reading(tuple(known))
    facts, unread = _clauses(observation)
    return Reading(from_facts(_completed(facts)) if facts else tuple(known), unread)


def relevant(goal: str, known: Sequence[Entity]) -> Entities:
    """The blocks that the task names, and the hand."""
    named = {*_BLOCKS.findall(_plain(goal)), HAND}
    return tuple(entity for entity in known if entity.identity in named)


def blueprint(goal: str) -> Entities:
    """Each clause of the task as a fact."""
    return from_facts(_clauses(goal)[0])


def anchored(goal: str, wanted: Sequence[Entity], state: Sequence[Entity], observation: str) -> Entities:
    """The goal as it is: the task names every block itself."""
    return tuple(wanted)


def _clauses(text: str) -> tuple[list[Fact], tuple[str, ...]]:
    """The facts that the clauses of a text state, and the clauses that match no form."""
    facts: list[Fact] = []
    unread = []
    for clause in filter(None, _SEPARATOR.split(_plain(text))):
        if reading := first(forms(_FILE, "clauses"), clause):
            form, groups = reading
            facts += form.stated(groups)
        else:
            unread.append(clause)
    return facts, tuple(unread)


def _completed(facts: Sequence[Fact]) -> list[Fact]:
    """The facts with what they imply.

    A held block is in the hand, and a block in a tower that is not called clear is covered.
    """
    in_hand = [fact.value for identity, fact in facts if identity == HAND and fact.value != "empty"]
    clear = {block for block, fact in facts if fact == Attribute("top", "clear")}
    with_position = [block for block, fact in facts if fact.name == "position"]
    # PlanBench's text lists every clear block, so one that it does not list is covered.
    covered = [(block, Attribute("top", "covered")) for block in with_position if block not in clear]
    return [*facts, *((block, Attribute("position", "in the hand")) for block in in_hand), *covered]


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
