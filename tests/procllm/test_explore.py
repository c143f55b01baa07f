"""The panel of task networks: checked as one types, played, and looked at iteration by iteration."""

from __future__ import annotations

import re
from typing import Any

import pytest

from procllm.conditions import EXTENDED, HUMAN, NONE, PLACEBO, network_of
from procllm.domains import NAMES, domain
from procllm.explore import networks
from procllm.explore.networks import Networks, checked, played, price, problems
from procllm.network import BadNetwork, write

PNG = b"\x89PNG"


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The states that were drawn, since a drawing takes a third of a second."""
    states: list[object] = []
    monkeypatch.setattr(networks, "tree", lambda network, *state: states.append(state))
    monkeypatch.setattr(networks, "png", lambda draw: draw() or PNG)
    return states


def test_a_text_is_checked_as_it_is_typed_and_the_last_good_tree_stays(drawn: list[object]) -> None:
    panel = Networks("blocks")
    good = panel.text.value
    assert "✓ 4 tasks to verify" in panel.said.value and "never used: m-solve" in panel.said.value
    before = len(drawn)
    for bad, why in ((good[:-4], "no JSON"), (good.replace("notes", "nots"), "is verified by"), ("", "no JSON")):
        panel.text.value = bad
        assert "✗" in panel.said.value and why in panel.said.value
        assert panel.play.button.disabled and "mend the network first" in panel.play.said.value
    assert len(drawn) == before and panel.picture() == PNG
    panel.text.value = good
    assert panel.said.value.startswith("✓") and not panel.play.button.disabled


def test_a_played_network_can_be_looked_at_at_every_iteration(drawn: list[object]) -> None:
    panel = Networks("blocks")
    assert panel.iteration.disabled and panel.play.button.description == "Play it (free)"
    panel.play.press()
    assert panel.played and panel.played.trajectory.success and not panel.play.said.value
    count = len(panel.played.trajectory.steps)
    assert panel.iteration.max == panel.iteration.value == count
    panel.iteration.value = 0
    assert drawn[-1] == ((), "") and panel.told.value == "before the first iteration"
    panel.iteration.value = count - 1
    assert len(drawn[-1][0]) == len(panel.played.trajectory.verified) - 1  # type: ignore[index]
    assert not panel.play.outdated
    first = panel.text.value
    panel.text.value = first.replace("unstack all blocks", "unstack every block")
    assert panel.said.value.startswith("✓") and panel.play.outdated and panel.iteration.disabled and panel.episode.value
    panel.text.value = first
    assert not panel.play.outdated and not panel.iteration.disabled


def test_an_episode_is_outdated_by_each_control_until_it_is_played_again(drawn: list[object]) -> None:
    panel = Networks("blocks")
    panel.horizon.value += 1
    assert not panel.play.outdated, "there is no result yet"
    panel.play.press()
    for box, value in ((panel.horizon, 50), (panel.engine, "rules@0.9"), (panel.problem, panel.problem.options[1])):
        before, box.value = box.value, value
        assert panel.play.outdated and "Outdated" in panel.play.mark.value
        box.value = before
        assert not panel.play.outdated
    panel.horizon.value = 50
    panel.play.press()
    assert not panel.play.outdated


def test_an_effect_that_no_rule_reads_is_refused_with_the_nearest_that_one_reads() -> None:
    human = domain("units").human
    misspelt = human.replace('"move group 2"\n', '"move grup 2"\n').replace(
        '"subtask2": "move group 2"', '"subtask2": "move grup 2"'
    )
    nearest = "nearest that can be read is 'the notes hold a move for each unit of group 2', the effect of task "
    nearest += "'move group 2'"
    for text, why in (
        (misspelt, f"task 'move grup 2', 'done: move grup 2': it knows no 'grup'. The {nearest}"),
        (
            human.replace("a move for each unit of group 2", "the right stars"),
            f"'the notes hold the right stars'. The {nearest}",
        ),
    ):
        with pytest.raises(BadNetwork, match=re.escape(why)):
            checked("units", text)
        assert checked("units", text, "gpt-4o"), "a model reads any effect"
    with pytest.raises(BadNetwork, match="No check can read"):
        played("units", problems("units")[0], misspelt)
    checked("units", human.replace("a move for each unit of group 2", "moves for all units of group 2"))
    for name in NAMES:
        for condition in (HUMAN, NONE, PLACEBO, EXTENDED):
            checked(name, write(network_of(condition, domain(name))))


def test_the_tree_is_shown_while_the_episode_goes_on(drawn: list[object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(networks, "PAUSE", 0.0)
    panel = Networks("blocks")
    panel.play_it()
    assert panel.played and len(drawn) == 1 + (len(panel.played.trajectory.steps) + 1) + 1


def test_another_domain_or_beginning_brings_its_own_network(drawn: list[object]) -> None:
    panel = Networks("blocks")
    panel.start.value = "No-TN"
    assert "✓ 1 tasks to verify" in panel.said.value
    panel.domain.value = "units"
    assert panel.problem.value.startswith("units-") and len(panel.problem.options) == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"domain": "trvel"},
            "No domain 'trvel'; did you mean 'travel'\\? choose one of travel, recipes, blocks, units",
        ),
        ({"data": "oficial"}, "data='oficial'; choose one of .*; did you mean 'official'"),
        ({"horizon": 0}, "horizon=0 must be at least 1"),
    ],
)
def test_what_there_is_not_is_refused_by_name(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Networks(**given)


def test_a_batch_is_compared_with_another_network_and_outdated_by_each_control(drawn: list[object]) -> None:
    panel = Networks("blocks", limit=2)
    first = panel.text.value
    panel.text.value = first.replace("unstack all blocks", "unstack every block")
    panel.batch.press()
    assert not panel.batch.said.value and not panel.batch.outdated
    assert [row["says"] for row in panel.comparison.rows] == ["Human-TN, edited − No-TN"]
    assert "Of 2 tasks the first scores higher on 0, the second on 0" in panel.comparison.flipped.value
    assert panel.comparison.both and panel.comparison.task.options == panel.problem.options
    table = panel.table()
    assert table["network"].tolist() == ["Human-TN, edited", "No-TN"] and table["solved"].tolist() == [2, 2]
    assert table["iterations, median"].tolist() == [
        len(side.trajectory.steps) for side in panel.pairs[panel.problem.options[0]]
    ]
    for box, value in ((panel.beside, PLACEBO), (panel.engine, "rules@0.9"), (panel.text, first)):
        before, box.value = box.value, value
        assert panel.batch.outdated and "lab-outdated" in panel.comparison._dom_classes
        box.value = before
        assert not panel.batch.outdated
    panel.text.value = ""
    assert panel.batch.button.disabled and "mend the network first" in panel.batch.said.value


def test_an_unknown_engine_is_told_beside_the_button(drawn: list[object]) -> None:
    panel = Networks("blocks")
    panel.engine.value = "rules@7"
    assert panel.play.button.disabled and "a probability between 0 and 1" in panel.play.said.value
    panel.engine.value = "some-model"
    assert panel.play.button.description == "Play it (at most 80 calls of some-model)"
    panel.play.press()
    assert "OPENAI_BASE_URL" in panel.play.said.value and panel.played is None


def test_the_price_counts_the_operators_that_a_model_answers() -> None:
    assert price("rules", 40) == "free"
    assert price("rules, Verify: m", 40) == "at most 40 calls of m"


def test_a_bad_network_is_not_played() -> None:
    with pytest.raises(BadNetwork, match="no method|No method"):
        played("blocks", problems("blocks")[0], "{}")
