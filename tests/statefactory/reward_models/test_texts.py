"""Trajectories as text and tokens: a beginning's tokens are the beginning of the tokens, and truncation is counted."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from statefactory.reward_models.texts import Tokeniser, flattened

WORDS = st.text(max_size=30)
STEPS = st.lists(st.tuples(WORDS, WORDS), max_size=6)


def by_letters(text: str, add_special_tokens: bool = True) -> dict[str, Any]:
    """A tokenizer with a token a letter, and one before all if special ones are wanted."""
    return {"input_ids": [-1] * add_special_tokens + [ord(letter) for letter in text]}


def letters(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def test_the_format_is_the_paper_s() -> None:
    text = flattened("win", [("go", "a hall"), ("take", "taken")])
    assert text == (
        "<GOAL> win </GOAL> --- <ACTION> go </ACTION> <STATE> a hall </STATE> <ACTION> take </ACTION>"
        " <STATE> taken </STATE>"
    )


@settings(max_examples=40)
@given(WORDS, STEPS)
def test_the_tokens_are_those_of_the_text_and_every_end_is_a_prefix_s(goal: str, steps: list[tuple[str, str]]) -> None:
    found = Tokeniser(by_letters, 10_000).tokens(goal, steps)
    assert letters(found.ids) == flattened(goal, steps) and not found.truncated
    for number, end in enumerate(found.ends, 1):
        assert letters(found.ids[: end + 1]) == flattened(goal, steps[:number])


@settings(max_examples=40)
@given(WORDS, STEPS, st.integers(150, 400))
def test_truncation_keeps_the_goal_and_the_newest_steps(goal: str, steps: list[tuple[str, str]], most: int) -> None:
    found = Tokeniser(by_letters, most).tokens(goal, steps)
    assert len(found.ids) <= most and len(found.ends) == len(steps) - found.left_out
    assert found.truncated == (len(flattened(goal, steps)) > most)
    kept = steps[found.left_out :]
    whole = len(flattened(goal, kept)) <= most
    assert letters(found.ids) == flattened(goal, kept) if whole else len(kept) == 1
    if found.truncated and whole:
        assert len(flattened(goal, steps[found.left_out - 1 :])) > most, "one step more would have fitted"


def test_of_a_step_that_is_too_long_the_end_is_kept() -> None:
    found = Tokeniser(by_letters, 100).tokens("win", [("go", "a" * 50), ("look", "x" * 200)])
    assert found.truncated and found.left_out == 1 and len(found.ids) == 100
    assert letters(found.ids).startswith("<GOAL> win </GOAL> ---x") and letters(found.ids).endswith("x </STATE>")


def test_a_goal_that_leaves_no_room_is_an_error_that_says_so() -> None:
    with pytest.raises(ValueError, match=r"this goal has 419 tokens, more than half of 500: 'ggg"):
        Tokeniser(by_letters, 500).head("g" * 400)
