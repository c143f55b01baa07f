"""BlocksWorld as a world: the simulator behind text."""

from __future__ import annotations

from collections.abc import Sequence

from worlds.base import EpisodeOver, ListingWorld, Step
from worlds.blocksworld.official import OfficialProblems
from worlds.blocksworld.problem import BlocksProblem, BlocksTask
from worlds.blocksworld.state import State, action_text, observation, read_action
from worlds.blocksworld.synthetic import SyntheticProblems

# PlanBench judges whole plans and has no text for an impossible step; this one is ours.
REFUSAL = "This is not possible; nothing has changed."


class BlocksWorld(ListingWorld):
    """BlocksWorld. The score is 1.0 and `done` is true exactly while the goal holds; the episode goes on after that."""

    goes_on = True

    def __init__(self, problems: OfficialProblems | SyntheticProblems, list_actions: bool = True) -> None:
        """list_actions: whether steps list the valid actions."""
        self.problems = problems
        self.data, self.splits = problems.data, problems.splits
        self._list_actions = list_actions
        self._problem: BlocksProblem | None = None
        self._state: State | None = None

    def tasks(self, split: str) -> Sequence[BlocksTask]:
        """The problems of a split in a stable order. Raises ValueError naming the splits for an unknown one."""
        if split not in self.splits:
            raise ValueError(
                f"no split {split!r} in BlocksWorld's {self.data} problems; there are: {', '.join(self.splits)}"
            )
        return self.problems.tasks(split)

    def reset(self, task: BlocksTask) -> Step:
        """Start a problem. The text is the first observation; the goal is the task's own."""
        self._problem, self._state = task.problem, task.problem.start
        return self._step(observation(self._state))

    def step(self, action: str) -> Step:
        """Take an action; unknown and impossible ones are refused. Raises EpisodeOver before any reset."""
        state = self._now()
        chosen = read_action(action, state.blocks)  # None if the text is no action; the action may be impossible
        if chosen is None or chosen not in state.actions():
            return self._step(REFUSAL)
        self._state = state.after(chosen)
        return self._step(observation(self._state))

    def valid_actions(self) -> tuple[str, ...]:
        """The actions that are possible now, sorted. Raises EpisodeOver before any reset."""
        return tuple(sorted(map(action_text, self._now().actions())))

    def close(self) -> None:
        """End the episode; there is nothing else to release."""
        self._problem = self._state = None

    def _now(self) -> State:
        if self._state is None:
            raise EpisodeOver("no problem of BlocksWorld was started; call reset(task) first")
        return self._state

    def _step(self, text: str) -> Step:
        solved = self._problem is not None and self._problem.solved_by(self._now())
        return Step(text, float(solved), solved, self.valid_actions() if self._list_actions else ())
