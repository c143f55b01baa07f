"""The rules engine's answers to the agents' prompts on the made encyclopedia: they know what SDP's rules know there.

They follow the whole chain in one call. Rules do not tire of long questions as models do: under noise, one answer that
goes wrong is all that can go wrong, so that no row of rules or noise says which agent is better.
"""

from __future__ import annotations

from agents.prompts import CHAIN_OF_THOUGHT, DIRECT, QuestionFields, Reasoned, Said
from lab.models.rules import rule
from worlds.encyclopedia.reading.hops import answer_in, concluded, decomposed
from worlds.multihop.questions import filled
from worlds.multihop.world import from_text


@rule(DIRECT)
def direct(fields: QuestionFields) -> Said:
    """What follows from the paragraphs; "unknown" where the question or the evidence is not there to read."""
    found = _hops(fields)
    return Said(answer=concluded(fields.question, [entity for _, entity in found]))


@rule(CHAIN_OF_THOUGHT)
def chain_of_thought(fields: QuestionFields) -> Reasoned:
    """The same, hop by hop."""
    found = _hops(fields)
    said = " ".join(f"{asked} {entity}." for asked, entity in found)
    return Reasoned(reasoning=said, answer=concluded(fields.question, [entity for _, entity in found]))


def _hops(fields: QuestionFields) -> list[tuple[str, str]]:
    """Each hop as it is asked and what the paragraphs say, up to the first that they do not answer."""
    found: list[tuple[str, str]] = []
    paragraphs = from_text(fields.evidence)
    for hop in decomposed(fields.question):
        asked = filled(hop, [entity for _, entity in found])
        entity = next((said for one in paragraphs if (said := answer_in(*one, asked))), "")
        if not entity:
            return []
        found.append((asked, entity))
    return found
