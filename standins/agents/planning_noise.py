"""How plans, graphs of sub-goals, judgements and lessons go wrong, in any world."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from agents.answers import Graph, Judged, Plan, Sentence, SubGoal, in_form, read
from agents.planning_prompts import SubGoalFields
from agents.prompts import ActFields
from lab.models.prompts import AnswerModel, FreeText

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
