"""The tables as declared studies: each is played from the command line by its name."""

from __future__ import annotations

import pytest

from lab.__main__ import main
from lab.runs.evaluate import Plan
from lab.runs.registry import STUDIES
from lab.runs.study import Condition
from sdp.loop import Settings
from sdp.studies.conditions import SDP, WITHOUT_CASCADE, WITHOUT_REPLAN, WITHOUT_VALIDATE
from sdp.studies.sweeps import STUDY as SWEEPS


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "played", "row"),
    [
        ("sdp-table2", "TravelPlanner", "Final Pass Rate"), ("sdp-table4", "ScienceWorld", "Overall"),
        ("sdp-table6", "HotpotQA", "-Validate, replay"),
    ],
)  # fmt: skip
def test_a_table_is_played_by_who_answers_its_benchmark(
    name: str, played: str, row: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"eval {name} --benchmarks {played} --conditions {SDP.name} --limit 1 --data synthetic --workers 1"
    assert main(words.split()) == 0
    printed = capsys.readouterr().out
    assert row in printed and f"lab eval {name} --engine {STUDIES.named(name).engine}" in printed


@pytest.mark.parametrize(
    ("condition", "mechanism"),
    [
        (WITHOUT_VALIDATE, "validate"), (WITHOUT_REPLAN, "replan"), (WITHOUT_CASCADE, "cascade"),
        (SWEEPS.condition("without Validate"), "validate"), (SWEEPS.condition("without Replan"), "replan"),
    ],
)  # fmt: skip
def test_a_condition_without_a_mechanism_is_sdp_with_that_one_switched_off(
    condition: Condition, mechanism: str
) -> None:
    assert condition.settings == {f"settings.{mechanism}": False} and condition.plays == SDP.plays
    assert getattr(Settings(), mechanism) is True and mechanism in condition.name.lower()


def test_conditions_of_a_table_have_names_of_their_own_and_one_baseline() -> None:
    for name in STUDIES.names():
        declared = STUDIES.named(name)
        names = [condition.name for condition in declared.conditions]
        assert len({*names}) == len(names) and declared.against in ("", *names), name
        assert [*Plan(name, declared, [declared.engine], {}).cells()], "it can be planned with its own settings"
