"""Recordings of a model's runs: small, without benchmark text, served without the model, made within a budget."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from threading import Event
from time import sleep

import pytest

from asking import ASK
from chat_server import ChatServer, Request, Response, answer
from lab.__main__ import main
from lab.machine.faults import DamagedFile, Unavailable
from lab.machine.paths import recordings_folder
from lab.models import budget
from lab.models.backbone import MalformedAnswer
from lab.models.budget import Budget, BudgetSpent
from lab.models.cache import RECORDING, AnswerCache
from lab.models.connect import _connected, connected
from lab.models.replay import MissingRun
from lab.notebooks import register
from lab.runs import collecting, planned, recordings
from lab.runs.collecting import collect
from lab.runs.study_results import Results
from sdp.adapters.travelplanner.prompts import SELECT
from sdp.studies.table2 import BENCHMARK, STUDY


def first_option(request: Request) -> Response:
    return answer({"choice": 1})


def rarely_malformed() -> Callable[[Request], Response]:
    """The third answer, and the same asked anew, is none."""
    asked = count()
    return lambda request: answer("no") if next(asked) in (2, 3) else first_option(request)


@pytest.fixture
def wanted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, server: ChatServer) -> Iterator[Path]:
    """As `lab record` sets it up; the folder of the recording."""
    of_environment = budget.of_environment
    monkeypatch.setenv(budget.VARIABLE, "{}")  # so that what `lab record` sets is taken back
    server.behave(first_option)
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))
    monkeypatch.setenv(RECORDING, "first")
    monkeypatch.setattr(collecting, "ANSWERED", [])
    yield tmp_path / "recordings" / "first"
    of_environment.cache_clear()


def run(folder: Path, name: str, engine: str, limit: int = 3) -> Results:
    trial = STUDY.trial(engine=engine, conditions=["SDP"], data="synthetic", limit=limit)
    return collect(trial, workers=1, run=str(folder / name), show_progress=False)


def written(played: Results) -> list[str]:
    return [json.dumps(episode.result, sort_keys=True) for episode in played.episodes.values()]


def allow(monkeypatch: pytest.MonkeyPatch, allowed: Budget) -> None:
    monkeypatch.setattr(budget, "of_environment", lambda: allowed)


def test_a_recorded_request_has_one_answer(wanted: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = count()  # the first answer to each box, and the same asked anew, is none
    server.behave(lambda request: answer("no" if next(asked) % 3 < 2 else {"shelf": 1, "why": "free"}))
    backbone = connected("model-m")
    for _ in range(2):
        with pytest.raises(MalformedAnswer):
            backbone.ask(ASK, box=1)
    assert server.count == 2
    next(asked)
    monkeypatch.delenv(RECORDING)
    with pytest.raises(MalformedAnswer):
        backbone.ask(ASK, box=2)
    assert backbone.ask(ASK, box=2).value.shelf == 1, "else it is asked for again"


@pytest.mark.slow
def test_replaying_plays_what_was_recorded_and_stops_at_a_request_that_was_not(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(tmp_path, "played", "model-g").record()
    assert len(run(tmp_path, "all", f"replay:{wanted}", limit=0).episodes) == 3, "of 30 queries, the recorded ones"
    changed = replace(SELECT, template=SELECT.template.replace("To decide now", "Now decide"))
    monkeypatch.setattr("sdp.adapters.travelplanner.adapter.SELECT", changed)
    with pytest.raises(Unavailable, match=r"sdp.travelplanner.select .* its wording, schema or fields differ"):
        run(tmp_path, "changed", f"replay:{wanted}")


@pytest.mark.slow
def test_a_recording_is_small_and_holds_no_text_of_the_benchmark(wanted: Path, tmp_path: Path) -> None:
    played = run(tmp_path, "played", "model-b")
    played.record()
    files = {path.name: path.read_bytes() for path in wanted.iterdir()}
    packed = files.pop("answers.jsonl.gz")
    text = b"\n".join([*files.values(), gzip.decompress(packed)]).decode()
    trips = played.part(BENCHMARK, "SDP")
    for task in trips.tasks:
        assert task.goal not in text and task.org not in text
    for plan in trips.plans:
        assert not [day["dinner"] for day in plan if day["dinner"] != "-" and day["dinner"] in text]
    assert len(packed) < 100 * sum(part["calls"] for used in played.usage.values() for part in used.values())
    first = {path.name: path.read_bytes() for path in wanted.iterdir()}
    played.record()
    assert {path.name: path.read_bytes() for path in wanted.iterdir()} == first, "twice gives the same bytes"


@pytest.mark.slow
def test_a_notebook_shows_recorded_rows_beside_the_measured_ones(wanted: Path, tmp_path: Path) -> None:
    run(tmp_path, "played", "model-d").record()
    rules = run(tmp_path, "rules", "rules")
    whole = rules.beside_published()
    row = whole.query("backbone == 'model-d' and metric == 'Final Pass Rate'").iloc[0]
    assert (row["evidence"], row["n"]) == ("measured", 3)
    assert row["source"].startswith("recording first, http://127.0.0.1")
    took = recordings.usage(STUDY.name).iloc[0]
    assert (took["recording"], took["episodes"], took["operator"]) == ("first", "3 of 3", "realize")


def test_outside_of_lab_record_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RECORDINGS", str(tmp_path / "recordings"))
    run(tmp_path, "rules", "rules").record()
    assert not (tmp_path / "recordings").exists()


@pytest.mark.slow
def test_an_unfinished_recording_goes_on_in_another_clone_and_asks_nothing_twice(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    allow(monkeypatch, Budget(calls=30))
    server.behave(rarely_malformed())
    run(tmp_path, "here", "model-h").record()
    assert {path.name for path in wanted.iterdir()} == {"manifest.json", "answers.jsonl.gz"}
    assert recordings.rows(STUDY.name).empty and recordings.names(STUDY.name) == [], "a part of the tasks says nothing"
    allow(monkeypatch, Budget())
    whole, asked = run(tmp_path, "here", "model-h"), server.count
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "another.sqlite"))
    _connected.cache_clear()
    first = json.loads((wanted / "manifest.json").read_bytes())["seconds"]
    assert recordings.resume("first").startswith("the recording first goes on from 1 of 3 tasks") and first > 0
    there = run(tmp_path, "there", "model-h")
    recorded = len(AnswerCache()) - (server.count - asked)
    # The malformed one had been asked for twice.
    assert recorded > 0 and server.count - asked == asked - recorded - 1, "the first task's are not asked for again"
    # What was played now has tuples where what was read has lists.
    assert written(there) == written(whole)
    there.record()
    about = json.loads((wanted / "manifest.json").read_bytes())
    assert about["seconds"] > first and (len(about["tasks"]), about["planned"]) == (3, 3)
    assert (recordings.resume("first"), recordings.resume("never made")) == ("", "")


def test_the_answers_of_an_unfinished_episode_are_recorded_and_not_asked_for_again(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    allow(monkeypatch, Budget(calls=30))
    played = run(tmp_path, "here", "model-u")
    played.record()
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "another.sqlite"))
    _connected.cache_clear()
    (usage,) = played.usage.values()
    assert 0 < sum(part["calls"] for part in usage.values()) < 30
    assert recordings.resume("first").startswith("the recording first goes on from 1 of 3 tasks")
    assert len(AnswerCache()) == server.count == 30
    first = (wanted / "answers.jsonl.gz").read_bytes()
    monkeypatch.setattr(collecting, "ANSWERED", [])
    played.record()
    assert (wanted / "answers.jsonl.gz").read_bytes() == first, "nor lost by a sitting that did not come to it"


@pytest.mark.slow
def test_another_run_reuses_what_was_recorded_and_asks_for_the_rest_alone(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    allow(monkeypatch, Budget(calls=30))
    run(tmp_path, "one", "model-r").record()
    allow(monkeypatch, Budget())
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "another.sqlite"))
    _connected.cache_clear()
    before = server.count
    run(tmp_path, "three", "model-r")
    anew = server.count - before
    monkeypatch.setenv("LAB_CACHE", str(tmp_path / "third.sqlite"))
    _connected.cache_clear()
    assert recordings.reuse("first").endswith(" answers of first are not asked for again")
    known, before = len(AnswerCache()), server.count
    run(tmp_path, "three again", "model-r")
    assert known > 0 and server.count - before == anew - known
    with pytest.raises(MissingRun, match="first"):
        recordings.reuse("firs")


PLANNED = """
- {name: first, tier: 1, study: sdp-table2, engine: model-p, conditions: [SDP], limit: 3, data: synthetic, workers: 1,
   hours: 1, claims: [some-claim]}
"""


@pytest.mark.slow
def test_a_planned_row_is_recorded_in_sittings_and_its_claims_wait_for_the_last(
    wanted: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted.parent.mkdir()
    (wanted.parent / planned.PLAN).write_text(PLANNED)
    assert planned.pending() == {"some-claim": "recording first: planned"}
    states = []
    for calls in (30, 30, 0):
        budget.of_environment.cache_clear()  # of a process, and each sitting has its own
        assert main(["record", "first", *(["--calls", str(calls)] if calls else [])]) == 0
        states.append(planned.plan()["first"].state)
    assert states == ["1 of 3", "2 of 3", "whole"] and planned.pending() == {}
    made = planned.plan()["first"].recording
    assert made and [sitting.calls > 0 for sitting in made.sittings] == [True] * 3
    assert recordings.names("sdp-table2") == ["first"] and (wanted / "scores.csv").exists()
    before = (wanted / "manifest.json").read_bytes()
    assert main(["record", "first"]) == 0 and "first is whole, and stays as it is" in capsys.readouterr().out
    assert (wanted / "manifest.json").read_bytes() == before
    assert main(["record"]) == 0
    assert re.search(r"first +1 +sdp-table2 +model-p +3 +whole", capsys.readouterr().out)
    assert main(["record", "first", "--name", "other"]) == 2
    assert "drop -p, --name, --reuse" in capsys.readouterr().err


def recorded(folder: Path) -> int:
    """Number of answers in a recording."""
    return len(gzip.decompress((folder / "answers.jsonl.gz").read_bytes()).splitlines())


def test_a_sitting_that_is_stopped_saves_its_answers_at_once(
    wanted: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    requests, released = count(1), Event()

    def stopped_at_the_40th(request: Request) -> Response:
        if next(requests) == 40:
            os.kill(os.getpid(), signal.SIGTERM)
            released.wait(60)
        return first_option(request)

    server.behave(stopped_at_the_40th)
    wanted.parent.mkdir()
    (wanted.parent / planned.PLAN).write_text(PLANNED)
    assert main(["record", "first"]) == 130
    assert re.search(r"^stopped; first: 1 of 3, [\d.]+ minutes, 39 calls$", capsys.readouterr().err, re.MULTILINE)
    released.set()
    assert planned.plan()["first"].state == "1 of 3" and recorded(wanted) == 39, "all but the one under way"


def test_answers_under_way_when_the_budget_ends_are_waited_for(
    wanted: Path, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    def slowly(request: Request) -> Response:
        sleep(0.02 if server.count % 2 else 0.2)
        return first_option(request)

    server.behave(slowly)
    wanted.parent.mkdir()
    (wanted.parent / planned.PLAN).write_text(PLANNED.replace("workers: 1", "workers: 3"))
    assert main(["record", "first", "--calls", "12"]) == 0
    assert recorded(wanted) == server.count >= 12
    assert re.search(r"12 model calls is spent .*; the answers under way are waited for", capsys.readouterr().err)


def test_a_killed_sittings_answers_are_saved_without_a_call(wanted: Path, server: ChatServer) -> None:
    wanted.parent.mkdir()
    (wanted.parent / planned.PLAN).write_text(PLANNED)
    assert main(["record", "first", "--calls", "40"]) == 0
    saved = (wanted / "answers.jsonl.gz").read_bytes()
    for path in wanted.iterdir():  # as if it had been killed before it saved them
        path.unlink()
    collecting.ANSWERED.clear()
    budget.of_environment.cache_clear()
    assert main(["record", "first", "--calls", "0"]) == 0
    assert (wanted / "answers.jsonl.gz").read_bytes() == saved and server.count == recorded(wanted) == 40


MATCHED = """
- {name: first, tier: 1, study: sdp-agents-travelplanner, engine: model-m, conditions: [SDP, 'SDP, placebo'], limit: 2,
   data: synthetic, workers: 1, hours: 1}
"""


def test_a_row_with_a_matched_placebo_loses_no_answer_of_the_baseline_that_is_played_first(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: ChatServer
) -> None:
    wanted.parent.mkdir()
    (wanted.parent / planned.PLAN).write_text(MATCHED)
    states, asked = [], []
    for clone in range(6):
        monkeypatch.setenv("LAB_CACHE", str(tmp_path / f"{clone}.sqlite"))
        monkeypatch.setenv("LAB_RUNS", str(tmp_path / f"runs {clone}"))
        monkeypatch.setattr(collecting, "ANSWERED", [])
        _connected.cache_clear()
        budget.of_environment.cache_clear()
        planned.record(planned.plan()["first"], calls=30)
        states.append(planned.plan()["first"].state)
        asked += [request.text for request in server.requests]
        server.requests.clear()
        if states[-1] == "whole":
            break
    assert states[0] == "0 of 4" and states[-1] == "whole", "at first only a part of the baseline is played"
    made = planned.plan()["first"].recording
    assert made and len(made.sittings) == len(states) and "SDP, placebo:placebo" in made.parameters["options"]
    assert len(asked) == len(set(asked)), "no clone asks again"


def test_a_plan_that_makes_no_sense_is_named(wanted: Path) -> None:
    wanted.parent.mkdir()
    (wanted.parent / planned.PLAN).write_text(PLANNED.replace("tier", "colour"))
    with pytest.raises(DamagedFile, match="plan.yaml is damaged.*tier"):
        planned.plan()


def test_every_committed_row_of_the_plan_can_be_played_and_its_claims_are_registered() -> None:
    rows, known = planned.plan(), {claim.id for paper in register.papers() for claim in paper.claims}
    assert rows and {claim for row in rows.values() for claim in row.claims} <= known
    assert all(replace(row, data="synthetic").experiment().operators() for row in rows.values())


def test_a_budget_that_allows_nothing_says_so(wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allow(monkeypatch, Budget(minutes=0.0))
    with pytest.raises(BudgetSpent, match="0 minutes is spent"):
        run(tmp_path, "played", "model-f")
    assert len(run(tmp_path, "by rules", "rules").episodes) == 3, "what rules answer costs nothing of a budget"


@pytest.mark.slow
def test_one_damaged_recording_loses_its_own_rows_alone_and_is_named_once(
    wanted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("first", "second", "third"):
        monkeypatch.setenv(RECORDING, name)
        run(tmp_path, name, f"model-{name}").record()
    rows, manifest = wanted.parent / "first" / "rows.csv", wanted.parent / "second" / "manifest.json"
    rows.write_bytes(rows.read_bytes().replace(b"measured", b"simulated"))
    manifest.write_bytes(manifest.read_bytes()[:40])
    capsys.readouterr()
    for _ in range(2):
        assert set(recordings.rows(STUDY.name)["backbone"]) == {"model-third"}
    assert set(recordings.usage(STUDY.name)["recording"]) == {"first", "third"}
    told = capsys.readouterr().err.splitlines()
    assert len(told) == 2 and str(manifest) in told[0] and str(rows) in told[1]
    assert all("left out" in line and "Restore it" in line for line in told)
    with pytest.raises(DamagedFile, match=f"{manifest} is damaged"):
        run(tmp_path, "served", "replay:second")


@pytest.mark.slow
def test_a_run_that_lost_answers_is_not_recorded(wanted: Path, tmp_path: Path) -> None:
    played = run(tmp_path, "played", "model-h")
    path = tmp_path / "played" / "answers.jsonl"
    path.write_bytes(path.read_bytes().replace(b"tokens_in", b"tokens_on", 1))
    with pytest.raises(DamagedFile, match=f"{path}, line 1 is damaged: its checksum"):
        played.record()
    with pytest.raises(DamagedFile, match=rf"{path}\.damaged.*cannot be recorded. Delete {tmp_path / 'played'}"):
        run(tmp_path, "played", "model-h").record()  # opened again, the line is set aside
    assert not wanted.exists()


def test_the_prompts_of_committed_recordings_are_worded_as_they_were_when_recorded() -> None:
    recorded = recordings.manifests()
    assert any(about.prompts for about in recorded.values())
    assert [why for name in recorded if (why := recordings.void(name))] == []


def test_the_files_of_committed_recordings_are_those_of_their_manifests() -> None:
    for name, about in recordings.manifests().items():
        for file, digest in about.sha256.items():
            content = (recordings_folder() / name / file).read_bytes()
            assert hashlib.sha256(content).hexdigest() == digest, f"{name}/{file} was changed; write its checksum"
