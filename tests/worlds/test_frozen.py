"""The synthetic data that the repository holds is what its script writes, and a damaged file says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lab.machine.faults import DamagedFile
from lab.machine.paths import ROOT
from worlds import frozen


def test_the_script_writes_the_committed_files_again() -> None:
    command = [sys.executable, "-m", "scripts.make_synthetic", "--check"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("content", [None, b'{"id": 1}\n{"id"', b"\xff\n"])
def test_a_missing_or_damaged_file_is_named_with_its_remedy(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen, "FOLDER", tmp_path)
    if content is not None:
        (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(DamagedFile, match=r"rows\.jsonl.*Restore it"):
        frozen.read_rows("rows.jsonl")
