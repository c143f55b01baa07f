"""Worlds that move, hide and end: what Realize is shown, who changes the state, and how an episode stops."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellar import Cellar, CellarAdapter, Purse, holds
from lab.models.answers import AnswerModel
from lab.models.backbone import Cost, Ledger, MalformedAnswer
from lab.models.connect import connect
from lab.models.prompts import Fields, Prompt
from lab.models.rules import rule
from sdp.adapters.corridor import Corridor, CorridorAdapter, rooms
from sdp.loop import Settings, run_episode
from sdp.mdp import markov_test, previous_state
from sdp.operators import Verdict
from sdp.timeline import timeline
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.base import EpisodeOver

PIT = None


def search(rooms: Sequence[int | None], wanted: int = 3, **settings: Any) -> Trajectory:
    return run_episode("search", CellarAdapter(Cellar(rooms, wanted)), Settings(**settings))


@dataclass(frozen=True)
class Erratic(CellarAdapter):
    """Acts, judges and replans at random, well-formed or not, and notes what each operator was given."""

    random: Random = field(default_factory=Random)
    given: list[tuple[str, Any, Any]] = field(default_factory=list)

    def realize(self, state: Purse, target: Predicate, failures: Sequence[Attempt], view: Mapping[str, Any]) -> str:
        self._note("realize", state, view)
        sensible = super().realize(state, target, failures, view)
        return self._or_malformed(self.random.choice([sensible, sensible, "take", "go on", "dance", "leave"]))

    def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
        right = super().validate(tail, observation, failures)
        return self._or_malformed(self.random.choice([right, right, Verdict(0), Verdict(2, "", forced=True)]))

    def replan(
        self, state: Purse, goal: Predicate, trajectory: Trajectory, view: Mapping[str, Any]
    ) -> Sequence[Predicate]:
        self._note("replan", state, view)
        self.world.here = self.random.randint(0, 2)  # as evidence that A.4's Replan gathers
        tail = super().replan(state, goal, trajectory, view)
        return self._or_malformed(self.random.choice([tail, [goal], tail[:-1]]))

    def finalize(self, state: Purse, goal: Predicate, trajectory: Trajectory, view: Mapping[str, Any]) -> str:
        self._note("finalize", state, view)
        return self._or_malformed("leave")

    def _note(self, operator: str, state: Purse, view: Mapping[str, Any]) -> None:
        assert view == self.world.view(), "not what the world shows now"
        self.given.append((operator, {"coins": state.coins}, view))

    def _or_malformed(self, answer: Any) -> Any:
        if self.random.random() < 0.1:
            raise MalformedAnswer("no JSON object in the answer")
        return answer


cellars = st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, PIT]), max_size=15)
loops = st.builds(
    Settings, budget=st.integers(0, 3), retry_while=st.sampled_from(["r<=b", "r<b"]), step_cap=st.integers(1, 25),
    validate=st.booleans(), replan=st.booleans(), cascade=st.booleans(),
)  # fmt: skip


@given(layout=cellars, wanted=st.integers(1, 5), settings=loops, seed=st.integers(0, 10_000))
def test_in_any_cellar_with_any_agent_the_loop_keeps_its_promises(
    layout: list[int | None], wanted: int, settings: Settings, seed: int
) -> None:
    adapter = Erratic(Cellar(layout, wanted), Random(seed))
    trajectory = run_episode("search", adapter, settings)  # EpisodeOver, were anything acted on after the world's end
    realized = [(state, view) for operator, state, view in adapter.given if operator == "realize"]
    # Realize is shown the state that is certified and the present view, and the trajectory says which.
    assert realized == [(trajectory.states[a.state], trajectory.views[a.view or 0]) for a in trajectory.attempts]
    assert trajectory.views[-1] == adapter.world.view()  # and so the partial score is kept, however it ended
    # The state changes by certification alone.
    assert [t.attempt for t in trajectory.transitions] == [a.step for a in trajectory.attempts if a.k]
    assert len(trajectory.states) == len(trajectory.transitions) + 1
    # The end of the world ends the loop, and nothing is forced after it.
    over = any(attempt.observation and attempt.observation["done"] for attempt in trajectory.attempts)
    assert over == (trajectory.end == "world ended" or (trajectory.reached_goal and adapter.world.done))
    assert (trajectory.forced is not None) == (trajectory.end not in ("goal", "world ended"))
    assert not trajectory.forced or trajectory.forced.reason or trajectory.forced.action == "leave"
    assert len(trajectory.attempts) <= settings.step_cap
    # A malformed Replan costs a try of the budget, and the episode where they are spent.
    faults = "".join("x" if plan.fault else "." for plan in trajectory.plans)
    assert all(not settings.spent(len(run) - 1) or run == "x" for run in faults.split(".") if run)
    assert (trajectory.end == "malformed plan") == settings.spent(trajectory.malformed) * bool(trajectory.malformed)
    again = Trajectory.from_json(json.loads(json.dumps(trajectory.to_json())))
    assert again == trajectory
    timeline(trajectory).text(detail=True)


def test_an_uncertified_move_is_shown_to_the_next_realize() -> None:
    trajectory = search([0, 0, 3])
    assert [attempt.action for attempt in trajectory.attempts] == ["go on", "go on", "go on", "take"]
    assert [attempt.k for attempt in trajectory.attempts] == [0, 0, 0, 3] and trajectory.reached_goal
    shown = [trajectory.views[attempt.view or 0] for attempt in trajectory.attempts]
    assert [(view["room"], view["coins here"]) for view in shown] == [(0, 0), (1, 0), (2, 0), (3, 3)]
    assert trajectory.states == ({"coins": 0}, {"coins": 3})


def test_a_world_that_ends_keeps_the_trajectory_and_the_partial_score() -> None:
    trajectory = search([1, PIT, 2])
    assert trajectory.end == "world ended" and not trajectory.reached_goal and trajectory.forced is None
    assert [attempt.action for attempt in trajectory.attempts] == ["go on", "take", "go on"]
    assert trajectory.states[-1] == {"coins": 1} and trajectory.views[-1]["score"] == pytest.approx(1 / 3)


def test_a_world_that_ends_with_the_goal_is_no_early_end() -> None:
    assert search([3]).end == "goal"
    assert search([3], cascade=False).end == "world ended"  # all coins held, one certified


@pytest.mark.parametrize(
    ("settings", "end"), [({"step_cap": 4}, "step cap"), ({"budget": 1, "replan": False}, "budget")]
)
def test_at_the_cap_or_a_spent_budget_an_answer_is_forced_acted_on_and_marked(
    settings: dict[str, Any], end: str
) -> None:
    trajectory = search([1, 0, 0, 0, 0, 0], **settings)
    assert trajectory.end == end and trajectory.forced and trajectory.forced.action == "leave"
    assert trajectory.forced.observation["text"] == "You climb out." and len(trajectory.attempts) == 4
    assert trajectory.certified == 1 and not trajectory.reached_goal


def test_an_adapter_without_finalize_forces_nothing() -> None:
    trajectory = run_episode("walk", CorridorAdapter(Corridor(3, [])), Settings(step_cap=2))
    assert trajectory.end == "step cap" and trajectory.forced is None and trajectory.views == ()


@dataclass(frozen=True)
class Stammering(CorridorAdapter):
    """Replan is malformed so many times, then retries."""

    malformed: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)

    def replan(self, state: Any, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        self.counts.append(trajectory.malformed)
        if self.malformed:
            raise MalformedAnswer(self.malformed.pop())
        return super().replan(state, goal, trajectory, view)


@given(times=st.integers(0, 5), budget=st.integers(0, 3), retry_while=st.sampled_from(["r<=b", "r<b"]))
def test_a_malformed_replan_costs_one_try_of_the_budget_and_no_more(times: int, budget: int, retry_while: Any) -> None:
    settings = Settings(budget=budget, retry_while=retry_while, step_cap=40)
    fails = budget + (retry_while == "r<=b") or 1  # attempts until Replan
    smooth, rough = (
        Stammering(Corridor(2, [0] * fails + [1] + [0] * fails + [1]), ["no JSON"] * count) for count in (0, times)
    )
    wanted, got = (run_episode("walk", adapter, settings) for adapter in (smooth, rough))
    assert rough.counts[: times + 1] == list(range(min(times, fails - 1) + 1))
    if times >= fails:
        assert got.end == "malformed plan" and len(got.attempts) == fails and got.malformed == fails
        assert got.plans[-1].predicates == tuple(rooms(1, 2))
    else:
        assert [replace(a, plan=0) for a in got.attempts] == [replace(a, plan=0) for a in wanted.attempts]
        assert got.reached_goal and got.replans == wanted.replans + times and got.malformed == 0
        assert [plan.fault for plan in got.plans[1 : times + 1]] == ["malformed answer: no JSON"] * times


def test_validate_counts_the_attempts_and_a_pass_by_force_is_marked() -> None:
    counted: list[list[str]] = []

    class Lenient(CellarAdapter):
        def validate(self, tail: Sequence[Predicate], observation: Any, failures: Sequence[Attempt]) -> Verdict:
            counted.append([failure.action for failure in failures])
            right = super().validate(tail, observation, failures)
            return right if right.k or len(failures) < 2 else Verdict(1, "no better is to be had", forced=True)

    trajectory = run_episode("search", Lenient(Cellar([0, 0, 0, 2], 2)), Settings(step_cap=5))
    assert counted == [[], ["go on"], ["go on"] * 2, [], ["go on"]]
    assert [(a.k, a.forced) for a in trajectory.attempts] == [(0, False), (0, False), (1, True), (0, False), (1, False)]


class Stuck(Fields):
    target: str


class Words(AnswerModel):
    tail: list[str]


PLAN = Prompt("toy.replan", "1", "replan", "", "{{ target }}", Stuck, Words, retry_temperatures=(0.3,))


@rule(PLAN)
def nothing(fields: Stuck) -> Words:
    return Words(tail=[])


def test_each_try_of_replan_and_the_forced_answer_are_requests_of_their_own_and_are_paid_for() -> None:
    ledger = Ledger(connect("rules"), record=True)

    class Asking(CellarAdapter):
        def replan(self, state: Any, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
            answer = ledger.ask(PLAN, sample=trajectory.malformed, target=goal.text)
            return [holds(len(word)) for word in answer.value.tail]

        def finalize(self, state: Any, goal: Predicate, trajectory: Trajectory, view: Any) -> str:
            ledger.ask(PLAN, sample=trajectory.malformed, target=goal.text)
            raise MalformedAnswer("cut")

    trajectory = run_episode("search", Asking(Cellar([0] * 9, 1)), Settings(budget=2), ledger)
    assert trajectory.end == "malformed plan" and trajectory.malformed == 3
    assert trajectory.plans[-1].fault == "not a plan to the goal"
    assert len({recorded["request"] for recorded in ledger.recorded}) == len(ledger.recorded) == 4
    assert trajectory.forced and trajectory.forced.reason == "malformed answer: cut"
    assert trajectory.forced.cost == Cost(1) and trajectory.cost == Cost(4)


def test_a_trajectory_of_before_there_were_views_reads_and_is_written_as_it_was() -> None:
    goal = {"text": "Done.", "kind": "", "about": {}}
    cost = {"calls": 1, "tokens_in": 2, "tokens_out": 3}
    old = {
        "task": "t", "goal": goal, "settings": {"step_cap": 1}, "states": [0],
        "plans": [{"predicates": [goal], "start": 0, "operator": "propose", "cost": cost}],
        "attempts": [{"step": 0, "plan": 0, "position": 0, "state": 0, "target": "Done.", "kind": "", "action": "a",
                      "observation": "o", "k": 0, "reason": "no", "cost": cost}],
        "transitions": [], "end": "step cap", "outcome": {},
    }  # fmt: skip
    assert json.dumps(Trajectory.from_json(old).to_json()) == json.dumps(old)


def test_a_timeline_shows_the_world_what_was_forced_and_what_ended_it() -> None:
    ended = timeline(search([1, PIT]))
    assert ended.steps[2].view == {"room": 1, "coins here": 1, "held": 0, "score": 0.0}
    assert ended.steps[-1].title == "The world ended the episode" and ended.steps[-1].view["score"] == 1 / 3
    assert ended.outcome.startswith("ended by: world ended, 1 of 3 predicates certified")
    assert "the world shows: room: 1" in " ".join(ended.text(detail=True).split())
    capped = timeline(search([0, 0, 0], step_cap=2))
    assert [step.title for step in capped.steps[-2:]] == ["Forced answer", "The world at the end"]
    assert capped.outcome.endswith("2 attempts, an answer forced")
    spoken = timeline(run_episode("walk", Stammering(Corridor(1, [0, 1]), ["no JSON"]), Settings(budget=0)))
    assert (spoken.steps[-1].title, spoken.steps[-1].verdict) == ("Replan: no usable plan", False)


def test_what_the_cellar_says_after_its_end_is_an_error() -> None:
    cellar = Cellar([], 1)
    assert cellar.step("go on").done
    with pytest.raises(EpisodeOver):
        cellar.step("take")


def test_where_rooms_are_as_good_as_random_the_certified_state_is_markov() -> None:
    def coins(seed: int) -> list[int]:
        random = Random(seed)
        return [random.choice([0, 1, 1, 2]) for _ in range(40)]

    runs = [search(coins(seed), wanted=6, budget=1) for seed in range(150)]
    assert markov_test(runs, previous_state, permutations=199).p_value > 0.05


def test_where_the_room_matters_and_no_state_names_it_the_test_finds_out() -> None:
    layout = [1, 0, 2, 1, 1, 2, 0]  # the same for all, who begin anywhere in it
    runs = [search(list(islice(cycle(layout), start, start + 40)), wanted=6) for start in range(7) for _ in range(20)]
    assert markov_test(runs, previous_state, permutations=199).p_value < 0.01
