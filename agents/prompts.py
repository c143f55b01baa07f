"""What the agents ask a model. Evidence stands first: what several questions share is read once."""

from __future__ import annotations

from functools import cache

from pydantic import Field

from agents.answers import Act, Sentence, in_form
from agents.history import ACT
from lab.models.prompts import AnswerModel, Fields, FreeText, Listing, Prompt

BY_SCHEMA = "schema"


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


class ThinkFields(QuestionFields):
    """thoughts: the sentences so far, in order."""

    thoughts: list[str]


ENDING = "So the answer is:"


@cache
def think_prompt(by_schema: bool = False) -> Prompt:
    """The next sentence of a chain of thought, which is searched for next (IRCoT, Trivedi et al. 2023)."""
    return Prompt(
        name=f"agents.interleave{f'.{BY_SCHEMA}' if by_schema else ''}",
        version="1",
        operator="think",
        system=f"""
You reason towards the answer to a question that takes several texts, one sentence at a time. After each sentence you
are shown the texts that fit it. Say in one line what follows next from the texts, with full names; where they do not
say, say what has to be found. Once the answer is known, the sentence is: {ENDING} the answer.
""",
        template=ASKING
        + """
{% if thoughts %}

Reasoned so far:
{% for thought in thoughts %}
{{ thought }}
{% endfor %}
{% endif %}

The next sentence:""",
        fields=ThinkFields,
        answer=Sentence if by_schema else FreeText,
        retry_temperatures=(0.3, 0.6),
        stop=() if by_schema else ("\n\n",),
    )


class Past(Fields):
    """A turn as the model is shown it. said: an answer that could not be read, in place of thought and action."""

    thought: str = ""
    action: str = ""
    said: str = ""
    observation: str


class ActFields(Fields):
    """What an acting agent may read. tools: the actions in words. turns: oldest first. view: what can be seen now.

    left_out: how many turns before these are not shown. What ReAct is not shown: plan, lessons of earlier trials, and
    now, the one thing to do.
    """

    tools: str
    task: str
    turns: list[Past]
    view: str = ""
    left_out: int = 0
    plan: list[str] = []
    lessons: list[str] = []
    now: str = ""


def act_form(fields: Fields) -> type[Act]:
    """What an action in free text is read as."""
    return Act


# Valid actions, where a world shows them at the end of its view.
VALID = Listing("view", "action", parted=("Valid actions: ", "; "), form=act_form)
OBSERVED = "\nObservation:"  # a model that goes on would make up what it observes
CUT_OFF = " [cut off]"
REACTING = """
You work on a task in an environment, one action at a time. After each action you are shown what it brought; what you
are shown is all that is known. Before each action think: what is known by now, and what is missing.
"""
# At the end, since small models forget a form that stands before a long history; in prose, since they copy samples.
FORM = """

Answer with two lines and nothing else. The first begins with `Thought:` and says what is known and what to do next. The
second begins with `Action:` and is one action, written as it is listed."""
TURNS = """{{ task }}
{% if left_out %}
({{ left_out }} earlier turns are left out)
{% endif %}
{% for turn in turns %}

{% if turn.action %}
Thought: {{ turn.thought }}
Action: {{ turn.action }}
{% else %}
{{ turn.said }}
{% endif %}
Observation: {{ turn.observation }}
{% endfor %}
{% if view %}

{{ view }}
{% endif %}
{% if lessons %}

What earlier trials at this task taught:
{% for lesson in lessons %}
- {{ lesson }}
{% endfor %}
{% endif %}
{% if plan %}

The plan:
{% for step in plan %}
{{ loop.index }}. {{ step }}
{% endfor %}
{% endif %}
{% if now %}

Only this is to be done now, by the actions that there are: {{ now }}
{% endif %}"""


def without_oldest(fields: ActFields, characters_over: int) -> ActFields | None:
    """Without as many of the oldest turns as it takes; where one is left, without the end of what was observed."""
    count, freed, turns = 0, 0, fields.turns
    while count < len(turns) - 1 and freed < characters_over:
        freed += sum(map(len, turns[count].model_dump().values()))
        count += 1
    if count:
        return fields.model_copy(update={"turns": turns[count:], "left_out": fields.left_out + count})
    seen = turns[0].observation.removesuffix(CUT_OFF) if turns else ""
    if not seen:
        return None
    kept = seen[: max(0, len(seen) - characters_over - len(CUT_OFF))] + CUT_OFF
    return fields.model_copy(update={"turns": [turns[0].model_copy(update={"observation": kept})]})


@cache
def react_prompt(world: str, by_schema: bool = False) -> Prompt:
    """ReAct's prompt (Yao et al. 2022) for a world, without examples; rules and noise are registered for each.

    Agents that plan or reflect are asked for actions by the same prompt, with the plan or the lessons beside the
    history: so no rule, and no noise, knows which method asks.
    """
    return Prompt(
        name=f"agents.react.{world}{f'.{BY_SCHEMA}' if by_schema else ''}",
        version="2",
        operator=ACT,
        system=REACTING + "\n{{ tools }}",
        template=TURNS + ("" if by_schema else FORM),
        fields=ActFields,
        answer=Act if by_schema else FreeText,
        shorten=without_oldest,
        stop=() if by_schema else (OBSERVED,),
        listings=(VALID,),
    )


def written(thought: str, action: str, free: bool = True) -> AnswerModel:
    """A thought and an action as ReAct's prompt asks for them; rules and noise answer so."""
    return in_form(Act(thought=thought, action=action), free)
