"""The catalogue of runs: each run is found by its names and told in a line, whatever became of its folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from asking import Asking, Shelving, manifest
from lab.__main__ import main
from lab.machine.paths import ROOT, runs_folder
from lab.models.replay import MissingRun
from lab.results.statistics import wilson
from lab.runs import catalogue, find, runs
from lab.runs.catalogue import Entry, entries
from lab.runs.collecting import collect
from lab.runs.manifest import Manifest
from lab.runs.run import Episode, Run

PATHS = {"PYTHONPATH": f"{ROOT}:{ROOT / 'tests' / 'support'}"}
HOLD = "import sys; from asking import manifest; from lab.runs.run import Run; from pathlib import Path; "


def entry() -> Entry:
    """The only run's."""
    (found,) = entries()
    return found


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["runs", *arguments]) == 0
    return capsys.readouterr().out


# --- a line a run -----------------------------------------------------------------------------------------------


def test_a_finished_run_has_its_notebook_condition_score_and_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_NOTEBOOK", "table9_boxes.ipynb")
    results = collect(Shelving(count=40, engine="rules@0.8", seed=3), show_progress=False)
    found = entry()
    assert (found.notebook, found.condition, found.engine) == (
        "table9_boxes",
        "synthetic seed=3 count=40",
        "rules@0.8?seed=3",
    )
    assert (found.state, found.done, found.planned, found.cost) == ("finished", 40, 40, "–")
    right = sum(Shelving().judged(episode).score for episode in results.episodes.values())
    assert 0 < right < 40  # else the interval below would say nothing
    (score,) = found.scores
    assert score[3:6] == pytest.approx([100 * end for end in wilson(int(right), 40)])
    assert found.run == results.folder.name[-6:] and runs_folder() / found.folder == results.folder


def test_what_the_agent_failed_counts_as_0_and_what_was_not_measured_is_left_out() -> None:
    collect(Shelving(count=6, wrong=("000",)), show_progress=False)
    collect(Shelving(count=6, wrong=("000",), fault="OSError"), show_progress=False)
    measured, failed = sorted(entries(), key=lambda one: one.failed)
    assert (failed.failed, failed.scores[0].n, failed.scores[0].value) == (1, 6, pytest.approx(500 / 6))
    assert (measured.state, measured.told, measured.done) == ("not measured", "1 not measured", 5)
    assert (measured.scores[0].n, measured.scores[0].value) == (4, 100)  # its group of two is not whole


def test_a_killed_run_says_how_many_episodes_are_pending() -> None:
    folder = runs_folder() / "killed"
    code = f"from pathlib import Path; from asking import run_rules; run_rules(Path({str(folder)!r}), 40, 0.01)"
    with subprocess.Popen([sys.executable, "-c", code], env=os.environ | PATHS) as player:
        while player.poll() is None and not (folder / "episodes.jsonl").exists():
            time.sleep(0.02)
        player.send_signal(signal.SIGKILL)
    found = entry()
    assert found.state == "stopped" and 0 < found.done < 40
    assert found.told == f"stopped, {40 - found.done} pending"


def test_a_run_that_another_process_writes_is_running_and_is_not_disturbed() -> None:
    folder = runs_folder() / "busy"
    hold = f"{HOLD}run = Run(Path({str(folder)!r}), manifest(3)); print('open', flush=True); sys.stdin.read()"
    with subprocess.Popen(
        [sys.executable, "-c", hold], env=os.environ | PATHS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "open\n"
        assert (entry().state, entry().told) == ("running", "running, 3 pending")
        holder.kill()
    assert entry().state == "stopped"  # also from the catalogue


def test_damaged_and_foreign_folders_have_a_line_or_none_and_never_stop_the_listing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for number, name in enumerate(("whole", "manifest", "digest", "line", "foreign lines"), start=1):
        collect(Shelving(count=number), run=name, show_progress=False)
    at = runs_folder()
    (at / "manifest" / "manifest.json").write_bytes(b"{\0")
    text = (at / "digest" / "manifest.json").read_text()
    (at / "digest" / "manifest.json").write_text(text.replace('"rules"', '"rules@0.9"', 1))
    lines = (at / "line" / "episodes.jsonl").read_text()
    (at / "line" / "episodes.jsonl").write_text(lines.replace("shelves", "shelvez", 1))
    about = json.loads((at / "foreign lines" / "manifest.json").read_text())
    del about["digest"]
    (at / "foreign lines" / "manifest.json").write_text(json.dumps(about))
    (at / "foreign lines" / "episodes.jsonl").write_text('[1]\n{"other": 2}\n')
    (at / "empty" / "run.lock").mkdir(parents=True)
    (at / "bare").mkdir()
    (at / "bare" / "episodes.jsonl").touch()
    (at / "a recording").mkdir()
    shutil.copy(ROOT / "data/recordings/recipe_generator-local/manifest.json", at / "a recording")
    (at / "loop").symlink_to(at)
    states = {one.condition: one.state for one in entries()}
    damaged = dict.fromkeys(("manifest", "digest", "line", "foreign lines", "bare"), "damaged")
    assert states == {"whole": "finished"} | damaged
    shown = told(capsys)
    assert shown.count("DAMAGED: ") == 5 and "line 1 is damaged" in shown


def test_a_run_whose_class_cannot_be_had_has_its_line_without_a_score(capsys: pytest.CaptureFixture[str]) -> None:
    collect(Shelving(count=2), run="mine", show_progress=False)
    path = runs_folder() / "mine" / "manifest.json"
    path.write_text(path.read_text().replace("asking:Shelving", "of_a_notebook:Mine"))
    with Run(runs_folder() / "plain", manifest(2)) as run:
        run.append(Episode("000", 1), {"seconds": 1.0})
    collect(Asking(count=2), run="unscored", show_progress=False)
    found = {one.condition: one for one in entries()}
    assert [found[name].state for name in ("mine", "plain", "unscored")] == ["finished", "stopped", "finished"]
    assert not any(one.scores for one in found.values()) and "of_a_notebook" in found["mine"].why
    path.write_text(path.read_text().replace("of_a_notebook:Mine", "asking:Shelving"))
    assert {one.condition: len(one.scores) for one in entries()} == {"mine": 1, "plain": 0, "unscored": 0}


def test_what_was_read_is_read_again_only_when_a_run_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("one", "two"):
        collect(Shelving(count=4), run=name, show_progress=False)
    first, read = entries(), []
    real = catalogue._entry
    monkeypatch.setattr(catalogue, "_entry", lambda folder, score: read.append(folder.name) or real(folder, score))
    assert entries() == first and not read
    collect(Shelving(count=4), run="one", show_progress=False)  # nothing is pending, and nothing is written
    assert entries() == first and not read
    episodes = runs_folder() / "two" / "episodes.jsonl"
    before = episodes.stat()
    with episodes.open("ab") as file:
        file.write(b'{"torn')
    os.utime(episodes, ns=(before.st_atime_ns, before.st_mtime_ns))  # else its date is another in the next second
    assert entries() == first and read == ["two"]
    (runs_folder() / catalogue.CATALOGUE).write_text("[]")
    assert entries() == first and sorted(read) == ["one", "two", "two"]
    monkeypatch.setattr(catalogue, "code_hash", lambda: "of other code")
    assert not any(one.scores for one in entries(score=False)) and len(read) == 5
    assert entries() == first == entries(score=False) and len(read) == 7  # what has no score yet is read again for it


# --- listing ----------------------------------------------------------------------------------------------------


def test_runs_are_filtered_and_sorted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for number, (notebook, engine) in enumerate([("first", "rules"), ("second", "rules@0.2"), ("second", "rules@0.9")]):
        monkeypatch.setenv("LAB_NOTEBOOK", notebook)
        folder = collect(Shelving(count=20, engine=engine), show_progress=False).folder
        for path in folder.iterdir():
            os.utime(path, (1e9 + 86400 * number,) * 2)
    assert [one.engine for one in entries()] == ["rules@0.9", "rules@0.2", "rules"]
    assert [one.engine for one in entries("second", sort="score")] == ["rules@0.9", "rules@0.2"]
    assert [one.notebook for one in entries(engine="0.")] == ["second", "second"]
    assert len(entries(since="2001-09-10")) == 2 and not entries(since="1h") and len(entries(since="99999d")) == 3
    lines = told(capsys, "--sort", "score").splitlines()
    assert re.split(r" {2,}", lines[0]) == [
        "run", "date", "notebook", "condition", "engine", "done", "score", "evidence", "cost", "state",
    ]  # fmt: skip
    assert "all in place 100.0 % [83.9, 100.0]" in lines[1] and lines[1].endswith("finished")
    assert [re.split(r" {2,}", line)[7] for line in lines[1:]] == ["measured", "simulated", "simulated"]
    assert len(entries(since="2001-09-10T02:00+01:00")) == len(entries(since="2001-09-10 01:00Z")) == 2
    words = ("soon", "202611201230", "999999999999d", "20261120")
    for wrong, said in (
        (["--sort", "colour"], "date, notebook"),
        *((["--since", word], "7d, or 12h") for word in words),
    ):
        assert main(["runs", *wrong]) == 2 and said in capsys.readouterr().err


def test_the_list_is_a_data_frame_in_a_notebook_and_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    collect(Shelving(count=6, wrong=("001",)), show_progress=False)
    collect(Asking(count=2), show_progress=False)
    table = runs(sort="score")
    assert list(table["metric"]) == ["all in place", ""] and table["n"].tolist() == [6, 0]
    assert table["value"].tolist() == pytest.approx([500 / 6, float("nan")], nan_ok=True)
    (first, second) = json.loads(told(capsys, "--json", "--sort", "score"))
    assert first["scores"][0]["value"] == pytest.approx(500 / 6) and second["scores"] == []


def test_names_of_runs_that_could_clear_a_terminal_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    collect(Shelving(count=2), run="\x1b[2J‮evil", show_progress=False)
    assert "\\x1b[2J\\u202eevil" in told(capsys)
    for command in (["show", "evil"], ["prune", "evil"], ["runs", "--json"]):
        assert main(command) == 0 and "\x1b" not in capsys.readouterr().out


def test_no_runs_are_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(capsys).startswith("no such runs in ") and runs().empty


# --- names ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Path]]:
    """Runs with names that hold each other; the last lies in the folder of runs itself."""
    at = tmp_path_factory.mktemp("named") / "runs"
    for name in ("a", "ab", "Ab c/one", "Ab c/two", "b.c/one", "zürich (1)"):
        Run(at / name, manifest(1, seed=name)).close()
    old = at / "b.c" / "one" / "manifest.json"
    old.write_text(old.read_text().replace('"digest"', '"once"'))  # of before it was noted
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_RUNS", str(at))
        yield catalogue.folders()


@given(part=st.data())
def test_a_part_of_a_name_means_a_run_or_lists_all_that_it_may_mean(many: list[Path], part: st.DataObject) -> None:
    at = many[-1].parent
    names = {folder: folder.relative_to(at).as_posix() for folder in many}
    whole = part.draw(st.sampled_from([*names.values(), *(catalogue._digest(folder)[:12] for folder in many)]))
    start = part.draw(st.integers(0, len(whole) - 1))
    name = part.draw(st.one_of(st.just(whole[start : start + part.draw(st.integers(1, 12))]), st.text(max_size=6)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAB_RUNS", str(at))
        low = name.lower()
        exact = [one for one in many if low in (one.name.lower(), names[one].lower())]
        meant = [one for one in many if low in names[one].lower() or low and catalogue._digest(one).startswith(low)]
        try:
            found = find(name)
        except MissingRun as error:
            # What is listed is what was meant, each by a name that means it alone.
            assert len(exact) != 1 and len(meant) != 1
            assert all(names[one] in str(error) for one in meant)
            assert meant or "python -m lab runs" in str(error)
        else:
            assert found in (exact or meant) or found.resolve() in many
            assert len(exact) == 1 or len(meant) == 1 or found.resolve() in many


def test_every_run_is_found_by_its_folder_its_name_and_its_hash(
    many: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_RUNS", str(many[-1].parent))
    for folder in many:
        assert find(folder) == find(str(folder)) == find(folder.relative_to(many[-1].parent).as_posix()) == folder
        assert catalogue._digest(folder) == Manifest.read(folder).digest
        assert find(catalogue._digest(folder)) == find(catalogue._digest(folder)[:12].upper()) == folder


@pytest.mark.parametrize("name", ["", "\0", "x" * 5000, "../..", "[", "*"])
def test_odd_names_are_unknown_and_no_crash(name: str, many: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", str(many[-1].parent))
    with pytest.raises(MissingRun):
        find(name)


def test_a_misspelt_name_is_told_the_right_one(many: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_RUNS", str(many[-1].parent))
    with pytest.raises(MissingRun, match=r"did you mean 'zürich \(1\)'"):
        find("zurich (1)")
