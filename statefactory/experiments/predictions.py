"""Predictors on the benchmark as a run: which methods on which pairs; what they predicted, and how far off it is.

An episode is one method on one trajectory. Of StateFactory it keeps the extracted states and goals, so that another
embedding, convention or goal is scored without asking a model again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.models import engines
from lab.models.backbone import Backbone, Ledger
from lab.runs import budget
from lab.runs.episodes import backbone_of, booked, held_by, run_of
from lab.runs.execution import Played, play_all
from lab.runs.recordings import MANIFEST
from lab.runs.run import Episode, Manifest
from statefactory.benchmark import DOMAINS, Pair, Row
from statefactory.experiments.table3 import build_all, data_of
from statefactory.extraction import Trace, extract, read_trace
from statefactory.predictors.judge import Judge, Mode
from statefactory.state import Level, Values

if TYPE_CHECKING:
    import numpy as np

METHOD = "rewardprediction"
THREADS = 8  # an endpoint is waited for
# Said first in each prompt of a world. The official program has such a text for WebShop alone; this is our own.
INSTRUCTIONS = {
    "webshop": "The world is the web site of a shop, and an observation is the text of a page; [button] stands before "
    "something to click. Every page repeats the task: that is no observation."
}


@dataclass(frozen=True)
class Extraction:
    """StateFactory's states and goals. level, values: see `statefactory.extraction.extract`."""

    title: str
    level: Level = "object_attribute"
    values: Values = "fragments"


@dataclass(frozen=True)
class Judging:
    """LLM-as-a-Judge in one of its modes."""

    title: str
    mode: Mode


METHODS: dict[str, Extraction | Judging] = {
    "statefactory": Extraction("StateFactory"),
    "sentences": Extraction("StateFactory, values as sentences", values="sentences"),
    "object_centric": Extraction("Object-centric states", "object_centric"),
    "textual": Extraction("Textual states", "textual"),
    "raw": Extraction("Raw observations", "raw"),
    "judge_intuitive": Judging("LLM-as-a-Judge, intuitive prompt", "intuitive"),
    "judge_analytic": Judging("LLM-as-a-Judge, analytic prompt", "analytic"),
    "judge_stateful": Judging("LLM-as-a-Judge, stateful", "stateful"),
}
JUDGES = tuple(name for name, method in METHODS.items() if isinstance(method, Judging))


@dataclass(frozen=True)
class Setup:
    """One experiment. methods: names of METHODS. data: "auto", "official" or "made". seed: of the benchmark and noise.

    limit: pairs a domain, 0 for all. shortest: take the shortest pairs, else pairs spread evenly over the tasks.
    """

    engine: str = "rules"
    methods: tuple[str, ...] = ("statefactory",)
    data: str = "auto"
    domains: tuple[str, ...] = DOMAINS
    limit: int = 0
    shortest: bool = False
    seed: int = 0

    def resolved(self) -> Setup:
        """The same with `data` decided, domains that can be built here, and the seed in a noisy engine's string.

        What a recording holds is decided by the recording. Raises ValueError for a method that there is not.
        """
        unknown = [name for name in self.methods if name not in METHODS]
        if unknown:
            raise ValueError(f"No method {unknown[0]!r}; choose from {', '.join(METHODS)}")
        if engines.parse(self.engine).kind == "replay":
            return self._as_recorded(backbone_of(self.engine).folder)
        built = build_all(self.data, self.seed, domains=self.domains)
        engine = engines.seeded(self.engine, self.seed)
        return replace(self, data=data_of(built), domains=tuple(built), engine=engine)

    def _as_recorded(self, folder: Path) -> Setup:
        held = json.loads((folder / MANIFEST).read_text())["parameters"]
        lists = {name: tuple(held[name]) for name in ("methods", "domains")}
        setup = replace(self, **held | lists)
        return replace(setup, domains=tuple(build_all(setup.data, setup.seed, domains=setup.domains)))

    def pairs(self) -> dict[str, list[Pair]]:
        """Domain -> the chosen pairs; those that come first are played first."""
        return {name: self._chosen(_pairs(name, self.data, self.seed)) for name in self.domains}

    def _chosen(self, pairs: list[Pair]) -> list[Pair]:
        count = min(self.limit, len(pairs)) or len(pairs)
        if self.shortest:
            return sorted(pairs, key=lambda pair: (len(pair.shaped), pair.task))[:count]
        return [pairs[number * len(pairs) // count] for number in range(count)]


@dataclass(frozen=True)
class Results:
    """What a run predicted. pairs: those that every method has finished. episodes: by task id (see `task_id`)."""

    setup: Setup
    backbone: str
    pairs: Mapping[str, list[Pair]]
    episodes: Mapping[str, Episode]
    usage: Mapping[str, Any]
    folder: Path

    @property
    def by_rules(self) -> bool:
        """Whether rules answered, also where what they answered is replayed."""
        return engines.parse(self.backbone).kind == "rules"

    @property
    def simulated(self) -> bool:
        """Whether noise stood in for a model."""
        return engines.parse(self.backbone).noisy

    def episode(self, method: str, domain: str, row: Row) -> Episode:
        """The episode of one trajectory."""
        return self.episodes[task_id(method, domain, row)]

    @cached_property
    def _traces(self) -> dict[str, Trace]:
        return {}

    def trace(self, method: str, domain: str, row: Row) -> Trace | None:
        """What was extracted along a trajectory; None where the episode failed."""
        key, episode = task_id(method, domain, row), self.episode(method, domain, row)
        if not episode.failed and key not in self._traces:
            self._traces[key] = read_trace(episode.result["trace"])
        return self._traces.get(key)

    def judged(self, method: str, domain: str, row: Row) -> np.ndarray:
        """A judge's rewards, shape (steps,). A failed episode predicts nothing: 0 at each step, and is counted."""
        import numpy as np

        episode = self.episode(method, domain, row)
        return np.zeros(len(row.trajectory)) if episode.failed else np.array(episode.result["rewards"], dtype=float)

    def counts(self, method: str) -> dict[str, int]:
        """Of the method's episodes: steps, failed episodes, unreadable answers, sentences that no rule read."""
        rows = [(domain, row) for domain, pairs in self.pairs.items() for pair in pairs for row in pair.rows]
        episodes = [self.episode(method, domain, row) for domain, row in rows]
        done = [episode.result for episode in episodes if not episode.failed]
        return {
            "steps": sum(len(row.trajectory) for _, row in rows),
            "failed": len(episodes) - len(done),
            "unreadable": sum(result["unreadable"] for result in done),
            "not understood": sum(len(result.get("trace", {}).get("not_understood", ())) for result in done),
        }


def task_id(method: str, domain: str, row: Row) -> str:
    """An episode's name in its run."""
    return f"{method}/{domain}/{row.id}"


def collect(
    setup: Setup, workers: int = 0, run: str = "", record: bool | None = None, show_progress: bool = True
) -> Results:
    """Play what is not yet in the run folder, and read the whole run.

    workers: 0 for two processes with rules, eight threads with an endpoint, and one at a time with a local model.
    run: a folder (a name goes under `runs/`); without one, a folder whose name no other experiment shares.
    record: keep the answers for `replay:`; by default only a model's. Where another process has the run open, this one
    waits. Where the budget of `lab record` is spent, the results are those of the pairs that are whole.
    Raises MissingData without the data, BudgetSpent if no pair is whole, and what the backbone raises.
    """
    setup = setup.resolved()
    backbone, kind = backbone_of(setup.engine), engines.parse(setup.engine).kind
    pairs = setup.pairs()
    ids = held_by(backbone, [task_id(*names) for names in _trajectories(setup, pairs)])
    episode = partial(_play, setup, kind in ("endpoint", "local") if record is None else record)
    with run_of(_manifest(setup, backbone, ids), run) as opened:
        try:
            threads = kind == "endpoint"
            processes = 1 if kind == "local" else 2
            backend = "threading" if threads else "loky"
            play_all(opened, episode, workers or (THREADS if threads else processes), backend, show_progress)
        except budget.BudgetSpent as spent:
            if not _whole(setup, pairs, opened.episodes):
                raise
            progress.note(str(spent))
        whole = _whole(setup, pairs, opened.episodes)
        return Results(setup, backbone.engine.label, whole, dict(opened.episodes), opened.usage(), opened.folder)


def _trajectories(setup: Setup, pairs: Mapping[str, Sequence[Pair]]) -> Iterator[tuple[str, str, Row]]:
    """Method, domain and row; a pair of every domain before the next, so that a stopped run has some of each."""
    for number in range(max(map(len, pairs.values()))):
        for method in setup.methods:
            for domain, of in pairs.items():
                yield from ((method, domain, row) for pair in of[number : number + 1] for row in pair.rows)


def _whole(setup: Setup, pairs: Mapping[str, list[Pair]], played: Mapping[str, Episode]) -> dict[str, list[Pair]]:
    """The pairs of which each method has played both trajectories; domains without one are left out."""
    whole = {domain: [pair for pair in of if _played(setup, domain, pair, played)] for domain, of in pairs.items()}
    return {domain: of for domain, of in whole.items() if of}


def _played(setup: Setup, domain: str, pair: Pair, played: Mapping[str, Episode]) -> bool:
    return all(task_id(method, domain, row) in played for method in setup.methods for row in pair.rows)


def _manifest(setup: Setup, backbone: Backbone, ids: Iterable[str]) -> Manifest:
    about = asdict(setup)
    parameters = {name: about[name] for name in ("methods", "data", "domains", "limit", "shortest", "seed")}
    address = getattr(backbone, "address", "rules")
    return Manifest.of(METHOD, setup.engine, address, parameters, ids, ("lab", "worlds", "statefactory"))


def _play(setup: Setup, record: bool, name: str) -> Played:
    method, domain, row_id = name.split("/", 2)
    row = _rows(domain, setup.data, setup.seed)[row_id]
    return booked(setup.engine, record, lambda ledger: _result(METHODS[method], ledger, domain, row))


def _result(method: Extraction | Judging, ledger: Ledger, domain: str, row: Row) -> dict[str, Any]:
    said = row.goal_description, row.actions, row.observations
    if isinstance(method, Judging):
        judgement = Judge(ledger, method.mode).judged(*said)
        return {"rewards": judgement.rewards.tolist(), "unreadable": judgement.unreadable}
    trace = extract(ledger, *said, method.level, method.values, INSTRUCTIONS.get(domain, ""))
    return {"trace": trace.to_json(), "unreadable": trace.unreadable}


@cache
def _pairs(domain: str, data: str, seed: int) -> list[Pair]:
    return build_all(data, seed, domains=(domain,))[domain].pairs()


@cache
def _rows(domain: str, data: str, seed: int) -> dict[str, Row]:
    return {row.id: row for pair in _pairs(domain, data, seed) for row in pair.rows}
