"""ALFWorld's expert, never given to an agent: a released game's walkthrough, a synthetic game's plan."""

from __future__ import annotations

from functools import cache, lru_cache, partial
from typing import TYPE_CHECKING

from worlds.alfworld.official import OfficialGames
from worlds.alfworld.package_files import named, package
from worlds.alfworld.tasks import HouseholdTask
from worlds.alfworld.world import AlfWorld, Games, fast_game
from worlds.base import NoSolution

if TYPE_CHECKING:
    from worlds.alfworld.engine import Fact, FastPddlEnv

# The goal does not name the receptacle that cleans, cools or heats a thing, but the planner needs one.
APPLIANCES = {
    "pick_clean_then_place_in_recep": "sinkbasintype",
    "pick_cool_then_place_in_recep": "fridgetype",
    "pick_heat_then_place_in_recep": "microwavetype",
}


class Expert:
    """An Expert for the games of a world."""

    def __init__(self, world: AlfWorld) -> None:
        self._games = world.games
        # Cached per split, because each read scans the file of all games, 200 MB unpacked.
        self._walkthroughs = cache(world.games.walkthroughs) if isinstance(world.games, OfficialGames) else None
        # A plan takes half a second, and several episodes of a game need the same one.
        self._planned = lru_cache(maxsize=64)(partial(planned, world.games))

    def actions(self, task: HouseholdTask) -> tuple[str, ...]:
        """Commands that win a fresh game. Raises NoSolution naming the task if none is known."""
        if self._walkthroughs is None:
            return self._planned(task)
        split = task.id.split("-")[1]  # of "alfworld-valid_seen-000"; no split's name has a hyphen
        walkthrough = self._walkthroughs(split).get(task.id) if split in self._games.splits else None
        if walkthrough is None:
            raise NoSolution(f"{task.id} is none of ALFWorld's released games, whose walkthroughs are known")
        return walkthrough


def steps_left(world: AlfWorld, task: HouseholdTask) -> int | None:
    """Number of steps of `worlds.alfworld.planner.way` from the current state of the world's game; None without a plan.

    Needs the fast engine, whose facts can be read.
    """
    operators = _way(world, task)
    return None if operators is None else len(operators)


def next_command(world: AlfWorld, task: HouseholdTask) -> str | None:
    """The first command of the plan of `steps_left`; None without a plan, and once the goal is reached."""
    operators = _way(world, task)
    return world._engine.command(operators[0]) if operators else None


def _way(world: AlfWorld, task: HouseholdTask) -> tuple[str, ...] | None:
    # Sorted, because the planner's choice among plans may depend on the order.
    return _planned(world.games.rules().domain, task, tuple(sorted(world._engine.facts())))


@lru_cache(maxsize=4096)
def _planned(domain: str, task: HouseholdTask, facts: tuple[Fact, ...]) -> tuple[str, ...] | None:
    operators = package("worlds.alfworld.planner").way(domain, task.problem, APPLIANCES.get(task.task_type), facts)
    return None if operators is None else tuple(operators)


def planned(games: Games, task: HouseholdTask) -> tuple[str, ...]:
    """Plan, and return the commands after playing them. Raises NoSolution without a plan, or if it does not win."""
    planner = package("worlds.alfworld.planner")
    operators = planner.plan(games.rules().domain, task.problem, APPLIANCES.get(task.task_type))
    if operators is None:
        raise NoSolution(f"the planner finds no way to solve {task.id}, {task.goal!r}")
    engine = package("worlds.alfworld.engine").FastPddlEnv()
    # The plan was made for a part of the problem, so it is checked on the whole game.
    try:
        return played(engine, fast_game(games.rules(), task), operators, task)
    finally:
        engine.close()


def played(engine: FastPddlEnv, game: dict[str, str], operators: list[str], task: HouseholdTask) -> tuple[str, ...]:
    """Play a plan's operators in the whole game and return their commands.

    Raises NoSolution if an operator is not allowed or the game is not won.
    """
    world = named(engine)
    world.load(game)
    state, commands = world.reset(), []
    for operator in operators:
        command = engine.command(operator)
        if command is None:
            raise NoSolution(f"the plan for {task.id} does {operator!r}, which the game does not allow there")
        commands.append(command)
        state, _, _ = world.step(command)
    if not state["won"]:
        raise NoSolution(f"the plan for {task.id} ends without reaching {task.goal!r}")
    return tuple(commands)
