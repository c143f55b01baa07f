"""Answers judged as the official evaluations judge them, and evidence found."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worlds.multihop import HopTask, Paragraph, Question
from worlds.multihop.metrics import hotpotqa, judged, musique, normalised, recall

TEXT = st.text(st.sampled_from("abcé theanyesno.,!-'0 \t") | st.characters(), max_size=30)


@pytest.mark.parametrize(("text", "normal"), [
    ("The  Eiffel Tower!", "eiffel tower"),
    ("a, b", "b"),  # punctuation goes first, and an article is a word of its own then
    ("U.S.A.", "usa"),
    ("an-other theatre", "another theatre"),
    ("“Rush”", "“rush”"),  # only ASCII's punctuation goes
    ("The", ""),
    ("31 March 2020", "31 march 2020"),
])  # fmt: skip
def test_an_answer_is_normalised_as_squad_does(text: str, normal: str) -> None:
    assert normalised(text) == normal


@pytest.mark.parametrize(("said", "right", "em", "f1"), [
    ("Rush", "rush", 1, 1),
    ("the band Rush", "Rush", 0, 2 / 3),
    ("York York York", "New York", 0, 2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2)),  # a word counts as often as both
    ("yes", "Yes.", 1, 1),
    ("yes it is", "yes", 0, 0),  # no partial credit beside yes, no and noanswer
    ("no", "no man's land", 0, 0),
    ("noanswer", "the answer", 0, 0),
    ("the", "a", 1, 0),  # equal, but no word is shared
    ("Paris", "London", 0, 0),
])  # fmt: skip
def test_hotpotqa(said: str, right: str, em: float, f1: float) -> None:
    assert hotpotqa(said, right) == (em, pytest.approx(f1, abs=0))


@pytest.mark.parametrize(("said", "right", "em", "f1"), [
    ("FIFA", ["International Federation of Association Football", "FIFA"], 1, 1),
    ("yes it is", ["yes"], 0, 1 / 2),  # MuSiQue knows no special words
    ("the", ["a"], 1, 1),
    ("the", ["Rush"], 0, 0),
    ("the Rush of 1974", ["Rush", "Rush 1974"], 0, 4 / 5),
])  # fmt: skip
def test_musique(said: str, right: list[str], em: float, f1: float) -> None:
    assert musique(said, right) == (em, pytest.approx(f1, abs=0))


@given(st.text(string.ascii_letters + " ", max_size=30), TEXT)
def test_case_punctuation_and_in_f1_the_order_of_words_change_nothing(said: str, right: str) -> None:
    assert musique(f" {string.punctuation}{said.swapcase()} ", [right]) == musique(said, [right])
    backwards = " ".join(reversed(normalised(said).split()))
    assert musique(said, [right]).f1 == musique(backwards, [right]).f1


@given(TEXT, st.lists(TEXT, min_size=1, max_size=4))
def test_f1_and_em_are_shares_and_an_alias_never_lowers_them(said: str, answers: list[str]) -> None:
    few, all_ = musique(said, answers[:1]), musique(said, answers)
    assert few.em <= all_.em and few.f1 <= all_.f1
    assert all_.em in (0, 1) and 0 <= all_.f1 <= 1
    assert all_.em <= all_.f1  # what is equal shares all its words, or neither has one


@given(TEXT, TEXT)
def test_f1_is_the_same_with_the_sides_changed(said: str, right: str) -> None:
    assert hotpotqa(said, right).f1 == pytest.approx(hotpotqa(right, said).f1)
    assert hotpotqa(said, right).f1 <= musique(said, [right]).f1


def test_a_question_is_judged_by_its_own_dataset() -> None:
    question = Question(HopTask("1", "Is it?", "hotpotqa"), "yes")
    assert judged("yes indeed", question).f1 == 0
    assert judged("yes indeed", Question(HopTask("1", "Is it?", "musique"), "yes")).f1 == pytest.approx(2 / 3)
    assert judged("FIFA", Question(HopTask("1", "Who?", "hotpotqa"), "Federation", ("FIFA",))) == (1, 1)


def test_evidence_counts_only_where_it_is_known() -> None:
    gold = [Paragraph("A", "one"), Paragraph("A", "two")]
    assert recall({gold[0]}, gold) == 0.5 and recall([*gold, Paragraph("B", "")], gold) == 1
    with pytest.raises(ValueError, match="annotated"):
        recall(gold, [])
