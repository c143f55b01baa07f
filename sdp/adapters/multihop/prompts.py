"""Prompts of the operators for multi-hop questions; the wording is in `sdp/prompt_texts/multihop`.

Paragraphs come first, so that the part that an episode sends repeatedly is read once.
"""

from __future__ import annotations

from pydantic import Field

from lab.models.answers import AnswerModel, limited
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields


class CertifiedFinding(Fields):
    """A certified finding: the sub-question, what was found, and the entity that the next hop may build on."""

    asked: str
    finding: str
    entity: str


class RejectedTry(Fields):
    """An earlier try at the same sub-question or answer, and why it was rejected."""

    tried: str
    reason: str


class Passage(Fields):
    """A paragraph of an encyclopedia."""

    title: str
    text: str


# A retry should be another action (§3.2). At temperature 0 a model only gives one if the prompt's words differ.
RETRIED = (0.7,)


MOST_HOPS = 4  # A.6


class DecomposeFields(Fields):
    """What Propose reads. count: how many sub-questions are wanted in all; 0 leaves it to the answer, from two to four.
    planned: those so far. single: whether the next one alone is wanted (Eq. 1), else all that are missing.
    """

    question: str
    count: int
    found: list[CertifiedFinding]
    planned: list[str]
    single: bool


class ReplanFields(Fields):
    """What Replan reads. count: how many sub-questions are wanted, 0 for any. stuck: the one that was not answered, and
    its rejected answers. given_up: others that were tried since the last certified finding.
    """

    question: str
    count: int
    found: list[CertifiedFinding]
    stuck: str
    refused: list[RejectedTry]
    given_up: list[str]


class SubQuestions(AnswerModel):
    """Sub-questions in order; `#1` stands for the answer of the first."""

    questions: list[str] = Field(description="the sub-questions, in order", max_length=MOST_HOPS)


def so_many(least: int, most: int) -> type[SubQuestions]:
    """An answer type for `least` to `most` sub-questions: the model does not choose the plan's structure (A.5, A.6)."""
    return limited(SubQuestions, "questions", list[str], min_length=least, max_length=most)


def missing(fields: DecomposeFields) -> type[SubQuestions]:
    """An answer type limited to the sub-questions that may follow the plan so far."""
    planned = len(fields.planned)
    remaining = (fields.count or MOST_HOPS) - planned
    least = remaining if fields.count else int(not planned)
    return so_many(min(1, least), 1) if fields.single else so_many(least, remaining)


DECOMPOSE = read_prompt(
    "sdp/multihop/decompose.md", DecomposeFields, SubQuestions, retry_temperatures=RETRIED, narrow=missing
)
REPLAN = read_prompt(
    "sdp/multihop/replan.md", ReplanFields, SubQuestions, retry_temperatures=RETRIED,
    narrow=lambda fields: so_many(fields.count or 1, fields.count or MOST_HOPS),
)  # fmt: skip


class QueryFields(Fields):
    """What is known before a search. tried: the queries that led to nothing certified."""

    question: str
    asked: str
    found: list[CertifiedFinding]
    tried: list[str]


class Query(AnswerModel):
    """A search query."""

    query: str = Field(description="the search query: names and key words")


QUERY = read_prompt("sdp/multihop/query.md", QueryFields, Query)


class GuessFields(Fields):
    """A sub-question that no search has answered."""

    question: str
    asked: str


class Guess(AnswerModel):
    """A guess at an answer."""

    guess: str = Field(description="the name that is most likely the answer")


GUESS = read_prompt("sdp/multihop/guess.md", GuessFields, Guess)


class ExtractFields(Fields):
    """What Realize may read at a hop: the paragraphs at hand, certified findings, and the rejected tries at it."""

    paragraphs: list[Passage]
    question: str
    asked: str
    found: list[CertifiedFinding]
    refused: list[RejectedTry]


class Extract(AnswerModel):
    """What was found, where, and the entity in it that answers."""

    title: str = Field(description="the title of the paragraph that says it")
    finding: str = Field(description="one sentence of at most 20 words that answers the sub-question")
    entity: str = Field(description="the answer in as few words as possible: a name, a date, a number")


EXTRACT = read_prompt("sdp/multihop/extract.md", ExtractFields, Extract, retry_temperatures=RETRIED)


class VerifyFields(Fields):
    """What Validate may read at a hop: one paragraph and the claimed finding."""

    title: str
    text: str
    asked: str
    finding: str


class Verified(AnswerModel):
    """Whether the paragraph supports the finding, and why not."""

    reason: str = Field(description="why, in at most ten words")
    supported: bool = Field(description="whether the paragraph says it and it answers the sub-question")


VERIFY = read_prompt("sdp/multihop/verify.md", VerifyFields, Verified)


class AnswerFields(Fields):
    """What Realize may read at the answer: the certified findings, and the rejected answers.

    unsure: findings that were not certified, where an answer is forced from what there is.
    """

    question: str
    found: list[CertifiedFinding]
    unsure: list[str]
    refused: list[RejectedTry]


class Final(AnswerModel):
    """The answer."""

    answer: str = Field(description="the answer, in as few words as possible")


ANSWER = read_prompt("sdp/multihop/answer.md", AnswerFields, Final, retry_temperatures=RETRIED)


class ConsistentFields(Fields):
    """What the last check may read (A.6): the question, the chain of findings, and the proposed answer."""

    question: str
    found: list[CertifiedFinding]
    answer: str


class Consistent(AnswerModel):
    """Whether the answer follows from the chain."""

    reason: str = Field(description="why, in at most ten words")
    consistent: bool = Field(description="whether the answer follows from the findings and answers the question")


CONSISTENT = read_prompt("sdp/multihop/consistent.md", ConsistentFields, Consistent)
