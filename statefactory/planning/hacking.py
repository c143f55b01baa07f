"""Reward hacking: the highest scores that a predictor gives in states that are no nearer to the goal than the start.

A planner counts how many steps are left, so exploring, and undoing an earlier step, are no progress. There are three
ways: a random walk among the valid actions, always the action with the highest reward of Eq. 15, and one action
repeated. They expose rewards that are anchored to the wrong object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Generic, Literal, NamedTuple, TypeVar

from statefactory.planning.lookahead import Lookahead
from statefactory.planning.paths import Path
from worlds.pool import Pool

M = TypeVar("M")
Way = Literal["random search", "greedy on the reward", "repeated action"]
RANDOM: Way = "random search"
GREEDY: Way = "greedy on the reward"
REPEATED: Way = "repeated action"
WAYS = (RANDOM, GREEDY, REPEATED)
Progress = Callable[[tuple[str, ...]], float]  # the true progress after actions; s_0 has 0, and worse is below 0


class VisitedState(NamedTuple):
    """A state, by the actions that lead to it, and the predictor's score there."""

    way: Way
    actions: tuple[str, ...]
    score: float


@dataclass(frozen=True)
class Hacker(Generic[M]):
    """The ways to a high score, on one task.

    lookahead: the predictor, with the world itself as its world model. pool: of that world. steps: at most, of a path.
    walks: of the random search. actions: of those that are valid in a state, how many are tried at most, drawn by the
    seed. Methods raise what the predictor and the worlds raise.
    """

    lookahead: Lookahead[M]
    pool: Pool
    progress: Progress
    goal: str
    steps: int = 10
    walks: int = 5
    actions: int = 12
    seed: int = 0

    def all(self) -> Iterator[VisitedState]:
        """What the three ways come across, whether or not something of the task is done there; see `cheapest`."""
        yield from self.random()
        yield from self.greedy()
        yield from self.repeated()

    def random(self) -> Iterator[VisitedState]:
        """Uniform choices among the valid actions."""
        random = Random(f"hack {self.seed}")

        def walk() -> Iterator[str]:
            taken: tuple[str, ...] = ()
            while valid := self.pool.valid_actions(taken):
                taken = (*taken, random.choice(valid))
                yield taken[-1]

        for _ in range(self.walks):
            yield from self._along(RANDOM, walk())

    def greedy(self) -> Iterator[VisitedState]:
        """The highest reward among the actions that lead to no progress; the first of those that share it."""
        path = self._start()
        memory, random = self.lookahead.start(path), Random(f"hack {self.seed}")
        for _ in range(self.steps):
            candidates, memories = self.lookahead.candidates(path, memory, self._some(path.actions, random))
            yield from (
                VisitedState(GREEDY, (*path.actions, candidate.action), candidate.score) for candidate in candidates
            )
            ranked = sorted(zip(candidates, memories, strict=True), key=lambda pair: -pair[0].reward)
            going = (
                pair for pair in ranked
                if not pair[0].outcome.done and self.progress((*path.actions, pair[0].action)) <= 0
            )  # fmt: skip
            if (best := next(going, None)) is None:
                return
            memory, path = best[1], path.then(best[0].action, best[0].outcome.observation)

    def repeated(self) -> Iterator[VisitedState]:
        """Each action that is valid at first, over and over."""
        for action in self._some((), Random(f"hack {self.seed}")):
            yield from self._along(REPEATED, [action] * self.steps)

    def along(self, actions: Iterable[str]) -> list[float]:
        """The scores on a path, s_0's first; it ends with the episode or after so many actions as there are."""
        return [score for _, score in self._scored(actions, None)]

    def _along(self, way: Way, actions: Iterable[str]) -> Iterator[VisitedState]:
        for taken, score in self._scored(actions, self.steps):
            if taken:
                yield VisitedState(way, taken, score)

    def _scored(self, actions: Iterable[str], most: int | None) -> list[tuple[tuple[str, ...], float]]:
        path = self._start()
        memories, taken = [self.lookahead.start(path)], [path.actions]
        for action in actions:
            if len(path.steps) == most:
                break
            step = self.pool.at((*path.actions, action))
            memories.append(self.lookahead.predictor.advance(memories[-1], action, step.text))
            path = path.then(action, step.text)
            taken.append(path.actions)
            if step.done:
                break
        return list(zip(taken, self.lookahead.predictor.scores(memories).tolist(), strict=True))

    def _start(self) -> Path:
        return Path(self.goal, self.pool.at(()).text)

    def _some(self, taken: tuple[str, ...], random: Random) -> Sequence[str]:
        valid = self.pool.valid_actions(taken)
        return valid if len(valid) <= self.actions else sorted(random.sample(valid, self.actions))


def cheapest(tried: Iterable[VisitedState], progress: Progress) -> VisitedState | None:
    """The highest score in a state without progress; of those that share it, the one with the fewest actions.

    None where there is no such state. The progress of no more states than are needed is asked for: a planner may be.
    """
    ranked = sorted(tried, key=lambda state: (-round(state.score, 9), len(state.actions)))
    return next((state for state in ranked if progress(state.actions) <= 0), None)
