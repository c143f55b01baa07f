"""SDP's operators for ScienceWorld (A.3): plans and actions as text; three checks come before Validate's prompt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Literal

from lab.models.backbone import Backbone
from sdp.adapters.scienceworld import prompts
from sdp.operators import Adapter, Verdict, check_choices, why
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.scienceworld import ScienceTask, ScienceWorld
from worlds.scienceworld.world import REFUSALS, Looks

TARGET, GOAL = "condition", "goal"
FULL = 100
UNKNOWN = "the world does not know this action"
ROOM = re.compile(r"(?:This room is called|This outside location is called|You are in) the ([\w ]+)\.")


@dataclass(frozen=True)
class Policy:
    """Options of the adapter. grain: what a predicate covers (§4.1), see GRAINS. recent: actions that Realize and
    Replan are shown. judged: next conditions that Validate is shown, which limits the cascade before the goal.
    refused: Replan's note about actions that the simulator refused: the targets that they were for (A.3), or the
    actions themselves.
    """

    grain: prompts.Grain = "change"
    recent: int = 8
    refused: Literal["targets", "actions"] = "targets"
    judged: int = prompts.MOST_JUDGED

    def __post_init__(self) -> None:
        check_choices(self)
        if self.recent < 1 or not 1 <= self.judged <= prompts.MOST_JUDGED:
            raise ValueError(
                f"recent={self.recent}, judged={self.judged}: need recent >= 1, judged 1 to {prompts.MOST_JUDGED}"
            )


@dataclass(frozen=True, slots=True)
class ConditionsState:
    """The certified state: the task, and the conditions that were certified, in order."""

    task: str
    held: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What the world shows (A.3's state): the current room, inventory, score in percent, things focused on, rooms
    visited and the last actions.
    """

    room: str
    inventory: str
    score: int
    focused: tuple[str, ...]
    visited: tuple[str, ...]
    recent: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Event:
    """An action and its result. gained: points. new_room: entered for the first time. score: in percent."""

    action: str
    answer: str
    gained: int
    new_room: bool
    score: int
    done: bool

    @property
    def refused(self) -> bool:
        """Whether the simulator did not know the action."""
        return bool(REFUSALS.search(self.answer))


class ObservedWorld:
    """The world of one episode and what it has shown so far, so that the adapter stores nothing itself."""

    def __init__(self, world: ScienceWorld) -> None:
        self.world = world
        self._score, self._actions, self._looks = 0, list[tuple[str, str]](), Looks("", "")
        self._visited, self._focused = dict[str, None](), dict[str, None]()

    def begin(self, task: ScienceTask) -> str:
        """Reset the world; return the task's description. An object serves one episode."""
        goal: str = self.world.reset(task).facts["goal"]
        self._enter()
        return goal

    def act(self, action: str) -> Event:
        """Take a step of the world; return what it changed."""
        step = self.world.step(action)
        score = step.facts["native"]
        event = Event(action, step.text, score - self._score, self._enter(), score, step.done)
        self._score = score
        self._actions.append((action, step.text))
        if not event.refused and (focus := re.match(r"focus on (.+)", action)):
            self._focused[focus[1]] = None
        return event

    def seen(self, recent: int) -> Snapshot:
        """What the world shows now, with the last actions."""
        return Snapshot(
            self._looks.room, self._looks.inventory, self._score, tuple(self._focused), tuple(self._visited),
            tuple(self._actions[-recent:]),
        )  # fmt: skip

    def rooms(self) -> tuple[str, ...]:
        """The rooms that can be reached now."""
        return self.world.rooms()

    def _enter(self) -> bool:
        """Look around and record the room; return whether it is new."""
        self._looks = self.world.looks()
        match = ROOM.search(self._looks.room)
        room = match[1] if match else ""
        new = bool(room) and room not in self._visited
        self._visited |= {room: None} if room else {}
        return new


@dataclass(frozen=True)
class ScienceWorldAdapter(Adapter[ConditionsState, str, Event]):
    """One task. Frozen: during an episode only the world and the accounts of calls change.

    single: whether Propose is asked for one condition per call (Eq. 1), else for the whole plan (A.3).
    """

    task: ScienceTask
    world: ObservedWorld
    backbone: Backbone
    policy: Policy = Policy()
    single: bool = False

    def start(self) -> tuple[ConditionsState, Predicate]:
        return ConditionsState(self.world.begin(self.task)), Predicate(prompts.WHOLE, GOAL)

    def propose(self, state: ConditionsState, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        """The conditions after `planned`, all or the next one; the goal if the model gives none."""
        if len(planned) >= prompts.GRAINS[self.policy.grain]:
            return [goal]
        targets = self.backbone.ask(
            prompts.PLAN, planned=[p.text for p in planned], single=self.single, **self._situation(state)
        ).value.targets
        return _plan(targets) if self.single and targets else [*_plan(targets), goal]

    def view(self) -> Snapshot:
        return self.world.seen(self.policy.recent)

    def realize(self, state: ConditionsState, target: Predicate, failures: Sequence[Attempt], view: Snapshot) -> str:
        failed = list(dict.fromkeys((str(failure.action), why(failure, target)) for failure in failures))
        repeated = len(failures) - len(failed)  # at temperature 0 a model that repeats itself would never stop
        return self.backbone.ask(
            prompts.ACT, sample=repeated, room=view.room, inventory=view.inventory, visited=list(view.visited),
            recent=[prompts.ActionTaken(action=action, answer=answer) for action, answer in view.recent],
            failed=[prompts.FailedAction(action=action, reason=reason) for action, reason in failed],
            target=target.text,
        ).value.action  # fmt: skip

    def act(self, action: str) -> Event:
        return self.world.act(action)

    def ended(self, observation: Event) -> bool:
        return observation.done

    def validate(self, tail: Sequence[Predicate], observation: Event, failures: Sequence[Attempt]) -> Verdict:
        """A.3's shortcuts in its order, then the prompt, which is only asked about predicates before the goal."""
        if observation.score >= FULL:
            return Verdict(len(tail), "the world says that the task is done")
        if observation.refused:
            return Verdict(0, UNKNOWN)
        if tail[0].kind == GOAL:
            return Verdict(0, f"the score is {observation.score}")
        heads = [p.text for p in takewhile(lambda p: p.kind != GOAL, tail)][: self.policy.judged]
        judgement = self.backbone.ask(
            prompts.JUDGE, targets=heads, action=observation.action, answer=observation.answer,
            gained=observation.gained, new_room=observation.new_room,
        ).value  # fmt: skip
        return Verdict(judgement.held, judgement.reason)

    def advance(self, state: ConditionsState, certified: Sequence[Predicate], observation: Event) -> ConditionsState:
        texts = (p.text for p in certified if p.kind != GOAL or observation.score >= FULL)
        return ConditionsState(state.task, (*state.held, *texts))

    def replan(
        self, state: ConditionsState, goal: Predicate, trajectory: Trajectory, view: Snapshot
    ) -> Sequence[Predicate]:
        """A new plan from here; the prompt has the stuck target, and what the world has refused so far."""
        failures, refused = trajectory.failures, [attempt for attempt in trajectory.attempts if _refused(attempt)]
        targets, actions = (list(dict.fromkeys(getattr(a, name) for a in refused)) for name in ("target", "action"))
        by_target = self.policy.refused == "targets"
        plan = self.backbone.ask(
            prompts.REPLAN, sample=trajectory.replans + trajectory.malformed, target=trajectory.attempts[-1].target,
            failed=len(failures),
            attempts=[
                prompts.FailedAction(action=str(f.action), reason=f.reason) for f in failures[-self.policy.recent :]
            ],
            invalid=targets if by_target else [], unknown=[] if by_target else actions, **self._situation(state),
        ).value.targets  # fmt: skip
        return [*_plan(plan), goal]

    def _situation(self, state: ConditionsState) -> dict[str, Any]:
        """What every planning prompt begins with: the task, what is certified, and what the world shows now."""
        view = self.view()
        return {
            "grain": self.policy.grain, "task": state.task, "rooms": list(self.world.rooms()), "room": view.room,
            "inventory": view.inventory, "certified": list(state.held),
        }  # fmt: skip


def _plan(targets: Sequence[str]) -> list[Predicate]:
    return [Predicate(target, TARGET) for target in targets]


def _refused(attempt: Attempt) -> bool:
    """Whether the simulator did not know the action. The goal does not count, since no plan could avoid it."""
    return attempt.kind != GOAL and bool(attempt.observation and REFUSALS.search(attempt.observation["answer"]))
