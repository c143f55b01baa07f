"""Rules for the prompts on multi-hop questions, based on the texts of the synthetic encyclopedia.

They read questions and paragraphs by `standins.encyclopedia`. A question that cannot be read is not decomposed, and
fails. This file also has their noise, and a floor for judges of labelled steps.
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
    """The question's hops, without as many as are certified or planned, whatever those say."""
    remaining = missing(fields)[len(fields.planned) :]
    return prompts.SubQuestions(questions=remaining[:1] if fields.single else remaining)


@rule(prompts.REPLAN)
def replan(fields: prompts.ReplanFields) -> prompts.SubQuestions:
    """The same hops again: rules know only one reading of a question."""
    return prompts.SubQuestions(questions=missing(fields))


def missing(fields: prompts.DecomposeFields | prompts.ReplanFields) -> list[str]:
    """The hops of the question that are not certified, as many as requested."""
    hops = decomposed(fields.question, fields.count and fields.count + len(fields.found)) or [UNREADABLE]
    remaining = hops[len(fields.found) :] or hops[-1:]
    # A comparison has two hops, however many are requested.
    remaining += remaining[-1:] * (fields.count - len(remaining))
    return remaining[: fields.count or None]


@rule(prompts.QUERY)
def query(fields: prompts.QueryFields) -> prompts.Query:
    """The subject of the sub-question."""
    parsed = asked(_next(fields))
    return prompts.Query(query=parsed.subject if parsed else fields.asked)


@rule(prompts.GUESS)
def guess(fields: prompts.GuessFields) -> prompts.Guess:
    """The question itself: no rule knows more than the texts."""
    return prompts.Guess(guess=fields.question)


@rule(prompts.EXTRACT)
def extract(fields: prompts.ExtractFields) -> prompts.Extract:
    """The answer of the first paragraph that has one for the sub-question."""
    wanted = _next(fields)
    answers = ((p.title, entity) for p in fields.paragraphs if (entity := answer_in(p.title, p.text, wanted)))
    title, entity = next(answers, ("", ""))
    return prompts.Extract(title=title, finding=f"{wanted} {entity}." if entity else MISSING, entity=entity)


@rule(prompts.VERIFY)
def verify(fields: prompts.VerifyFields) -> prompts.Verified:
    """Whether this paragraph gives the answer that the finding states."""
    entity = answer_in(fields.title, fields.text, fields.asked)
    supported = bool(entity) and entity in fields.finding
    reason = "the paragraph says it" if supported else "the paragraph says otherwise"
    return prompts.Verified(reason=reason, supported=supported)


@rule(prompts.ANSWER)
def answer(fields: prompts.AnswerFields) -> prompts.Final:
    """The entity of the last hop; for a comparison, what follows from both."""
    return prompts.Final(answer=concluded(fields.question, [finding.entity for finding in fields.found]))


@rule(prompts.CONSISTENT)
def consistent(fields: prompts.ConsistentFields) -> prompts.Consistent:
    """Whether the same answer follows from the findings."""
    follows = concluded(fields.question, [finding.entity for finding in fields.found]) == fields.answer
    return prompts.Consistent(reason="it follows" if follows else "something else follows", consistent=follows)


def _next(fields: prompts.QueryFields | prompts.ExtractFields) -> str:
    """The sub-question; if it mentions nothing from the question or the findings, the question's next hop."""
    texts = [fields.question, *(text for hop in fields.found for text in (hop.finding, hop.entity))]
    if {*content_words(fields.asked)} & {*content_words(" ".join(texts))}:
        return fields.asked
    hops, entities = decomposed(fields.question), [finding.entity for finding in fields.found]
    return filled(hops[len(entities)], entities) if len(entities) < len(hops) else fields.asked


@rule(labelled.HOP)
def overlaps(fields: prompts.VerifyFields) -> prompts.Verified:
    """A floor for judges: whether the text contains half of the content words of the sub-question."""
    wanted, present = set(content_words(fields.asked)), set(content_words(f"{fields.title} {fields.text}"))
    supported = bool(wanted) and 2 * len(wanted & present) >= len(wanted)
    return prompts.Verified(reason="by the words in common", supported=supported)


@rule(labelled.ANSWER)
def stands_there(fields: prompts.ConsistentFields) -> prompts.Consistent:
    """The same for an answer: whether one of the findings contains all its content words, if it has any."""
    wanted = set(content_words(fields.answer))
    consistent = any(wanted <= set(content_words(f"{finding.entity} {finding.finding}")) for finding in fields.found)
    return prompts.Consistent(reason="by the words in common", consistent=consistent)


@corruption(prompts.DECOMPOSE)
@corruption(prompts.REPLAN)
def in_one(
    fields: prompts.DecomposeFields | prompts.ReplanFields, answer: prompts.SubQuestions, random: Random
) -> prompts.SubQuestions:
    """The question itself in place of one of its parts, or as the only part, as from models that do not decompose."""
    index = random.randrange(len(answer.questions) or 1)
    return prompts.SubQuestions(questions=[*answer.questions[:index], fields.question, *answer.questions[index + 1 :]])


@corruption(prompts.QUERY)
def elsewhere(fields: prompts.QueryFields, answer: prompts.Query, random: Random) -> prompts.Query:
    """Another name from the question or a finding."""
    return prompts.Query(
        query=another_name(answer.query, [fields.question, *(finding.finding for finding in fields.found)], random)
    )


@corruption(prompts.GUESS)
def guessed(fields: prompts.GuessFields, answer: prompts.Guess, random: Random) -> prompts.Guess:
    """A name from the question."""
    return prompts.Guess(guess=another_name(answer.guess, [fields.question], random))


@corruption(prompts.EXTRACT)
def misread(fields: prompts.ExtractFields, answer: prompts.Extract, random: Random) -> prompts.Extract:
    """Another name from a random paragraph, given as the answer; unchanged if there is no paragraph."""
    if not fields.paragraphs:
        return answer
    paragraph = random.choice(fields.paragraphs)
    name = another_name(answer.entity, [paragraph.text], random)
    return prompts.Extract(title=paragraph.title, finding=f"It is {name}.", entity=name)


@corruption(prompts.ANSWER)
def on_the_way(fields: prompts.AnswerFields, answer: prompts.Final, random: Random) -> prompts.Final:
    """The entity of another hop, or a name from the question."""
    others = [finding.entity for finding in fields.found if finding.entity != answer.answer]
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
