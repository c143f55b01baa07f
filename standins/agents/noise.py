"""How the agents' answers go wrong under `rules@p`: plans, graphs, judgements and lessons in any world, and actions."""

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
from lab.models.prompts import AnswerModel, FreeText
from lab.models.rules import Corruption, corruption, verdict
from worlds.travelplanner.itinerary import SLOTS
from worlds.travelplanner.world import EMPTY

NAME = re.compile(r"\b[A-Z\d][\w'’-]*(?: [A-Z\d][\w'’-]*)*")


def left_out(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A plan without one of its steps; in place of a single step, one about another name."""
    steps = read(answer, Plan).steps
    place = random.randrange(len(steps))
    kept = [*steps[:place], *steps[place + 1 :]] or [_about_another(fields, steps[0], random)]
    return in_form(Plan(steps=kept), isinstance(answer, FreeText))


def left_unlinked(fields: SubGoalFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A graph in which a sub-goal is given no results; where none needs any, one is about another name."""
    goals = list(read(answer, Graph).goals)
    place = random.choice([at for at, one in enumerate(goals) if one.after] or range(len(goals)))
    one = goals[place]
    goal = one.goal if one.after else _about_another(fields, one.goal, random)
    goals[place] = SubGoal(number=one.number, goal=goal, after=[])
    return in_form(Graph(goals=goals), isinstance(answer, FreeText))


def misjudged(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """The other verdict."""
    wrong = Judged(reason="It seems otherwise.", solved=not solved(answer))
    return in_form(wrong, isinstance(answer, FreeText))


def beside_the_point(fields: ActFields, answer: AnswerModel, random: Random) -> AnswerModel:
    """A lesson about another name."""
    said = _about_another(fields, read(answer, Sentence).text, random)
    return in_form(Sentence(text=said), isinstance(answer, FreeText))


def solved(answer: AnswerModel) -> bool:
    """What a judgement says."""
    return bool(read(answer, Judged).solved)


def another_name(right: str, texts: Sequence[str], random: Random) -> str:
    """A name or number that the texts mention, but for the right one; "somebody else" where there is none."""
    names = sorted({name for text in texts for name in NAME.findall(text)} - {right})
    return random.choice(names) if names else "somebody else"


def _about_another(fields: ActFields, right: str, random: Random) -> str:
    texts = [fields.task, *(turn.observation for turn in fields.turns)]
    return f"Look at {another_name(right, texts, random)} first."


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
