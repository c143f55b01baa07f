"""Without the package of stand-ins methods, null models and recordings work, and rules say what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.machine.paths import ROOT

HIDDEN = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "standins":
            raise ModuleNotFoundError(name=name)

sys.meta_path.insert(0, Hidden())
"""


def without_stand_ins(code: str) -> str:
    command = [sys.executable, "-c", HIDDEN + code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    return done.stdout


@pytest.mark.slow
def test_methods_play_with_null_models_and_recordings_replay(tmp_path: Path) -> None:
    played = without_stand_ins(f"""
from lab import collect
from procllm.studies.figure4 import replays
from sdp.experiments.travelplanner import Setup

first = collect(Setup(engine="first", data="synthetic", limit=2), workers=1, run={str(tmp_path / "run")!r})
print(len(first.episodes), len(replays(["figure3_complexity-local"])[0].episodes) > 0)
""")
    assert played.split() == ["2", "True"]


def test_rules_and_oracles_say_that_nothing_is_registered() -> None:
    said = without_stand_ins("""
from lab import connect
from lab.models import rules
import pytest
from sdp.adapters.travelplanner.prompts import CITIES
asked = {"trip": "", "count": 1, "candidates": []}
for ask in (lambda: connect("rules").ask(CITIES, **asked), lambda: rules.knowing("agents.oracle")):
    try:
        ask()
    except Exception as error:
        print(type(error).__name__, error)
""")
    assert said.count("NoRule") == 2 and "sdp.travelplanner.cities" in said and "agents.oracle" in said
