"""The panel of task networks: checked as one types, played, and looked at iteration by iteration."""

from __future__ import annotations

import json

import pytest

from procllm.explore import networks
from procllm.explore.networks import Networks, played, price, problems
from procllm.network import BadNetwork

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
    edited = json.loads(panel.text.value)
    edited["m-solve"]["effect"] = "another effect"
    panel.text.value = json.dumps(edited)
    assert panel.played is None and panel.iteration.disabled and not panel.episode.value


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
