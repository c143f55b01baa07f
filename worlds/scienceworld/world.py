"""ScienceWorld as a world: tasks, episodes, scores and valid actions."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from worlds.base import EpisodeOver, ListingWorld, Step, WorldDied
from worlds.scienceworld.engine import Answer, Simulator
from worlds.scienceworld.tasks import SPLITS, ScienceTask, listed_tasks, name_and_variation, single_task

SIMPLIFICATIONS = (
    "easy", "teleportAction", "selfWateringFlowerPots", "openContainers", "openDoors", "noElectricalAction",
)  # fmt: skip
# These cannot be solved without connecting wires.
ELECTRICAL = frozenset({
    "power-component", "power-component-renewable-vs-nonrenewable-energy", "test-conductivity",
    "test-conductivity-of-unknown-substances",
})  # fmt: skip


# The simulator's refusals: actions that it cannot parse, things that it does not find, and ambiguous requests.
REFUSALS = re.compile(r"No known action matches that input|Unknown action|Ambiguous request|It's not clear how to")
# Actions that lead to a room: by a door, or at once if the simplification allows it.
ROOM = re.compile(r"(?:go to|teleport to|open door to) (?:the )?(.+)")


class Looks(NamedTuple):
    """Observations that take no step."""

    room: str
    inventory: str


class ScienceWorld(ListingWorld):
    """ScienceWorld behind the worlds' protocol; see `worlds.scienceworld.load` for the options.

    `Step.score` is the simulator's percentage / 100, or 0 if that is negative; `Step.facts["native"]` is the percentage
    itself, -100 for a failed task. After a reset, `Step.facts["goal"]` is the task description.
    """

    splits = SPLITS
    goes_on = False

    def __init__(self, data: str = "official", simplification: str = "easy", list_actions: bool = True) -> None:
        unknown = [name for name in simplification.split(",") if name and name not in SIMPLIFICATIONS]
        if unknown:
            raise ValueError(f"no simplification {', '.join(unknown)}; there are: {', '.join(SIMPLIFICATIONS)}")
        self.data = data
        self.simplification = simplification
        self.list_actions = list_actions
        self._engine: Simulator | None = None
        self._task: ScienceTask | None = None
        self._history: list[str] = []
        self._over = True
        self._borrowed = False

    def tasks(self, split: str) -> Sequence[ScienceTask]:
        """The tasks of a split. Raises ValueError naming the splits for an unknown one."""
        with self._closed_on_failure():
            return listed_tasks(split, self._running)

    def task(self, id: str) -> ScienceTask:
        """The task with this id. Raises ValueError if there is none."""
        name, variation = name_and_variation(id)
        with self._closed_on_failure():
            return single_task(name, variation, self._running())

    def reset(self, task: ScienceTask) -> Step:
        """Start an episode. Raises ValueError if the task cannot be solved under the simplification."""
        if task.name in ELECTRICAL and "noElectricalAction" in self.simplification.split(","):
            raise ValueError(f"{task.id} needs electrical actions, which noElectricalAction takes away")
        with self._closed_on_failure():
            text = self._load(task)
            self._task, self._history, self._over, self._borrowed = task, [], False, False
            facts = {"native": 0, "goal": self._running().description()}
            return Step(text, actions=self._listed(), facts=facts)

    def step(self, action: str) -> Step:
        """Take an action. Raises EpisodeOver before a reset and after success or failure."""
        if self._task is None or self._over:
            raise EpisodeOver("ScienceWorld's episode is over, or none was begun; call reset first")
        with self._closed_on_failure():
            self._replay_if_borrowed()
            answer = self._running().step(action)
            self._history.append(action)
            self._over = finished(answer)
            score = min(max(answer.native / 100, 0.0), 1.0)
            return Step(answer.text, score, self._over, self._listed(), {"native": answer.native})

    def looks(self) -> Looks:
        """The current room and inventory; takes no step. Raises EpisodeOver before a reset."""
        with self._asked():
            return Looks(*self._running().looks())

    def rooms(self) -> tuple[str, ...]:
        """The rooms that the valid actions lead to, by a door or at once. Raises EpisodeOver before a reset."""
        with self._asked():
            matches = (ROOM.fullmatch(action) for action in self._running().valid_actions())
            return tuple({match[1]: None for match in matches if match and match[1] != "door"})

    def valid_actions(self) -> tuple[str, ...]:
        """The valid actions, sorted; () once the episode is over. Raises EpisodeOver before a reset."""
        with self._asked():
            return () if self._over else tuple(sorted(set(self._running().valid_actions())))

    @contextlib.contextmanager
    def _asked(self) -> Iterator[None]:
        """Context for queries about the running episode: checks that there is one, and restores it if needed."""
        if self._task is None:
            raise EpisodeOver("ScienceWorld has no episode; call reset first")
        with self._closed_on_failure():
            self._replay_if_borrowed()
            yield

    @contextlib.contextmanager
    def borrowed(self) -> Iterator[Simulator]:
        """Lend the simulator for another purpose. The world's episode is restored when it is next used."""
        with self._closed_on_failure():
            self._borrowed = True
            yield self._running()

    @property
    def pid(self) -> int | None:
        """Process id of Java; None if it is not running."""
        return self._engine.process.pid if self._engine else None

    def close(self) -> None:
        """End the Java process; can be called twice, and a later reset starts another."""
        engine, self._engine, self._over = self._engine, None, True
        if engine:
            engine.close()

    def _running(self) -> Simulator:
        self._engine = self._engine or Simulator()
        return self._engine

    def _load(self, task: ScienceTask) -> str:
        """Start an episode in the simulator; returns its first view."""
        for may_have_died in (True, False):  # between two episodes, for example for lack of memory: retry once
            try:
                return self._running().load(task.name, task.variation, self.simplification)
            except WorldDied:
                self.close()
                if not may_have_died:
                    raise
        raise AssertionError("unreachable")

    def _listed(self) -> tuple[str, ...]:
        return self.valid_actions() if self.list_actions else ()

    def _replay_if_borrowed(self) -> None:
        if self._borrowed and self._task:
            over = self._over
            self._load(self._task)
            self._over = over  # loading closes a simulator that has died, which ends an episode
            for action in self._history:
                self._running().step(action)
            self._borrowed = False

    @contextlib.contextmanager
    def _closed_on_failure(self) -> Iterator[None]:
        try:
            yield
        except (WorldDied, KeyboardInterrupt):  # an interrupted simulator is in an unknown state
            self.close()
            raise


def finished(answer: Answer) -> bool:
    """Whether the episode is over. The simulator does not report a failed task as completed; its own wrapper does."""
    return answer.completed or answer.native < 0
