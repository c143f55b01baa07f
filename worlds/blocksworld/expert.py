"""BlocksWorld's expert, never given to an agent: PlanBench's own plan, or a shortest one by the solver clingo.

clingo (Potassco, MIT) gets the operators as a logic program and searches for a plan of a given length. The length grows
from a lower bound, so the first plan found is a shortest one, and the same in every process.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from lab.machine.doctor import INSTALL
from worlds.base import NoSolution
from worlds.blocksworld.official import OfficialProblems
from worlds.blocksworld.problem import BlocksProblem, BlocksTask
from worlds.blocksworld.state import Action, Fact, ImpossibleAction, State, action_text, read_action
from worlds.blocksworld.world import BlocksWorld

# Two facts about shortest plans make the search fast. First, a stack that is later undone, or that the goal does not
# ask for, can be replaced by a put-down: the block is then on the table and the one below it is clear, which hinders
# nothing. So blocks are stacked only as in the goal, and only stacks of the start are taken apart. Second, no action
# undoes the one before it.
PROGRAM = """
#program base.
possible(pick_up(X)) :- block(X).
possible(put_down(X)) :- block(X).
possible(stack(X, Y)) :- goal(on(X, Y)).
possible(unstack(X, Y)) :- start(on(X, Y)).

needs(pick_up(X), (clear(X); ontable(X); handempty)) :- block(X).
needs(put_down(X), holding(X)) :- block(X).
needs(stack(X, Y), (holding(X); clear(Y))) :- possible(stack(X, Y)).
needs(unstack(X, Y), (on(X, Y); clear(X); handempty)) :- possible(unstack(X, Y)).

adds(pick_up(X), holding(X)) :- block(X).
adds(put_down(X), (ontable(X); clear(X); handempty)) :- block(X).
adds(stack(X, Y), (on(X, Y); clear(X); handempty)) :- possible(stack(X, Y)).
adds(unstack(X, Y), (holding(X); clear(Y))) :- possible(unstack(X, Y)).

holds(F, 0) :- start(F).
#show does/2.

#program step(t).
1 { does(A, t) : possible(A) } 1.
:- does(A, t), needs(A, F), not holds(F, t - 1).
holds(F, t) :- does(A, t), adds(A, F).
holds(F, t) :- holds(F, t - 1), not ended(F, t).
ended(F, t) :- does(A, t), needs(A, F).  % in this domain an action ends all that it needs
:- does(put_down(X), t), does(pick_up(X), t - 1).
:- does(stack(X, Y), t), does(unstack(X, Y), t - 1).

#program check(t).
#external last(t).
:- last(t), goal(F), not holds(F, t).
"""
OPTIONS = ("--configuration=tweety", "--warn=none")
LEAVES_HAND_EMPTY = ("on", "ontable", "handempty")  # facts that only an action that empties the hand makes true
PLANS = ("reference", "planner")


def shortest_plan(problem: BlocksProblem) -> tuple[Action, ...] | None:
    """A shortest plan, or None if there is none. Raises ImportError if clingo is not installed."""
    if problem.solved_by(problem.start):
        return ()
    try:
        import clingo
    except ImportError as error:
        raise ImportError(f"BlocksWorld's planner needs clingo; install it with: {INSTALL}") from error
    control = clingo.Control(OPTIONS)
    control.add(PROGRAM)
    control.add(" ".join(f"{name}({term})." for name, term in _terms(clingo, problem)))
    control.ground([("base", [])])
    grounded = 0
    for length in lengths(problem):
        steps = [("step", [clingo.Number(step)]) for step in range(grounded + 1, length + 1)]
        grounded = length
        control.ground([*steps, ("check", [clingo.Number(length)])])
        last = clingo.Function("last", [clingo.Number(length)])
        control.assign_external(last, True)
        if plan := _solved(control):
            return plan
        control.release_external(last)  # only this length's check goes; its steps stay for the next
    return None


def lengths(problem: BlocksProblem) -> range:
    """The lengths that a shortest plan of an unsolved problem can have, shortest first.

    Actions take and place blocks in turn. A block that must move is taken and placed, or is in the hand at the end. Any
    state can be reached by taking all towers apart (2n actions) and building new ones (2n).
    """
    moving = 2 * len(must_move(problem))
    in_hand = int(problem.start.holding is not None)
    longest = 4 * len(problem.start.blocks) + 2
    if all(fact[0] in LEAVES_HAND_EMPTY for fact in problem.goal):
        return range(moving + in_hand or 2, longest, 2)
    return range(max(moving - 1, 1), longest)


def must_move(problem: BlocksProblem) -> set[str]:
    """Blocks that are not in their goal position, or are above such a block; without the one in the hand."""
    below = supports(problem.start)
    moving = {
        fact[1]
        for fact in problem.goal
        if fact[0] in ("on", "ontable") and fact[1] in below and below[fact[1]] != (fact[2] if fact[2:] else None)
    }
    for tower in problem.start.towers:
        for index, block in enumerate(tower):
            if block in moving:
                moving.update(tower[index:])
    return moving


def supports(state: State) -> dict[str, str | None]:
    """What is under each block that is not in the hand; None is the table."""
    return {block: below for tower in state.towers for block, below in zip(tower, (None, *tower), strict=False)}


def _terms(clingo: Any, problem: BlocksProblem) -> Iterator[tuple[str, Any]]:
    """The problem as facts of the program, in a fixed order because the solver's choices depend on it."""

    def term(fact: Fact) -> Any:
        return clingo.Function(fact[0], [clingo.String(block) for block in fact[1:]])

    yield from (("block", clingo.String(block)) for block in problem.start.blocks)
    yield from (("start", term(fact)) for fact in sorted(problem.start.facts()))
    yield from (("goal", term(fact)) for fact in problem.goal)


def _solved(control: Any) -> tuple[Action, ...]:
    """The plan of the current length, from the model's atoms does(action, step); () if there is none."""
    with control.solve(yield_=True) as handle:
        model = handle.model()
        shown = [] if model is None else model.symbols(shown=True)
        ordered = sorted((atom.arguments[1].number, atom.arguments[0]) for atom in shown)
        return tuple(
            Action(action.name.replace("_", "-"), *(block.string for block in action.arguments))
            for _, action in ordered
        )


class Expert:
    """`Expert` for a world's problems. All its plans are shortest ones, PlanBench's too."""

    def __init__(self, world: BlocksWorld, plans: str = "reference") -> None:
        """plans: "reference" is PlanBench's plan if the data has one, else the planner's; "planner" always the latter.

        Raises ValueError for another value.
        """
        if plans not in PLANS:
            raise ValueError(f"plans={plans!r}; choose one of {', '.join(PLANS)}")
        problems = world.problems
        self._known = problems.plans() if plans == "reference" and isinstance(problems, OfficialProblems) else {}

    def actions(self, task: BlocksTask) -> tuple[str, ...]:
        """Actions that reach the goal. Raises NoSolution naming the task, ImportError if clingo is missing."""
        return tuple(map(action_text, self._known.get(task.id) or planned(task)))


@lru_cache(maxsize=4096)
def planned(task: BlocksTask) -> tuple[Action, ...]:
    """The planner's plan; cached. Raises NoSolution, ImportError."""
    plan = shortest_plan(task.problem)
    if plan is None:
        raise NoSolution(f"{task.id} has no plan: {task.goal}")
    check(task, plan)
    return plan


def check(task: BlocksTask, plan: tuple[Action, ...]) -> None:
    """Raise NoSolution unless the plan reaches the goal in the simulator, so that planner errors are noticed."""
    state = task.problem.start
    try:
        for action in plan:
            state = state.after(action)
    except ImpossibleAction as error:
        raise NoSolution(f"the plan for {task.id} fails: {error}") from error
    if not task.problem.solved_by(state):
        raise NoSolution(f"the plan for {task.id} ends without its goal: {task.goal}")


def state_after(problem: BlocksProblem, actions: Iterable[str]) -> State:
    """The state after actions given as text; texts that are no action, and impossible actions, change nothing."""
    state = problem.start
    for words in actions:
        action = read_action(words, state.blocks)
        state = state.after(action) if action in state.actions() else state
    return state


@lru_cache(maxsize=4096)
def steps_left(problem: BlocksProblem, state: State) -> int:
    """The length of a shortest plan from a state. Raises ImportError."""
    return len(shortest_plan(replace(problem, start=state)) or ())  # every state can be reached from every other
