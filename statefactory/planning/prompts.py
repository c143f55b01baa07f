"""What planners ask a model: to choose or make up candidate actions, to foresee, and to act on rewards."""

from __future__ import annotations

from functools import cache

from pydantic import Field

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
