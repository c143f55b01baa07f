"""How answers to the prompts for multi-hop questions go wrong under `rules@p`: within what the prompts offer."""

from __future__ import annotations

from random import Random

from lab.models.rules import corruption, verdict
from sdp.adapters.multihop import prompts
from standins.agents.noise import another_name


@corruption(prompts.DECOMPOSE)
def in_one(fields: prompts.DecomposeFields, answer: prompts.SubQuestions, random: Random) -> prompts.SubQuestions:
    """The question itself in place of one of its parts, as models do that break nothing up."""
    place = random.randrange(len(answer.questions))
    return prompts.SubQuestions(questions=[*answer.questions[:place], fields.question, *answer.questions[place + 1 :]])


@corruption(prompts.QUERY)
def elsewhere(fields: prompts.QueryFields, answer: prompts.Query, random: Random) -> prompts.Query:
    """Another name that the question or a finding mentions."""
    return prompts.Query(
        query=another_name(answer.query, [fields.question, *(one.finding for one in fields.found)], random)
    )


@corruption(prompts.GUESS)
def guessed(fields: prompts.GuessFields, answer: prompts.Guess, random: Random) -> prompts.Guess:
    """A name of the question."""
    return prompts.Guess(guess=another_name(answer.guess, [fields.question], random))


@corruption(prompts.EXTRACT)
def misread(fields: prompts.ExtractFields, answer: prompts.Extract, random: Random) -> prompts.Extract:
    """Another name from one of the paragraphs, said to answer the sub-question; nothing where there is none."""
    if not fields.paragraphs:
        return answer
    read = random.choice(fields.paragraphs)
    name = another_name(answer.entity, [read.text], random)
    return prompts.Extract(title=read.title, finding=f"It is {name}.", entity=name)


@corruption(prompts.ANSWER)
def on_the_way(fields: prompts.AnswerFields, answer: prompts.Final, random: Random) -> prompts.Final:
    """The entity of another hop, or a name of the question."""
    others = [one.entity for one in fields.found if one.entity != answer.answer]
    return prompts.Final(
        answer=random.choice(others) if others else another_name(answer.answer, [fields.question], random)
    )


@corruption(prompts.VERIFY)
def misjudged(fields: prompts.VerifyFields, answer: prompts.Verified, random: Random) -> prompts.Verified:
    return prompts.Verified(reason="the paragraph seems to say otherwise", supported=not answer.supported)


@corruption(prompts.CONSISTENT)
def misweighed(fields: prompts.ConsistentFields, answer: prompts.Consistent, random: Random) -> prompts.Consistent:
    return prompts.Consistent(reason="something else seems to follow", consistent=not answer.consistent)


@verdict(prompts.VERIFY)
def supports(answer: prompts.Verified) -> bool:
    return answer.supported


@verdict(prompts.CONSISTENT)
def agrees(answer: prompts.Consistent) -> bool:
    return answer.consistent
