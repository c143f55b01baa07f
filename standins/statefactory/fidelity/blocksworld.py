"""BlocksWorld: what the rules read, against the simulator's own state. Nothing is left out: the text tells everything.

Every problem is played by the planner's plan and then by seeded random actions. True are the simulator's facts: on, on
the table and holding as a block's position; clear, and of the other standing blocks covered; what the hand has.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random

from standins.statefactory.fidelity import UNSEEN, Compared, Fact, facts
from standins.statefactory.languages import named
from worlds.blocksworld import BlocksTask, load
from worlds.blocksworld.expert import Expert
from worlds.blocksworld.state import State
from worlds.blocksworld.wording import block_name, read_action

AGAINST = "the simulator's state"
RANDOM_STEPS = 20


def compared(games: int, seed: int = 0) -> Iterator[Compared]:
    """The steps of so many problems of 3 to 6 blocks, of a seed of their own."""
    with load("synthetic", UNSEEN + seed, count=games) as world:
        expert = Expert(world)
        for number, task in enumerate(world.tasks("test")):
            yield from played(task, expert.actions(task))
            yield from played(task, _random(task, Random(f"fidelity {seed} {number}")))


def played(task: BlocksTask, actions: Iterable[str]) -> Iterator[Compared]:
    """A problem's steps, the first observation among them; the world's text is read, its simulator followed beside."""
    with load("synthetic", count=1) as world:
        read, state = named("blocksworld").read, task.problem.start
        reading = read((), "", world.reset(task).text)
        yield Compared(facts(reading.known), true(state), reading.unparsed)
        for action in actions:
            state = _after(state, action)
            reading = read(reading.known, action, world.step(action).text)
            yield Compared(facts(reading.known), true(state), reading.unparsed)


def true(state: State) -> frozenset[Fact]:
    """All that holds, in the words of the rules."""
    return frozenset(_true(state))


def _true(state: State) -> Iterator[Fact]:
    yield "hand", "content", block_name(state.holding) if state.holding else "empty"
    if state.holding:
        yield block_name(state.holding), "position", "in the hand"
    for tower in state.towers:
        for lower, block in zip((None, *tower), tower, strict=False):
            yield block_name(block), "position", f"on top of the {block_name(lower)}" if lower else "on the table"
            yield block_name(block), "top", "clear" if block == tower[-1] else "covered"


def _random(task: BlocksTask, random: Random) -> Iterator[str]:
    with load("synthetic", count=1) as world:
        step = world.reset(task)
        for _ in range(RANDOM_STEPS):
            action = random.choice((*step.actions, "open the box"))  # now and then one that is refused
            yield action
            step = world.step(action)


def _after(state: State, action: str) -> State:
    wanted = read_action(action, state.blocks)
    return state.after(wanted) if wanted in state.actions() else state
