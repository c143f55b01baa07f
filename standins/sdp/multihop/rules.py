"""The rules engine's answers to the prompts for multi-hop questions, from the texts of the synthetic encyclopedia.

They read questions and paragraphs by `standins.encyclopedia`. A question that this cannot read is broken into
nothing, and fails.
"""

from __future__ import annotations

from lab.models.rules import rule
from sdp.adapters.multihop import prompts
from sdp.adapters.multihop.filters import content_words
from standins.encyclopedia.hops import answer_in, asked, concluded, decomposed
from standins.sdp.multihop import noise  # noqa: F401  (registers how these answers go wrong)
from worlds.multihop.questions import filled

UNREADABLE = "What is this question about?"
MISSING = "It is not mentioned in the paragraphs."


@rule(prompts.DECOMPOSE)
def decompose(fields: prompts.DecomposeFields) -> prompts.SubQuestions:
    """The hops that the question is read as, but for those that are certified."""
    hops = decomposed(fields.question, fields.count and fields.count + len(fields.found)) or [UNREADABLE]
    missing = hops[len(fields.found) :] or hops[-1:]
    # A comparison has two hops, however many are wanted.
    missing += missing[-1:] * (fields.count - len(missing))
    return prompts.SubQuestions(questions=missing[: fields.count or None])


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
