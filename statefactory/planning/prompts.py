"""What planners ask a model: to choose or make up candidate actions, to foresee, and to act on rewards."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, Self

from pydantic import ConfigDict, Field, create_model

from agents.answers import Act, labelled
from agents.history import ACT
from agents.prompts import BY_SCHEMA, FORM, OBSERVED, REACTING, TURNS, VALID, ActFields, act_form, without_oldest
from lab.models.parsing import MalformedAnswer
from lab.models.prompts import AnswerModel, Fields, FreeText, Listing, Prompt
from statefactory.planning.paths import Step

PREDICT = "predict"  # the operator that foresees
CHOOSE = "choose"  # the one that narrows the valid actions down to candidates
MOST = 20  # candidates that an answer can name; a model that repeats itself would go on for ever
NONE = "none"
NUMBERS = re.compile(r"\d{1,5}(?:, *\d{1,5})*")


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
    """A world model's prompt, for a world by its short name; `foresight` has rules for some."""
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


class ChooseFields(ActFields):
    """options: the valid actions. most: K, how many of them may be chosen."""

    options: list[str]
    most: int


class Chosen(AnswerModel):
    """The most promising actions by their numbers, from 1 and the best one first; none where no listed one will do."""

    model_config = ConfigDict(str_strip_whitespace=True)

    thought: str = Field(description="what was tried, and what has to come next, in a sentence or two")
    numbers: list[int] = Field(
        description="the numbers of the chosen actions, the most promising first", max_length=MOST
    )

    def as_text(self) -> str:
        return f"Thought: {self.thought}\nChosen: {', '.join(map(str, self.numbers)) or NONE}"

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises MalformedAnswer."""
        thought, chosen = labelled(text, "Thought", "Chosen")
        if chosen != NONE and not NUMBERS.fullmatch(chosen):
            raise MalformedAnswer(f"behind `Chosen:` stand neither numbers with commas between them nor `{NONE}`")
        numbers = [int(one) for one in re.findall(r"\d+", chosen)]
        if len(numbers) > MOST:
            raise MalformedAnswer(f"it has {len(numbers)} numbers, and {MOST} are the most")
        return cls(thought=thought, numbers=numbers)

    def among(self, options: Sequence[str], most: int) -> list[str]:
        """The actions, each once. Raises MalformedAnswer for a number that is not listed, and for too many."""
        if wrong := [number for number in self.numbers if not 0 < number <= len(options)]:
            raise MalformedAnswer(f"number {wrong[0]} is not listed; the last one is {len(options)}")
        # Small models name one of them twice at nearly every turn. What they mean is plain, and to refuse it would
        # leave them without any rewards.
        numbers = dict.fromkeys(self.numbers)
        if len(numbers) > most:
            raise MalformedAnswer(f"it has {len(numbers)} numbers, and {most} are the most")
        return [options[number - 1] for number in numbers]


@dataclass(frozen=True)
class Listed:
    """The `narrow` of a choice that is bound to a schema: at most K numbers, of those that are listed."""

    def __call__(self, fields: ChooseFields) -> type[Chosen]:
        """The same class for as many options and the same K."""
        return _chosen(len(fields.options), fields.most)


@cache
def _chosen(options: int, most: int) -> type[Chosen]:
    one: Any = Annotated[int, Field(ge=1, le=options)]
    about = Field(description=Chosen.model_fields["numbers"].description, max_length=most)
    return create_model("Chosen", __base__=Chosen, numbers=(list[one], about))


CHOOSING = """
You choose what an agent that works on a task in an environment should consider doing next. Of the valid actions, which
are numbered, choose those that are most likely to bring the task on. Read first what was done and what it brought: an
action that failed or changed nothing, and one that goes round in circles, is no choice. What follows from what is seen
now comes before looking further.
"""
# What a world needs to be told besides; after what the paper's three prompts (C.6.2) tell.
OF_WORLD = {
    "alfworld": """
Where nothing here serves the task, choose places that were not looked into yet, and none that turned out to be empty.
""",
    "blocksworld": """
The hand holds one block, and a block can be moved only while none stands on it. Prefer what puts a block where the task
has it; before that, what frees a block that has to move.
""",
    "scienceworld": """
As long as the agent is not where the task goes on, choose the way there. A focus on a wrong thing ends the task with
the loss of all points: choose `focus on` for nothing but the very thing that the task wants, and where the task says
what comes first, not before that is done. Leave out all that the part of the task at hand does not need.
""",
}
# An environment's view without its list of valid actions, which would stand there twice.
SEEN = TURNS.replace("{% if view %}", "{% set seen = view.split('Valid actions: ')[0]|trim %}\n{% if seen %}").replace(
    "{{ view }}", "{{ seen }}"
)
OPTIONS = """

Valid actions:
{% for option in options %}
{{ loop.index }}. {{ option }}
{% endfor %}

Which of them should be considered next? Choose at most {{ most }}, the most promising first."""
CHOSEN_FORM = f"""
Answer with two lines and nothing else. The first begins with `Thought:` and says what was tried and what has to come
next. The second begins with `Chosen:` and has the numbers of the actions with commas between them, or the word {NONE}
where none of them will do."""


@cache
def choose_prompt(world: str, by_schema: bool = False) -> Prompt:
    """C.6.2's filter: at most K of the valid actions, for a world by its short name."""
    return Prompt(
        name=f"statefactory.choose.{world}{f'.{BY_SCHEMA}' if by_schema else ''}",
        version="1",
        operator=CHOOSE,
        system=CHOOSING + OF_WORLD.get(world, "") + "\n{{ tools }}",
        template=SEEN + OPTIONS + ("" if by_schema else CHOSEN_FORM),
        fields=ChooseFields,
        answer=Chosen if by_schema else FreeText,
        narrow=Listed() if by_schema else None,
        shorten=without_oldest,
        stop=() if by_schema else (OBSERVED,),
        listings=(Listing("options", "numbers", by="number", form=Listed()),),
    )


class Rated(Fields):
    """A candidate as the agent is shown it: with the reward of Eq. 15, to three decimals."""

    action: str
    reward: float


class RatedFields(ActFields):
    """What ReAct is shown besides: candidates, in the order in which they were chosen."""

    candidates: list[Rated]


WEIGHING = """
Of some actions you are shown a predicted reward: how much closer to the task's goal they lead, as a share of the whole
way. Above 0 an action brings the task on; at 0 it changes nothing that counts; below 0 it leads away, or repeats what
was done before. Predictions can be wrong: weigh them against what you know. Another valid action may be taken, too.
"""
RATED = """

Predicted rewards:
{% for one in candidates %}
{{ "%+.3f"|format(one.reward) }}  {{ one.action }}
{% endfor %}"""


@cache
def rewarded_prompt(world: str, by_schema: bool = False) -> Prompt:
    """ReAct's prompt with the rewards of candidates put back into it (C.6.2)."""
    return Prompt(
        name=f"statefactory.rewarded.{world}{f'.{BY_SCHEMA}' if by_schema else ''}",
        version="1",
        operator=ACT,
        system=REACTING + WEIGHING + "\n{{ tools }}",
        template=TURNS + RATED + ("" if by_schema else FORM),
        fields=RatedFields,
        answer=Act if by_schema else FreeText,
        shorten=without_oldest,
        stop=() if by_schema else (OBSERVED,),
        listings=(Listing("candidates", "action", text="action", form=act_form), VALID),
    )
