"""Every prompt that StateFactory asks, for checks of recordings."""

from __future__ import annotations

from collections.abc import Iterator

from agents.every_prompt import WORLDS
from lab.models.prompts import Prompt
from statefactory.planning.prompts import choose_prompt, predict_prompt, rewarded_prompt
from statefactory.planning.proposals import propose_prompt
from statefactory.predictors import judge
from statefactory.prompts import ITEMS, modules
from statefactory.triplets import PARAPHRASE


def every_prompt() -> Iterator[Prompt]:
    """The modules of each level, the judges, and what planning asks about each world by its short name."""
    yield PARAPHRASE
    yield from judge.PROMPTS.values()
    for level in ITEMS:
        yield from modules(level)
    for world in WORLDS:
        yield from (predict_prompt(world), propose_prompt(world))
        for by_schema in (False, True):
            yield from (choose_prompt(world, by_schema), rewarded_prompt(world, by_schema))
