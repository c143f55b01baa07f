"""A positive and a negative trajectory of one task, as rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from statefactory.benchmark.labels import Recipe
from statefactory.benchmark.negatives import play_negative
from statefactory.benchmark.positives import Planner, play_positive
from statefactory.benchmark.schema import Pair, Reward, Row, StepRecord
from statefactory.benchmark.walks import Move
from worlds.base import ListingWorld

RANDOM_POLICY = "random policy"


@dataclass(frozen=True, slots=True)
class Made:
    """A pair, and how often a random draw was rejected for it.

    taken_back: steps of the negative that failed. unpadded: random steps before the expert that were asked for and left
    out, since its plan failed after them.
    """

    pair: Pair
    positive_redraws: int
    negative_redraws: int
    taken_back: int
    unpadded: int


def make_pair(world: ListingWorld, task: Any, plan: Planner, source: str, recipe: Recipe) -> Made:
    """Play both trajectories.

    plan: the actions so far -> the expert's. source: how they come about. Raises ExpertFailed or NoNegative.
    """
    positive = play_positive(world, task, plan, recipe)
    # As long as the positive: so are 8 of the 9 printed pairs (A.5, D).
    negative = play_negative(world, task, positive.expert, len(positive.moves), recipe)
    about = {"domain": recipe.domain, "task": task.id, "data": world.data, "seed": recipe.seed,
             "goal_description": task.goal}  # fmt: skip
    shaped = recipe.rule.shaped_positive([move.score for move in positive.moves], positive.used)
    expert = range(positive.used.before, len(positive.moves) - positive.used.after)
    shaped_negative = recipe.rule.shaped_negative([move.score for move in negative.moves])
    rows = Pair(
        Row(
            id=f"{task.id}_positive", kind="positive", source=source, initial_observation=positive.initial,
            trajectory=_records(positive.moves, shaped, expert), **about,
        ),
        (
            Row(
                id=f"{task.id}_negative_0", kind="negative", source=RANDOM_POLICY,
                initial_observation=negative.initial,
                trajectory=_records(negative.moves, shaped_negative, range(0)), **about,
            ),
        ),
    )  # fmt: skip
    unpadded = positive.drawn.before - positive.used.before
    return Made(rows, positive.redraws, negative.redraws, negative.taken_back, unpadded)


def _records(moves: Sequence[Move], shaped: Iterable[float], expert: range) -> tuple[StepRecord, ...]:
    return tuple(
        StepRecord(move.action, move.observation, Reward(float(move.score), value, number in expert))
        for number, (move, value) in enumerate(zip(moves, shaped, strict=True))
    )
