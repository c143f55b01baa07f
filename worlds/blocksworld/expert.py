"""BlocksWorld's expert, never given to an agent: PlanBench's own plan, or a planner's."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

from worlds.base import NoSolution
from worlds.blocksworld.official import OfficialProblems
from worlds.blocksworld.planner import shortest_plan
from worlds.blocksworld.problem import BlocksProblem
from worlds.blocksworld.pyperplan_process import pyperplan_plan
from worlds.blocksworld.state import Action, ImpossibleAction, State
from worlds.blocksworld.tasks import BlocksTask
from worlds.blocksworld.wording import action_text, read_action
from worlds.blocksworld.world import BlocksWorld

PLANS = ("reference", "planner")
PLANNERS = {"clingo": shortest_plan, "pyperplan": pyperplan_plan}


class Expert:
    """An Expert for the problems of a world.

    Plans are the shortest there are: of any planner, and PlanBench's own too.
    """

    def __init__(self, world: BlocksWorld, plans: str = "reference", planner: str = "clingo") -> None:
        """plans: "reference" is PlanBench's plan where the data has one, else the planner's; "planner" always that.

        planner: "clingo", or "pyperplan", which is an optional extra. Raises ValueError for another word.
        """
        if plans not in PLANS:
            raise ValueError(f"plans={plans!r}; choose one of {', '.join(PLANS)}")
        if planner not in PLANNERS:
            raise ValueError(f"planner={planner!r}; choose one of {', '.join(PLANNERS)}")
        problems = world.problems
        self._known = problems.plans() if plans == "reference" and isinstance(problems, OfficialProblems) else {}
        self._planner = planner
        self._planned: dict[BlocksTask, tuple[Action, ...]] = {}

    def actions(self, task: BlocksTask) -> tuple[str, ...]:
        """Actions that reach the goal. Raises NoSolution naming the task, ImportError if the planner lacks."""
        return tuple(map(action_text, self._known.get(task.id) or self._plan(task)))

    def _plan(self, task: BlocksTask) -> tuple[Action, ...]:
        if task not in self._planned:
            plan = PLANNERS[self._planner](task.problem)
            if plan is None:
                raise NoSolution(f"{task.id} has no plan: {task.goal}")
            # Played before it is given, so that a planner's mistake is never taken for a solution.
            check(task, plan)
            self._planned[task] = plan
        return self._planned[task]


def check(task: BlocksTask, plan: tuple[Action, ...]) -> None:
    """Raise NoSolution unless the plan reaches the goal in the simulator."""
    state = task.problem.start
    try:
        for action in plan:
            state = state.after(action)
    except ImpossibleAction as error:
        raise NoSolution(f"the plan for {task.id} fails: {error}") from error
    if not task.problem.solved_by(state):
        raise NoSolution(f"the plan for {task.id} ends without its goal: {task.goal}")


def state_after(problem: BlocksProblem, actions: Iterable[str]) -> State:
    """Where the blocks are after actions in words; what is none, or not possible, changes nothing."""
    state = problem.start
    for text in actions:
        action = read_action(text, state.blocks)
        state = state.after(action) if action in state.actions() else state
    return state


@lru_cache(maxsize=4096)
def steps_left(problem: BlocksProblem, state: State) -> int:
    """The length of a shortest plan from a state. Raises ImportError."""
    return len(shortest_plan(replace(problem, start=state)) or ())  # everything can be reached from everywhere
