"""Generates a task's trajectories: a padded one of the expert, and one of a random policy that does not resemble it.

Source: Shen et al. 2026, Appendix A.1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from statefactory.benchmark.labels import Padding, Recipe
from statefactory.benchmark.schema import Pair, Reward, Row, StepRecord
from worlds.base import ListingWorld

RANDOM_POLICY = "random policy"
Planner = Callable[[Sequence[str]], Sequence[str]]  # the actions so far -> the actions that lead from there to the goal


@dataclass(frozen=True, slots=True)
class PairBuild:
    """A pair, with counts of rejected random samples.

    positive_redraws: rejected random beginnings. negative_redraws: rejected random trajectories. taken_back: failing
    steps of the negative that were undone. unpadded: sampled random steps before the expert's that were omitted because
    the expert's plan failed after them.
    """

    pair: Pair
    positive_redraws: int
    negative_redraws: int
    taken_back: int
    unpadded: int


def make_pair(world: ListingWorld, task: Any, plan: Planner, source: str, recipe: Recipe) -> PairBuild:
    """Play both trajectories and label their steps.

    plan: the actions so far -> the expert's remaining ones. source: origin of the expert's plans.
    Raises ValueError if the plan fails without random steps, NoNegative if no random trajectory passes the filter.
    """
    positive = play_positive(world, task, plan, recipe)
    # The negative is as long as the positive, as in 8 of the 9 printed pairs (A.5, D).
    negative = play_negative(world, task, positive.expert, len(positive.moves), recipe)
    common = {"domain": recipe.domain, "task": task.id, "data": world.data, "seed": recipe.seed,
             "goal_description": task.goal}  # fmt: skip
    shaped = recipe.rule.shaped_positive([move.score for move in positive.moves], positive.used)
    expert = range(positive.used.before, len(positive.moves) - positive.used.after)
    shaped_negative = recipe.rule.shaped_negative([move.score for move in negative.moves])
    rows = Pair(
        Row(
            id=f"{task.id}_positive", kind="positive", source=source, initial_observation=positive.initial,
            trajectory=_records(positive.moves, shaped, expert), **common,
        ),
        (
            Row(
                id=f"{task.id}_negative_0", kind="negative", source=RANDOM_POLICY,
                initial_observation=negative.initial,
                trajectory=_records(negative.moves, shaped_negative, range(0)), **common,
            ),
        ),
    )  # fmt: skip
    unpadded = positive.drawn.before - positive.used.before
    return PairBuild(rows, positive.redraws, negative.redraws, negative.taken_back, unpadded)


def _records(moves: Sequence[Move], shaped: Iterable[float], expert: range) -> tuple[StepRecord, ...]:
    return tuple(
        StepRecord(move.action, move.observation, Reward(float(move.score), value, number in expert))
        for number, (move, value) in enumerate(zip(moves, shaped, strict=True))
    )


@dataclass(frozen=True, slots=True)
class Positive:
    """A played positive. drawn: the sampled padding. used: the padding after which the expert's plan still works.

    redraws: number of random beginnings rejected because the expert's plan failed after them.
    """

    initial: str
    moves: tuple[Move, ...]
    drawn: Padding
    used: Padding
    redraws: int

    @property
    def expert(self) -> tuple[str, ...]:
        """The expert's actions, up to the one that reaches the goal."""
        return tuple(move.action for move in self.moves[self.used.before : len(self.moves) - self.used.after])


class PlayedPlan(NamedTuple):
    """A plan's moves up to the one that reaches the goal, and the indices, from 0, of those that the world refused."""

    moves: list[Move]
    refused: frozenset[int]


def play_positive(world: ListingWorld, task: Any, plan: Planner, recipe: Recipe) -> Positive:
    """Play random steps before the expert's, accepted only if the expert still reaches the goal; then some after it.

    A plan that ignores the random beginning must reach the goal at the same step as without it, with no further refused
    actions (some native walkthroughs open what is already open). After `recipe.beginnings` failed attempts the
    beginning becomes one step shorter. Raises ValueError if the plan fails even without random steps.
    """
    sampled = recipe.rule.draw(recipe.random(task.id, "padding"))
    initial, attempt = world.reset(task).text, 0
    usual = plan(())
    plain = play_plan(world, usual, recipe)
    if plain is None:
        raise ValueError(f"the expert's plan for {task.id} does not reach the goal: {'; '.join(usual)}")
    for before in range(sampled.before, 0, -1):
        for _ in range(recipe.beginnings):
            world.reset(task)
            beginning = list(random_walk(world, recipe.random(task.id, "before", attempt), before))
            # A beginning during which the episode ended is too short, so it is rejected.
            core = _after_beginning(world, beginning, plan, plain, recipe) if len(beginning) == before else None
            if core:
                return _finished(world, task, initial, beginning, core, sampled, attempt, recipe)
            attempt += 1
    if sampled.before:  # the rejected beginnings changed the world's state
        world.reset(task)
        plain = play_plan(world, usual, recipe) or plain
    return _finished(world, task, initial, [], plain, sampled, attempt, recipe)


def _after_beginning(
    world: ListingWorld, first: Sequence[Move], plan: Planner, plain: PlayedPlan, recipe: Recipe
) -> PlayedPlan | None:  # fmt: skip
    if any(move.over or move.reaches_goal for move in first):
        return None
    usual, actions = plan(()), plan([move.action for move in first])
    played = play_plan(world, actions, recipe)
    if played is None or tuple(actions) != tuple(usual):
        return played
    # If fewer steps suffice, the beginning did part of the plan's work and would wrongly be labelled 0.
    return played if len(played.moves) == len(plain.moves) and played.refused <= plain.refused else None


def play_plan(world: ListingWorld, plan: Sequence[str], recipe: Recipe) -> PlayedPlan | None:
    """Play a plan from the world's current state; None if it does not reach the goal."""
    moves: list[Move] = []
    refused = set()
    for number, action in enumerate(plan):
        listed = not recipe.admissible or action in world.valid_actions()
        moves.append(play(world, action))
        if not listed or moves[-1].observation.startswith(recipe.refusals):
            refused.add(number)
        if moves[-1].reaches_goal:
            return PlayedPlan(moves, frozenset(refused))
        if moves[-1].over:
            break
    return None


def _finished(
    world: ListingWorld, task: Any, initial: str, first: list[Move], core: PlayedPlan, drawn: Padding, redraws: int,
    recipe: Recipe,
) -> Positive:  # fmt: skip
    """Complete the positive with random steps after success, if the world continues after it."""
    last: list[Move] = []
    if not core.moves[-1].over:
        # Seeded separately, so that redraws of the beginning do not change the end.
        last = list(random_walk(world, recipe.random(task.id, "after"), drawn.after))
    return Positive(initial, (*first, *core.moves, *last), drawn, Padding(len(first), len(last)), redraws)


class NoNegative(RuntimeError):
    """No random trajectory of a task passed the filter. The message names the task and counts the reasons."""


@dataclass(frozen=True, slots=True)
class Negative:
    """A played negative. redraws: random trajectories rejected before it. taken_back: its steps that were undone."""

    initial: str
    moves: tuple[Move, ...]
    redraws: int
    taken_back: int


def play_negative(world: ListingWorld, task: Any, expert: Sequence[str], steps: int, recipe: Recipe) -> Negative:
    """The first random trajectory of `steps` steps that neither reaches the goal nor repeats a segment of the expert.

    steps: the positive's length, as in 8 of the 9 printed pairs (the ninth has 5 and 8). A step that ends the episode
    in failure (ScienceWorld's wrong focus, WebShop's purchase, a lost TextWorld game) is undone and sampled again. The
    paper does not say so. But if negatives ended there, half of ScienceWorld's would be short, and its monotonic
    baseline .468 instead of the paper's .508.
    Raises NoNegative after `recipe.negatives` trajectories.
    """
    faults: Counter[str] = Counter()
    for attempt in range(recipe.negatives):
        random, moves, taken_back, fault = recipe.random(task.id, "negative", attempt), list[Move](), 0, ""
        initial = world.reset(task).text
        while len(moves) < steps and not fault:
            # Uniform among the valid actions (A.1: the full set) that do not fail: sampling without replacement skips
            # failed actions, and the others stay equally likely.
            actions, fault = list(world.valid_actions()), "ended early"
            while actions and fault == "ended early":
                move = play(world, actions.pop(random.randrange(len(actions))))
                if not move.over or move.reaches_goal:
                    moves.append(move)
                    fault = fault_of(moves, expert, recipe.segment)
                    continue
                taken_back += 1
                # Worlds have no undo, so the trajectory is replayed from its start.
                world.reset(task)
                for earlier in moves:
                    world.step(earlier.action)
        if not fault:
            return Negative(initial, tuple(moves), attempt, taken_back)
        faults[fault] += 1
    reasons = ", ".join(f"{times} {fault}" for fault, times in sorted(faults.items()))
    raise NoNegative(f"none of {recipe.negatives} random trajectories of {task.id} is a negative: {reasons}")


def fault_of(moves: Sequence[Move], expert: Sequence[str], segment: int) -> str:
    """Why the newest step disqualifies a random trajectory as a negative; "" if it does not.

    The paper discards trajectories that match a sub-segment of the expert's. Its own Table 25 shares its first step
    with Table 24, so one step is not a segment. The paper does not give the length; `segment` is our choice.
    """
    if moves[-1].reaches_goal:
        return "reached the goal"
    # Only the last `segment` actions: earlier segments were checked when they were completed.
    if shares_segment([move.action for move in moves[-segment:]], expert, segment):
        return "shared a segment with the expert"
    return ""


@dataclass(frozen=True, slots=True)
class Move:
    """An action with the resulting observation and score. over: whether the episode ended."""

    action: str
    observation: str
    score: float
    over: bool

    @property
    def reaches_goal(self) -> bool:
        return self.score >= 1.0


def play(world: ListingWorld, action: str) -> Move:
    """Play one action in the world."""
    step = world.step(action)
    goes_on = world.goes_on and step.score >= 1.0
    return Move(action, step.text, step.score, step.done and not goes_on)


def random_walk(world: ListingWorld, random: Random, steps: int) -> Iterator[Move]:
    """Take actions uniformly from the valid ones (A.1: the full set); fewer than `steps` if the episode ends."""
    for _ in range(steps):
        actions = world.valid_actions()
        if not actions:
            return
        move = play(world, random.choice(actions))
        yield move
        if move.over:
            return


def shares_segment(actions: Sequence[str], expert: Sequence[str], length: int) -> bool:
    """Whether the actions contain `length` consecutive actions of the expert, or all of a shorter expert's."""
    # Without this bound nothing could share a segment with a shorter plan.
    length = min(length, len(expert))
    return bool(_segments(actions, length) & _segments(expert, length))


def _segments(actions: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(actions[start : start + length]) for start in range(len(actions) - length + 1)}
