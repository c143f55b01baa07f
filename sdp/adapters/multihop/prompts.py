"""What the operators for multi-hop questions ask a model. Paragraphs stand first: what an episode sends again is read
once."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import Field, create_model

from lab.models.prompts import AnswerModel, Fields, Prompt


class Told(Fields):
    """A certified finding: the sub-question, what was found, and the entity that the next hop may build on."""

    asked: str
    finding: str
    entity: str


class Refused(Fields):
    """An earlier try at the same sub-question or answer, and why it was rejected."""

    tried: str
    reason: str


class Shown(Fields):
    """A paragraph of an encyclopedia."""

    title: str
    text: str


# A retry is another action (§3.2), which a model at temperature 0 gives only to a prompt in other words.
RETRIED = (0.7,)
IN_ORDER = "the sub-questions, in order"
TELLING = """{% for one in found %}
Certified: {{ one.asked }} {{ one.finding }} [{{ one.entity }}]
{% endfor %}
"""
REFUSING = """{% for one in refused %}
Rejected before: {{ one.tried }} ({{ one.reason }})
{% endfor %}
"""
SHOWING = """{% for paragraph in paragraphs %}
[{{ paragraph.title }}] {{ paragraph.text }}
{% endfor %}
"""


class DecomposeFields(Fields):
    """count: how many sub-questions are wanted; 0 leaves it to the answer, from two to four."""

    question: str
    count: int
    found: list[Told]
    refused: list[Refused]


class SubQuestions(AnswerModel):
    """Sub-questions in order; `#1` stands for the answer of the first."""

    questions: list[str] = Field(description=IN_ORDER, min_length=1, max_length=4)


def exactly(fields: DecomposeFields) -> type[SubQuestions]:
    """As many sub-questions as are wanted: the plan's structure is fixed (A.5, A.6), and no part of the answer."""
    return _of(fields.count) if fields.count else SubQuestions


@cache
def _of(count: int) -> type[SubQuestions]:
    listed: Any = Field(description=IN_ORDER, min_length=count, max_length=count)
    return create_model("SubQuestions", __base__=SubQuestions, questions=(list[str], listed))


DECOMPOSE = Prompt(
    name="sdp.multihop.decompose",
    version="1",
    operator="propose",
    system="""
You break a question into sub-questions that are answered one after another, each from one paragraph of an
encyclopedia. A later sub-question refers to the answer of the first as #1, of the second as #2, and so on. The answer
of the last one, or a comparison of all, answers the question. Each asks for one thing, and none is the whole question.
Where sub-questions are certified already, they count as #1, #2 and so on; give only those that are still missing, and
not in words that were rejected.
""",
    template="Question: {{ question }}\n" + TELLING + REFUSING + "Sub-questions wanted: "
    "{{ count if count else 'two, three or four' }}",
    fields=DecomposeFields,
    answer=SubQuestions,
    narrow=exactly,
    retry_temperatures=RETRIED,
)  # fmt: skip


class QueryFields(Fields):
    """What is known before a search. tried: the queries that led to nothing certified."""

    question: str
    asked: str
    found: list[Told]
    tried: list[str]


class Query(AnswerModel):
    """A search query."""

    query: str = Field(description="the search query: names and key words")


QUERY = Prompt(
    name="sdp.multihop.query",
    version="1",
    operator="realize",
    system="""
You write the query of a search in an encyclopedia whose titles are names. The best query is the name of the page that
answers the sub-question, with a few key words. Do not repeat a query that was tried.
""",
    template="Question: {{ question }}\n" + TELLING + "Sub-question: {{ asked }}\n"
    "{% for query in tried %}\nTried: {{ query }}\n{% endfor %}",
    fields=QueryFields,
    answer=Query,
)  # fmt: skip


class GuessFields(Fields):
    """A sub-question that no search has answered."""

    question: str
    asked: str


class Guess(AnswerModel):
    """A guess at an answer."""

    guess: str = Field(description="the name that is most likely the answer")


GUESS = Prompt(
    name="sdp.multihop.guess",
    version="1",
    operator="realize",
    system="""
Guess the answer of the sub-question from what you know. It will be looked up before anybody believes it.
""",
    template="Question: {{ question }}\nSub-question: {{ asked }}",
    fields=GuessFields,
    answer=Guess,
)


class ExtractFields(Fields):
    """What Realize may read at a hop: the paragraphs at hand, certified findings, and the rejected tries at it."""

    paragraphs: list[Shown]
    question: str
    asked: str
    found: list[Told]
    refused: list[Refused]


class Extract(AnswerModel):
    """What was found, where, and the entity in it that answers."""

    title: str = Field(description="the title of the paragraph that says it")
    finding: str = Field(description="one sentence of at most 20 words that answers the sub-question")
    entity: str = Field(description="the answer in as few words as possible: a name, a date, a number")


EXTRACT = Prompt(
    name="sdp.multihop.extract",
    version="1",
    operator="realize",
    system="""
You answer a sub-question from paragraphs, each behind its [title], and from nothing else. Where none of them answers
it, the finding says that it is not mentioned. Do not repeat what was rejected.
""",
    template=SHOWING + "Question: {{ question }}\n" + TELLING + "Sub-question: {{ asked }}\n" + REFUSING,
    fields=ExtractFields,
    answer=Extract,
    retry_temperatures=RETRIED,
)


class VerifyFields(Fields):
    """What Validate may read at a hop: one paragraph and what is said to stand there."""

    title: str
    text: str
    asked: str
    finding: str


class Verified(AnswerModel):
    """Whether the paragraph supports the finding, and why not."""

    reason: str = Field(description="why, in at most ten words")
    supported: bool = Field(description="whether the paragraph says it and it answers the sub-question")


VERIFY = Prompt(
    name="sdp.multihop.verify",
    version="1",
    operator="validate",
    system="""
You check a finding against one paragraph. It is supported when the paragraph says it and it answers the sub-question;
what may be true but does not stand there is not supported.
""",
    template="[{{ title }}] {{ text }}\nSub-question: {{ asked }}\nFinding: {{ finding }}",
    fields=VerifyFields,
    answer=Verified,
)


class AnswerFields(Fields):
    """What Realize may read at the answer: the certified findings, and the rejected answers.

    unsure: findings that were not certified, where an answer is forced from what there is.
    """

    question: str
    found: list[Told]
    unsure: list[str]
    refused: list[Refused]


class Final(AnswerModel):
    """The answer."""

    answer: str = Field(description="the answer, in as few words as possible")


ANSWER = Prompt(
    name="sdp.multihop.answer",
    version="1",
    operator="realize",
    system="""
You answer a question from certified findings, in their own words and as few as possible, such as a name, a date or a
number; with yes or no only where the question asks for it. Do not repeat an answer that was rejected.
""",
    template="Question: {{ question }}\n" + TELLING
    + "{% for one in unsure %}\nNot certified: {{ one }}\n{% endfor %}\n" + REFUSING,
    fields=AnswerFields,
    answer=Final,
    retry_temperatures=RETRIED,
)  # fmt: skip


class ConsistentFields(Fields):
    """What the last check may read (A.6): the question, the chain of findings, and the proposed answer."""

    question: str
    found: list[Told]
    answer: str


class Consistent(AnswerModel):
    """Whether the answer follows from the chain."""

    reason: str = Field(description="why, in at most ten words")
    consistent: bool = Field(description="whether the answer follows from the findings and answers the question")


CONSISTENT = Prompt(
    name="sdp.multihop.consistent",
    version="1",
    operator="validate",
    system="""
You check whether a proposed answer follows from a chain of certified findings and is what the question asks for.
""",
    template="Question: {{ question }}\n" + TELLING + "Proposed answer: {{ answer }}",
    fields=ConsistentFields,
    answer=Consistent,
)
