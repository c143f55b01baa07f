"""Damaged files of all kinds: what is whole is used, and the rest is named. SLOW=1 plays all cases."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from damage import FAULTS, Case, cases, played


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        # Every seventh: of each group and kind of damage.
        pytest.param(case, id=f"{case.group}, {case.name}", marks=[pytest.mark.campaign] if number % 7 else [])
        for number, case in enumerate(cases())
    ],
)
def test_a_damaged_file_is_mended_or_named_and_never_believed(case: Case) -> None:
    with tempfile.TemporaryDirectory() as folder:  # pytest's own may be entered by its user alone
        Path(folder).chmod(0o755)
        word, said = played(case, Path(folder) / "case")
    assert word not in FAULTS, said
