"""The reader's own code is part of what a run is known by: whoever edits a rule gets another run."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rule_tables
from asking import Asking
from lab.models import rules
from lab.runs.manifest import own_code
from lab.runs.study import Condition, Metric, Study

MINE = """
from dataclasses import dataclass
from lab import Experiment, rule
from lab.models.answers import Choice
from lab.models.prompts import choice

TOP = 3
MOVE = choice("tests.own move", "1", "act", "You walk.", "{{ doors }}", "doors", doors=list[str])

@rule(MOVE)
def first(seen):
    return Choice(choice=seen.doors[0])

def unused():
    return 1

def worth(stairs):
    return min(stairs, TOP) / TOP

@dataclass(frozen=True, kw_only=True)
class Climbing(Experiment):
    stairs: int = 2
    method = "climbing"
    packages = ("lab",)
    def tasks(self):
        return ["one"]
    def play(self, task, ledger):
        ledger.ask(MOVE, doors=["up"])
        return worth(self.stairs)
"""


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    """Import a text as a module of the reader's own."""
    monkeypatch.setattr(rules, "_rules", rule_tables.registered())

    def load(text: str, number: int) -> ModuleType:
        path = tmp_path / f"mine_{number}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location("mine", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "mine", module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.mark.parametrize(
    ("old", "new", "another"),
    [
        ("TOP = 3", "TOP = 3  # the highest", False),
        ("return 1", "return 2", False),  # nothing of the experiment uses it
        ("TOP = 3", "TOP = 4", True),
        ("seen.doors[0]", "seen.doors[-1]", True),  # a rule, found by its prompt
        ("You walk.", "You climb.", True),
        ("min(stairs", "max(stairs", True),
        ('["one"]', '["two"]', True),
        ('packages = ("lab",)', 'packages = ("lab",)\n    metric = "height"', True),
    ],
)
def test_an_edit_of_what_the_experiment_uses_is_another_run(imported, old: str, new: str, another: bool) -> None:  # noqa: ANN001
    assert old in MINE
    codes = []
    for number, text in enumerate((MINE, MINE, MINE.replace(old, new))):
        setup = imported(text, number).Climbing()
        codes.append(setup.parameters()["own_code"])
    assert codes[0] == codes[1] and (codes[0] != codes[2]) == another


def test_an_edit_of_what_a_study_plays_is_another_run(imported) -> None:  # noqa: ANN001
    inputs = []
    for number, text in enumerate((MINE, MINE, MINE.replace("TOP = 3", "TOP = 4"))):
        walk = Condition("walk", {"stairs": imported(text, number).Climbing})
        inputs.append(Study("own", ("stairs",), (walk,), (Metric("height"),)).trial().inputs())
    assert inputs[0] == inputs[1] != inputs[2] and [*inputs[0]] == ["stairs/walk/own_code"]


def test_the_suites_own_experiments_have_no_own_code() -> None:
    from sdp.experiments.travelplanner import Setup

    assert own_code(Setup) == own_code(Asking) == "" and "own_code" not in Setup().parameters()
