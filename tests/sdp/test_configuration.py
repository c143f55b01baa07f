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
    values = table[["in the paper", "here"]].agg(" | ".join, axis="columns")
    assert values["TravelPlanner", "attempt budget b"] == "3 (A.3) | 7"
    assert values["TravelPlanner", "times that Replan may undo decisions"] == "retry only (A.2) | 2"
    assert values["TravelPlanner", "global step cap"] == "not recovered | 100"
    assert values["TravelPlanner", "predicates of a plan of 3, 5 and 7 days"] == "11 / 17 / 23 (A.2) | 11 / 17 / 23"
    assert values["MuSiQue", "global step cap"] == "25 (A.6) | 25"
    assert values["ScienceWorld", "global step cap"] == "500 (A.3) | 500"
    assert values["AssistantBench", "maximum narrowing steps"] == "5 (A.4) | 5"
    assert set(table.index.get_level_values(0)) == set(tables7to11.TABLES)


@pytest.mark.slow
def test_the_page_shows_every_setting_once_and_shared_ones_apart() -> None:
    whole = tables7to11.table(Setup(data="synthetic"), tables7to11.plan_lengths(SETUP))
    shared = set(tables7to11.shown("all")["setting"])
    assert {"temperature", "Validate"} <= shared
    for benchmark in tables7to11.TABLES:
        own = tables7to11.shown(benchmark)["setting"].tolist()
        assert not shared & set(own)
        assert sorted([*own, *shared]) == sorted(whole.loc[whole["benchmark"] == benchmark, "setting"])
    with pytest.raises(ValueError, match="no settings of 'Crosswords'; choose from all, TravelPlanner"):
        tables7to11.shown("Crosswords")
