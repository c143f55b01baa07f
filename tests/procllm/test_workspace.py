"""The workspace: what is shown, what is refused without a change, and the solver that runs in the sandbox."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lab.machine.faults import BackendDied
from lab.sandbox.program import Job
from procllm.actions import Append, Read, Write
from procllm.files import ANSWER, ERRORS, NOTES, OUTPUT, PRINTED, REQUEST, SOLVER, SPECIFICATION, listed
from procllm.workspace import MOST_CHARACTERS, Workspace

DOCUMENTS = {REQUEST: "Bring me there.\nToday.", SPECIFICATION: "A problem."}


@pytest.fixture
def workspace() -> Workspace:
    return Workspace(listed(solver=True, tools=False), DOCUMENTS)


def contents(workspace: Workspace) -> dict[str, str]:
    """Every file, with what it holds."""
    return {path: workspace.text(path) for path in workspace.files}


def test_a_read_shows_the_lines_numbered_and_changes_nothing(workspace: Workspace) -> None:
    before = contents(workspace)
    assert workspace.do(Read(REQUEST)).output == f"{REQUEST} holds:\n1: Bring me there.\n2: Today."
    assert contents(workspace) == before


def test_a_bare_file_name_is_understood_where_only_one_file_has_it(workspace: Workspace) -> None:
    assert workspace.do(Append("notes.txt", "one")).output == f"Updated {NOTES}:\none"
    assert workspace.do(Read("request.txt")).output.startswith(f"{REQUEST} holds:")
    assert workspace.do(Write("request.txt", "an easier one")).refused and "notes.txt" not in workspace.files


def test_write_replaces_append_adds_and_both_show_the_file(workspace: Workspace) -> None:
    workspace.do(Append(NOTES, "one\n"))
    assert workspace.do(Append(NOTES, "two\n")).output == f"Updated {NOTES}:\none\ntwo\n"
    assert workspace.do(Write(NOTES, "three")).output == f"Updated {NOTES}:\nthree"
    assert workspace.text(NOTES) == "three"


@pytest.mark.parametrize(
    "action",
    [
        Read("notes"),
        Read("/notes.txt"),
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
    before = contents(workspace)
    done = workspace.do(action)
    assert done.refused and done.output.startswith("File access denied")
    assert contents(workspace) == before


def test_who_writes_a_file_that_may_only_be_read_is_told_which_may_be_written(workspace: Workspace) -> None:
    assert workspace.do(Write(REQUEST, "x")).output.endswith(f"You may write {SOLVER}, {NOTES}, {ANSWER}.")


def test_many_small_appends_are_stopped_at_the_same_size(workspace: Workspace) -> None:
    for _ in range(4):
        done = workspace.do(Append(ANSWER, "x" * (MOST_CHARACTERS // 3)))
    assert done.refused and len(workspace.text(ANSWER)) <= MOST_CHARACTERS


def test_a_sandbox_that_fails_is_no_output_of_the_solver(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from lab import sandbox
    from lab.sandbox import watching

    def start(job: Job) -> None:
        shutil.rmtree(job.folder)
        raise OSError("no memory for it")

    monkeypatch.setattr(sandbox, "refusal", lambda: "")
    monkeypatch.setattr(watching, "start", start)
    with pytest.raises(BackendDied, match="no memory for it"):
        workspace.do(Write(SOLVER, "print(1)"))
    assert workspace.text(OUTPUT) == ""


@pytest.mark.slow
def test_a_solver_that_does_not_end_is_stopped(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("procllm.workspace.SOLVER_SECONDS", 0.5)
    began = time.monotonic()
    done = workspace.do(Write(SOLVER, "while True: pass"))
    assert "The program was stopped: " in done.output and time.monotonic() - began < 5


plain = st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], include_characters="\n\t\r")
texts = st.text(plain, max_size=200)


@settings(max_examples=50)
@given(st.lists(texts, max_size=4))
def test_any_plain_text_is_kept_as_it_is(parts: list[str]) -> None:
    workspace = Workspace(listed(solver=False, tools=False), DOCUMENTS)
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


def test_the_solver_sees_its_tools(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "clock.py").write_text("def now():\n    return 'noon'\n")
    workspace = Workspace(listed(solver=True, tools=True), DOCUMENTS, {"tools": tools})
    workspace.do(Write(SOLVER, "from tools.clock import now\nprint(now())"))
    assert workspace.text(OUTPUT) == "noon\n"


def test_the_solver_may_read_the_files_and_changes_only_copies(workspace: Workspace) -> None:
    workspace.do(Append(NOTES, "größer\n"))
    before = contents(workspace)
    program = f"""
for path in ({REQUEST!r}, {SPECIFICATION!r}, {NOTES!r}):
    with open(path) as file:
        print(file.read())
with open({NOTES!r}, "w") as file:
    file.write("overwritten")
import os
print(sorted(os.listdir()), sorted(os.listdir("files")))
"""
    workspace.do(Write(SOLVER, program))
    shown = ["Bring me there.", "Today.", "A problem.", "größer", ""]
    there = ["['files', 'main.py'] ['notes.txt', 'problem_specification.txt', 'request.txt']"]
    assert workspace.text(OUTPUT).splitlines() == shown + there
    assert {path: text for path, text in contents(workspace).items() if path not in (SOLVER, OUTPUT)} == {
        path: text for path, text in before.items() if path not in (SOLVER, OUTPUT)
    }
