"""What an adapter fills in: the four operators of Definition 1, the environment, and the state update.

Locality (§3.1): no signature of the normal loop has the trajectory. Realize gets the certified state, its target, the
failed attempts at that target since the state was certified, and what the world shows. Validate gets the plan tail, the
observation and the same failed attempts. Only Replan and `finalize` see the trajectory.
That is more than Definition 1 gives: failed attempts (A.1, A.4) and the view are history, too, and the view of
ScienceWorld or a search holds past actions whether certified or not. Nor can a signature keep an adapter from storing
what it saw. `sdp.contracts` looks into an adapter while it plays, the suite's own in the tests, a user's by
`python -m lab doctor --adapter`.

By Definition 1 only Validate reads what the environment emits, and by A.1 a failed attempt changes no state; yet A.3
has a "state snapshot" that follows the simulator after each action. Both hold here, since they are two things. The
certified state is Algorithm 1's s_t and changes by certification alone. The snapshot is the `view`: asked for before
each Realize and Replan, whatever became of the last action, and handed to them beside the state. In a world that moves
by itself or by rejected actions, s_t alone would leave Realize where it was long ago. With the view, Proposition 1
needs one assumption more: what the world shows depends on the past through (s_t, plan tail) alone. `sdp.mdp` tests
whether it does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args, get_origin, get_type_hints

from sdp.trajectory import Attempt, Predicate, Trajectory

NOTHING = "____"  # the text of a predicate without content
State = TypeVar("State")
Action = TypeVar("Action")
Observation = TypeVar("Observation")


def check_choices(settings: Any) -> None:
    """Raise ValueError where a field of a dataclass that is one of some words has another value."""
    for name, hint in get_type_hints(type(settings)).items():
        if get_origin(hint) is Literal and (value := getattr(settings, name)) not in get_args(hint):
            *first, last = map(repr, get_args(hint))
            raise ValueError(f"{name}={value!r}; choose {', '.join(first)} or {last}")


class Verdict(NamedTuple):
    """What Validate returns: the cascade depth k (Eq. 3), 0 for a rejection, and the reason.

    forced: the predicates are passed though they were not found to hold, as A.4 does after some rejections. read: the
    observation as Validate read it, where it put something right (A.5: the title that a finding cites); `advance` is
    given it in place of the world's. Attempts keep the world's.
    """

    k: int
    reason: str = ""
    forced: bool = False
    read: Any = None


def at(target: Predicate, failures: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The attempts that were made at this target."""
    return tuple(failure for failure in failures if failure.target == target.text)


def why(failure: Attempt, target: Predicate) -> str:
    """Why an attempt was rejected, for a prompt about `target`; of an attempt at another one, with that one."""
    return failure.reason if failure.target == target.text else f"{failure.reason}; it was for: {failure.target}"


class Adapter(Protocol[State, Action, Observation]):
    """A benchmark, seen by the loop. Defaults stand for what a world lacks: `view`, `ended`, `finalize`, `met`."""

    def start(self) -> tuple[State, Predicate]:
        """Reset the world; the initial state s_0 and the goal g. s_0 holds what Propose has to know of the world."""
        ...

    def propose(self, state: State, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        """Eq. 1: the next targets after `planned`, one or many; the plan is complete when its last is the goal.

        With `Settings.propose="predicate"` the loop takes the first and asks again, so that whoever gives the whole
        plan gives `plan[len(planned):]`.
        """
        ...

    def view(self) -> Any:
        """What the world shows now, apart from its answer to the last action: a room, an inventory, a score, evidence.

        Asked for whenever an operator is given it, and at the end. None, or anything that `sdp.loop.plain` turns into
        JSON values.
        """
        return None

    def realize(self, state: State, target: Predicate, failures: Sequence[Attempt], view: Any) -> Action:
        """Eq. 2: an action meant to make `target` hold.

        failures: the rejected attempts at it from this state; with `Settings.failures="episode"` all rejected attempts
        so far (A.1), of which `at` gives those at the target, and `why` says which others were about.
        """
        ...

    def act(self, action: Action) -> Observation:
        """Env(a): the world's answer."""
        ...

    def ended(self, observation: Observation) -> bool:
        """Whether the observation says that the world's episode is over; nothing is acted on after it."""
        return False

    def validate(self, tail: Sequence[Predicate], observation: Observation, failures: Sequence[Attempt]) -> Verdict:
        """Eq. 3: how many consecutive predicates from the head of `tail` the observation satisfies.

        failures: the rejected attempts at the head from this state; by their number A.4 passes a predicate by force.
        """
        ...

    def advance(self, state: State, certified: Sequence[Predicate], observation: Observation) -> State:
        """The observation-to-state mapping: the next certified state. Pure; called for certified steps only."""
        ...

    def replan(self, state: State, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        """Eq. 4: a new plan tail from `state` to the goal. `trajectory.malformed` counts the tries that failed."""
        ...

    def finalize(self, state: State, goal: Predicate, trajectory: Trajectory, view: Any) -> Action | None:
        """The last action of an episode that stops short of the goal, such as the best answer to be had; None for none.

        It is acted on and recorded as forced, and certifies nothing.
        """
        return None

    def met(self, goal: Predicate, observation: Observation) -> bool | None:
        """Whether the world's last answer shows the goal, whatever the loop certified; None where nothing tells.

        It scores worlds without a score (`sdp.Certifying.score`). Where Validate is a program or may be asked once
        more: `return self.validate((goal,), observation, ()).k > 0`.
        """
        return None

    def blank(self, predicate: Predicate, words: str) -> Predicate:
        """The predicate with other words for its sentence, for `sdp.placebo`; kind and `about` may stay."""
        return replace(predicate, text=words)

    def without_content(self, predicate: Predicate) -> Predicate:
        """What the placebo puts in a predicate's place: it says nothing, and nothing of it reaches Realize.

        Realize, Validate and `advance` are given it, too, and have to do with it what can be done.
        """
        return Predicate(NOTHING)
