"""How the agents' answers go wrong under `rules@p`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from agents.prompts import CHAIN_OF_THOUGHT, DIRECT, QuestionFields, Reasoned, Said
from lab.models.noise import corruption

NAME = re.compile(r"\b[A-Z\d][\w'’-]*(?: [A-Z\d][\w'’-]*)*")


@corruption(DIRECT)
def misread(fields: QuestionFields, answer: Said, random: Random) -> Said:
    """Another name of the evidence or the question."""
    return Said(answer=another_name(answer.answer, [fields.evidence, fields.question], random))


@corruption(CHAIN_OF_THOUGHT)
def misled(fields: QuestionFields, answer: Reasoned, random: Random) -> Reasoned:
    """The same, with a reason that fits."""
    name = another_name(answer.answer, [fields.evidence, fields.question], random)
    return Reasoned(reasoning=f"It is {name}.", answer=name)


def another_name(right: str, texts: Sequence[str], random: Random) -> str:
    """A name or number that the texts mention, but for the right one; "somebody else" where there is none."""
    names = sorted({name for text in texts for name in NAME.findall(text)} - {right})
    return random.choice(names) if names else "somebody else"
