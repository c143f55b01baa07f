"""The doctor's checks of the worlds: what is needed is found, and what is missing is named with its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from worlds import checks
from worlds.scienceworld.paths import EASY_PATHS, PLAIN_PATHS

REMEDIES = {
    "alfworld": ["lab data fetch alfworld"], "assistantbench": ["put them into", "export SERPER_API_KEY"],
    "blocksworld": ["lab data fetch blocksworld"], "multihop": ["put them into"] * 2,
    "scienceworld": ["put rewardprediction/"], "textworld": [], "webshop": ["lab data fetch webshop"],
}  # fmt: skip


@pytest.mark.parametrize("name", REMEDIES)
def test_without_official_data_only_that_is_missing(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    found = getattr(checks, name)()
    assert all(check.ok for check in found if not check.optional), found
    missing = [check for check in found if not check.ok]
    assert len(missing) == len(REMEDIES[name])
    assert all(remedy in check.fix for check, remedy in zip(missing, REMEDIES[name], strict=True)), missing


def test_stored_gold_paths_are_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    for file in (PLAIN_PATHS, EASY_PATHS):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).touch()
    assert checks.scienceworld()[-1].ok


def test_a_compiler_that_does_not_run_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "COMPILERS", tmp_path)
    broken = checks.inform()
    assert not broken.ok and "x86-64" in broken.fix
    monkeypatch.setattr(checks, "find_spec", lambda name: None)
    assert "requirements.txt" in checks.inform().fix
