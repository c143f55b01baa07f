"""The line that says how a run goes, and foreign text, which is shown as it can be seen."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import termios
import unicodedata
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

from lab.__main__ import main
from lab.machine import progress
from lab.machine.paths import ROOT
from lab.machine.printing import visible
from lab.notebooks.normalise import normalise
from lab.results import exports, tables


def took(tokens: int, usd: float | None) -> dict[str, Any]:
    return {"validate": {"tokens_in": tokens, "tokens_out": 10, "usd": usd}}


def test_the_line_says_progress_waits_cost_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10_000, 60))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    bar = progress.Bar(10_000, "sdp made -Validate", done=9_990)
    bar.update(5)
    bar.book(took(1000, 1.75))
    bar.book(took(1000, 0.05))
    bar.remark = "a remark"
    monkeypatch.setattr(progress, "_waiting", {1: "429", 2: "no connection", 3: "429"})
    said = "2 waiting: 429 · 1 waiting: no connection · a remark · $1.80 · 1.0 minutes left"
    assert bar.text() == f"sdp made -Validate 9,995/10,000 · {said}"
    assert bar.text(last=True) == "sdp made -Validate 9,995/10,000"


def test_without_a_price_it_says_tokens_and_rules_cost_nothing_to_be_told() -> None:
    bar = progress.Bar(3, "units")
    bar.book(took(0, 0.0) | {"seconds": 2.0})
    assert bar.text() == "units 0/3"
    bar.book(took(1990, None))
    bar.book(took(0, 1.0))
    assert bar.text() == "units 0/3 · 2,020 tokens"


def test_a_terminal_has_one_line_that_is_rewritten() -> None:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    with os.fdopen(follower, "w") as terminal:
        show = progress._on(terminal)
        show("units 0/3", False)
        show("units 3/3", True)
    shown = ""
    while "\n" not in shown:  # the system hands it on in pieces
        shown += os.read(leader, 10_000).decode()
    os.close(leader)
    assert shown.count("\n") == 1 and shown.endswith("\r\n") and "\runits 3/3" in shown


def test_a_log_gets_the_first_and_the_last_line_and_what_is_noted(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.bar(50, "units") as bar:
        for _ in range(40):
            bar.update()
        progress.note("no worker there")
        for _ in range(10):
            bar.update()
        progress.note("")
    first, noted, last = capsys.readouterr().err.splitlines()
    assert (first, last) == ("units 0/50", "units 50/50") and noted.startswith("units 40/50 · no worker there · ")


def test_the_runner_reads_the_line_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(progress.STATUS, str(tmp_path / "status"))
    monkeypatch.setattr(progress, "PAUSE", 0.0)
    with progress.bar(3, "units") as bar:
        bar.update()
        assert (tmp_path / "status").read_text().startswith("units 1/3 · ")
    assert (tmp_path / "status").read_text() == ""


CELL = """
import threading, time
from lab.machine import progress
with progress.bar(2, "made -Validate") as bar:
    progress.note("waiting for something")
    thread = threading.Thread(target=progress.waits, args=("429",))
    thread.start(); thread.join()
    time.sleep(0.4)
    bar.update(); bar.update()
progress.note("waiting for a run")
progress.say("WebShop is left out")
import huggingface_hub.utils.tqdm  # which imports tqdm for notebooks, with its warning
"""


@pytest.mark.slow
def test_a_cell_keeps_one_quiet_line_and_its_executed_copy_only_what_was_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = new_notebook(cells=[new_code_cell(CELL)])
    NotebookClient(notebook, timeout=120).execute()
    shown = [output.data["text/plain"] for output in notebook.cells[0].outputs]  # no output is a stream
    assert shown == ["made -Validate 2/2", "waiting for a run", "WebShop is left out"]
    kept = normalise(notebook).cells[0].outputs
    assert [output.data["text/plain"] for output in kept] == ["WebShop is left out"]


# --- foreign text ----------------------------------------------------------------------------------------------------


HOSTILE = "a\0b\x1b[2J\x07\x9b31m\r\u202egpj\u2028\ud83d"
SHOWN = r"a\x00b\x1b[2J\x07\x9b31m\r\u202egpj\u2028\ud83d"


def test_control_characters_are_escaped_and_texts_are_left_alone() -> None:
    assert visible(HOSTILE) == SHOWN
    for text in ("", "naïve 中文 🎉 1\u00a0000\n\tyes\r\n", "C:\\x1b"):
        assert visible(text) == text


@given(st.text())
def test_what_is_visible_moves_no_cursor_and_can_be_encoded(text: str) -> None:
    shown = visible(text)
    shown.encode()
    assert not any(unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t\r" for c in shown)
    assert visible(shown) == shown


def test_tables_show_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_FIGURES", str(tmp_path))
    for data in ({"said": [HOSTILE], "n": [1.5]}, [(HOSTILE, 1.5)], [{"said": HOSTILE, "n": 1.5}]):
        assert exports.readable(data, ["said", "n"]).to_dict("records") == [{"said": SHOWN, "n": 1.5}]
    frame = pd.DataFrame({"said": [HOSTILE[:-1]], "n": [1.5]})
    *texts, packed = sorted(tables.write(frame, "hostile"), key=lambda path: path.suffix == ".parquet")
    for path in texts:
        assert b"\x1b" not in path.read_bytes() and b"\0" not in path.read_bytes() and b"x1b" in path.read_bytes()
    assert pd.read_parquet(packed)["said"][0] == visible(HOSTILE[:-1])


def test_progress_and_errors_show_escapes(capsys: pytest.CaptureFixture) -> None:
    progress.say(HOSTILE)
    assert capsys.readouterr().err == f"{SHOWN}\n"
    assert progress.Bar(2, "run \x1b[2J").text().startswith(r"run \x1b[2J 0/2")
    assert main(["data", "fetch", "\x1b[2J"]) == 2
    assert "\x1b" not in capsys.readouterr().err
