"""Every prompt that the agents ask, for checks of recordings."""

from __future__ import annotations

from collections.abc import Iterator

from agents import planning_prompts as planning
from agents.prompts import CHAIN_OF_THOUGHT, DIRECT, react_prompt, think_prompt
from lab.models.prompts import Prompt

WORLDS = (
    "alfworld",
    "assistantbench",
    "blocksworld",
    "multihop",
    "scienceworld",
    "textworld",
    "travelplanner",
    "webshop",
)


def every_prompt() -> Iterator[Prompt]:
    """Each prompt, in free text and bound to a schema, for each world by its short name."""
    yield from (DIRECT, CHAIN_OF_THOUGHT)
    builders = (
        react_prompt, planning.plan_prompt, planning.graph_prompt, planning.sub_goal_prompt, planning.judge_prompt,
        planning.lesson_prompt,
    )  # fmt: skip
    for by_schema in (False, True):
        yield think_prompt(by_schema)
        yield from (prompt(world, by_schema) for world in WORLDS for prompt in builders)
