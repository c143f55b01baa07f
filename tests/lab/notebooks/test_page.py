"""The table of a notebook's page."""

from __future__ import annotations

import pytest

from lab.notebooks import page
from lab.results.stored import Stored


def test_a_table_that_is_too_long_says_how_many_rows_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "1_sdp/table6_ablation"
    rows = Stored().rows(name, name)
    monkeypatch.setattr(page, "MOST_ROWS", 1000)
    whole = str(page.table(name, rows)).splitlines()[1:]  # without the header
    monkeypatch.setattr(page, "MOST_ROWS", 5)
    shown = str(page.table(name, rows)).splitlines()[1:]
    assert len(whole) > len(shown) == 5
    assert [line.split() for line in shown[:4]] == [line.split() for line in whole[:4]]
    assert f"{len(whole) - 4} more rows" in shown[4]
