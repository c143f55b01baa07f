"""Algorithm 1 line by line, in a corridor where the dice are known."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from lab.models.answers import AnswerModel
from lab.models.backbone import Answer, Call, Cost, Ledger, MalformedAnswer
from lab.models.engines import parse
from lab.models.prompts import Fields, Prompt
from lab.viewer.steps import Change
from sdp.adapters.corridor import Corridor, CorridorAdapter, Walker, in_room, rolls, rooms
from sdp.loop import Settings, UnreachablePlan, plain, run_episode
from sdp.operators import Verdict
from sdp.timeline import timeline
from sdp.trajectory import Attempt, Plan, Predicate, Trajectory, Transition


@dataclass(frozen=True)
class Changed(CorridorAdapter):
    """The corridor with one operator exchanged; it is given the original's arguments, the adapter first."""

    operator: str = ""
    new: Callable[..., Any] = print

    def __getattribute__(self, name: str) -> Any:
        get = super().__getattribute__
        if name != get("operator"):
            return get(name)
        return lambda *arguments: get("new")(self, *arguments)


def walk(dice: Sequence[int], length: int = 3, **settings: Any) -> Trajectory:
    return run_episode("walk", CorridorAdapter(Corridor(length, dice)), Settings(**settings))


def changed(operator: str, new: Callable[..., Any], dice: Sequence[int], **settings: Any) -> Trajectory:
    return run_episode("walk", Changed(Corridor(3, dice), operator, new), Settings(**settings))


def malformed(*_: Any) -> Any:
    raise MalformedAnswer("no JSON object in the answer")


def ks(trajectory: Trajectory) -> list[int]:
    return [attempt.k for attempt in trajectory.attempts]


def test_every_certified_step_moves_the_cursor_until_the_goal_is_certified() -> None:
    trajectory = walk([1, 1, 1])
    assert trajectory.end == "goal" and trajectory.reached_goal
    assert [attempt.position for attempt in trajectory.attempts] == [0, 1, 2]
    assert trajectory.states == ({"room": 0}, {"room": 1}, {"room": 2}, {"room": 3})
    assert trajectory.transitions == (Transition(0, 1, 0, 1), Transition(1, 2, 1, 1), Transition(2, 3, 2, 1))


@pytest.mark.parametrize(("retry_while", "attempts"), [("r<=b", 3), ("r<b", 2)])
def test_replan_comes_after_b_plus_1_failures_by_the_algorithm_and_after_b_by_the_text(
    retry_while: str, attempts: int
) -> None:
    trajectory = walk([0, 0, 0, 0, 0, 0, 0], budget=2, retry_while=retry_while, step_cap=2 * attempts)
    assert [attempt.plan for attempt in trajectory.attempts] == [0] * attempts + [1] * attempts


def test_a_budget_of_zero_replans_after_each_failure() -> None:
    trajectory = walk([0, 0, 1, 1, 1], budget=0)
    assert [attempt.plan for attempt in trajectory.attempts] == [0, 1, 2, 2, 2]


def test_r_starts_again_after_a_certified_step_and_after_replan() -> None:
    assert walk([0, 0, 1, 0, 0, 1, 0, 0, 1], budget=2).replans == 0
    trajectory = walk([0, 0, 0, 0, 0, 1, 1, 1], budget=2)
    assert trajectory.replans == 1 and trajectory.reached_goal


def test_a_cascade_certifies_several_predicates_and_advances_by_as_many() -> None:
    trajectory = walk([2, 1])
    assert ks(trajectory) == [2, 1] and [a.position for a in trajectory.attempts] == [0, 2]
    assert trajectory.states == ({"room": 0}, {"room": 2}, {"room": 3})


def test_k_is_never_more_than_what_is_left_of_the_plan_nor_less_than_0() -> None:
    assert ks(changed("validate", lambda *_: Verdict(99), [1])) == [3]
    assert set(ks(changed("validate", lambda *_: Verdict(-1), [1], step_cap=5))) == {0}


def test_without_cascade_each_action_certifies_one_predicate_at_most() -> None:
    trajectory = walk([2, 1], cascade=False)
    assert ks(trajectory) == [1, 1, 1] and trajectory.reached_goal
    assert [attempt.action for attempt in trajectory.attempts] == ["go east", "look", "go east"], "room 2 holds already"


def test_without_validate_everything_is_accepted_and_validate_is_never_called() -> None:
    def forbidden(*_: Any) -> Verdict:
        raise AssertionError("Validate was called")

    trajectory = changed("validate", forbidden, [0, 0, 0], validate=False)
    assert ks(trajectory) == [1, 1, 1] and trajectory.reached_goal
    assert trajectory.states[-1] == {"room": 0}


def test_without_replan_a_spent_budget_ends_the_episode() -> None:
    def forbidden(*_: Any) -> list[Predicate]:
        raise AssertionError("Replan was called")

    trajectory = changed("replan", forbidden, [1, 0, 0, 0, 1, 1], budget=2, replan=False)
    assert trajectory.end == "budget" and len(trajectory.attempts) == 4 and trajectory.certified == 1


def test_the_step_cap_ends_the_episode_unless_the_last_step_reached_the_goal() -> None:
    assert (capped := walk([1, 1, 1], step_cap=2)).end == "step cap" and len(capped.attempts) == 2
    assert walk([1, 1, 1], step_cap=3).end == "goal"


def test_proposing_one_predicate_a_call_gives_the_same_plan_as_proposing_it_whole() -> None:
    whole, single = walk([1] * 5, length=5), walk([1] * 5, length=5, propose="predicate")
    assert whole.plans == single.plans and whole.plans[0].predicates == tuple(rooms(1, 5))


def test_proposing_by_predicate_feeds_each_result_back() -> None:
    seen: list[int] = []

    def propose(_: Any, state: Walker, goal: Any, planned: Sequence[Predicate]) -> list[Predicate]:
        seen.append(len(planned))
        return rooms(len(planned) + 1, 3)

    changed("propose", propose, [1, 1, 1], propose="predicate")
    assert seen == [0, 1, 2]


@pytest.mark.parametrize("propose", ["plan", "predicate"])
def test_a_plan_ends_at_the_goal_whatever_is_proposed_after_it(propose: str) -> None:
    trajectory = changed("propose", lambda *_: [in_room(3), in_room(1)], [1, 1, 1], propose=propose)
    assert trajectory.plans[0].predicates == (in_room(3),)


def test_a_replanned_tail_ends_at_the_goal_too() -> None:
    trajectory = changed("replan", lambda *_: [in_room(3), in_room(1)], [0, 3], budget=0)
    assert trajectory.plans[1].predicates == (in_room(3),) and trajectory.reached_goal


@pytest.mark.parametrize(
    ("proposed", "said"),
    [
        (lambda planned: [], "After 0 predicates Propose has not reached the goal: The walker has come to room 3"),
        (lambda planned: [in_room(-len(planned))], "After 1000 predicates Propose has not reached the goal"),
        (
            lambda planned: [in_room(1), in_room(2), in_room(3)],
            r"the same 3 predicates again, .* plan\[len\(planned\):\]",
        ),
    ],
)
def test_a_propose_that_never_arrives_at_the_goal_is_an_error(proposed: Callable[..., Any], said: str) -> None:
    calls: list[int] = []

    def propose(adapter: Any, state: Walker, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        calls.append(len(planned))
        return proposed(planned)

    with pytest.raises(UnreachablePlan, match=said):
        changed("propose", propose, [1], propose="predicate")
    assert len(calls) in (1, 2, 1001)


@pytest.mark.parametrize("failures", ["target", "episode"])
def test_realize_sees_the_targets_rejections_or_the_episodes_and_validate_the_targets(failures: Any) -> None:
    realized, validated = list[list[int]](), list[list[int]]()

    @dataclass(frozen=True)
    class Noting(CorridorAdapter):
        def realize(self, state: Walker, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
            realized.append([failure.step for failure in failures])
            return super().realize(state, target, failures, view)

        def validate(self, tail: Sequence[Predicate], observation: str, failures: Sequence[Attempt]) -> Verdict:
            validated.append([failure.step for failure in failures])
            return super().validate(tail, observation, failures)

    run_episode("walk", Noting(Corridor(2, [0, 0, 1, 0, 1])), Settings(failures=failures))
    assert validated == [[], [0], [0, 1], [], [3]]
    assert realized == (validated if failures == "target" else [[], [0], [0, 1], [0, 1], [0, 1, 3]])


def test_a_malformed_answer_to_realize_is_a_failed_attempt_without_an_action() -> None:
    def realize(adapter: Any, state: Walker, target: Any, failures: Sequence[Attempt], view: Any) -> str:
        return "go east" if failures else malformed()

    trajectory = changed("realize", realize, [3])
    assert ks(trajectory) == [0, 3]
    assert (trajectory.attempts[0].action, trajectory.attempts[0].observation) == (None, None)
    assert trajectory.attempts[0].reason == "malformed answer: no JSON object in the answer"


def test_a_malformed_answer_to_validate_is_a_failed_attempt() -> None:
    trajectory = changed("validate", malformed, [1], budget=1, replan=False)
    assert trajectory.end == "budget" and ks(trajectory) == [0, 0]
    assert trajectory.attempts[0].observation == "You are in room 1 of 3."


def test_a_malformed_answer_to_replan_ends_the_episode_with_the_plan_as_it_was() -> None:
    trajectory = changed("replan", malformed, [1, 0], budget=0)
    assert trajectory.end == "malformed plan" and not trajectory.reached_goal
    assert trajectory.replans == 1 and trajectory.plans[1].predicates == tuple(rooms(1, 3))
    assert trajectory.certified == 1 and trajectory.progress == pytest.approx(1 / 3)


@pytest.mark.parametrize("tail", [[], [in_room(2)]])
def test_a_replanned_tail_without_the_goal_does_not_pass_for_reaching_it(tail: list[Predicate]) -> None:
    trajectory = changed("replan", lambda *_: tail, [0, 2], budget=0)
    assert trajectory.end == "malformed plan" and not trajectory.reached_goal


def test_a_malformed_answer_to_propose_ends_the_episode_before_it_starts() -> None:
    trajectory = changed("propose", malformed, [1])
    assert trajectory.end == "malformed plan" and trajectory.attempts == ()
    assert (trajectory.certified, trajectory.progress, trajectory.replans) == (0, 0.0, 0)
    assert Trajectory.from_json(json.loads(json.dumps(trajectory.to_json()))) == trajectory


def test_a_state_that_is_a_pydantic_model_is_kept_as_json_values() -> None:
    class Booking(BaseModel):
        day: date

    assert plain([Booking(day=date(2031, 5, 1))]) == [{"day": "2031-05-01"}]


def test_a_malformed_answer_to_a_later_propose_keeps_what_was_planned() -> None:
    def propose(_: Any, state: Walker, goal: Any, planned: Sequence[Predicate]) -> list[Predicate]:
        return malformed() if planned else [in_room(1)]

    trajectory = changed("propose", propose, [1])
    assert trajectory.end == "malformed plan" and trajectory.plans[0].predicates == (in_room(1),)


def rejections(trajectory: Trajectory, step: int) -> tuple[Attempt, ...]:
    """What A.1 threads into the attempt at `step`: earlier rejected attempts at its target from its state."""
    now = trajectory.attempts[step]
    return tuple(a for a in trajectory.attempts[:step] if a.k == 0 and (a.state, a.target) == (now.state, now.target))


@given(seed=st.integers(0, 10_000), budget=st.integers(0, 3), other=st.booleans())
def test_realize_is_given_exactly_the_rejected_attempts_at_its_target_from_its_state(
    seed: int, budget: int, other: bool
) -> None:
    given_failures: list[tuple[Attempt, ...]] = []

    def realize(adapter: Any, state: Walker, target: Any, failures: Sequence[Attempt], view: Any) -> str:
        given_failures.append(tuple(failures))
        return "go east"

    def replan(adapter: Any, state: Walker, goal: Any, trajectory: Trajectory, view: Any) -> list[Predicate]:
        # Every second plan says the same in other words, so that targets go and come back.
        words = {"words": "One stands in room"} if other and len(trajectory.plans) % 2 else {}
        return [in_room(room, **words) for room in range(state.room + 1, adapter.world.length)] + [goal]

    @dataclass(frozen=True)
    class Both(Changed):
        def replan(self, *arguments: Any) -> list[Predicate]:
            return replan(self, *arguments)

    world = Corridor(4, rolls(seed, (0, 0, 0, 1)))
    trajectory = run_episode("walk", Both(world, "realize", realize), Settings(budget=budget, step_cap=60))
    assert given_failures == [rejections(trajectory, step) for step in range(len(trajectory.attempts))]


def test_the_history_goes_on_after_replan_where_the_target_stays() -> None:
    trajectory = walk([0, 0, 0, 3], budget=1)
    assert trajectory.replans == 1 and len(rejections(trajectory, 3)) == 3


def test_replan_sees_the_attempts_that_failed() -> None:
    seen: list[Trajectory] = []

    def replan(adapter: Any, state: Walker, goal: Any, trajectory: Trajectory, view: Any) -> list[Predicate]:
        seen.append(trajectory)
        return rooms(state.room + 1, 3)

    changed("replan", replan, [1, 0, 0, 2], budget=1)
    assert [attempt.k for attempt in seen[0].attempts] == [1, 0, 0] and seen[0].end == "running"


def test_failed_attempts_never_change_the_state() -> None:
    states: list[Any] = []

    def realize(adapter: Any, state: Walker, target: Any, failures: Sequence[Attempt], view: Any) -> str:
        states.append(state)
        return "dance" if not failures else "go east"

    trajectory = changed("realize", realize, [1, 1, 1])
    assert states == [Walker(0), Walker(0), Walker(1), Walker(1), Walker(2), Walker(2)]
    assert len(trajectory.states) == 4


class NothingAsked(Fields):
    pass


class NothingSaid(AnswerModel):
    pass


ASK = Prompt("toy.ask", "1", "realize", "", "", NothingAsked, NothingSaid)


class Priced:
    """A backbone whose every answer takes 3 tokens in and 2 out."""

    engine = parse("rules")

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        return Answer(NothingSaid(), Call("realize", prompt.name, "strict", 3, 2))

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return ""


def test_each_attempt_and_each_plan_knows_what_it_cost() -> None:
    ledger = Ledger(Priced())

    def asking(adapter: CorridorAdapter, state: Walker, *_: Any) -> Any:
        ledger.ask(ASK)
        return malformed()

    @dataclass(frozen=True)
    class Asking(Changed):
        def realize(self, *_: Any) -> str:
            ledger.ask(ASK)
            ledger.ask(ASK)
            return "go east"

    adapter = Asking(Corridor(3, [1, 0]), "replan", asking)
    trajectory = run_episode("walk", adapter, Settings(budget=0), ledger)
    assert [plan.cost for plan in trajectory.plans] == [Cost(), Cost(1, 3, 2)]
    assert [attempt.cost for attempt in trajectory.attempts] == [Cost(2, 6, 4)] * 2
    assert trajectory.cost == Cost(5, 15, 10) == Cost(len(ledger.calls), 15, 10)


@pytest.mark.parametrize("wrong", [{"retry_while": "r>b"}, {"propose": "all"}, {"budget": -1}, {"step_cap": 0}])
def test_settings_that_mean_nothing_are_refused_by_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Settings(**wrong)


loops = st.builds(
    Settings, budget=st.integers(0, 3), retry_while=st.sampled_from(["r<=b", "r<b"]), step_cap=st.integers(1, 30),
    propose=st.sampled_from(["plan", "predicate"]), validate=st.booleans(), replan=st.booleans(),
    cascade=st.booleans(),
)  # fmt: skip


@given(seed=st.integers(0, 10_000), length=st.integers(1, 8), settings=loops)
def test_a_trajectory_adds_up_in_any_corridor_with_any_settings(seed: int, length: int, settings: Settings) -> None:
    trajectory = run_episode("walk", CorridorAdapter(Corridor(length, rolls(seed, (0, 0, 1, 3)))), settings)
    plan, last = trajectory.plans[-1], len(trajectory.plans) - 1
    assert trajectory.certified == plan.start + sum(a.k for a in trajectory.attempts if a.plan == last)
    assert trajectory.certified == sum(transition.k for transition in trajectory.transitions)
    assert trajectory.certified <= len(plan.predicates) and 0 <= trajectory.progress <= 1
    assert len(trajectory.states) == len(trajectory.transitions) + 1
    assert len(trajectory.attempts) <= settings.step_cap
    assert [a.step for a in trajectory.attempts] == list(range(len(trajectory.attempts)))
    assert trajectory.reached_goal == (trajectory.certified == len(plan.predicates))
    assert [t.attempt for t in trajectory.transitions] == [a.step for a in trajectory.attempts if a.k]
    for attempt in trajectory.attempts:
        assert trajectory.plans[attempt.plan].predicates[attempt.position].text == attempt.target
        assert attempt.state == sum(t.attempt < attempt.step for t in trajectory.transitions)
    runs = [plan.start for plan in trajectory.plans]
    assert runs == sorted(runs)


# At most one surrogate a text: JSON reads two in a row as the one character that they stand for.
texts = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('\u2028\u2029\x85\x0b\x1e\r\n"\\'), max_size=20
)
lone = st.sampled_from(["\ud800", "\udfff"])
odd = st.builds("{}{} ".format, texts, lone) | texts
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | odd,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd, inner, max_size=3),
    max_leaves=6,
)


@given(text=odd, action=values, state=values, about=st.dictionaries(odd, values, max_size=2))
def test_a_trajectory_reads_back_equal_whatever_its_texts_are(
    text: str, action: Any, state: Any, about: dict[str, Any]
) -> None:
    goal = Predicate(text, text, about)
    attempt = Attempt(0, 0, 0, 0, text, text, action, action, 1, text, Cost(1, 2, 3))
    trajectory = Trajectory(
        text, goal, {"step_cap": 3}, (state, state), (Plan((goal,), 0, "propose"),), (attempt,),
        (Transition(0, 1, 0, 1),), "goal", {"note": action},
    )  # fmt: skip
    assert Trajectory.from_json(json.loads(json.dumps(trajectory.to_json()))) == trajectory


def test_a_timeline_has_each_plan_before_its_first_attempt_and_what_was_certified() -> None:
    shown = timeline(replace(walk([0, 0, 2, 1], budget=0, retry_while="r<=b"), task="walk-7"))
    kinds = [step.target if step.verdict is None else step.verdict for step in shown.steps]
    assert kinds == ["propose", False, "replan", False, "replan", True, True]
    cascade = shown.steps[5]
    assert cascade.changes == [Change("room", "0", "2")] and cascade.reason.startswith("2 predicates at once")
    assert not shown.steps[1].changes and shown.title == "walk-7"
    assert shown.outcome == "the goal is certified, 3 of 3 predicates certified, 4 attempts"
    capped = timeline(walk([0, 0, 0], step_cap=2))
    assert capped.outcome == "ended by: step cap, 0 of 3 predicates certified, 2 attempts"
