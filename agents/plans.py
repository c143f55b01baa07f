"""Plans in words: asked for, and for the placebo blanked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from agents.answers import Plan, read
from agents.planning_prompts import plan_prompt
from agents.play import Play

BLANK = "____"  # a step of the placebo: it has a place in the plan and says nothing


def planned(play: Play, before: Sequence[str] = ()) -> list[str]:
    """The steps that are still to be taken, by one call of the planner; those from before if no answer can be read."""
    prompt = plan_prompt(play.environment.name, play.settings.by_schema)
    found = play.ask(prompt, partial(read, kind=Plan), plan=list(before))
    if found is None:
        return list(before)
    return blanked(play, found.steps)


def blanked(play: Play, texts: Sequence[str]) -> list[str]:
    """The texts, or as many blanks where the settings ask for the placebo."""
    return [BLANK] * len(texts) if play.settings.blank else list(texts)
