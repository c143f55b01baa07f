"""The floors of every benchmark: each panel loads, plays on synthetic data, and is what its table says."""

from __future__ import annotations

import math
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from lab.machine.paths import ROOT
from lab.results.floors import CEILING, COLUMNS, FLOOR, draw, ends, headroom, of_models
from lab.results.stored import METHOD, Scores, Side, Stored
from lab.runs import floors
from lab.runs.experiment import BadSetting
from lab.runs.floors import DO_NOTHING, FIRST, LAST, RANDOM, Panel

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"][
    floors.PANELS.group
]
# The others take a Java process, a game's interpreter, built pairs or official data; all are played by the notebook.
FAST = ("TravelPlanner", "HotpotQA", "BlocksWorld", "WebShop", "ProcLLM.recipes", "ProcLLM.units")


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The panels of pyproject.toml, also where an older installation is."""
    monkeypatch.setenv("LAB_RUNS", str(tmp_path))
    found = {name: EntryPoint(name, value, floors.PANELS.group) for name, value in DECLARED.items()}
    monkeypatch.setattr(floors.PANELS, "_declared", found)


@pytest.mark.parametrize("name", DECLARED)
def test_every_declared_benchmark_has_agents_without_skill_and_a_ceiling(name: str) -> None:
    panel = floors.named(name)
    without = set(panel.agents) - {panel.ceiling}
    assert isinstance(panel, Panel) and without and not without & panel.lacks.keys()
    assert (panel.ceiling in panel.agents) != (panel.top is not None)
    nobody = ("first", "last", "random")
    assert all(
        setup.engine.partition("?")[0] in nobody or not setup.operators() for setup in map(panel.agents.get, without)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST)
def test_a_panel_plays_the_same_tasks_and_its_ends_are_its_best_floor_and_its_ceiling(name: str) -> None:
    played = floors.play(name, "synthetic", limit=3)
    assert len({tuple(score.of for score in one.setup.scores(one.episodes)) for one in played.values()}) == 1
    assert not any(results.by_a_model for results in played.values())
    table = floors.frame(name, played)
    assert tuple(table.columns) == COLUMNS and set(table["n"]) == {3} and set(table["data"]) == {"synthetic"}
    assert list(table["role"]) == [FLOOR] * (len(table) - 1) + [CEILING]
    assert set(table[table["role"] == FLOOR]["evidence"]) == {"measured"}
    assert table.iloc[-1]["value"] == 100 and table[table["agent"] == DO_NOTHING]["value"].item() == 0
    found = ends(table)[name]
    assert found.floor == table[table["role"] == FLOOR]["value"].max() and found.ceiling == 100


@pytest.mark.slow
def test_null_models_play_sdp_whole_and_the_first_option_is_the_best_of_them() -> None:
    played = floors.play("TravelPlanner", "synthetic", limit=10)
    values = floors.frame("TravelPlanner", played).set_index("agent")["value"]
    assert values[FIRST] > values[RANDOM] > values[LAST]
    assert played[FIRST].backbone == "first" and played[RANDOM].backbone == "random"


def test_a_panel_is_drawn_with_lower_scores_apart() -> None:
    import pandas as pd

    rows = [
        {"benchmark": name, "agent": agent, "role": role, "better": better, "metric": "m", "value": value,
         "ci_low": value, "ci_high": value, "n": 3, "evidence": "measured", "engine": "first",
         "data": "official" if name == "up" else "synthetic"}
        for name, better in (("up", "higher"), ("down", "lower"))
        for agent, role, value in (("a", FLOOR, 0.5), ("b", FLOOR, 0.7), ("c", CEILING, 1.0 if name == "up" else 0.0))
    ]  # fmt: skip
    found = ends(pd.DataFrame(rows))
    assert found == {"up": (0.7, "b", 1.0), "down": (0.5, "a", 0.0)}
    figure = draw(pd.DataFrame(rows))
    labels = [[text.get_text() for text in axes.get_yticklabels()] for axes in figure.axes]
    assert labels == [["up"], ["down (synthetic)"]], "data that is not official is named"


def test_headroom_is_a_share_of_the_way_and_unknown_without_one() -> None:
    assert headroom(60, 20, 100) == 0.5 and headroom(0.2, 0.5, 0.0) == 0.6
    assert headroom(10, 20, 100) < 0 and math.isnan(headroom(1, 1, 1)) and math.isnan(headroom(1, 0, math.nan))


def test_an_unknown_benchmark_is_named_with_a_hint() -> None:
    with pytest.raises(BadSetting, match="did you mean 'TravelPlanner'?"):
        floors.named("Travelplanner")
    with pytest.raises(BadSetting, match="os:getcwd is no function without arguments"):
        floors.named("os:getcwd")
    with pytest.raises(ImportError, match="no_module"):
        floors.named("no_module:floors")


def test_a_models_row_stands_between_the_best_floor_and_the_ceiling_of_its_own_tasks() -> None:
    def scores(condition: str, engine: str, role: str, evidence: str = "measured", **values: float) -> Scores:
        return Scores(Side("Trips", condition, engine), "pass", role, evidence, "synthetic", "replay:trips-1", values)

    sides = (
        scores("SDP", "gpt-4o", METHOD, a=1.0, b=0.0),
        scores("SDP", "rules", METHOD, a=1.0, b=1.0),
        scores("elsewhere", "gpt-4o", METHOD, z=1.0),
        scores("first", "first", FLOOR, a=0.0, b=0.0, c=1.0),
        scores("random", "random", FLOOR, a=0.2, b=0.2, c=0.2),
        scores("expert", "oracle", CEILING, "simulated", a=0.8, b=1.0, c=1.0),
    )
    stored = Stored()
    stored.__dict__["scores"] = {one.side: one for one in sides}
    sdp, elsewhere = of_models(stored).to_dict("records")
    assert (sdp["method"], sdp["value"], sdp["best floor"], sdp["floor agent"]) == ("SDP", 0.5, 0.2, "random")
    assert sdp["headroom"] == pytest.approx((0.5 - 0.2) / (0.9 - 0.2))
    assert (sdp["floor on"], elsewhere["floor on"]) == ("the same tasks", "other tasks")
    assert elsewhere["best floor"] == pytest.approx(1 / 3)


def test_headroom_of_a_distance_is_below_the_least_floor_and_an_expert_alone_covers_no_tasks() -> None:
    def scores(condition: str, engine: str, role: str, **values: float) -> Scores:
        side = Side("Rewards", condition, engine)
        return Scores(side, "EPIC distance", role, "measured", "official", "replay:rewards", values)

    sides = (
        scores("ours", "gpt-4o", METHOD, a=0.3),
        scores("Monotonic", "gpt-4o", METHOD, a=0.5),  # played beside it, and no model's
        scores("constant", "first", FLOOR, b=0.7),
        scores("monotonic", "none", FLOOR, b=0.5),
        scores("truth", "oracle", CEILING, a=0.0, b=0.1),
    )
    stored = Stored()  # with the suite's own panel, which says what is better
    stored.__dict__["scores"] = {one.side: one for one in sides}
    (ours,) = of_models(stored).to_dict("records")
    assert (ours["best floor"], ours["floor agent"], ours["floor on"]) == (0.5, "monotonic", "other tasks")
    assert ours["headroom"] == pytest.approx((0.3 - 0.5) / (0.05 - 0.5))
