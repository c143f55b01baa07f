"""How faithful a reading is: precision, recall and F1 of the facts, and what each world's are held against."""

from __future__ import annotations

import pytest

from standins.statefactory.fidelity import Compared, Fact, facts, fidelity, table
from statefactory.state import entity

OPEN, SHUT, LOCKED, HERE = (
    ("chest", "state", "open"), ("chest", "state", "closed"), ("chest", "lock", "locked"), ("you", "location", "hall"),
)  # fmt: skip


def step(read: list[Fact], true: list[Fact], *unparsed: str) -> Compared:
    return Compared(frozenset(read), frozenset(true), unparsed)


def test_every_row_says_what_the_reading_is_held_against() -> None:
    rows = table(1, 0, ["blocksworld", "scienceworld", "webshop"]).set_index("world")["against"]
    assert rows["blocksworld"] == "the simulator's state"
    assert rows["scienceworld"] == rows["webshop"] == "hand-checked observations"


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
