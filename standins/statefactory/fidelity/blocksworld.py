"""Fidelity in BlocksWorld: facts read against the simulator's state. Nothing is left out: the text tells everything.

Every problem is played by the planner's plan and then by seeded random actions. True are the simulator's facts: "on",
"on the table" and "holding" as a block's position; "clear", and "covered" for the other blocks in towers; and the
content of the hand.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from standins.statefactory import blocksworld
from standins.statefactory.fidelity import UNSEEN, Compared, Fact, facts
from worlds.blocksworld import BlocksTask, BlocksWorld, load
from worlds.blocksworld.expert import Expert
from worlds.blocksworld.state import State, block_name, read_action

RANDOM_STEPS = 20


def compared(games: int, seed: int = 0) -> Iterator[Compared]:
    """The steps of `games` problems of 3 to 6 blocks, from seeds that are used for nothing else."""
    with load("synthetic", UNSEEN + seed, count=games) as world:
        expert = Expert(world)
        for number, task in enumerate(world.tasks("test")):
            yield from _played(world, task, expert.actions(task))
            yield from _played(world, task, [None] * RANDOM_STEPS, Random(f"fidelity {seed} {number}"))


def _played(
    world: BlocksWorld, task: BlocksTask, actions: Sequence[str | None], random: Random | None = None
) -> Iterator[Compared]:
    """The steps of a problem, with the simulator's state in parallel. An action None is sampled."""
    step, state = world.reset(task), task.problem.start
    reading = blocksworld.read((), "", step.text)
    yield Compared(facts(reading.known), true(state), reading.unparsed)
    for planned in actions:
        # "open the box" is always refused.
        action = random.choice((*step.actions, "open the box")) if random else planned or ""
        step, move = world.step(action), read_action(action, state.blocks)
        state = state.after(move) if move in state.actions() else state
        reading = blocksworld.read(reading.known, action, step.text)
        yield Compared(facts(reading.known), true(state), reading.unparsed)


def true(state: State) -> frozenset[Fact]:
    """Everything that holds, in the words of the rules."""
    return frozenset(_true(state))


def _true(state: State) -> Iterator[Fact]:
    yield "hand", "content", block_name(state.holding) if state.holding else "empty"
    if state.holding:
        yield block_name(state.holding), "position", "in the hand"
    for tower in state.towers:
        for lower, block in zip((None, *tower), tower, strict=False):
            yield block_name(block), "position", f"on top of the {block_name(lower)}" if lower else "on the table"
            yield block_name(block), "top", "clear" if block == tower[-1] else "covered"
