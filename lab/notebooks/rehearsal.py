"""The rehearsal of notebooks: each is played once with rules in the place of every model, to learn which runs it makes.

Its outputs are thrown away, since they name a model that never answered; its runs lie apart (see `lab.models.connect`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.machine.files import write_atomically
from lab.machine.paths import REHEARSAL
from lab.machine.reading import read_json
from lab.machine.scratch import scratch_folder
from lab.notebooks.execute import Job, execute
from lab.runs.forecast import Planned
from lab.runs.manifest import Manifest
from lab.runs.run import EPISODES, OPENED, USAGE, read_lines

# Empty counts as unset. Without an address and a key nothing can be paid, neither by embeddings; nothing is recorded.
OFFLINE = {name: "" for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY", "LAB_RECORDING")}


@dataclass(frozen=True)
class Rehearsal:
    """The runs that a notebook made, with stand-in names for its models. failure: why not all of them are there."""

    runs: tuple[Planned, ...]
    failure: str = ""

    def save(self, path: Path) -> None:
        """Keep it, unless it failed: the cause may be mended."""
        if not self.failure:
            runs = [[asdict(run.manifest), run.calls] for run in self.runs]
            write_atomically(path, json.dumps(runs, ensure_ascii=False).encode())

    @classmethod
    def load(cls, path: Path) -> Rehearsal:
        """What `save` kept. Raises DamagedFile."""
        runs = read_json(path, list[tuple[Manifest, dict[str, int] | None]], "Delete it; it is made anew")
        return cls(tuple(Planned(manifest, calls) for manifest, calls in runs))


def rehearse(jobs: Sequence[Job], side_by_side: int, timeout: float | None) -> list[Rehearsal]:
    """Rehearse notebooks; the jobs' own outputs are left alone."""
    with scratch_folder("lab-rehearsal-") as folder:
        places = [Path(folder).resolve() / str(number) for number in range(1, len(jobs) + 1)]
        apart = [
            _apart(job, place, f"{job.name}, rehearsal {place.name}") for job, place in zip(jobs, places, strict=True)
        ]
        outcomes = execute(apart, side_by_side, timeout)
        return [Rehearsal(_runs(Path(one.job.environment[OPENED])), one.failure) for one in outcomes]


def opened(path: Path) -> list[Path]:
    """The run folders that a notebook opened, as noted in the file that `LAB_RUNS_OPENED` named."""
    return [Path(line) for line in dict.fromkeys(path.read_text().splitlines())] if path.exists() else []


def _apart(job: Job, folder: Path, label: str) -> Job:
    # A folder of runs for each: two that rehearse one run side by side would wait for each other.
    environment = {REHEARSAL: str(folder / "runs"), OPENED: str(folder / "opened"), **OFFLINE}
    return Job(job.source, folder / "notebook.ipynb", job.parameters, folder / "figures", environment, label)


def _runs(noted: Path) -> tuple[Planned, ...]:
    found = []
    for folder in opened(noted):
        manifest = Manifest.read(folder)
        failed = any(line["error"] for line in read_lines(folder / EPISODES))  # a prompt that no rule answers, say
        calls = Counter[str]()
        for line in read_lines(folder / USAGE):
            calls.update({operator: took["calls"] for operator, took in (line["usage"] or {}).items()})
        found.append(Planned(manifest, None if failed else calls))
    return tuple(found)
