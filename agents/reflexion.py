"""Reflexion (Shinn et al. 2023): ReAct in trials, with a verbal reflection after each one that failed.

A trial begins the task anew, which not every world would allow an agent. What tells that a trial failed is the setting
`success`: the model's own judgement of what it was shown; or the environment's score, which is privileged on most
worlds. The caps hold for all trials together, and a trial has an equal share of the steps. The last trial counts.
"""

from __future__ import annotations

from functools import partial

from agents.answers import Judged, Sentence, read
from agents.history import STEPS
from agents.loops import blanked
from agents.planning_prompts import judge_prompt, lesson_prompt
from agents.play import Play

MEMORY = 3  # lessons that are kept, the newest


def reflexion(play: Play) -> None:
    """Play one task."""
    settings = play.settings
    lessons: list[str] = []
    end = _trial(play, lessons)
    for _ in range(settings.trials - 1):
        play.end(settings.end(play.history))  # the trial is over, and the episode only by a cap
        if play.over or _solved(play):
            break
        lessons = [*lessons, *_lesson(play, lessons)][-MEMORY:]
        if play.over:
            break
        play.again()
        end = _trial(play, lessons)
    play.end(end)


def _trial(play: Play, lessons: list[str]) -> str:
    """Act until the trial ends; how it ended."""
    last = play.history.steps + -(-play.settings.steps // play.settings.trials)
    while not play.over and play.history.steps < last:
        play.act(lessons=lessons)
    return play.history.end or STEPS


def _solved(play: Play) -> bool:
    if play.settings.success == "score":
        return bool(play.environment.result()["score"] >= 1)
    prompt = judge_prompt(play.environment.name, play.settings.by_schema)
    judged = play.ask(prompt, partial(read, kind=Judged))
    return judged is not None and judged.solved


def _lesson(play: Play, lessons: list[str]) -> list[str]:
    prompt = lesson_prompt(play.environment.name, play.settings.by_schema)
    found = play.ask(prompt, partial(read, kind=Sentence), lessons=lessons)
    return blanked(play, [found.text]) if found else []
