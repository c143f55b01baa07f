"""SDP's controls ask as often: of a placebo's plan nothing reaches Realize, and no verdict of either decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields, replace
from random import Random
from typing import Any

import pytest

from cellar import Cellar, CellarAdapter
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.runs import collecting
from sdp.adapters.corridor import Corridor, CorridorAdapter
from sdp.adapters.facts import FactsAdapter
from sdp.adapters.travelplanner.options import CAP, SLOTS
from sdp.experiments import assistantbench, scienceworld, travelplanner
from sdp.experiments.certifying import scored
from sdp.experiments.multihop import HotpotQA, MuSiQue
from sdp.loop import Settings, plain, run_episode
from sdp.operators import NOTHING
from sdp.placebo import STEP, Control, rejected
from sdp.trajectory import Attempt, Predicate

SETUP = HotpotQA(data="synthetic", split="writing", limit=8, engine="rules@0.7")


class Climber(FactsAdapter):
    """Climbs coins in the cellar by facts; Realize makes use of all that it can read of its target."""

    def goal(self) -> Predicate:
        return Predicate("Three coins are held.", about={"held": 3})

    def propose(self, state: Any, goal: Predicate, planned: Sequence[Predicate]) -> list[Predicate]:
        return [*(Predicate(f"{coins} coins are held.", about={"held": coins}) for coins in (1, 2)), goal]

    def realize(self, state: Any, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        return "take" if view["coins here"] and target.about.get("held", 9) > view["held"] else "go on"


class Spied:
    """An adapter whose plans are noted, and scrambled where asked, with what Realize is given of them."""

    def __init__(self, adapter: Any, scramble: bool) -> None:
        self.adapter, self.scramble = adapter, scramble
        self.plan, self.given = list[Predicate](), list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)

    def propose(self, state: Any, goal: Predicate, planned: Any) -> list[Predicate]:
        return self._noted(self.adapter.propose(state, goal, planned), goal)

    def replan(self, state: Any, goal: Predicate, trajectory: Any, view: Any) -> list[Predicate]:
        return self._noted(self.adapter.replan(state, goal, trajectory, view), goal)

    def realize(self, state: Any, target: Predicate, failures: Any, view: Any) -> Any:
        self.given.append([asdict(target), plain(state)])
        return self.adapter.realize(state, target, failures, view)

    def _noted(self, plan: Sequence[Predicate], goal: Predicate) -> list[Predicate]:
        self.plan += [each for each in plan if each != goal and each.text != NOTHING]
        return [other(each) if self.scramble and each != goal else each for each in plan]


def other(predicate: Predicate) -> Predicate:
    """Of the same kind, about other places and numbers."""
    return replace(predicate, text="Zembla stands.", about=changed(predicate.about))


def changed(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: changed(each) for name, each in value.items()}
    if isinstance(value, list):
        return [changed(each) for each in value]
    return "Zembla" if isinstance(value, str) else value + 1000 if type(value) in (int, float) else value


class Heard(Ledger):
    """Notes the fields of each prompt of Realize."""

    def ask(self, prompt: Any, sample: int = 0, **fields: Any) -> Any:
        if prompt.operator == "realize":
            self.fields.append(prompt.fill(**fields).model_dump(mode="json"))
        return super().ask(prompt, sample, **fields)


ASKING = {
    "TravelPlanner": travelplanner.Setup(data="synthetic", split="train", levels=("medium", "hard")),
    "AssistantBench": assistantbench.Setup(data="synthetic", split="writing", limit=2),
    "ScienceWorld": scienceworld.Setup(data="synthetic", engine="oracle", lengths=("short",), limit=1),
    "HotpotQA": HotpotQA(data="synthetic", split="writing", limit=2),
    "MuSiQue": MuSiQue(data="synthetic", split="writing", setting="open", limit=2),
}
PROGRAMS: dict[str, Callable[[], Any]] = {
    "corridor": lambda: CorridorAdapter(Corridor(5, [1, 0, 2, 1, 1, 1, 1, 1])),
    "cellar": lambda: CellarAdapter(Cellar([1, 0, 1, 1, 0], wanted=3)),
    "facts": lambda: Climber(Cellar([1, 0, 1, 1, 0], wanted=3), Ledger(connected("rules"))),
}


def seen(name: str, scramble: bool = False, control: str = "placebo") -> tuple[list[Predicate], list[Any]]:
    """The plan of an adapter under a control, and all that Realize was given: of prompts, their fields."""
    share = {control: 0.2}
    if name in PROGRAMS:
        spied = Spied(PROGRAMS[name](), scramble)
        run_episode(name, Control(spied, control, 0.2, Random(0)), Settings(step_cap=20))
        return spied.plan, spied.given
    setup = replace(ASKING[name], **share).resolved()
    ledger, kept = Heard(connected(setup.engine)), list[Spied]()
    ledger.fields = list[Any]()

    class Watched(type(setup)):  # type: ignore[misc]
        def adapter(self, task: str, ledger: Ledger) -> Any:
            kept.append(Spied(super().adapter(task, ledger), scramble))
            return kept[-1]

    Watched(**{each.name: getattr(setup, each.name) for each in fields(setup)}).episode(setup.tasks()[-1], ledger)
    return kept[0].plan, ledger.fields


def texts(value: Any) -> set[str]:
    """Every string in it."""
    if isinstance(value, dict):
        return set().union(*map(texts, value.values()))
    if isinstance(value, (list, tuple)):
        return set().union(*map(texts, value))
    return {value} if isinstance(value, str) else set()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ASKING, *PROGRAMS])
def test_nothing_of_the_plan_reaches_realize_in_the_placebo(name: str) -> None:
    plan, given = seen(name)
    assert plan and given
    assert given == seen(name, scramble=True)[1], "of a plan of other places and numbers, Realize is given the same"
    assert not {each.kind for each in plan if each.kind} & texts(given)


def test_the_other_control_keeps_what_a_target_is_about() -> None:
    plan, given = seen("TravelPlanner", control="blanked")
    cities = {each.about["city"] for each in plan if "city" in each.about}
    assert cities and all(any(city in text for text in texts(given)) for city in cities)
    assert any("lunch of day" in one["slot"] for one in given)
    assert [one["target"][:5] for one in given] == [STEP] * len(given)


@pytest.mark.slow
def test_on_trips_the_placebo_is_asked_as_often_and_of_anything() -> None:
    setup = travelplanner.Setup(data="synthetic", limit=3)
    own, blank = (collecting.collect(each, 1, "") for each in (setup, replace(setup, placebo=0.0)))
    calls = [[one.result["calls"] for one in run.episodes.values()] for run in (own, blank)]
    assert all(a <= b <= 1.3 * a for a, b in zip(*calls, strict=True)), "optional meals may have no option to ask about"
    _, given = seen("TravelPlanner")
    labels = {option["text"].split(": ")[0].split(" ", 2)[2] for one in given for option in one["options"]}
    assert labels == {*SLOTS} and {len(one["options"]) for one in given} == {CAP}


def test_no_verdict_decides() -> None:
    everything = collecting.collect(replace(SETUP, placebo=0.0), 0, "").trajectories
    assert all(attempt.k for trajectory in everything for attempt in trajectory.attempts if attempt.observation)
    some = collecting.collect(replace(SETUP, placebo=0.5), 0, "").trajectories
    assert 0.25 < rejected(some) < 0.75


@pytest.mark.parametrize("experiment", [HotpotQA, MuSiQue])
def test_without_noise_rules_still_find_their_way(experiment: type[Any]) -> None:
    setup = experiment(data="synthetic", split="writing", limit=5, placebo=0.0)
    assert {one.result["em"] for one in collecting.collect(setup, 0, "").episodes.values()} == {1.0}


def test_beside_a_validate_that_certifies_nothing_it_ends_by_the_same_budgets() -> None:
    own = collecting.collect(replace(SETUP, engine="rules@0.7?certify=0&reject=1"), 0, "").trajectories
    assert rejected(own) == 1.0
    blank = collecting.collect(replace(SETUP, placebo=rejected(own)), 0, "").trajectories
    assert len(blank) == len(own) and not any(attempt.k for one in blank for attempt in one.attempts)
    assert sum(len(one.attempts) for one in blank) == sum(len(one.attempts) for one in own)


@pytest.mark.parametrize("setup", [SETUP, assistantbench.Setup(data="synthetic", limit=4)], ids=str)
@pytest.mark.parametrize("control", ["placebo", "blanked"])
def test_one_predicate_a_call_a_control_asks_propose_what_sdp_asks(setup: Any, control: str) -> None:
    setup = replace(setup, settings=Settings(propose="predicate", step_cap=1), engine="rules")
    asked = []
    for changes in ({}, {control: 0.5}):
        setups = replace(setup, **changes).resolved()
        ledgers = [Ledger(connected(setups.engine), record=True) for _ in setups.tasks()]
        for task, ledger in zip(setups.tasks(), ledgers, strict=True):
            setups.episode(task, ledger)
        asked.append([[a["request"] for a in ledger.recorded if "decompose" in a["prompt"]] for ledger in ledgers])
    assert asked[0] == asked[1] and all(len(requests) >= 2 for requests in asked[0])


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_that_there_is_not_is_refused(share: float) -> None:
    setup = SETUP.resolved()
    with pytest.raises(ValueError, match="placebo="):
        replace(setup, placebo=share).episode(setup.tasks()[0], Ledger(connected(setup.engine)))


def test_runs_stand_in_one_table_with_their_settings() -> None:
    setups = [replace(SETUP, limit=3, settings=replace(SETUP.settings, budget=b)) for b in (0, 2)]
    runs = [collecting.collect(each, 0, "") for each in setups]
    table = scored(runs, "exact match")
    assert list(table["budget"]) == [0, 2] and set(table["evidence"]) == {"simulated"}
    assert list(table["value"]) == [sum(run.scores.values()) / 3 for run in runs]
