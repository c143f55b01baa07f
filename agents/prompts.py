"""What the agents ask a model. Evidence stands first: what several questions share is read once."""

from __future__ import annotations

from pydantic import Field

from lab.models.prompts import AnswerModel, Fields, Prompt


class QuestionFields(Fields):
    """evidence: texts to answer from; "" for none, a closed book. form: how to answer, in words."""

    evidence: str
    question: str
    form: str


class Said(AnswerModel):
    """The answer."""

    answer: str = Field(description="the answer, in as few words as possible")


class Reasoned(AnswerModel):
    """What leads to the answer, and the answer."""

    reasoning: str = Field(description="what follows from what, step by step, in at most four short sentences")
    answer: str = Field(description="the answer, in as few words as possible")


ASKING = """{% if evidence %}
{{ evidence }}

{% endif %}
Question: {{ question }}
Answer {{ form }}."""

DIRECT = Prompt(
    name="agents.direct",
    version="1",
    operator="answer",
    system="""
You answer a question. Where texts stand before it, they hold what is needed; answer in their own words. Give an answer
in any case.
""",
    template=ASKING,
    fields=QuestionFields,
    answer=Said,
)

CHAIN_OF_THOUGHT = Prompt(
    name="agents.chain_of_thought",
    version="1",
    operator="answer",
    system="""
You answer a question that takes several steps. Reason first, one step after another, and then answer. Where texts
stand before it, they hold what is needed; answer in their own words. Give an answer in any case.
""",
    template=ASKING,
    fields=QuestionFields,
    answer=Reasoned,
)
