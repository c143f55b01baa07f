"""Builds the benchmark. Each pair is an episode of a run, so a build is parallel and resumable."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from typing import Any
from unittest.mock import patch

from lab.machine import progress
from lab.machine.files import sha256_of, write_atomically
from lab.machine.paths import ROOT
from lab.machine.scratch import scratch_folder
from lab.machine.versions import code_hash
from lab.runs.execution import Played, play_all
from lab.runs.experiment import spread
from lab.runs.run import Episode, Manifest, Run, when_free
from statefactory.benchmark.domains import BY_NAME, Domain, Replan, named
from statefactory.benchmark.other_tasks import held_out as held_out_domain
from statefactory.benchmark.published import DATASET, PUBLISHED, read_published
from statefactory.benchmark.schema import DOMAINS, FORMATS, Pair, Row, read_pairs, read_row, read_rows, write_rows
from statefactory.benchmark.trajectories import NoNegative, make_pair
from worlds.base import Expert, ListingWorld, NoSolution
from worlds.textworld.games import NoCompiler

SHIPPED = ROOT / "data" / "synthetic" / "rewardprediction"  # synthetic pairs of seed 0, with metadata of their build
COUNTED = (
    "positive_redraws",
    "negative_redraws",
    "taken_back",
    "unpadded",
)  # fields of PairBuild that are summed over pairs


class BuildFailed(RuntimeError):
    """Some pairs raised errors, so no file was written. The message names the first ones and says how to retry."""


@dataclass(frozen=True)
class Built:
    """The files of a finished domain. about: metadata of the build, as in `<domain>.about.json`.

    data: "official", "synthetic" or "published". fresh: True if this call built it, False if it existed already.
    """

    domain: str
    data: str
    jsonl: Path
    parquet: Path
    about: Mapping[str, Any]
    fresh: bool

    def pairs(self) -> list[Pair]:
        """The pairs, sorted by task."""
        return read_pairs(self.jsonl)


@dataclass(frozen=True)
class Released(Built):
    """The published pairs of a domain, which are not built. jsonl, parquet: both are the folder of these pairs."""

    limit: int = 0

    def pairs(self) -> list[Pair]:
        """The pairs, sorted by task, or `limit` of them, spread evenly. Raises as `read_published`."""
        return spread(read_published(self.domain, self.jsonl.parent), self.limit)


def released(domain: str, limit: int = 0) -> Released:
    """The published pairs of a domain. Raises as `read_published`."""
    folder = DATASET.folder / domain
    count = len(spread(read_published(domain), limit))
    metadata = {"pairs": count, "skipped": {}, "seconds": 0.0, **dict.fromkeys(COUNTED, 0)}
    return Released(domain, PUBLISHED, folder, folder, metadata, fresh=False, limit=limit)


def build(
    domain: str | Domain, data: str = "auto", seed: int = 0, limit: int = 0, workers: int = 0,
    folder: Path | None = None, show_progress: bool = True,
) -> Built:  # fmt: skip
    """Build a domain's `<domain>.jsonl` and `.parquet`, unless they exist from the same code and parameters.

    data: "auto" (official if present), "official", "synthetic", or "published", which is only read and ignores `seed`.
    seed: of the task sample, the padding and the negatives. limit: number of pairs, spread evenly; 0 for all. workers:
    processes; 0 for this one, and two more if it takes long. folder: by default one in `data/cache`. There all
    synthetic pairs of seed 0 are copied from the repository; in any other folder they are built again, which is how the
    repository's are refreshed.
    An interrupted build resumes at the next call. The files depend only on domain, data, seed, limit, the code, the
    data files and the worlds' packages.
    Raises MissingData if the requested data is absent, BuildFailed naming pairs that raised errors.
    """
    domain = named(domain) if isinstance(domain, str) else domain
    job = Job(domain, domain.resolve(data), seed, limit)
    if job.data == PUBLISHED:
        return released(domain.name, limit)
    if folder is None:
        return _kept(job, job.folder) or _shipped(job) or _built(job, job.folder, workers, show_progress)
    return _kept(job, folder) or _built(job, folder, workers, show_progress)


def build_all(
    data: str = "auto", seed: int = 0, limit: int = 0, workers: int = 0, domains: Sequence[str] = DOMAINS,
    held_out: bool = False,
) -> dict[str, Built]:  # fmt: skip
    """Build the domains one after the other, or reuse finished ones. Raises as `build`.

    data: "auto" is official if all the domains have official data, so that a table never mixes both. held_out: use the
    tasks of `statefactory.benchmark.other_tasks`. TextWorld is skipped, with a message, on machines on which its
    compiler does not run.
    """
    if data == "auto":
        kinds = {
            BY_NAME[name].resolve(data) for name in domains
        }  # resolves all domains: damaged data raises in any case
        data = "official" if kinds == {"official"} else "synthetic"
    built: dict[str, Built] = {}
    for name in domains:
        try:
            # Another notebook may be building this domain; `when_free` waits for it and reuses its files.
            domain = held_out_domain(name) if held_out else name
            built[name] = when_free(partial(build, domain, data, seed, limit, workers))
        except NoCompiler as error:
            progress.say(f"{BY_NAME[name].title} is left out: {error}")
    return built


def sample(domain: str, data: str = "auto", seed: int = 0, limit: int = 0, held_out: bool = False) -> list[Pair]:
    """A domain's pairs, or `limit` of them, spread evenly, sorted by task; none if the domain is left out here.

    If all pairs were built before, or come with the repository, they are read; otherwise only `limit` are built. Both
    give the same pairs, unless some task of the domain has none. Other arguments and errors: as for `build_all`.
    """
    to_build = limit
    if limit and data != PUBLISHED:
        tasks = held_out_domain(domain) if held_out else named(domain)
        whole = Job(tasks, tasks.resolve(data), seed, limit=0)
        to_build = 0 if _kept(whole, whole.folder) or _shipped(whole) else limit
    built = build_all(data, seed, to_build, domains=(domain,), held_out=held_out)
    return spread([pair for part in built.values() for pair in part.pairs()], limit)


def data_of(built: Mapping[str, Built]) -> str:
    """The data that all domains share: "official", "synthetic" or "published". Raises ValueError for a mixture."""
    kinds = {domain.data for domain in built.values()}
    if len(kinds) != 1:
        mixture = " and ".join(sorted(kinds)) or "nothing"
        raise ValueError(f"these domains were built from {mixture}; build them together")
    return kinds.pop()


@dataclass(frozen=True)
class OpenDomain:
    """A domain's open world, its sampled tasks by id, and its expert. source, replan: see `Domain`."""

    world: ListingWorld
    tasks: Mapping[str, Any]
    expert: Expert
    source: str
    replan: Replan

    def plan(self, task: Any, begun: Sequence[str] = ()) -> Sequence[str]:
        """The expert's remaining actions. begun: the actions just played in the world since its reset."""
        plan = self.expert.actions(task)
        return self.replan(self.world, task, plan, begun) if begun else plan


_open: dict[tuple[str, bool, str, int, int], OpenDomain] = {}


def opened(domain: Domain, data: str, seed: int, limit: int = 0) -> OpenDomain:
    """The domain's world in this process; started at the first call with these arguments, then reused."""
    key = (domain.name, domain.held_out, data, seed, limit)
    if key not in _open:
        from tqdm import tqdm

        # A lock within this process: a killed worker would leak tqdm's default, a semaphore shared between processes.
        tqdm.set_lock(RLock())
        world = domain.load(data, seed)
        chosen = domain.choose(world, data, seed)
        tasks = {task.id: task for task in spread(sorted(chosen, key=lambda task: task.id), limit)}
        _open[key] = OpenDomain(world, tasks, domain.expert(world, data), domain.sources[data], domain.replan)
    return _open[key]


def close_all() -> None:
    """Close all open worlds of this process."""
    while _open:
        _open.popitem()[1].world.close()


@dataclass(frozen=True)
class Job:
    """The parameters that a domain's files depend on, besides the code."""

    domain: Domain
    data: str
    seed: int
    limit: int

    @property
    def folder(self) -> Path:
        """The default folder of the files: ignored by git, one per data set, seed and limit."""
        limited = f"-limit{self.limit}" if self.limit else ""
        apart = "-held-out" if self.domain.held_out else ""
        return ROOT / "data" / "cache" / "benchmark" / f"{self.data}{apart}-seed{self.seed}{limited}"

    @property
    def shipped(self) -> Path:
        """The folder of the pairs that come with the repository."""
        return SHIPPED / "held_out" if self.domain.held_out else SHIPPED

    def identity(self) -> dict[str, Any]:
        """The values that must match for finished files to be reused."""
        recipe = {name: value for name, value in asdict(self.domain.recipe(self.seed)).items() if name != "domain"}
        identity = {
            "domain": self.domain.name,
            "data": self.data,
            "seed": self.seed,
            "limit": self.limit,
            "recipe": recipe,
            "code": code_hash(self.domain.code),
            "packages": {name: version(name) for name in self.domain.packages},
            "files": {path.name: sha256_of(path) for path in self.domain.files(self.data)},
        }
        if self.domain.held_out:
            identity["held_out"] = True
        return json.loads(json.dumps(identity))

    def opened(self) -> OpenDomain:
        """The world with its tasks and expert; opened once per process."""
        return opened(self.domain, self.data, self.seed, self.limit)

    def manifest(self) -> Manifest:
        """Manifest of the run whose episodes are the pairs. Tries one plan, so that a broken set-up raises once."""
        domain = self.opened()
        tasks = sorted(domain.tasks)
        with suppress(NoSolution):
            domain.plan(domain.tasks[tasks[0]])
        method = f"benchmark-{self.domain.name}{'-held-out' if self.domain.held_out else ''}"
        return Manifest.of(method, "rules", "rules", self.identity(), tasks, self.domain.code)


def _built(job: Job, folder: Path, workers: int, show_progress: bool) -> Built:
    started = time.monotonic()
    try:
        manifest = job.manifest()
        with Run(folder / "runs" / f"{job.domain.name} n={len(manifest.tasks)} {manifest.digest[:6]}", manifest) as run:
            tempfile.gettempdir()  # fixes this process's own folder of temporary files before TMPDIR changes
            # Workers are ended by a signal and cannot remove their temporary files.
            with scratch_folder("temporary-", run.folder) as scratch, patch.dict(os.environ, TMPDIR=str(scratch)):
                play_all(run, partial(play, job), workers or 2, sparing=not workers, show_progress=show_progress)
            episodes, faults = run.results(), dict(run.not_measured)
    finally:
        close_all()
    _check(episodes, faults, run.folder)
    rows = [read_row(row) for episode in episodes for row in episode.result.get("rows", [])]
    return _written(job, folder, rows, episodes, manifest, time.monotonic() - started)


def play(job: Job, task_id: str) -> Played:
    """Build one pair. A task without an expert plan or a random negative is skipped; the result states the reason."""
    domain, started = job.opened(), time.monotonic()
    task = domain.tasks[task_id]
    try:
        pair_build = make_pair(
            domain.world, task, partial(domain.plan, task), domain.source, job.domain.recipe(job.seed)
        )
    except (NoNegative, NoSolution) as reason:  # a solver that searches may find no way
        result: dict[str, Any] = {"skipped": str(reason)}
    else:
        counts = {name: getattr(pair_build, name) for name in COUNTED}
        result = {"rows": [row.to_json() for row in pair_build.pair.rows]} | counts
    return Played(result, {"seconds": round(time.monotonic() - started, 3)})


def _check(episodes: list[Episode], faults: Mapping[str, str], folder: Path) -> None:
    errors = {episode.task: str(episode.error) for episode in episodes if episode.failed} | dict(faults)
    if errors:
        lines = ((task, (error.strip() or "no message").splitlines()[-1]) for task, error in list(errors.items())[:3])
        raise BuildFailed(
            f"{len(errors)} of {len(episodes) + len(faults)} pairs failed "
            f"({'; '.join(f'{task}: {line}' for task, line in lines)}). The whole errors are in {folder}; "
            "delete that folder to try again"
        )


def _written(
    job: Job, folder: Path, rows: list[Row], episodes: list[Episode], manifest: Manifest, seconds: float
) -> Built:
    jsonl, parquet = write_rows(folder, job.domain.name, rows)
    results = {episode.task: episode.result for episode in episodes}
    metadata = {
        "identity": job.identity(),
        "surroundings": manifest.surroundings,
        "pairs": len(rows) // 2,
        "skipped": {task: result["skipped"] for task, result in results.items() if "skipped" in result},
        **{name: sum(result.get(name, 0) for result in results.values()) for name in COUNTED},
        "seconds": round(seconds, 1),
        "sha256": {path.name: sha256_of(path) for path in (jsonl, parquet)},
    }
    # Written last: it certifies that the other files are complete.
    write_atomically(_about(job, folder), json.dumps(metadata, indent=1, ensure_ascii=False).encode())
    return Built(job.domain.name, job.data, jsonl, parquet, metadata, fresh=True)


def _kept(job: Job, folder: Path) -> Built | None:
    """The finished files if they are intact and from the same code and parameters; else None."""
    path = _about(job, folder)
    if not path.exists():
        return None
    metadata = json.loads(path.read_text(encoding="utf-8"))
    jsonl, parquet = (folder / f"{job.domain.name}.{name}" for name in FORMATS)
    intact = all(p.exists() and sha256_of(p) == metadata["sha256"][p.name] for p in (jsonl, parquet))
    if metadata["identity"] != job.identity() or not intact:
        return None
    return Built(job.domain.name, job.data, jsonl, parquet, metadata, fresh=False)


def _shipped(job: Job) -> Built | None:
    """Copy the repository's pairs to the default folder; None if the repository has none with these parameters.

    The code is not compared, since it changes more often than the pairs; a test rebuilds some of them instead.
    """
    path, identity = _about(job, job.shipped), job.identity()
    if not path.exists():
        return None
    metadata = json.loads(path.read_text(encoding="utf-8"))
    if any(identity[name] != value for name, value in metadata["identity"].items()):
        return None
    files = write_rows(job.folder, job.domain.name, read_rows(job.shipped / f"{job.domain.name}.parquet"))
    metadata |= {"identity": identity, "sha256": {path.name: sha256_of(path) for path in files}}
    write_atomically(_about(job, job.folder), json.dumps(metadata, indent=1, ensure_ascii=False).encode())
    return Built(job.domain.name, job.data, *files, metadata, fresh=False)


def _about(job: Job, folder: Path) -> Path:
    return folder / f"{job.domain.name}.about.json"
