"""The paper's printed ALFWorld trajectories: how cut text is compared, and that their games say what is printed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.machine.paths import official_data
from statefactory.experiments.printed import CUT, agrees, replay

words = st.text("abc .", max_size=12)


@pytest.mark.parametrize(
    ("printed", "said", "same"),
    [
        ("take mug 1", "take mug 1", True),
        ("take mug 1", "take mug 12", False),
        ("take mug…", "take mug 1 from desk 1", True),
        ("take mug…", "go to mug", False),
        ("you see a bread 1… a potato 1…", "you see a bread 1, a cup 2, and a potato 1.", True),
        ("you see a bread 1… a potato 1…", "you see a potato 1, and a bread 1.", False),
        ("…hand is empty", "the hand is empty", True),
        ("…hand is empty", "the hand is empty now", False),
        ("line one… two", "line one\n  and two", True),
    ],
)
def test_cut_texts_are_compared(printed: str, said: str, same: bool) -> None:
    assert agrees(printed, said) is same


@given(words, words, words)
def test_whatever_was_cut_out_agrees(first: str, middle: str, last: str) -> None:
    assert agrees(f"{first}{CUT}{last}", f"{first} {middle} {last}")


@pytest.mark.official
def test_the_printed_games_say_what_is_printed() -> None:
    if not (official_data() / "alfworld").is_dir():
        pytest.skip(f"no alfworld in {official_data()}")
    from worlds.alfworld import load
    from worlds.alfworld.expert import Expert

    with load("official", list_actions=False) as world:
        found = replay(world, Expert(world))
    for column in ("actions", "observations", "ground truth"):
        assert found[column].tolist() == found["steps"].tolist() == [7, 5]
