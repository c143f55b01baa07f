"""The trajectories of a task: the expert's padded with random steps, and a random policy's that does not resemble it.

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
Planner = Callable[[Sequence[str]], Sequence[str]]  # the actions so far -> those that reach the goal from there


@dataclass(frozen=True, slots=True)
class PairBuild:
    """A pair, and how often a random draw was rejected for it.

    taken_back: steps of the negative that failed. unpadded: random steps before the expert that were asked for and left
    out, since its plan failed after them.
    """

    pair: Pair
    positive_redraws: int
    negative_redraws: int
    taken_back: int
    unpadded: int


def make_pair(world: ListingWorld, task: Any, plan: Planner, source: str, recipe: Recipe) -> PairBuild:
    """Play both trajectories.

    plan: the actions so far -> the expert's. source: how they come about.
    Raises ValueError where the plan fails, NoNegative.
    """
    positive = play_positive(world, task, plan, recipe)
    # As long as the positive: so are 8 of the 9 printed pairs (A.5, D).
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
    """What was played. drawn: the padding that the seed asked for; used: what the expert could live with.

    redraws: how many random beginnings were rejected, since the expert's plan failed after them.
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
    """A plan's moves up to the one that reaches the goal, and which of them the world refused, from 0."""

    moves: list[Move]
    refused: frozenset[int]


def play_positive(world: ListingWorld, task: Any, plan: Planner, recipe: Recipe) -> Positive:
    """Draw random steps, and keep them if the expert still reaches the goal after them; then draw those after it.

    A plan that does not take the beginning into account has to get there at the same step as without it, and to be
    refused nothing more: some native walkthroughs open what is open. After `recipe.beginnings` of them one step fewer
    is tried. Raises ValueError if the plan fails without any.
    """
    drawn = recipe.rule.draw(recipe.random(task.id, "padding"))
    initial, attempt = world.reset(task).text, 0
    usual = plan(())
    plain = play_plan(world, usual, recipe)
    if plain is None:
        raise ValueError(f"the expert's plan for {task.id} does not reach the goal: {'; '.join(usual)}")
    for before in range(drawn.before, 0, -1):
        for _ in range(recipe.beginnings):
            world.reset(task)
            first = list(random_walk(world, recipe.random(task.id, "before", attempt), before))
            # A beginning that ended early is no beginning of this length.
            core = _after_beginning(world, first, plan, plain, recipe) if len(first) == before else None
            if core:
                return _finished(world, task, initial, first, core, drawn, attempt, recipe)
            attempt += 1
    if drawn.before:  # the beginnings have moved the world on
        world.reset(task)
        plain = play_plan(world, usual, recipe) or plain
    return _finished(world, task, initial, [], plain, drawn, attempt, recipe)


def _after_beginning(
    world: ListingWorld, first: Sequence[Move], plan: Planner, plain: PlayedPlan, recipe: Recipe
) -> PlayedPlan | None:  # fmt: skip
    if any(move.over or move.reaches_goal for move in first):
        return None
    usual, actions = plan(()), plan([move.action for move in first])
    core = play_plan(world, actions, recipe)
    if core is None or tuple(actions) != tuple(usual):
        return core
    # Where it is spared a step, the beginning did some of its work, and would be labelled 0 for it.
    return core if len(core.moves) == len(plain.moves) and core.refused <= plain.refused else None


def play_plan(world: ListingWorld, plan: Sequence[str], recipe: Recipe) -> PlayedPlan | None:
    """Play a plan from the state at hand; None if it does not reach the goal."""
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
    """With the random steps after success, where the world goes on."""
    last: list[Move] = []
    if not core.moves[-1].over:
        # Seeded apart from the beginning, so that redraws at the front leave the end as it is.
        last = list(random_walk(world, recipe.random(task.id, "after"), drawn.after))
    return Positive(initial, (*first, *core.moves, *last), drawn, Padding(len(first), len(last)), redraws)


class NoNegative(RuntimeError):
    """No random trajectory of a task passed the filter; the message names it and counts the reasons."""


@dataclass(frozen=True, slots=True)
class Negative:
    """What was played. redraws: random trajectories rejected before it; taken_back: steps taken back in it."""

    initial: str
    moves: tuple[Move, ...]
    redraws: int
    taken_back: int


def play_negative(world: ListingWorld, task: Any, expert: Sequence[str], steps: int, recipe: Recipe) -> Negative:
    """The first random trajectory of so many steps that neither reaches the goal nor repeats a segment of the expert.

    steps: as many as the positive has, as in 8 of the 9 printed pairs (the ninth has 5 beside 8). A step that ends the
    episode in failure (ScienceWorld's wrong focus, WebShop's purchase, a lost TextWorld game) is taken back and another
    one drawn. The paper does not say so; but ending there would leave half of ScienceWorld's negatives short, and the
    monotonic baseline at .468 instead of the paper's .508.
    Raises NoNegative after `recipe.negatives` trajectories.
    """
    faults: Counter[str] = Counter()
    for attempt in range(recipe.negatives):
        random, moves, taken_back, fault = recipe.random(task.id, "negative", attempt), list[Move](), 0, ""
        initial = world.reset(task).text
        while len(moves) < steps and not fault:
            # Uniform among the valid actions (A.1: the full set) that do not fail. Drawn without replacement: what
            # failed is not drawn a second time, and the others stay equally likely.
            actions, fault = list(world.valid_actions()), "ended early"
            while actions and fault == "ended early":
                move = play(world, actions.pop(random.randrange(len(actions))))
                if not move.over or move.reaches_goal:
                    moves.append(move)
                    fault = fault_of(moves, expert, recipe.segment)
                    continue
                taken_back += 1
                # Worlds have no undo: the walk is played again from its start.
                world.reset(task)
                for earlier in moves:
                    world.step(earlier.action)
        if not fault:
            return Negative(initial, tuple(moves), attempt, taken_back)
        faults[fault] += 1
    reasons = ", ".join(f"{times} {fault}" for fault, times in sorted(faults.items()))
    raise NoNegative(f"none of {recipe.negatives} random trajectories of {task.id} is a negative: {reasons}")


def fault_of(moves: Sequence[Move], expert: Sequence[str], segment: int) -> str:
    """Why a random trajectory is no negative, or "", looking at its last step: the others were looked at before.

    The paper discards any that matches a sub-segment of the expert. Its own Table 25 shares its first step with
    Table 24, so one step cannot be a segment; how many are is not said, and `segment` is our choice.
    """
    if moves[-1].reaches_goal:
        return "reached the goal"
    # Only the last `segment` actions: any earlier segment would have ended the walk when it was completed.
    if shares_segment([move.action for move in moves[-segment:]], expert, segment):
        return "shared a segment with the expert"
    return ""


@dataclass(frozen=True, slots=True)
class Move:
    """An action, what the world said to it, and the world's score then. over: no step is possible after it."""

    action: str
    observation: str
    score: float
    over: bool

    @property
    def reaches_goal(self) -> bool:
        return self.score >= 1.0


def play(world: ListingWorld, action: str) -> Move:
    """One step."""
    step = world.step(action)
    goes_on = world.goes_on and step.score >= 1.0
    return Move(action, step.text, step.score, step.done and not goes_on)


def random_walk(world: ListingWorld, random: Random, steps: int) -> Iterator[Move]:
    """Uniform choices among the valid actions of each state (A.1: the full set); fewer steps if the episode ends."""
    for _ in range(steps):
        actions = world.valid_actions()
        if not actions:
            return
        move = play(world, random.choice(actions))
        yield move
        if move.over:
            return


def shares_segment(actions: Sequence[str], expert: Sequence[str], length: int) -> bool:
    """Whether `length` consecutive actions of the expert stand one after the other among the actions.

    For an expert of fewer steps, whether all of its steps do.
    """
    # Else no walk would ever share a segment with a shorter plan.
    length = min(length, len(expert))
    return bool(_segments(actions, length) & _segments(expert, length))


def _segments(actions: Sequence[str], length: int) -> set[tuple[str, ...]]:
    return {tuple(actions[start : start + length]) for start in range(len(actions) - length + 1)}
