"""Positive trajectories: the expert's steps, padded with random ones (Shen et al. 2026, Appendix A.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from statefactory.benchmark.labels import Padding, Recipe
from statefactory.benchmark.walks import Move, play, random_walk
from worlds.base import ListingWorld

Planner = Callable[[Sequence[str]], Sequence[str]]  # the actions so far -> those that reach the goal from there


class ExpertFailed(RuntimeError):
    """An expert's plan does not reach the goal even from the very start; the message names the task."""


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


class Core(NamedTuple):
    """A plan's moves up to the one that reaches the goal, and which of them the world refused, from 0."""

    moves: list[Move]
    refused: frozenset[int]


def play_positive(world: ListingWorld, task: Any, plan: Planner, recipe: Recipe) -> Positive:
    """Draw random steps, and keep them if the expert still reaches the goal after them; then draw those after it.

    A plan that does not take the beginning into account has to get there at the same step as without it, and to be
    refused nothing more: some native walkthroughs open what is open. After `recipe.beginnings` of them one step fewer
    is tried. Raises ExpertFailed if the plan fails without any.
    """
    drawn = recipe.rule.draw(recipe.random(task.id, "padding"))
    initial, attempt = world.reset(task).text, 0
    usual = plan(())
    plain = play_plan(world, usual, recipe)
    if plain is None:
        raise ExpertFailed(f"the expert's plan for {task.id} does not reach the goal: {'; '.join(usual)}")
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
    world: ListingWorld, first: Sequence[Move], plan: Planner, plain: Core, recipe: Recipe
) -> Core | None:  # fmt: skip
    if any(move.over or move.reaches_goal for move in first):
        return None
    usual, actions = plan(()), plan([move.action for move in first])
    core = play_plan(world, actions, recipe)
    if core is None or tuple(actions) != tuple(usual):
        return core
    # Where it is spared a step, the beginning did some of its work, and would be labelled 0 for it.
    return core if len(core.moves) == len(plain.moves) and core.refused <= plain.refused else None


def play_plan(world: ListingWorld, plan: Sequence[str], recipe: Recipe) -> Core | None:
    """Play a plan from the state at hand; None if it does not reach the goal."""
    moves: list[Move] = []
    refused = set()
    for number, action in enumerate(plan):
        listed = not recipe.admissible or action in world.valid_actions()
        moves.append(play(world, action))
        if not listed or moves[-1].observation.startswith(recipe.refusals):
            refused.add(number)
        if moves[-1].reaches_goal:
            return Core(moves, frozenset(refused))
        if moves[-1].over:
            break
    return None


def _finished(
    world: ListingWorld, task: Any, initial: str, first: list[Move], core: Core, drawn: Padding, redraws: int,
    recipe: Recipe,
) -> Positive:  # fmt: skip
    """With the random steps after success, where the world goes on."""
    last: list[Move] = []
    if not core.moves[-1].over:
        # Seeded apart from the beginning, so that redraws at the front leave the end as it is.
        last = list(random_walk(world, recipe.random(task.id, "after"), drawn.after))
    return Positive(initial, (*first, *core.moves, *last), drawn, Padding(len(first), len(last)), redraws)
