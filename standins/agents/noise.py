"""How the agents' answers go wrong under `rules@p`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import TypeVar

from agents.answers import Act, Sentence, in_form, read
from agents.planning_prompts import (
    PromptOf,
    graph_prompt,
    judge_prompt,
    lesson_prompt,
    plan_prompt,
    sub_goal_prompt,
)
from agents.prompts import (
    CHAIN_OF_THOUGHT,
    DIRECT,
    ActFields,
    QuestionFields,
    Reasoned,
    Said,
    ThinkFields,
    react_prompt,
    think_prompt,
    written,
)
from agents.worlds import multihop, scienceworld, travelplanner
from lab.models.prompts import AnswerModel, FreeText
from lab.models.rules import Corruption, corruption, verdict
from standins.agents.planning_noise import another_name, beside_the_point, left_out, left_unlinked, misjudged, solved
from worlds.travelplanner.itinerary import SLOTS
from worlds.travelplanner.world import EMPTY

THING = re.compile(r"^\t(?:an? |the )?([a-z][\w ]*)", re.MULTILINE)  # as ScienceWorld lists what is in a room
VERBS = ("look at {}", "open {}", "pick up {}", "activate {}", "go to {}", "move {} to inventory")
C = TypeVar("C", bound=Corruption)


def of_world(name: str) -> Callable[[C], C]:
    """Register how actions go wrong in a world, whichever agent asks; plans and the like go wrong alike everywhere."""

    def register(function: C) -> C:
        wrong: dict[PromptOf, Corruption] = {
            react_prompt: function, sub_goal_prompt: function, plan_prompt: left_out, graph_prompt: left_unlinked,
            judge_prompt: misjudged, lesson_prompt: beside_the_point,
        }  # fmt: skip
        for prompt, corrupt in wrong.items():
            for by_schema in (False, True):
                corruption(prompt(name, by_schema))(corrupt)
        for by_schema in (False, True):
            verdict(judge_prompt(name, by_schema))(solved)
        return function

    return register


@corruption(think_prompt())
@corruption(think_prompt(by_schema=True))
def sidetracked(fields: ThinkFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A thought about another name."""
    name = another_name(read(answer, Sentence).text, [fields.evidence, fields.question], random)
    return in_form(Sentence(text=f"It is about {name}."), isinstance(answer, FreeText))


@corruption(DIRECT)
def misread(fields: QuestionFields, answer: Said, random: Random) -> Said:
    """Another name of the evidence or the question."""
    return Said(answer=another_name(answer.answer, [fields.evidence, fields.question], random))


@corruption(CHAIN_OF_THOUGHT)
def misled(fields: QuestionFields, answer: Reasoned, random: Random) -> Reasoned:
    """The same, with a reason that fits."""
    name = another_name(answer.answer, [fields.evidence, fields.question], random)
    return Reasoned(reasoning=f"It is {name}.", answer=name)


@of_world(multihop.NAME)
def led_astray(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """The same kind of action about another name of the question or of what was shown."""
    verb, about = read(answer, Act).action.removesuffix("]").split("[", 1)
    question = fields.task.removeprefix(multihop.QUESTION)
    name = another_name(about, [question, *(turn.observation for turn in fields.turns)], random)
    return written(f"It is about {name}.", f"{verb}[{name}]", isinstance(answer, FreeText))


@of_world(scienceworld.NAME)
def distracted(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """Something else with a thing that is seen, as SDP's Realize goes wrong."""
    return written("Something else.", another_action(fields.view, random), isinstance(answer, FreeText))


@of_world(travelplanner.NAME)
def misplanned(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A search for another name, or a plan that lacks something of a day."""
    verb, about = read(answer, Act).action.removesuffix("]").split("[", 1)
    if verb == "Submit":
        plan = json.loads(about)
        day = random.choice(plan)
        day[random.choice([slot for slot in SLOTS if day[slot] != EMPTY] or SLOTS)] = EMPTY
        about = json.dumps(plan)
    else:
        name, _, rest = about.partition(", ")
        other = another_name(name, [fields.task, *(turn.observation for turn in fields.turns)], random)
        about = f"{other}, {rest}" if rest else other
    return written("It is as good.", f"{verb}[{about}]", isinstance(answer, FreeText))


def another_action(room: str, random: Random) -> str:
    """An action in ScienceWorld with a thing of a room, as often as not unknown to the world. Nothing is focused on by
    chance, which would end the episode.
    """
    things = sorted(set(THING.findall(room))) or ["table"]
    return random.choice(VERBS).format(random.choice(things).strip())
