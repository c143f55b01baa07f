"""The reader's own benchmark: the cells of `4_explore/your_own`, and what the library gives for them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import cloudpickle
import nbformat
import pytest

import rule_tables
from lab.machine.paths import ROOT, answer_cache
from lab.models import rules
from lab.models.connect import connected
from lab.notebooks.check import lines_of
from lab.notebooks.documents import YOURS, NotebookError, module_of, read, tags
from lab.runs.experiment import BadSetting
from lab.runs.manifest import own_code
from lab.runs.registry import STUDIES
from lab.viewer.transcripts import Transcript
from procllm import domains
from sdp.adapters.facts import FactsAdapter
from sdp.contracts import checks
from sdp.experiments.certifying import Certifying
from sdp.loop import Settings, run_episode
from sdp.trajectory import Attempt, Predicate, Trajectory
from worlds.base import Step

NOTEBOOK = "4_explore/your_own"
FILE = ROOT / f"notebooks/{NOTEBOOK}.ipynb"


@pytest.fixture(scope="module")
def own() -> Iterator[Any]:
    """What the cells define, as a module."""
    before = rule_tables.registered()
    module = module_of(NOTEBOOK, YOURS)
    yield module
    del sys.modules[module.__name__]
    rules._rules.clear()
    rules._rules.update(before)


def test_the_path_is_at_most_120_lines_and_its_cells_pasted_together_are_a_program(
    own: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(domains, "registered", {})
    monkeypatch.setattr(rules, "_rules", {})
    code = [cell for cell in read(FILE).cells if cell.cell_type == "code"]
    assert lines_of(code) <= 120
    names: dict[str, Any] = {"__name__": "pasted"}
    for cell in code:
        if any(tag.startswith(YOURS) for tag in tags(cell)):
            exec(compile(cell.source, cell.id, "exec"), names)
    assert {"STUDY", "NETWORKS", "Notes"} <= names.keys()


def test_cells_come_as_a_module_whose_text_makes_a_part_of_the_run(own: Any, tmp_path: Path) -> None:
    assert own.BySDP.__module__.startswith("your_own_")
    notebook, copy = read(FILE), tmp_path / "json.v2.ipynb"
    (world,) = (cell for cell in notebook.cells if "class House" in cell.source)
    world.source = world.source.replace("is locked.", "is firmly locked.")
    nbformat.write(notebook, copy)
    edited = module_of(str(copy), YOURS)
    assert Path(str(edited.__file__)).parent == answer_cache().parent / "modules"
    assert own_code(own.BySDP) and own_code(own.BySDP) != own_code(edited.BySDP)
    again = cloudpickle.loads(cloudpickle.dumps(edited.BySDP(limit=2)))
    assert again.tasks() == ["round-00", "round-15"]
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


def test_a_study_of_a_notebook_is_named_by_its_file(own: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STUDIES, "own", {})
    assert STUDIES.named(f"{NOTEBOOK}.ipynb:STUDY").name == STUDIES.named(f"{FILE}:STUDY").name == "courier"
    with pytest.raises(NotebookError, match="no notebook 'your_won.ipynb'; did you mean 'your_own'"):
        STUDIES.named("your_won.ipynb:STUDY")
    with pytest.raises(BadSetting, match=r"no study '.*:STUDIES'.* or as mine\.ipynb:NAME"):
        STUDIES.named(f"{NOTEBOOK}.ipynb:STUDIES")


def test_a_world_refuses_in_words_and_ends(own: Any) -> None:
    world = own.Rounds().begun("round-00")
    steps = [world.step("fly") for _ in range(24)]
    assert steps[0].text.startswith("Nobody can fly from here.") and [step.done for step in steps[-2:]] == [False, True]
    shown = world.view()
    assert shown.keys() == {"room", "parcels", "text", "actions", "score"} and shown["text"] == steps[-1].text
    assert world.step("go to room 1").facts["room"] == 1 and "go to room 1" in shown["actions"]


@pytest.mark.parametrize("budget", [0, 1, 2])
def test_whoever_replans_finds_a_way_around_every_locked_door(own: Any, budget: int) -> None:
    detours = 0
    for task in own.Rounds().tasks():
        world = own.Rounds().begun(task)
        world.world.minutes = 10**6  # time enough
        trajectory = run_episode("t", own.Courier(world, Transcript(connected("rules"))), Settings(budget=budget))
        assert trajectory.reached_goal and world.now.score == 1, task
        assert trajectory.states[-1]["parcels"] == [] and Trajectory.from_json(trajectory.to_json()) == trajectory
        detours += trajectory.replans
    assert detours > 10


@pytest.mark.slow
def test_the_study_has_the_ablations_the_placebo_and_agents_beside_sdp(own: Any) -> None:
    results = own.STUDY.run(engine="rules", limit=12, workers=1)
    means = {name: results.mean_score("courier", name) for name in results.setup.methods}
    assert [*means] == [
        "SDP", "SDP without Validate", "SDP without Replan", "SDP, placebo", "ReAct", "random action"
    ]  # fmt: skip
    assert own.STUDY.names("gpt-4o") == own.STUDY.names("rules") == tuple(means), "a model plays all of them"
    assert means["SDP"] == means["ReAct"] == 1
    assert all(means[name] < 0.9 for name in means.keys() - {"SDP", "ReAct"})
    assert results.setup.options["SDP, placebo:placebo"] > 0, "it rejects as often as SDP's own Validate"
    scores = results.scores_of("courier", "SDP without Validate").values()
    assert {round(3 * score, 6) for score in scores} <= {0, 1, 2, 3}
    frame = results.compare().set_index("method")
    assert frame.loc["SDP without Replan", "less SDP"] == pytest.approx(100 * (means["SDP without Replan"] - 1))
    rows = own.STUDY.beside_published(results.frame())
    assert len(rows) == 12 and {*rows["evidence"]} == {"measured"}, "of a study that no paper has"
    ready, seen = results.setup.part("courier", "SDP").resolved(), []
    watched = ready.watch("round-00", Transcript(connected("rules")), seen.append)
    stored = results.timeline("courier", "SDP", "round-00")
    assert [step.title for step in watched.steps] == [step.title for step in stored.steps] and len(seen) > 3


def test_the_readers_adapter_keeps_every_contract(own: Any) -> None:
    assert [check.detail for check in checks(own.BySDP) or [] if not check.ok] == []


def test_one_predicate_a_call_gives_the_cells_plan(own: Any) -> None:
    whole, single = (
        run_episode(
            "t", own.Courier(own.Rounds().begun("round-02"), Transcript(connected("rules"))), Settings(propose=propose)
        )
        for propose in ("plan", "predicate")
    )
    assert whole.plans == single.plans and whole.attempts == single.attempts and len(whole.plans[0].predicates) > 3


def test_wrong_rooms_are_rejected_by_what_was_seen(own: Any) -> None:
    adapter = own.Courier(own.Rounds().begun("round-01"), Transcript(connected("rules")))
    _, goal = adapter.start()
    plan = adapter.propose({}, goal, ())
    assert plan[-1] == goal and Random(0).choice(plan).about
    observation = adapter.act("sing")
    assert adapter.validate(plan, observation, ()).k == 0
    there = replace(observation, facts={"room": plan[0].about["room"], "left": 3})
    assert adapter.validate(plan, there, ()).k == 1
    assert adapter.advance({"left": 3}, plan[:1], there) == {"left": 3, "room": plan[0].about["room"]}


def test_an_agents_wrong_action_is_another_valid_one_where_the_world_lists_them(own: Any) -> None:
    setup = own.ByReAct(engine="rules@0.1", limit=4, settings=own.Acting.settings.__class__(steps=24))
    ready = setup.resolved()
    histories = [ready.acted(task, ready.environment(task), connected(ready.engine)) for task in ready.tasks()]
    actions = {turn.action for history in histories for turn in history.turns}
    assert len(actions) > 8 and actions <= {action for doors in own.DOORS.values() for action in doors}
    assert not any(turn.observation.startswith("Nobody") for history in histories for turn in history.turns)
    assert sum(history.steps for history in histories) > 60


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
