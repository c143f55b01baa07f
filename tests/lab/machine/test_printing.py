"""What a model, a program or a server said is shown as it can be seen."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.__main__ import main
from lab.machine import progress
from lab.machine.printing import visible
from lab.results import exports, tables

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
