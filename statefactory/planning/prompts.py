"""What planners ask a model: to choose or make up candidate actions, to foresee, and to act on rewards."""

from __future__ import annotations

from functools import cache

from pydantic import Field, create_model

from lab.models.prompts import AnswerModel, Fields, Prompt
from statefactory.planning.paths import Step

PREDICT = "predict"  # the operator that foresees


class PredictFields(Fields):
    """tools: the actions in words. first: what was seen before any action. steps: actions and observations since."""

    tools: str
    goal: str
    first: str
    steps: tuple[Step, ...]
    action: str


class Predicted(AnswerModel):
    """What an action leads to."""

    observation: str = Field(description="what the environment would answer, in its own words")
    done: bool = Field(description="whether the task is then solved, or the episode over in another way")


@cache
def predict_prompt(world: str) -> Prompt:
    """A world model's prompt, for a world by its short name; rules are registered for each."""
    return Prompt(
        name=f"statefactory.predict.{world}",
        version="1",
        operator=PREDICT,
        system="""
You are the environment in which an agent works on a task. You are shown what was done so far, with your answer to each
action, and one action more. Say what you would answer to it: in the same words and the same form as before, with
nothing that the agent could not see. What was seen stays as it was unless an action changed it. Where an action is not
possible, answer as you did to such actions, or say that nothing happens.

{{ tools }}""",
        template="""
{{ first }}
{% for action, observation in steps %}

Action: {{ action }}
Answer: {{ observation }}
{% endfor %}

The agent's task: {{ goal }}
Action: {{ action }}""",
        fields=PredictFields,
        answer=Predicted,
    )


PROPOSE = "propose"  # the operator that makes up candidate actions for a tree search
MOST_PROPOSED = 20


class ProposeFields(Fields):
    """tools: the actions in words. first: what was seen before any action. steps: actions and observations since.

    count: how many actions are asked for, at most MOST_PROPOSED.
    """

    tools: str
    goal: str
    first: str
    steps: tuple[Step, ...]
    count: int = Field(ge=1, le=MOST_PROPOSED)


class Proposed(AnswerModel):
    """What is noted of the situation (C.6.3's scratchpad), and then the actions, the best first."""

    held: str = Field(description="what the agent has on it now, by name; or nothing")
    place: str = Field(description="where the agent is now")
    usable: list[str] = Field(description="what is in sight and can be acted on from here, by name", max_length=30)
    aim: str = Field(description="the next thing to bring about, in one short sentence, and why")
    actions: list[str] = Field(description="different actions to try next, the best first", min_length=1)


@cache
def propose_prompt(world: str) -> Prompt:
    """A proposer's prompt, for a world by its short name; rules and noise are registered for each."""
    return Prompt(
        name=f"statefactory.propose.{world}",
        version="1",
        operator=PROPOSE,
        system="""
You choose what an agent could do next. You are shown its task and what it did and saw so far. Before you name any
action, take stock, in this order: what the agent holds; where it is; what it can see and act on there; what has to be
brought about next, be it to find something, to handle it or to change it. Then name actions that are possible right
now and bring the task on:
- Each is written as it is listed, with names as they were seen, numbers included.
- Act on nothing but what is in sight or held. Places that were named can be gone to.
- All are different. The most promising one stands first.

{{ tools }}""",
        template="""
{{ first }}
{% for action, observation in steps %}

Action: {{ action }}
Observation: {{ observation }}
{% endfor %}

The agent's task: {{ goal }}
Take stock, then name {{ count }} action{{ "s" if count > 1 else "" }} to try next.""",
        fields=ProposeFields,
        answer=Proposed,
        narrow=_of_count,
        retry_temperatures=(0.3, 0.6),
    )


def _of_count(fields: ProposeFields) -> type[Proposed]:
    return _at_most(fields.count)


@cache
def _at_most(count: int) -> type[Proposed]:
    """A Proposed with as many actions as were asked for, or fewer."""
    about = Field(description=Proposed.model_fields["actions"].description, min_length=1, max_length=count)
    return create_model("Proposed", __base__=Proposed, actions=(list[str], about))
