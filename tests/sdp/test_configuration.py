"""Tables 7 to 11: every setting is listed once, as the code has it."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from sdp.adapters.travelplanner.adapter import Policy
from sdp.experiments.travelplanner import Setup
from sdp.loop import Settings
from sdp.studies import tables7to11

SETUP = Setup(data="synthetic", levels=("easy", "medium", "hard"))


@pytest.mark.parametrize("benchmark", tables7to11.TABLES)
def test_every_field_of_the_loop_and_of_the_policy_is_listed_once(benchmark: str) -> None:
    setup = SETUP if benchmark == "TravelPlanner" else tables7to11.OTHERS[benchmark]()
    listed, policy = tables7to11.settings(benchmark, setup), type(setup.policy)
    parameters = [setting.parameter for setting in listed if setting.parameter]
    names = {f"{owner.__name__}.{each.name}" for owner in (Settings, policy) for each in fields(owner)}
    assert names == {name for name in parameters if name.startswith(("Settings.", "Policy."))}
    assert len(parameters) == len(set(parameters))


@pytest.mark.slow
def test_values_are_the_codes_and_the_papers_stand_beside_them() -> None:
    lengths = tables7to11.plan_lengths(SETUP)
    assert lengths == {3: 11, 5: 17, 7: 23}  # A.2
    other = replace(SETUP, settings=Settings(budget=7), policy=Policy(undo=2))
    table = tables7to11.table(other, lengths).set_index(["benchmark", "setting"])
    assert table.loc[("TravelPlanner", "attempt budget b"), ["paper", "ours"]].tolist() == ["3", "7"]
    assert table.loc[("TravelPlanner", "Replan may undo, times"), ["paper", "ours"]].tolist() == ["retry only", "2"]
    assert table.loc[("TravelPlanner", "global step cap"), ["paper", "ours"]].tolist() == ["not recovered", "100"]
    assert table.loc[("MuSiQue", "global step cap"), ["paper", "ours"]].tolist() == ["25", "25"]
    assert table.loc[("ScienceWorld", "global step cap"), ["paper", "ours"]].tolist() == ["500", "500"]
    assert table.loc[("AssistantBench", "max narrowing steps"), ["paper", "ours"]].tolist() == ["5", "5"]
    assert set(table.index.get_level_values(0)) == set(tables7to11.TABLES)
    assert (table["evidence"].str.startswith("published") == table["place in the paper"].ne("–")).all()
    assert [name for _, name in table.index[table["data"].ne("–")]] == ["predicates, by days"], "a setting is of none"
