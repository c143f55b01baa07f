"""The rules engine's answers to the prompts for multi-hop questions, from the texts of the synthetic encyclopedia.

They read questions and paragraphs by `standins.encyclopedia`. A question that this cannot read is broken into
nothing, and fails. Beside them how the answers go wrong, and a floor for judges of labelled steps.
"""

from __future__ import annotations

from random import Random

from lab.models.rules import corruption, rule, verdict
from sdp.adapters.multihop import labelled, prompts
from sdp.adapters.multihop.filters import content_words
from standins.agents.noise import another_name
from standins.encyclopedia.hops import answer_in, asked, concluded, decomposed
from worlds.multihop.questions import filled

UNREADABLE = "What is this question about?"
MISSING = "It is not mentioned in the paragraphs."


@rule(prompts.DECOMPOSE)
def decompose(fields: prompts.DecomposeFields) -> prompts.SubQuestions:
    """The hops that the question is read as, but for as many as are certified or planned, whatever those say."""
    left = missing(fields)[len(fields.planned) :]
    return prompts.SubQuestions(questions=left[:1] if fields.single else left)


@rule(prompts.REPLAN)
def replan(fields: prompts.ReplanFields) -> prompts.SubQuestions:
    """The same hops again: rules know one way to read a question."""
    return prompts.SubQuestions(questions=missing(fields))


def missing(fields: prompts.DecomposeFields | prompts.ReplanFields) -> list[str]:
    """The hops of the question that are not certified, as many as are wanted."""
    hops = decomposed(fields.question, fields.count and fields.count + len(fields.found)) or [UNREADABLE]
    left = hops[len(fields.found) :] or hops[-1:]
    # A comparison has two hops, however many are wanted.
    left += left[-1:] * (fields.count - len(left))
    return left[: fields.count or None]


@rule(prompts.QUERY)
def query(fields: prompts.QueryFields) -> prompts.Query:
    """Whom the sub-question is about."""
    found = asked(_next(fields))
    return prompts.Query(query=found.subject if found else fields.asked)


@rule(prompts.GUESS)
def guess(fields: prompts.GuessFields) -> prompts.Guess:
    """No rule knows more than the texts; the question itself is looked up."""
    return prompts.Guess(guess=fields.question)


@rule(prompts.EXTRACT)
def extract(fields: prompts.ExtractFields) -> prompts.Extract:
    """What the first paragraph says that answers the sub-question."""
    wanted = _next(fields)
    found = ((one.title, said) for one in fields.paragraphs if (said := answer_in(one.title, one.text, wanted)))
    title, said = next(found, ("", ""))
    return prompts.Extract(title=title, finding=f"{wanted} {said}." if said else MISSING, entity=said)


@rule(prompts.VERIFY)
def verify(fields: prompts.VerifyFields) -> prompts.Verified:
    """Whether this paragraph answers the sub-question so."""
    said = answer_in(fields.title, fields.text, fields.asked)
    supported = bool(said) and said in fields.finding
    reason = "the paragraph says it" if supported else "the paragraph says otherwise"
    return prompts.Verified(reason=reason, supported=supported)


@rule(prompts.ANSWER)
def answer(fields: prompts.AnswerFields) -> prompts.Final:
    """What the last hop found or, of two that are compared, what follows from both."""
    return prompts.Final(answer=concluded(fields.question, [one.entity for one in fields.found]))


@rule(prompts.CONSISTENT)
def consistent(fields: prompts.ConsistentFields) -> prompts.Consistent:
    """Whether the same follows."""
    follows = concluded(fields.question, [one.entity for one in fields.found]) == fields.answer
    return prompts.Consistent(reason="it follows" if follows else "something else follows", consistent=follows)


def _next(fields: prompts.QueryFields | prompts.ExtractFields) -> str:
    """The sub-question; where it speaks of nothing in the question or the findings, the question's next hop."""
    texts = [fields.question, *(text for hop in fields.found for text in (hop.finding, hop.entity))]
    if {*content_words(fields.asked)} & {*content_words(" ".join(texts))}:
        return fields.asked
    hops, found = decomposed(fields.question), [one.entity for one in fields.found]
    return filled(hops[len(found)], found) if len(found) < len(hops) else fields.asked


@rule(labelled.HOP)
def overlaps(fields: prompts.VerifyFields) -> prompts.Verified:
    """A floor for judges: whether half of the content words that were asked for stand in the text."""
    wanted, there = set(content_words(fields.asked)), set(content_words(f"{fields.title} {fields.text}"))
    supported = bool(wanted) and 2 * len(wanted & there) >= len(wanted)
    return prompts.Verified(reason="by the words in common", supported=supported)


@rule(labelled.ANSWER)
def stands_there(fields: prompts.ConsistentFields) -> prompts.Consistent:
    """The same of an answer: whether its content words, where it has any, stand in one of the findings."""
    wanted = set(content_words(fields.answer))
    consistent = any(wanted <= set(content_words(f"{finding.entity} {finding.finding}")) for finding in fields.found)
    return prompts.Consistent(reason="by the words in common", consistent=consistent)


@corruption(prompts.DECOMPOSE)
@corruption(prompts.REPLAN)
def in_one(
    fields: prompts.DecomposeFields | prompts.ReplanFields, answer: prompts.SubQuestions, random: Random
) -> prompts.SubQuestions:
    """The question itself in place of one of its parts, or behind the last, as models do that break nothing up."""
    place = random.randrange(len(answer.questions) or 1)
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
@corruption(labelled.HOP)
def misjudged(fields: prompts.VerifyFields, answer: prompts.Verified, random: Random) -> prompts.Verified:
    return prompts.Verified(reason="the paragraph seems to say otherwise", supported=not answer.supported)


@corruption(prompts.CONSISTENT)
@corruption(labelled.ANSWER)
def misweighed(fields: prompts.ConsistentFields, answer: prompts.Consistent, random: Random) -> prompts.Consistent:
    return prompts.Consistent(reason="something else seems to follow", consistent=not answer.consistent)


@verdict(prompts.VERIFY)
@verdict(labelled.HOP)
def supports(answer: prompts.Verified) -> bool:
    return answer.supported


@verdict(prompts.CONSISTENT)
@verdict(labelled.ANSWER)
def agrees(answer: prompts.Consistent) -> bool:
    return answer.consistent
