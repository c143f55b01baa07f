"""What an adapter implements: the four operators of Definition 1, the environment, and the state update.

Locality (§3.1): no operator of the normal loop is given the trajectory. Realize gets the certified state, its target,
the failed attempts at that target since the state was certified, and what the world shows. Validate gets the plan tail,
the observation and the same failed attempts. Only Replan and `finalize` get the trajectory.
This is more than Definition 1 gives: failed attempts (A.1, A.4) and the view are history, too. The view of ScienceWorld
or of a search holds past actions, certified or not. Nor can a signature keep an adapter from storing what it saw.
`sdp.contracts` therefore inspects adapters while they play: the suite's own in the tests, a user's by
`python -m lab doctor --adapter`.

By Definition 1 only Validate reads what the environment emits, and by A.1 a failed attempt changes no state. Yet A.3
has a "state snapshot" that follows the simulator after each action. Both hold here, as two separate things. The
certified state is Algorithm 1's s_t; only certification changes it. The snapshot is the `view`: read before each
Realize and Replan, whether or not the last action was certified, and passed to them next to the state. If the world
changes by itself or by rejected actions, s_t alone would show Realize an outdated world. With the view, Proposition 1
needs one more assumption: what the world shows depends on the past only through (s_t, plan tail). `sdp.mdp` tests it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args, get_origin, get_type_hints

from sdp.trajectory import Attempt, Predicate, Trajectory

NOTHING = "____"  # the text of a predicate without content
# Kinds of the predicate of an answer. It is the same in every plan (A.4, A.5), so a placebo keeps it and its verdict.
ANSWER_KINDS = frozenset({"answer", "finalize"})
State = TypeVar("State")
Action = TypeVar("Action")
Observation = TypeVar("Observation")


def check_choices(settings: Any) -> None:
    """Raise ValueError if a Literal field of a dataclass has a value that is none of its choices."""
    for name, hint in get_type_hints(type(settings)).items():
        if get_origin(hint) is Literal and (value := getattr(settings, name)) not in get_args(hint):
            *first, last = map(repr, get_args(hint))
            raise ValueError(f"{name}={value!r}; choose {', '.join(first)} or {last}")


class Verdict(NamedTuple):
    """The result of Validate: the cascade depth k (Eq. 3), 0 for a rejection, and the reason.

    forced: the predicates pass though they were not found to hold, as in A.4 after some rejections. read: the
    observation as Validate corrected it (A.5: the title that a finding cites); `advance` gets it instead of the
    world's. Attempts keep the world's.
    """

    k: int
    reason: str = ""
    forced: bool = False
    read: Any = None


def at(target: Predicate, failures: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """The failures at this target."""
    return tuple(failure for failure in failures if failure.target == target.text)


def why(failure: Attempt, target: Predicate) -> str:
    """Why an attempt was rejected, for a prompt about `target`; names the attempt's target if it was another one."""
    return failure.reason if failure.target == target.text else f"{failure.reason}; it was for: {failure.target}"


class Adapter(Protocol[State, Action, Observation]):
    """A benchmark as the loop sees it. `view`, `ended`, `finalize` and `met` have defaults, for worlds without them."""

    def start(self) -> tuple[State, Predicate]:
        """Reset the world; return the initial state s_0 and the goal g. s_0 holds what Propose must know of it."""
        ...

    def propose(self, state: State, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        """Eq. 1: the next targets after `planned`, one or many; the plan is complete when its last target is the goal.

        With `Settings.propose="predicate"` the loop takes the first and asks again, so an adapter that makes the whole
        plan returns `plan[len(planned):]`.
        """
        ...

    def view(self) -> Any:
        """What the world shows now, apart from its answer to the last action: a room, an inventory, a score, evidence.

        Read whenever an operator is given it, and at the end. None, or anything that `sdp.loop.plain` turns into JSON
        values.
        """
        return None

    def realize(self, state: State, target: Predicate, failures: Sequence[Attempt], view: Any) -> Action:
        """Eq. 2: an action meant to make `target` hold.

        failures: the rejected attempts at it from this state. With `Settings.failures="episode"`, all rejected attempts
        so far (A.1): `at` selects those at the target, and `why` says which target the others were for.
        """
        ...

    def act(self, action: Action) -> Observation:
        """Env(a): the world's answer."""
        ...

    def ended(self, observation: Observation) -> bool:
        """Whether the observation says that the world's episode is over; no action follows it."""
        return False

    def validate(self, tail: Sequence[Predicate], observation: Observation, failures: Sequence[Attempt]) -> Verdict:
        """Eq. 3: how many consecutive predicates from the head of `tail` the observation satisfies.

        failures: the rejected attempts at the head from this state; A.4 passes a predicate by force after some of them.
        """
        ...

    def advance(self, state: State, certified: Sequence[Predicate], observation: Observation) -> State:
        """The observation-to-state mapping: the next certified state. Pure; called for certified steps only."""
        ...

    def replan(self, state: State, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        """Eq. 4: a new plan tail from `state` to the goal. `trajectory.malformed` counts the failed tries before."""
        ...

    def finalize(self, state: State, goal: Predicate, trajectory: Trajectory, view: Any) -> Action | None:
        """The last action of an episode that stops short of the goal, such as the best available answer; None for none.

        It is carried out and recorded as forced, and certifies nothing.
        """
        return None

    def met(self, goal: Predicate, observation: Observation) -> bool | None:
        """Whether the world's last answer shows the goal, whatever the loop certified; None if nothing tells.

        It scores worlds without a score (`sdp.Certifying.score`). If Validate is a program, or may be asked once more:
        `return self.validate((goal,), observation, ()).k > 0`.
        """
        return None

    def blank(self, predicate: Predicate, words: str) -> Predicate:
        """The predicate with `words` as its sentence, for `sdp.placebo`; kind and `about` may stay."""
        return replace(predicate, text=words)

    def without_content(self, predicate: Predicate) -> Predicate:
        """The placebo's replacement of a predicate: it says nothing, and nothing of the predicate reaches Realize.

        Realize, Validate and `advance` are given it too, and must handle it.
        """
        return Predicate(NOTHING)
