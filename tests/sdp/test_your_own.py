"""The reader's own benchmark: the cells of two notebooks of `4_explore`, and what the library gives for them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import cloudpickle
import nbformat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.paths import ROOT, answer_cache
from lab.models import rules
from lab.models.connect import connected
from lab.notebooks.check import MOST_YOURS, YOURS, lines_of
from lab.notebooks.documents import NotebookError, module_of, read, tags
from lab.runs import compare
from lab.runs.collecting import collect, interrupted
from lab.runs.manifest import own_code
from lab.viewer.transcripts import Transcript
from sdp.ablation import ABLATIONS
from sdp.adapters.facts import FactsAdapter
from sdp.contracts import checks
from sdp.experiments.certifying import Certifying, Results, comparisons
from sdp.loop import Settings, run_episode
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.base import Step

NOTEBOOK, METHODS = "4_explore/your_own_benchmark", "4_explore/your_own_methods"


@pytest.fixture(scope="module")
def own() -> Any:
    """What the cells define, as a module."""
    before = dict(rules._rules)
    module = module_of(NOTEBOOK, YOURS)
    yield module
    del sys.modules[module.__name__]
    rules._rules.clear()
    rules._rules.update(before)


def played(setup: Certifying, folder: Path, name: str) -> Results[Any]:
    return collect(setup, run=str(folder / name), show_progress=False)


def test_world_adapter_rules_and_experiment_are_at_most_sixty_lines() -> None:
    cells = [cell for cell in read(ROOT / f"notebooks/{NOTEBOOK}.ipynb").cells if YOURS in tags(cell)]
    assert len(cells) == 3 and 40 < lines_of(cells) <= MOST_YOURS == 60


def test_cells_come_as_a_module_whose_text_makes_a_part_of_the_run(own: Any, tmp_path: Path) -> None:
    assert own.Round.__module__.startswith("your_own_benchmark_")
    notebook, copy = read(ROOT / f"notebooks/{NOTEBOOK}.ipynb"), tmp_path / "json.v2.ipynb"
    (world,) = (cell for cell in notebook.cells if "class House" in cell.source)
    world.source = world.source.replace("is wet.", "is dripping wet.")
    nbformat.write(notebook, copy)
    edited = module_of(str(copy), YOURS)
    assert Path(str(edited.__file__)).parent == answer_cache().parent / "modules"
    assert own_code(own.Round) and own_code(own.Round) != own_code(edited.Round)
    again = cloudpickle.loads(cloudpickle.dumps(edited.Round(limit=2)))
    assert again.tasks() == ["round 0-000", "round 0-001"]
    assert sys.modules["json"] is json and edited.__name__.startswith("json_v2_"), "its name hides no module"
    world.source += "\nraise OSError('a cell that fails')\n"
    nbformat.write(notebook, copy)
    before = {*sys.modules}
    with pytest.raises(OSError, match="a cell that fails"):
        module_of(str(copy), YOURS)
    assert {*sys.modules} <= before, "what failed half-way is no module"
    del sys.modules[edited.__name__]
    with pytest.raises(NotebookError, match="no cell of .* has the tag 'theirs'"):
        module_of(NOTEBOOK, "theirs")


def test_a_world_moves_refuses_in_words_and_ends(own: Any) -> None:
    house = own.House("a", 3)
    steps = [house.step("fly") for _ in range(house.closing)]
    assert steps[0].text.startswith("Nobody can fly from here.") and [step.done for step in steps[-2:]] == [False, True]
    assert steps[-1].facts == house.view()


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), side=st.integers(3, 6), budget=st.integers(0, 2))
def test_whoever_replans_finds_a_way_around_every_locked_door(own: Any, seed: int, side: int, budget: int) -> None:
    house = own.House(f"{seed}", side)
    house.closing = 10**6  # time enough
    ledger = Transcript(connected("rules"))
    trajectory = run_episode("t", own.Courier(house, ledger), Settings(budget=budget, step_cap=10**4))
    assert trajectory.reached_goal and house.view()["score"] == 1
    assert trajectory.states[-1]["parcels"] == [] and Trajectory.from_json(trajectory.to_json()) == trajectory


def test_a_benchmark_is_scored_ablated_compared_and_watched(own: Any, tmp_path: Path) -> None:
    setup = own.Round(limit=12, settings=Settings(budget=1))
    full = played(setup, tmp_path, "full")
    assert list(full.scores) == [f"round 0-{n:03d}" for n in range(12)] and sum(full.scores.values()) == 12
    without = {a.name: played(replace(setup, settings=a.without(setup.settings)), tmp_path, a.name) for a in ABLATIONS}
    table = comparisons(full, without).set_index("condition")
    for name, run in without.items():
        mean = sum(run.scores.values()) / 12
        assert table.loc[name, "difference"] == pytest.approx(mean - 1)
        scores = [setup.judged(episode).score for episode in run.episodes.values()]
        assert {round(3 * (score or 0), 6) for score in scores} <= {0, 1, 2, 3}
    assert table.loc["-Replan", "difference"] < -0.2 and table.loc["-Validate", "p (Holm)"] < 0.05
    assert set(table["evidence"]) == {"measured"}
    both = compare(without["-Replan"].folder, full.folder).side_by_side()
    assert [timeline.score for timeline in both.timelines] != [1, 1]
    ready, seen = setup.resolved(), []
    task = ready.tasks()[0]
    watched = ready.watch(task, Transcript(connected("rules")), seen.append)
    kept = setup.timeline(full.episodes[task])
    assert [step.title for step in watched.steps] == [step.title for step in kept.steps]
    assert len(seen) == full.episodes[task].result["steps"]


def test_the_readers_adapter_keeps_every_contract(own: Any) -> None:
    assert [check.detail for check in checks(own.Round) or [] if not check.ok] == []


def test_an_interruption_is_shown_to_cost_nothing(own: Any) -> None:
    assert interrupted(collect, own.Round(limit=4), 3) == (3, 1, True)


def test_one_predicate_a_call_gives_the_cells_plan(own: Any) -> None:
    whole, single = (
        run_episode("t", own.Courier(own.House("c", 4), Transcript(connected("rules"))), Settings(propose=propose))
        for propose in ("plan", "predicate")
    )
    assert whole.plans == single.plans and whole.attempts == single.attempts and len(whole.plans[0].predicates) > 3


def test_wrong_rooms_are_rejected_by_what_was_seen(own: Any) -> None:
    adapter = own.Courier(own.House("b", 3), Transcript(connected("rules")))
    _, goal = adapter.start()
    plan = adapter.propose({}, goal, ())
    assert plan[-1] == goal and Random(0).choice(plan).about
    observation = adapter.act("sing")
    assert adapter.validate(plan, observation, ()).k == 0
    there = replace(observation, facts={"room": plan[0].about["room"], "left": 3})
    assert adapter.validate(plan, there, ()).k == 1
    assert adapter.advance({"left": 3}, plan[:1], there) == {"left": 3, "room": plan[0].about["room"]}


def test_an_agent_plays_the_readers_world_and_errs_by_noise(own: Any, tmp_path: Path) -> None:
    (cell,) = (cell for cell in read(ROOT / f"notebooks/{METHODS}.ipynb").cells if "yours-react" in tags(cell))
    own.side = 4
    exec(compile(cell.source, "yours", "exec"), vars(own))
    scores = {}
    for engine in ("rules", "rules@0.1"):
        setup = own.RoundByAgent(engine=engine, data="synthetic", limit=4)
        run = collect(setup, run=str(tmp_path / engine), show_progress=False)
        assert not [one.error for one in run.episodes.values() if one.failed]
        scores[engine] = sum(run.scores.values()) / 4
    assert scores["rules"] == 1 > scores["rules@0.1"]


class Ladder:
    """Three rungs; its view has no score."""

    rung = 0

    def step(self, action: str) -> Step:
        self.rung += action == "up"
        return Step(f"You stand on rung {self.rung}.", facts=self.view())

    def view(self) -> dict[str, Any]:
        return {"rung": self.rung}


class Climber(FactsAdapter):
    """Climbs, and slips at the first try from rung 1."""

    def goal(self) -> Predicate:
        return Predicate("You stand on rung 3.", about={"rung": 3})

    def propose(self, state: Any, goal: Predicate, planned: Sequence[Predicate]) -> list[Predicate]:
        plan = [Predicate(f"You stand on rung {n}.", about={"rung": n}) for n in range(self.world.rung + 1, 3)]
        return [*plan, goal][len(planned) :]

    def realize(self, state: Any, target: Predicate, failures: Sequence[Attempt], view: Any) -> str:
        return "up" if view["rung"] != 1 or failures else "slip"


@dataclass(frozen=True, kw_only=True)
class Climbs(Certifying):
    method = "climbs"
    told: bool = True

    def tasks(self) -> list[str]:
        return ["climb"]

    def adapter(self, task: str, ledger: Any) -> Any:
        adapter = Climber(Ladder(), ledger)
        if not self.told:
            object.__setattr__(adapter, "met", lambda goal, observation: None)
        return adapter


@pytest.mark.parametrize(
    ("changes", "end", "score"),
    [
        ({}, "goal", 1),
        ({"settings": Settings(validate=False)}, "goal", 0),  # claimed, and not met
        ({"settings": Settings(validate=False, step_cap=2)}, "step cap", 0),
        ({"settings": Settings(cascade=False, budget=0)}, "goal", 1),
        ({"placebo": 0.0}, "goal", 0),
    ],
    ids=str,
)
def test_a_world_without_a_score_is_judged_by_the_goal_and_not_by_what_the_loop_claims(
    changes: dict[str, Any], end: str, score: float
) -> None:
    setup = Climbs(engine="rules", **changes)
    trajectory = setup.episode("climb")
    assert (trajectory.end, setup.score(trajectory)) == (end, score)
    assert Trajectory.from_json(trajectory.to_json()) == trajectory


def test_a_goal_that_nobody_judged_has_no_score_but_an_error_that_says_what_to_add() -> None:
    setup = Climbs(engine="rules", told=False)
    assert setup.score(setup.episode("climb")) == 1, "Validate judged it"
    unjudged = replace(setup, settings=Settings(validate=False))
    with pytest.raises(ValueError, match=r"climb reached its goal: .* Give the adapter `met\(goal, observation\)`"):
        unjudged.score(unjudged.episode("climb"))
    capped = replace(setup, settings=Settings(validate=False, step_cap=1))
    assert capped.score(capped.episode("climb")) == 0, "it claims nothing"
