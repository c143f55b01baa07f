"""Damaged files of all kinds: what is whole is used, and the rest is named (benchmarks/campaign_damaged_files.py)."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from damage import FAULTS, Case, cases, played

SOME = list(cases())[::7]  # of every group and kind of damage


@pytest.mark.parametrize("case", SOME, ids=lambda case: f"{case.group}, {case.name}")
def test_a_damaged_file_is_mended_or_named_and_never_believed(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own may be entered by its user alone
        Path(folder).chmod(0o755)
        word, said = played(case, Path(folder) / "case")
    assert word not in FAULTS, said
