"""The contracts of adapters: all of ours keep all of them, and a wrong adapter of each kind is caught."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from typing import Any

import pytest

from cellar import Cellar, Searches
from lab.__main__ import main
from lab.models.answers import AnswerModel
from lab.models.backbone import Ledger
from lab.models.prompts import Fields, Prompt
from lab.models.rules import _rules, rule
from lab.runs.playable import PLAYABLE
from sdp.adapters.corridor import CorridorAdapter, Walker, in_room
from sdp.adapters.facts import FactsAdapter
from sdp.adapters.travelplanner.adapter import Policy
from sdp.contracts import CONTRACTS, check, checks
from sdp.experiments import assistantbench, scienceworld, travelplanner
from sdp.experiments.certifying import Certifying
from sdp.experiments.corridor import Walks
from sdp.experiments.multihop import HotpotQA, MuSiQue
from sdp.operators import NOTHING, Verdict
from sdp.studies.cascade import OverlappingPlans
from sdp.trajectory import Attempt, Predicate, Trajectory

OVERLAPPING = "ScienceWorld, overlapping plans"
PROPOSE, PLACEBO, LOCALITY, REPLAN, STATE, CASCADE, BUDGET = CONTRACTS


class Climber(FactsAdapter):
    """Climbs coins in the cellar by facts; Realize makes use of all that it can read of its target."""

    def goal(self) -> Predicate:
        return Predicate("Three coins are held.", about={"held": 3})

    def propose(self, state: Any, goal: Predicate, planned: Sequence[Predicate]) -> list[Predicate]:
        steps = (Predicate(f"{coins} coins are held.", about={"held": coins}) for coins in (1, 2))
        return [*steps, goal][len(planned) :]

    def realize(self, state: Any, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        return "take" if view["coins here"] and target.about.get("held", 9) > view["held"] else "go on"


@dataclass(frozen=True, kw_only=True)
class ByFacts(Searches):
    def adapter(self, task: str, ledger: Ledger) -> Climber:
        return Climber(Cellar([1, 0, 1, 1, 0, 0, 0, 0], wanted=3), ledger)


TRIPS = travelplanner.Setup(data="synthetic", split="train", levels=("medium", "hard"))
OURS: dict[str, Certifying] = {
    "TravelPlanner": TRIPS,
    "TravelPlanner, undo": replace(TRIPS, policy=Policy(undo=3)),
    "TravelPlanner, cities proposed": replace(TRIPS, policy=Policy(cities="propose")),
    "AssistantBench": assistantbench.Setup(data="synthetic", split="writing"),
    "ScienceWorld": scienceworld.Setup(data="synthetic", lengths=("short",)),
    OVERLAPPING: OverlappingPlans(lengths=("short",)),
    "HotpotQA": HotpotQA(data="synthetic", split="writing"),
    "MuSiQue": MuSiQue(data="synthetic", split="writing", setting="open"),
    "corridor": Walks(),
    "cellar": Searches(),
    "facts": ByFacts(),
}
LONG = {("TravelPlanner", LOCALITY), ("AssistantBench", LOCALITY), ("AssistantBench", PLACEBO)}


@cache
def ours(name: str) -> Certifying:
    return replace(OURS[name], limit=2).resolved()


def all_of_ours() -> Iterator[Any]:
    pairs = [pair for pair in product(OURS, CONTRACTS) if pair[0] != OVERLAPPING]
    # ScienceWorld's other plans never cascade, and cost minutes.
    for name, contract in [*pairs, (OVERLAPPING, CASCADE)]:
        long = (name.partition(",")[0], contract) in LONG or name.startswith("ScienceWorld")
        yield pytest.param(name, contract, marks=[pytest.mark.slow] if long else [], id=f"{name}: {contract}")


@pytest.mark.parametrize(("name", "contract"), list(all_of_ours()))
def test_every_adapter_of_ours_keeps_every_contract(name: str, contract: str) -> None:
    found = check(ours(name), contract)
    assert found.ok, found.detail


class Told(Fields):
    words: list[str]


class Heard(AnswerModel):
    heard: bool


ASK = Prompt(
    name="contracts.ask", version="1", operator="replan", system="Listen.", template="{{ words }}", fields=Told,
    answer=Heard,
)  # fmt: skip


@pytest.fixture(autouse=True)
def listening() -> Iterator[None]:
    rule(ASK)(lambda fields: Heard(heard=True))
    yield
    del _rules[ASK.name]


@dataclass(frozen=True)
class Asking(CorridorAdapter):
    ledger: Any = None

    def ask(self, *words: str) -> None:
        self.ledger.ask(ASK, words=list(words))


class Forgetful(Asking):
    def propose(self, state: Walker, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        return super().propose(state, goal, ())


class Slicing(Asking):
    def propose(self, state: Walker, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        self.ask(goal.text)
        return super().propose(state, goal, planned)


class Endless(Asking):
    def propose(self, state: Walker, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        return [in_room(len(planned), "No walker has ever seen room")]


class Talkative(Asking):
    def without_content(self, predicate: Predicate) -> Predicate:
        return Predicate(NOTHING, about=predicate.about)


class Kind(Asking):
    def propose(self, state: Walker, goal: Predicate, planned: Sequence[Predicate]) -> Sequence[Predicate]:
        plan = super().propose(state, goal, planned)
        return [step if step == goal else replace(step, kind="a room") for step in plan]

    def without_content(self, predicate: Predicate) -> Predicate:
        return Predicate(NOTHING, predicate.kind)


@dataclass(frozen=True)
class Remembering(Asking):
    """Keeps what Replan was given."""

    memory: list[Any] = field(default_factory=list)

    def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        self.memory.append(trajectory)
        return super().replan(state, goal, trajectory, view)


def hoard() -> Callable[[Sequence[Attempt]], None]:
    kept: list[Attempt] = []
    return kept.extend


def closed_over() -> Callable[[Sequence[Attempt]], None]:
    kept: list[Attempt] = []

    def keep(failures: Sequence[Attempt]) -> None:
        kept.extend(failures)

    return keep


@dataclass(frozen=True)
class Hoarding(Asking):
    """Keeps the failures of earlier targets, where only a bound method holds them."""

    keep: Callable[[Sequence[Attempt]], None] = field(default_factory=hoard)

    def realize(self, state: Walker, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        self.keep(failures)
        return super().realize(state, target, failures, view)


@dataclass(frozen=True)
class Enclosing(Hoarding):
    keep: Callable[[Sequence[Attempt]], None] = field(default_factory=closed_over)


@dataclass(frozen=True)
class Diary(Walker):
    read: Any = None


class Loaded(Asking):
    """Its state carries the history."""

    def advance(self, state: Walker, certified: Sequence[Predicate], observation: str) -> Walker:
        return Diary(2, Attempt(0, 0, 0, 0, "", "", "", "", 1, ""))


class Greedy(Asking):
    def validate(  # type: ignore[override]
        self, tail: Sequence[Predicate], observation: str, failures: Sequence[Attempt], trajectory: Any = None
    ) -> Verdict:
        return super().validate(tail, observation, failures)


class Gossiping(Asking):
    """Tells Replan's prompt of every attempt."""

    def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        self.ask(*(attempt.reason for attempt in trajectory.attempts))
        return super().replan(state, goal, trajectory, view)


class Silent(Asking):
    """Tells Replan's prompt of none."""

    def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        self.ask(goal.text)
        return super().replan(state, goal, trajectory, view)


@dataclass
class Pencil:
    room: int


class Erasing(Asking):
    """Realize moves the certified state."""

    def advance(self, state: Any, certified: Sequence[Predicate], observation: str) -> Any:
        return Pencil(super().advance(state, certified, observation).room)

    def realize(self, state: Any, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        if isinstance(state, Pencil):
            state.room += 1
        return super().realize(state, target, failures, view)


@dataclass(frozen=True)
class Counting(Asking):
    """`advance` counts how often it was called."""

    calls: list[int] = field(default_factory=list)

    def advance(self, state: Walker, certified: Sequence[Predicate], observation: str) -> Walker:
        self.calls.append(0)
        return Walker(len(self.calls))


class Unwritable(Asking):
    def advance(self, state: Walker, certified: Sequence[Predicate], observation: str) -> Walker:
        return Diary(super().advance(state, certified, observation).room, {1, 2})


class Lost(Asking):
    """Replan does not arrive."""

    def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        return super().replan(state, goal, trajectory, view)[:-1]


class Moonlighting(Asking):
    """Asks behind the ledger's back."""

    def realize(self, state: Walker, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        self.ledger.backbone.ask(ASK, words=[target.text])
        return super().realize(state, target, failures, view)


class Impatient(Asking):
    """Counts on a second attempt."""

    def replan(self, state: Walker, goal: Predicate, trajectory: Trajectory, view: Any) -> Sequence[Predicate]:
        assert len(trajectory.attempts) > 1, "no second attempt"
        return super().replan(state, goal, trajectory, view)


@dataclass(frozen=True, kw_only=True)
class Wrong(Walks):
    limit: int = 2
    by: Any = Asking

    def operators(self) -> tuple[str, ...]:
        return (ASK.operator,)

    def adapter(self, task: str, ledger: Ledger) -> Any:
        right = super().adapter(task, ledger)
        return self.by(right.world, ledger)


@dataclass(frozen=True, kw_only=True)
class ByCertificate(Wrong):
    def score(self, trajectory: Trajectory) -> float:
        return float(trajectory.reached_goal)


WRONG: list[tuple[str, Certifying, str]] = [
    (PROPOSE, Wrong(by=Forgetful), "begins again with 'The walker has come to room 1.', which is planned"),
    (PROPOSE, Wrong(by=Slicing), "Propose's prompt is the same, whatever is planned"),
    (PROPOSE, Wrong(by=Endless), "after 201 predicates Propose has not named the goal"),
    (PLACEBO, Wrong(by=Talkative), 'the plan reaches Realize: .*"room": 1.*; with another plan .*"room": 1001'),
    (PLACEBO, Wrong(by=Kind), "Realize is given the kind of its target, a room"),
    (LOCALITY, Wrong(by=Remembering), "can reach a Trajectory"),
    (LOCALITY, Wrong(by=Hoarding), "can reach a Attempt"),
    (LOCALITY, Wrong(by=Enclosing), "can reach a Attempt"),
    (LOCALITY, Wrong(by=Loaded), "(realize|validate|advance|propose) can reach a Attempt"),
    (LOCALITY, Wrong(by=Greedy), r"validate takes \(.*trajectory.*\), not \(tail, observation, failures\)"),
    (REPLAN, Wrong(by=Gossiping), "lists . failures at other targets as if at 'The walker has come to room"),
    (REPLAN, Wrong(by=Silent), "lacks the reason why the last attempt at 'The walker has come to room"),
    (STATE, Wrong(by=Erasing), r'realize changes the certified state from {"room": \d} to {"room": \d}'),
    (STATE, Wrong(by=Counting), "advance is not pure: called again with the same arguments"),
    (STATE, Wrong(by=Unwritable), "set is not JSON serializable"),
    (CASCADE, ByCertificate(), "the same . actions score 1 with cascade and 0 without"),
    (BUDGET, Wrong(by=Lost), "b = 0, r<=b: Replan gives not a plan to the goal"),
    (BUDGET, Wrong(by=Moonlighting), "the engine answered 3 prompts, but 0 were counted"),
    (BUDGET, Wrong(by=Impatient), "AssertionError: no second attempt"),
]


@pytest.mark.parametrize(("contract", "setup", "finding"), WRONG)
def test_a_wrong_adapter_breaks_its_contract(contract: str, setup: Certifying, finding: str) -> None:
    found = check(setup.resolved(), contract)
    assert not found.ok
    with pytest.raises(AssertionError, match=finding):
        raise AssertionError(found.detail)


def test_the_adapter_that_wrong_ones_inherit_from_breaks_none() -> None:
    report = checks(Wrong)
    assert report and len(report) == len(CONTRACTS) and all(found.ok for found in report), report
    assert {contract for contract, _, _ in WRONG} == {*CONTRACTS}, "each contract has a wrong adapter"


def test_the_doctor_reports_contracts_of_what_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["doctor", "--adapter", "sdp.experiments.corridor:Walks"]) == 0
    assert "-Cascade scores fairly: ok (2 of 2 episodes with a cascade)" in capsys.readouterr().out
    monkeypatch.setitem(PLAYABLE.own, "mine", ByCertificate)
    assert main(["doctor", "--adapter", "mine"]) == 1
    assert "-Cascade scores fairly: BROKEN (walk 0-0000: the same" in capsys.readouterr().out
    assert main(["doctor", "--adapter", "SDP.HotpotQA", "--engine", "rules@0.5"]) == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ReAct.HotpotQA", "No contracts are known of ReAct.HotpotQA; name an experiment of SDP"),
        ("sdp.adapters.corridor:CorridorAdapter", "CorridorAdapter is an adapter; name the experiment that plays it"),
        ("SDP.HotPotQA", "did you mean 'SDP.HotpotQA'"),
    ],
)
def test_the_doctor_refuses_what_it_cannot_check(name: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--adapter", name]) == 2
    assert message in capsys.readouterr().err
