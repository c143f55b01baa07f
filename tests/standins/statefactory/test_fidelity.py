"""How faithful a reading is: precision, recall and F1 of the facts, and what each world's are held against."""

from __future__ import annotations

import pytest

from standins.statefactory.fidelity import NAMES, Compared, Fact, against, compared, facts, fidelity
from statefactory.state import entity

OPEN, SHUT, LOCKED, HERE = (
    ("chest", "state", "open"), ("chest", "state", "closed"), ("chest", "lock", "locked"), ("you", "location", "hall"),
)  # fmt: skip


def step(read: list[Fact], true: list[Fact], *unparsed: str) -> Compared:
    return Compared(frozenset(read), frozenset(true), unparsed)


@pytest.mark.parametrize("name", NAMES)
def test_every_world_says_what_its_reading_is_held_against(name: str) -> None:
    by_hand = name in ("scienceworld", "webshop")
    assert against(name) == ("hand-checked observations" if by_hand else "the simulator's state")


@pytest.mark.parametrize("name", ["scienceworld", "webshop"])
def test_a_sample_read_by_hand_is_never_cut(name: str) -> None:
    whole = list(compared(name, games=1_000))
    assert len(whole) > 30
    assert list(compared(name, games=1, seed=3)) == whole


def test_facts_are_of_every_attribute_of_every_entity() -> None:
    known = (entity("chest", {"state": "open", "lock": "locked"}), entity("you", {"location": "hall"}))
    assert facts((*known, entity("air", {}))) == {OPEN, LOCKED, HERE}
    assert facts(()) == frozenset()


def test_precision_recall_and_f1_are_of_all_facts_of_all_steps() -> None:
    found = fidelity([step([OPEN, HERE], [OPEN, HERE, LOCKED], "Glorp."), step([SHUT], [OPEN, HERE])])
    assert found.precision == pytest.approx(2 / 3)  # of OPEN, HERE, and a wrong SHUT
    assert found.recall == pytest.approx(2 / 5)
    assert found.f1 == pytest.approx(1 / 2)  # 2 * 2 / (3 + 5)
    assert (found.true_facts, found.steps, found.unparsed) == (5, 2, 1)


def test_a_reader_of_everything_is_perfect_and_one_of_nothing_scores_nothing() -> None:
    assert fidelity([step([OPEN], [OPEN])])[:3] == (1, 1, 1)
    assert fidelity([step([], [OPEN])])[:3] == (0, 0, 0)


@pytest.mark.parametrize("steps", [[], [step([OPEN], [])]])
def test_nothing_true_is_an_error_and_no_score(steps: list[Compared]) -> None:
    with pytest.raises(ValueError, match="no step has a true fact"):
        fidelity(steps)
