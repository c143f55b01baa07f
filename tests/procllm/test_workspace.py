"""The workspace: what is shown, what is refused without a change, and the solver that runs in the sandbox."""

from __future__ import annotations

import errno
import os
import resource
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.machine.faults import BackendDied
from lab.sandbox.program import BackendRefused, Job
from procllm.actions import Append, Read, Write
from procllm.files import ANSWER, ERRORS, NOTES, OUTPUT, PRINTED, REQUEST, SOLVER, SPECIFICATION, listed
from procllm.workspace import MOST_CHARACTERS, Workspace

DOCUMENTS = {REQUEST: "Bring me there.\nToday.", SPECIFICATION: "A problem."}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "episode", listed(solver=True, tools=False), DOCUMENTS)


def contents(folder: Path) -> dict[str, bytes]:
    """Every file under the folder, with what it holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_read_shows_the_lines_numbered_and_changes_nothing(workspace: Workspace) -> None:
    before = contents(workspace.folder)
    assert workspace.do(Read(REQUEST)).output == f"{REQUEST} holds:\n1: Bring me there.\n2: Today."
    assert contents(workspace.folder) == before


def test_write_replaces_append_adds_and_both_show_the_file(workspace: Workspace) -> None:
    workspace.do(Append(NOTES, "one\n"))
    assert workspace.do(Append(NOTES, "two\n")).output == f"Updated {NOTES}:\none\ntwo\n"
    assert workspace.do(Write(NOTES, "three")).output == f"Updated {NOTES}:\nthree"
    assert workspace.text(NOTES) == "three"


@pytest.mark.parametrize(
    "action",
    [
        Read("notes.txt"),
        Read("/etc/passwd"),
        Read("files/../files/request.txt"),
        Read("../../etc/passwd"),
        Read("./answer.txt"),
        Read("files"),
        Read(""),
        Read("answer.txt\0"),
        Write("files/new.txt", "x"),
        Write(REQUEST, "an easier request"),
        Append(SPECIFICATION, "x"),
        Write(OUTPUT, "x"),
        Write("/tmp/outside", "x"),
        Write("ANSWER.TXT", "x"),
        Write(ANSWER, "x" * (MOST_CHARACTERS + 1)),
        Write(ANSWER, "binary \0 text"),
        Write(ANSWER, "\x1b[2J"),
        Write(ANSWER, "half a character \ud800"),
    ],
    ids=repr,
)
def test_what_is_not_allowed_is_refused_in_words_and_changes_nothing(
    workspace: Workspace, action: Read | Write | Append
) -> None:
    workspace.do(Write(ANSWER, "as it was"))
    before = contents(workspace.folder)
    done = workspace.do(action)
    assert done.refused and done.output.startswith("File access denied")
    assert contents(workspace.folder) == before


def test_many_small_appends_are_stopped_at_the_same_size(workspace: Workspace) -> None:
    for _ in range(4):
        done = workspace.do(Append(ANSWER, "x" * (MOST_CHARACTERS // 3)))
    assert done.refused and len(workspace.text(ANSWER)) <= MOST_CHARACTERS


@pytest.mark.parametrize("action", [Read(ANSWER), Write(ANSWER, "mine"), Append(ANSWER, "mine")], ids=repr)
def test_a_link_in_place_of_a_file_is_not_followed(
    workspace: Workspace, tmp_path: Path, action: Read | Write | Append
) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    (workspace.folder / ANSWER).unlink()
    (workspace.folder / ANSWER).symlink_to(outside)
    done = workspace.do(action)
    assert done.refused and "secret" not in done.output and outside.read_text() == "secret"


def test_a_link_in_place_of_the_folder_of_files_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    (workspace.folder / "files").rename(tmp_path / "elsewhere")
    (workspace.folder / "files").symlink_to(tmp_path / "elsewhere")
    assert workspace.do(Read(REQUEST)).refused


ACTIONS = [Read(ANSWER), Write(ANSWER, "mine"), Append(ANSWER, "mine")]


@pytest.mark.parametrize("action", ACTIONS, ids=repr)
def test_a_folder_that_is_gone_is_a_fault_of_the_machine_and_no_refusal(
    workspace: Workspace, action: Read | Write | Append
) -> None:
    shutil.rmtree(workspace.folder)
    with pytest.raises(FileNotFoundError):
        workspace.do(action)
    with pytest.raises(FileNotFoundError):
        workspace.text(ANSWER)


def test_a_listed_file_that_is_gone_is_not_made_again(workspace: Workspace) -> None:
    (workspace.folder / ANSWER).unlink()
    with pytest.raises(FileNotFoundError):
        workspace.do(Write(ANSWER, "mine"))
    assert not (workspace.folder / ANSWER).exists()


@pytest.mark.parametrize("action", ACTIONS, ids=repr)
def test_too_many_open_files_are_a_fault_of_the_machine(workspace: Workspace, action: Read | Write | Append) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    free = os.dup(0)
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, hard))
    try:
        with pytest.raises(OSError) as raised:
            workspace.do(action)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert raised.value.errno == errno.EMFILE


def test_a_sandbox_that_fails_is_no_output_of_the_solver(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lab import sandbox

    def start(job: Job) -> None:
        shutil.rmtree(job.folder)
        raise BackendRefused("no memory for it")

    monkeypatch.setattr(sandbox, "_verdicts", {"sandlock": ""})
    monkeypatch.setattr(sandbox, "BACKENDS", {"sandlock": start})
    monkeypatch.delenv(sandbox.VARIABLE, raising=False)
    with pytest.raises(BackendDied, match="no memory for it"):
        workspace.do(Write(SOLVER, "print(1)"))
    assert workspace.text(OUTPUT) == ""


plain = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\n\t\r")
texts = st.text(plain, max_size=200)


@settings(max_examples=50)
@given(st.lists(texts, max_size=4))
def test_any_plain_text_is_kept_as_it_is(tmp_path_factory: pytest.TempPathFactory, parts: list[str]) -> None:
    workspace = Workspace(tmp_path_factory.mktemp("w"), listed(solver=False, tools=False), DOCUMENTS)
    for part in parts:
        workspace.do(Append(NOTES, part))
    assert workspace.text(NOTES) == "".join(parts)


def test_the_solver_runs_after_every_change_and_its_output_is_kept_and_shown(workspace: Workspace) -> None:
    done = workspace.do(Write(SOLVER, "print(6 * 7)"))
    assert done.output == f"Updated {SOLVER}:\nprint(6 * 7)\n{PRINTED}\n42\n\n{ERRORS}\n"
    assert workspace.text(OUTPUT) == "42\n"
    done = workspace.do(Append(SOLVER, "\n1 / 0"))
    assert "ZeroDivisionError" in done.output and workspace.text(OUTPUT) == "42\n"
    assert done.output.endswith("The program ended with status 1.")


def test_the_solver_sees_its_tools_and_no_file_of_the_workspace(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "clock.py").write_text("def now():\n    return 'noon'\n")
    workspace = Workspace(tmp_path / "episode", listed(solver=True, tools=True), DOCUMENTS, {"tools": tools})
    workspace.do(Write(SOLVER, "from tools.clock import now\nprint(now())"))
    assert workspace.text(OUTPUT) == "noon\n"
    workspace.do(Write(SOLVER, f"print(open({str(workspace.folder / REQUEST)!r}).read())"))
    assert "Bring me there" not in workspace.text(OUTPUT)
