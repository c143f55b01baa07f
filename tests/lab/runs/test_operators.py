"""An engine for each operator: who answers what, what it is called, what it costs, and how it is replayed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asking import ASK, CHECK, Checking
from chat_server import ChatServer, Request, Response, answer
from lab.machine.faults import Unavailable
from lab.models.backbone import Ledger
from lab.models.cache import RECORDING
from lab.models.connect import Routed, connect
from lab.models.engines import BadEngine
from lab.runs import recordings
from lab.runs.collecting import collect, costs, record
from lab.runs.experiment import BadSetting, Results
from lab.runs.run import read_lines
from lab.runs.workers import endpoint_of

NOISY = st.builds("rules@{}?seed={}".format, st.sampled_from(["0", "0.3", "0.8"]), st.integers(0, 3))


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Runs and recordings of a test are its own."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))


def run(engine: str = "rules", engines: dict[str, str] | None = None, **about: object) -> Results:
    return collect(Checking(engine=engine, engines=engines or {}, **about), workers=1, show_progress=False)


def results_of(results: Results) -> list[object]:
    return [episode.result for episode in results.episodes.values()]


def says_yes(request: Request) -> Response:
    """To the question of one operator only: a request of another would be no answer to it."""
    assert "You look at shelves." in request.text
    return answer({"right": True})


# --- who answers --------------------------------------------------------------------------------------------------


@settings(max_examples=15)
@given(engine=NOISY, instead=NOISY, task=st.integers(0, 20))
def test_all_operators_by_one_engine_are_that_engine(engine: str, instead: str, task: int) -> None:
    both = Routed(connect(engine), {"Realize": connect(instead), "VALIDATE": connect(instead)})
    plain, routed = (Ledger(each, record=True) for each in (connect(instead), both))
    assert Checking().play(str(task), plain) == Checking().play(str(task), routed)
    assert plain.calls == routed.calls and plain.recorded == routed.recorded
    chosen = Checking(engine=engine, engines={"realize": instead, "validate": instead})
    assert chosen.resolved() == Checking(engine=instead).resolved()


@settings(max_examples=15)
@given(engine=NOISY, instead=NOISY, box=st.integers(0, 50))
def test_each_operator_is_answered_by_its_own_engine(engine: str, instead: str, box: int) -> None:
    backbone = connect(engine, engines={"validate": instead})
    assert backbone.ask(ASK, box=box) == connect(engine).ask(ASK, box=box)
    assert backbone.ask(CHECK, box=box, shelf=3) == connect(instead).ask(CHECK, box=box, shelf=3)
    assert backbone.request(CHECK, box=box, shelf=3) == connect(instead).request(CHECK, box=box, shelf=3)


# --- what it is called --------------------------------------------------------------------------------------------


def test_a_number_says_all_engines_and_one_noisy_one_makes_it_simulated() -> None:
    results = run("rules", {"Validate": "rules@0.6"}, seed=3)
    assert results.backbone == results.setup.engine == "rules, Validate: rules@0.6?seed=3"
    assert (results.evidence, results.by_rules) == ("simulated", True)
    assert results.folder.name.startswith("rules, Validate- rules@0.6-seed=3 synthetic seed=3 n=3 ")


def test_two_routings_are_two_runs_and_none_is_the_run_that_it_was() -> None:
    plain = run("rules@0.8")
    assert json.loads((plain.folder / "manifest.json").read_text())["engine"] == "rules@0.8"
    assert "engines" not in json.loads((plain.folder / "manifest.json").read_text())["parameters"]
    assert run("rules@0.8", {"validate": "rules@0.8"}).folder == plain.folder
    folders = {run("rules@0.8", {operator: "rules"}).folder for operator in ("realize", "validate")}
    assert len(folders | {plain.folder}) == 3


def test_an_operator_that_does_not_ask_is_refused_before_anything_is_played(tmp_path: Path) -> None:
    with pytest.raises(BadEngine, match="'valdate' .* of checking .*: realize, validate; did you mean 'validate'"):
        run("rules", {"Valdate": "rules@0.5"})
    assert not (tmp_path / "runs").exists()


def test_another_engine_is_for_all_operators() -> None:
    setup = Checking(engine="rules", engines={"validate": "rules@0.5"})
    assert setup.answered_by("rules@0.9").resolved().engine == "rules@0.9"


# --- a model for one operator -------------------------------------------------------------------------------------


def test_costs_say_who_answered_each_operator(server: ChatServer) -> None:
    server.behave(says_yes)
    results = run("rules@0.5", {"validate": "routed-a"})
    assert server.count == 9 and (results.evidence, results.by_rules) == ("simulated", False)
    table = costs(results).set_index("operator")
    assert table["engine"].to_dict() == {"realize": "rules@0.5", "validate": "routed-a"}
    assert table["tokens in"].to_dict() == {"realize": 0, "validate": 63}
    assert table.loc["realize", "dollars"] == 0 and pd.isna(table.loc["realize", "seconds"])
    assert table.loc["validate", "seconds"] >= 0 and pd.isna(table.loc["validate", "dollars"])
    assert set(table["backbone"]) == {"rules@0.5, Validate: routed-a"} and "engine" not in costs(run())


def test_the_manifest_says_each_address_and_a_cluster_checks_it(server: ChatServer) -> None:
    server.behave(says_yes)
    manifest = json.loads((run("rules", {"validate": "routed-b"}).folder / "manifest.json").read_text())
    assert manifest["address"] == f"rules, Validate: {server.address}"
    assert endpoint_of(manifest["address"]) == server.address
    assert endpoint_of("rules") == "" and endpoint_of(server.address) == server.address


# --- replay -------------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> Results:
    """A recording, named mine, of noisy rules that a model checks."""
    server.behave(says_yes)
    results = run("rules@0.5", {"validate": "routed-d?temperature=0.5"}, questions=2, seed=4)
    monkeypatch.setenv(RECORDING, "mine")
    record(results, pd.DataFrame([{"metric": "shelves", "value": 1.0}]), costs(results))
    return results


def test_a_recording_answers_all_operators(recorded: Results, server: ChatServer) -> None:
    asked = server.count
    replayed = run("replay:mine")
    assert results_of(replayed) == results_of(recorded) and server.count == asked
    assert (replayed.backbone, replayed.setup.questions, replayed.setup.seed) == (recorded.backbone, 2, 4)
    assert Checking.recorded() == ["mine"]
    assert len(read_lines(recorded.folder / "answers.jsonl")) == 12
    known = recordings.usage("checking").set_index("operator")
    assert known["engine"].to_dict() == {"realize": "rules@0.5?seed=4", "validate": "routed-d?temperature=0.5"}
    assert known["model file"].iloc[0] == f"rules, Validate: {server.address[:19]}"


def test_an_operator_of_a_replay_can_be_answered_anew(recorded: Results, server: ChatServer) -> None:
    asked = server.count
    results = run("replay:mine", {"validate": "rules"})
    assert results.backbone == "rules@0.5?seed=4, Validate: rules" and server.count == asked
    shelves = [[shelf for shelf, _ in each["pairs"]] for each in results_of(recorded)]
    assert [[shelf for shelf, _ in each["pairs"]] for each in results_of(results)] == shelves
    assert {right for each in results_of(results) for _, right in each["pairs"]} == {True, False}


def test_a_recording_can_answer_one_operator(recorded: Results, server: ChatServer) -> None:
    asked = server.count
    same = run("rules@0.5", {"validate": "replay:mine"}, questions=2, seed=4)
    assert results_of(same) == results_of(recorded) and server.count == asked
    assert same.backbone == recorded.backbone
    with pytest.raises(Unavailable, match="mine has no answer to this tests.check request"):
        run("rules", {"validate": "replay:mine"}, questions=2, seed=4)


def test_a_recording_of_all_operators_decides_the_settings(recorded: Results) -> None:
    all_of_them = Checking(engines={"realize": "replay:mine", "validate": "replay:mine"})
    assert all_of_them.resolved() == Checking(engine="replay:mine").resolved()
    assert all_of_them.resolved().questions == 2


def test_a_recording_of_one_operator_decides_no_setting_and_must_agree(recorded: Results) -> None:
    with pytest.raises(BadSetting, match="replay:mine is to answer validate and was recorded with questions=2"):
        run("rules@0.5", {"validate": "replay:mine"})
    with pytest.raises(BadSetting, match="replay:mine was recorded with questions=2, not 1"):
        run("replay:mine", questions=1)
