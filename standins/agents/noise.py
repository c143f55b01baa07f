"""Noise on the agents' answers under `rules@p`: plans, graphs, judgements and lessons in any world, and actions."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from agents.answers import Act, Graph, Judged, Plan, Sentence, SubGoal, in_form, read
from agents.planning_prompts import (
    PromptOf,
    SubGoalFields,
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
from lab.models.answers import AnswerModel, FreeText
from lab.models.rules import Corruption, corruption, verdict
from worlds.travelplanner.itinerary import SLOTS
from worlds.travelplanner.world import EMPTY

NAME = re.compile(r"\b[A-Z\d][\w'’-]*(?: [A-Z\d][\w'’-]*)*")


def left_out(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A plan without one of its steps; instead of a single step, a step about another name."""
    steps = read(answer, Plan).steps
    index = random.randrange(len(steps))
    remaining = [*steps[:index], *steps[index + 1 :]] or [_about_another(fields, steps[0], random)]
    return in_form(Plan(steps=remaining), isinstance(answer, FreeText))


def left_unlinked(fields: SubGoalFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A graph in which a sub-goal gets no results; if none needs results, one of them is about another name."""
    goals = list(read(answer, Graph).goals)
    index = random.choice([position for position, node in enumerate(goals) if node.after] or range(len(goals)))
    node = goals[index]
    goal = node.goal if node.after else _about_another(fields, node.goal, random)
    goals[index] = SubGoal(number=node.number, goal=goal, after=[])
    return in_form(Graph(goals=goals), isinstance(answer, FreeText))


def misjudged(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """The opposite verdict."""
    wrong = Judged(reason="It seems otherwise.", solved=not solved(answer))
    return in_form(wrong, isinstance(answer, FreeText))


def beside_the_point(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A lesson about another name."""
    text = _about_another(fields, read(answer, Sentence).text, random)
    return in_form(Sentence(text=text), isinstance(answer, FreeText))


def solved(answer: AnswerModel) -> bool:
    """The verdict of a judgement."""
    return bool(read(answer, Judged).solved)


def another_name(right: str, texts: Sequence[str], random: Random) -> str:
    """A random name or number from the texts, except the right one; "somebody else" if there is none."""
    names = sorted({name for text in texts for name in NAME.findall(text)} - {right})
    return random.choice(names) if names else "somebody else"


def _about_another(fields: ActFields, right: str, random: Random) -> str:
    texts = [fields.task, *(turn.observation for turn in fields.turns)]
    return f"Look at {another_name(right, texts, random)} first."


THING = re.compile(r"^\t(?:an? |the )?([a-z][\w ]*)", re.MULTILINE)  # a thing in ScienceWorld's list of a room
VERBS = ("look at {}", "open {}", "pick up {}", "activate {}", "go to {}", "move {} to inventory")
C = TypeVar("C", bound=Corruption)


def of_world(name: str) -> Callable[[C], C]:
    """Register the noise on actions in a world, for all agents.

    Plans, judgements and lessons go wrong alike in all worlds.
    """

    def register(function: C) -> C:
        corruptions: dict[PromptOf, Corruption] = {
            react_prompt: function, sub_goal_prompt: function, plan_prompt: left_out, graph_prompt: left_unlinked,
            judge_prompt: misjudged, lesson_prompt: beside_the_point,
        }  # fmt: skip
        for prompt, corrupt in corruptions.items():
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
    """Another name from the evidence or the question."""
    return Said(answer=another_name(answer.answer, [fields.evidence, fields.question], random))


@corruption(CHAIN_OF_THOUGHT)
def misled(fields: QuestionFields, answer: Reasoned, random: Random) -> Reasoned:
    """The same, with a matching reason."""
    name = another_name(answer.answer, [fields.evidence, fields.question], random)
    return Reasoned(reasoning=f"It is {name}.", answer=name)


@of_world(multihop.NAME)
def led_astray(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """The same kind of action, about another name from the question or the observations."""
    verb, argument = read(answer, Act).action.removesuffix("]").split("[", 1)
    question = fields.task.removeprefix(multihop.QUESTION)
    name = another_name(argument, [question, *(turn.observation for turn in fields.turns)], random)
    return written(f"It is about {name}.", f"{verb}[{name}]", isinstance(answer, FreeText))


@of_world(scienceworld.NAME)
def distracted(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """Another action with a visible thing, as in the noise on SDP's Realize."""
    return written("Something else.", another_action(fields.view, random), isinstance(answer, FreeText))


@of_world(travelplanner.NAME)
def misplanned(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A search for another name, or a plan in which a day lacks something."""
    verb, argument = read(answer, Act).action.removesuffix("]").split("[", 1)
    if verb == "Submit":
        plan = json.loads(argument)
        day = random.choice(plan)
        day[random.choice([slot for slot in SLOTS if day[slot] != EMPTY] or SLOTS)] = EMPTY
        argument = json.dumps(plan)
    else:
        name, _, tail = argument.partition(", ")
        other = another_name(name, [fields.task, *(turn.observation for turn in fields.turns)], random)
        argument = f"{other}, {tail}" if tail else other
    return written("It is as good.", f"{verb}[{argument}]", isinstance(answer, FreeText))


def another_action(room: str, random: Random) -> str:
    """A random action in ScienceWorld with a thing of the room; the world does not know about half of these actions.

    None focuses on a thing, which could end the episode.
    """
    things = sorted(set(THING.findall(room))) or ["table"]
    return random.choice(VERBS).format(random.choice(things).strip())
