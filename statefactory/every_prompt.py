"""All prompts of StateFactory, for checks of recordings, and an example question for each, for `lab try`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agents.every_prompt import WORLDS
from lab.models.prompts import Prompt
from statefactory.experiments.triplets import PARAPHRASE
from statefactory.planning.prompts import choose_prompt, predict_prompt, rewarded_prompt
from statefactory.planning.proposals import propose_prompt
from statefactory.predictors import judge
from statefactory.prompts import ITEMS, modules
from statefactory.state import Attribute, Entity


def every_prompt() -> Iterator[Prompt]:
    """The modules of each level, the judges, the paraphrase, and the planning prompts of each world."""
    yield PARAPHRASE
    yield from judge.PROMPTS.values()
    for level in ITEMS:
        yield from modules(level)
    for world in WORLDS:
        yield from (predict_prompt(world), propose_prompt(world))
        for by_schema in (False, True):
            yield from (choose_prompt(world, by_schema), rewarded_prompt(world, by_schema))


def examples() -> Iterator[tuple[Prompt, dict[str, Any]]]:
    """One example question per operator, on synthetic text."""
    goal, action = "block A is on block B", "pick up A"
    first, observation = "A is on the table. B is on the table. Your hand is empty.", "You hold A. B is on the table."
    before = (Entity("block A", (Attribute("location", "Block A is on the table."),)),)
    after = (Entity("block A", (Attribute("location", "Block A is in the hand."),)),)
    perceive, refine, interpret = modules("object_attribute")
    common = {"goal": goal, "action": action}
    yield perceive, {**common, "previous_goal": None, "observation": observation, "previous_state": before}
    yield refine, {**common, "previous_state": before, "state": after}
    yield interpret, {**common, "state": after, "observation": observation, "previous_goal": None}
    yield judge.PROMPTS["analytic"], {"goal": goal, "history": (judge.Exchange(action, observation),)}
    yield PARAPHRASE, {"sentence": "Block A is on the table."}
    tools = "pick up X; put down X; stack X on Y"
    world = {"tools": tools, "goal": goal, "first": first, "steps": ()}
    yield predict_prompt("blocksworld"), {**world, "action": action}
    yield propose_prompt("blocksworld"), {**world, "count": 2}
    fields = {"tools": tools, "task": goal, "turns": [], "view": first}
    yield choose_prompt("blocksworld", by_schema=True), {**fields, "options": ["pick up A", "pick up B"], "most": 1}
    rated = [{"action": "pick up A", "reward": 0.5}, {"action": "pick up B", "reward": 0.1}]
    yield rewarded_prompt("blocksworld", by_schema=True), {**fields, "candidates": rated}
