"""Building the benchmark: a pair is an episode of a run, so it is parallel, can be killed, and goes on after it."""

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

SHIPPED = ROOT / "data" / "synthetic" / "rewardprediction"  # synthetic pairs of seed 0 and how they were built
COUNTED = ("positive_redraws", "negative_redraws", "taken_back", "unpadded")  # fields of PairBuild, summed up


class BuildFailed(RuntimeError):
    """Some pairs raised errors, so no file was written; the message names them and says how to try again."""


@dataclass(frozen=True)
class Built:
    """A finished domain. about: how it was built (see `<domain>.about.json`).

    data: "official", "synthetic" or "published". fresh: whether it was built now, or was there already.
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
    """The published pairs of a domain, of which nothing was built. jsonl, parquet: the folder in which they lie."""

    limit: int = 0

    def pairs(self) -> list[Pair]:
        """The pairs, sorted by task; of a limit so many, spread evenly. Raises as `read_published`."""
        return spread(read_published(self.domain, self.jsonl.parent), self.limit)


def released(domain: str, limit: int = 0) -> Released:
    """The published pairs of a domain. Raises ValueError naming a file that is not of their layout."""
    folder = DATASET.folder / domain
    number = len(spread(read_published(domain), limit))
    about = {"pairs": number, "skipped": {}, "seconds": 0.0, **dict.fromkeys(COUNTED, 0)}
    return Released(domain, PUBLISHED, folder, folder, about, fresh=False, limit=limit)


def build(
    domain: str | Domain, data: str = "auto", seed: int = 0, limit: int = 0, workers: int = 1,
    folder: Path | None = None, show_progress: bool = True,
) -> Built:  # fmt: skip
    """Build a domain's `<domain>.jsonl` and `.parquet`, unless they are there from the same code and parameters.

    data: "auto" (official where present), "official", "synthetic", or "published", which is read and not built, and
    has no seed. seed: of the choice of tasks, of the padding and
    of the negatives. limit: 0 for all pairs, else so many, spread evenly. folder: by default one in `data/cache`, where
    all synthetic pairs of seed 0 come from the repository; in another they are built anew, which is how those are
    refreshed. Stopped or killed, the next call goes on. The files depend on domain, data, seed and limit, on the code,
    the data's files and the worlds' packages, and on nothing else.
    Raises MissingData if official data is asked for and absent, BuildFailed naming pairs that raised errors.
    """
    domain = named(domain) if isinstance(domain, str) else domain
    job = Job(domain, domain.resolve(data), seed, limit)
    if job.data == PUBLISHED:
        return released(domain.name, limit)
    if folder is None:
        return _kept(job, job.folder) or _shipped(job) or _built(job, job.folder, workers, show_progress)
    return _kept(job, folder) or _built(job, folder, workers, show_progress)


def build_all(
    data: str = "auto", seed: int = 0, limit: int = 0, workers: int = 2, domains: Sequence[str] = DOMAINS,
    held_out: bool = False,
) -> dict[str, Built]:  # fmt: skip
    """Build the domains one after the other, or take what is kept. Raises as `build` does.

    data: "auto" is official where all the domains have it, so that a table never mixes both. TextWorld is left out,
    with a note, on a machine that its compiler does not run on. held_out: `statefactory.benchmark.other_tasks`'s tasks.
    """
    if data == "auto":
        kinds = {BY_NAME[name].resolve(data) for name in domains}  # all of them: a damaged one is told in any case
        data = "official" if kinds == {"official"} else "synthetic"
    built: dict[str, Built] = {}
    for name in domains:
        try:
            # Another notebook may be building it; then it is there when that one has finished.
            domain = held_out_domain(name) if held_out else name
            built[name] = when_free(partial(build, domain, data, seed, limit, workers))
        except NoCompiler as error:
            progress.say(f"{BY_NAME[name].title} is left out: {error}")
    return built


def data_of(built: Mapping[str, Built]) -> str:
    """What all of them were built from, "official", "synthetic" or "published". Raises ValueError for a mixture."""
    kinds = {domain.data for domain in built.values()}
    if len(kinds) != 1:
        mixture = " and ".join(sorted(kinds)) or "nothing"
        raise ValueError(f"these domains were built from {mixture}; build them together")
    return kinds.pop()


@dataclass(frozen=True)
class OpenDomain:
    """An open world, the sampled tasks by id, and the expert. source, replan: see `Domain`."""

    world: ListingWorld
    tasks: Mapping[str, Any]
    expert: Expert
    source: str
    replan: Replan

    def plan(self, task: Any, begun: Sequence[str] = ()) -> Sequence[str]:
        """The expert's actions, after those that were just played in the world."""
        plan = self.expert.actions(task)
        return self.replan(self.world, task, plan, begun) if begun else plan


_open: dict[tuple[str, bool, str, int, int], OpenDomain] = {}


def opened(domain: Domain, data: str, seed: int, limit: int = 0) -> OpenDomain:
    """The domain's world in this process, started at the first call with these arguments."""
    key = (domain.name, domain.held_out, data, seed, limit)
    if key not in _open:
        from tqdm import tqdm

        # A lock of this process alone: the default is a semaphore shared by all, which a worker that is killed leaks.
        tqdm.set_lock(RLock())
        world = domain.load(data, seed)
        chosen = domain.choose(world, data, seed)
        tasks = {task.id: task for task in spread(sorted(chosen, key=lambda task: task.id), limit)}
        _open[key] = OpenDomain(world, tasks, domain.expert(world, data), domain.sources[data], domain.replan)
    return _open[key]


def close_all() -> None:
    """Close every open world of this process."""
    while _open:
        _open.popitem()[1].world.close()


@dataclass(frozen=True)
class Job:
    """What a domain's files depend on, besides the code."""

    domain: Domain
    data: str
    seed: int
    limit: int

    @property
    def folder(self) -> Path:
        """Where the files go if nobody says: ignored by git, one folder a data set, seed and limit."""
        limited = f"-limit{self.limit}" if self.limit else ""
        apart = "-held-out" if self.domain.held_out else ""
        return ROOT / "data" / "cache" / "benchmark" / f"{self.data}{apart}-seed{self.seed}{limited}"

    @property
    def shipped(self) -> Path:
        """Where the pairs lie that come with the repository."""
        return SHIPPED / "held_out" if self.domain.held_out else SHIPPED

    def identity(self) -> dict[str, Any]:
        """What must agree for finished files to be kept."""
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
        """The world with its tasks and expert, once a process."""
        return opened(self.domain, self.data, self.seed, self.limit)

    def manifest(self) -> Manifest:
        """That of the run whose episodes are the pairs. One plan is tried: better one error than a run full of them."""
        try:
            there = self.opened()
            tasks = sorted(there.tasks)
            with suppress(NoSolution):
                there.plan(there.tasks[tasks[0]])
        finally:
            close_all()  # workers have their own
        method = f"benchmark-{self.domain.name}{'-held-out' if self.domain.held_out else ''}"
        return Manifest.of(method, "rules", "rules", self.identity(), tasks, self.domain.code)


def _built(job: Job, folder: Path, workers: int, show_progress: bool) -> Built:
    manifest = job.manifest()
    started = time.monotonic()
    with Run(folder / "runs" / f"{job.domain.name} n={len(manifest.tasks)} {manifest.digest[:6]}", manifest) as run:
        tempfile.gettempdir()  # this process keeps the place that it has for temporary files
        # Worker processes are ended by a signal, and cannot tidy up after them.
        with scratch_folder("temporary-", run.folder) as scratch, patch.dict(os.environ, TMPDIR=str(scratch)):
            try:
                play_all(run, partial(play, job), workers, show_progress=show_progress)
            finally:
                close_all()
        episodes, faults = run.results(), dict(run.not_measured)
    _check(episodes, faults, run.folder)
    rows = [read_row(row) for episode in episodes for row in episode.result.get("rows", [])]
    return _written(job, folder, rows, episodes, manifest, time.monotonic() - started)


def play(job: Job, task_id: str) -> Played:
    """One pair. A task without an expert's plan, or without a random negative, is skipped with the reason."""
    there, started = job.opened(), time.monotonic()
    task = there.tasks[task_id]
    try:
        made = make_pair(there.world, task, partial(there.plan, task), there.source, job.domain.recipe(job.seed))
    except (NoNegative, NoSolution) as reason:  # a solver that searches may find no way
        result: dict[str, Any] = {"skipped": str(reason)}
    else:
        counts = {name: getattr(made, name) for name in COUNTED}
        result = {"rows": [row.to_json() for row in made.pair.rows]} | counts
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
    about = {
        "identity": job.identity(),
        "surroundings": manifest.surroundings,
        "pairs": len(rows) // 2,
        "skipped": {task: result["skipped"] for task, result in results.items() if "skipped" in result},
        **{name: sum(result.get(name, 0) for result in results.values()) for name in COUNTED},
        "seconds": round(seconds, 1),
        "sha256": {path.name: sha256_of(path) for path in (jsonl, parquet)},
    }
    # Last, since it is what says that the files are whole.
    write_atomically(_about(job, folder), json.dumps(about, indent=1, ensure_ascii=False).encode())
    return Built(job.domain.name, job.data, jsonl, parquet, about, fresh=True)


def _kept(job: Job, folder: Path) -> Built | None:
    """The finished files, if they are whole and of this code and these parameters."""
    path = _about(job, folder)
    if not path.exists():
        return None
    about = json.loads(path.read_text(encoding="utf-8"))
    jsonl, parquet = (folder / f"{job.domain.name}.{name}" for name in FORMATS)
    whole = all(p.exists() and sha256_of(p) == about["sha256"][p.name] for p in (jsonl, parquet))
    if about["identity"] != job.identity() or not whole:
        return None
    return Built(job.domain.name, job.data, jsonl, parquet, about, fresh=False)


def _shipped(job: Job) -> Built | None:
    """The pairs that come with the repository, put where built ones go; None if these are others.

    The code is not compared, which changes more often than what it builds: a test builds some of them anew.
    """
    path, wanted = _about(job, job.shipped), job.identity()
    if not path.exists():
        return None
    about = json.loads(path.read_text(encoding="utf-8"))
    if any(wanted[name] != value for name, value in about["identity"].items()):
        return None
    files = write_rows(job.folder, job.domain.name, read_rows(job.shipped / f"{job.domain.name}.parquet"))
    about |= {"identity": wanted, "sha256": {path.name: sha256_of(path) for path in files}}
    write_atomically(_about(job, job.folder), json.dumps(about, indent=1, ensure_ascii=False).encode())
    return Built(job.domain.name, job.data, *files, about, fresh=False)


def _about(job: Job, folder: Path) -> Path:
    return folder / f"{job.domain.name}.about.json"
