"""How answers to the prompts for multi-hop questions go wrong under `rules@p`: within what the prompts offer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from lab.models.noise import corruption, verdict
from sdp.adapters.multihop.prompts import (
    ANSWER,
    CONSISTENT,
    DECOMPOSE,
    EXTRACT,
    GUESS,
    QUERY,
    VERIFY,
    AnswerFields,
    Consistent,
    ConsistentFields,
    DecomposeFields,
    Extract,
    ExtractFields,
    Final,
    Guess,
    GuessFields,
    Query,
    QueryFields,
    SubQuestions,
    Verified,
    VerifyFields,
)

NAME = re.compile(r"\b[A-Z\d][\w'’-]*(?: [A-Z\d][\w'’-]*)*")


@corruption(DECOMPOSE)
def in_one(fields: DecomposeFields, answer: SubQuestions, random: Random) -> SubQuestions:
    """The question itself in place of one of its parts, as models do that break nothing up."""
    place = random.randrange(len(answer.questions))
    return SubQuestions(questions=[*answer.questions[:place], fields.question, *answer.questions[place + 1 :]])


@corruption(QUERY)
def elsewhere(fields: QueryFields, answer: Query, random: Random) -> Query:
    """Another name that the question or a finding mentions."""
    return Query(query=_another(answer.query, [fields.question, *(one.finding for one in fields.found)], random))


@corruption(GUESS)
def guessed(fields: GuessFields, answer: Guess, random: Random) -> Guess:
    """A name of the question."""
    return Guess(guess=_another(answer.guess, [fields.question], random))


@corruption(EXTRACT)
def misread(fields: ExtractFields, answer: Extract, random: Random) -> Extract:
    """Another name from one of the paragraphs, said to answer the sub-question; nothing where there is none."""
    if not fields.paragraphs:
        return answer
    read = random.choice(fields.paragraphs)
    name = _another(answer.entity, [read.text], random)
    return Extract(title=read.title, finding=f"It is {name}.", entity=name)


@corruption(ANSWER)
def on_the_way(fields: AnswerFields, answer: Final, random: Random) -> Final:
    """The entity of another hop, or a name of the question."""
    others = [one.entity for one in fields.found if one.entity != answer.answer]
    return Final(answer=random.choice(others) if others else _another(answer.answer, [fields.question], random))


@corruption(VERIFY)
def misjudged(fields: VerifyFields, answer: Verified, random: Random) -> Verified:
    return Verified(reason="the paragraph seems to say otherwise", supported=not answer.supported)


@corruption(CONSISTENT)
def misweighed(fields: ConsistentFields, answer: Consistent, random: Random) -> Consistent:
    return Consistent(reason="something else seems to follow", consistent=not answer.consistent)


@verdict(VERIFY)
def supports(answer: Verified) -> bool:
    return answer.supported


@verdict(CONSISTENT)
def agrees(answer: Consistent) -> bool:
    return answer.consistent


def _another(right: str, texts: Sequence[str], random: Random) -> str:
    names = sorted({name for text in texts for name in NAME.findall(text)} - {right})
    return random.choice(names) if names else "somebody else"
