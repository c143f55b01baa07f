"""ProcLLM's episodes as a run: which problems under which conditions; what came of them, a row an episode.

An episode is one instance under one condition. Everything that the notebooks show is a grouping of these rows.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.models import engines
from lab.models.backbone import Backbone, Ledger
from lab.models.cache import key_of
from lab.runs import budget
from lab.runs.episodes import backbone_of, booked, held_by, run_of
from lab.runs.execution import Played, play_all
from lab.runs.recordings import MANIFEST
from lab.runs.run import Episode, Manifest
from procllm.conditions import HUMAN, LLM, NONE, network_of
from procllm.domains import Instance, domain
from procllm.generation import Made, make
from procllm.loop import HORIZON, play
from procllm.network import BadNetwork, Network, write
from procllm.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd

METHOD = "procllm"
TRAVEL = "travel"  # the one domain with official data
THREADS = 8  # an endpoint is waited for
MADE_BY = "replay:llm_networks-local-qwen2.5-coder-1.5b"  # the committed recording of LLM-TN's maker


@dataclass(frozen=True)
class Problems:
    """Some instances of a domain. size: parameters of its generator, such as (("b", 3), ("h", 2)).

    count: how many; 0 is all of Travel Planner's requests, and nothing for domains that have as many as one likes.
    """

    domain: str
    count: int
    size: tuple[tuple[str, int], ...] = ()

    @property
    def label(self) -> str:
        """The size for a table: "b=3, h=2"; "" for a domain without sizes."""
        return ", ".join(f"{name}={value}" for name, value in self.size)


@dataclass(frozen=True)
class Setup:
    """One experiment. conditions: of `procllm.conditions`. maker: the engine whose networks LLM-TN has.

    data: "auto", "official" or "made"; only Travel Planner has official data. seed: of instances and noise.
    """

    problems: tuple[Problems, ...]
    conditions: tuple[str, ...] = (HUMAN, NONE)
    engine: str = "rules"
    data: str = "auto"
    seed: int = 0
    horizon: int = HORIZON
    maker: str = MADE_BY

    def resolved(self) -> Setup:
        """The same with the seed in a noisy engine's string and `data` decided; of a recording, what it holds.

        Raises ValueError for conditions that are no list, and for a horizon below 1.
        """
        if isinstance(self.conditions, str) or self.horizon < 1:
            raise ValueError(f"conditions={self.conditions!r} must be a list, horizon={self.horizon} at least 1")
        if engines.parse(self.engine).kind == "replay":
            return self._as_recorded(backbone_of(self.engine).folder)
        travels = any(problems.domain == TRAVEL for problems in self.problems)
        data = data_of(self.data) if travels else "made"
        return replace(self, engine=engines.seeded(self.engine, self.seed), data=data)

    def _as_recorded(self, folder: Path) -> Setup:
        held = json.loads((folder / MANIFEST).read_text())["parameters"]
        held.pop("made", None)
        problems = (Problems(p["domain"], p["count"], tuple(map(tuple, p["size"]))) for p in held["problems"])
        return replace(self, **held | {"problems": tuple(problems), "conditions": tuple(held["conditions"])})

    def answered_by(self, engine: str) -> Setup:
        """The same with another engine."""
        return replace(self, engine=engine)

    def instances(self) -> dict[str, tuple[Problems, Instance]]:
        """Instance id -> where it comes from, and itself. Raises ValueError if there are none."""
        found = {
            instance.id: (problems, instance)
            for problems in self.problems
            for instance in _instances(problems, self.data, self.seed)
        }
        if not found:
            raise ValueError(f"There is nothing to play: {self.problems} has no instances; give a count above 0")
        return found


@dataclass(frozen=True)
class Results:
    """The played episodes of a run. episodes: by task id (see `task_id`), in the run's order."""

    setup: Setup
    backbone: str
    episodes: Mapping[str, Episode]
    usage: Mapping[str, Any]
    folder: Path

    @property
    def evidence(self) -> str:
        """ "simulated" where noise stood in for a model's skill, else "measured"."""
        return engines.parse(self.backbone).evidence

    @property
    def by_rules(self) -> bool:
        """Whether rules answered, also where what they answered is replayed."""
        return engines.parse(self.backbone).kind == "rules"

    @cached_property
    def trajectories(self) -> dict[str, Trajectory]:
        """Task id -> trajectory, of the episodes that did not fail."""
        return {
            name: Trajectory.from_json(episode.result) for name, episode in self.episodes.items() if not episode.failed
        }

    @cached_property
    def frame(self) -> pd.DataFrame:
        """A row an episode; see `_row`. A failed episode is no success and has no steps."""
        import pandas as pd

        instances = self.setup.instances()
        return pd.DataFrame([self._row(name, *instances[split(name)[1]]) for name in self.episodes])

    def _row(self, name: str, problems: Problems, instance: Instance) -> dict[str, Any]:
        condition, _ = split(name)
        trajectory, used = self.trajectories.get(name), self.usage.get(name) or {}
        about = {"domain": problems.domain, "size": problems.label, "condition": condition, "instance": instance.id}
        accounts = {
            field: sum(operator[field] for operator in used.values()) for field in ("calls", "tokens_in", "tokens_out")
        }
        timed = not self.by_rules and not any(operator["cached"] for operator in used.values())
        seconds = sum(operator["seconds"] for operator in used.values()) if timed else float("nan")
        return about | _outcome(trajectory) | accounts | {"seconds": seconds}


def _outcome(trajectory: Trajectory | None) -> dict[str, Any]:
    """success, and what else is counted: iterations, rejected checks, refused and unreadable actions."""
    if trajectory is None:
        missing = {"iterations": float("nan")} | dict.fromkeys(COUNTED, 0)  # nobody knows how far it came
        return {"success": False, "right": False, "ended": "failed"} | missing
    outcomes = [step.outcome for step in trajectory.steps]
    return {
        "success": trajectory.success,
        "right": trajectory.verdict.solved,
        "ended": trajectory.ended,
        "iterations": len(trajectory.steps),
    } | {name: outcomes.count(name) for name in COUNTED}


COUNTED = ("verified", "rejected", "refused", "malformed")


def task_id(condition: str, instance: Instance) -> str:
    """An episode's name in its run."""
    return f"{condition}/{instance.id}"


def split(name: str) -> tuple[str, str]:
    """Condition and instance id of an episode's name."""
    condition, _, instance = name.partition("/")
    return condition, instance


def collect(
    setup: Setup, workers: int = 0, run: str = "", record: bool | None = None, show_progress: bool = True,
    cluster: str = "",
) -> Results:  # fmt: skip
    """Play what is not yet in the run folder, and read the whole run.

    workers: 0 for two processes with rules, eight threads with an endpoint, and one at a time with a local model.
    run: a folder (a name goes under `runs/`); without one, a folder whose name no other experiment shares.
    record: keep the answers for `replay:`; by default only a model's. cluster: the address of a Dask scheduler (see
    lab/runs/cluster.py). Where another process has the run open, this one waits. Where the budget of `lab record` is spent,
    the results are those of the finished episodes.
    LLM-TN is left out, and that is told, where the maker made no usable network.
    Raises ValueError for a condition, domain or size that there is not, BudgetSpent if nothing was finished, and what
    the backbone raises.
    """
    setup = setup.resolved()
    backbone, kind = backbone_of(setup.engine), engines.parse(setup.engine).kind
    ids = held_by(backbone, _planned(setup))
    keep = kind in ("endpoint", "local") if record is None else record
    episode = partial(_play, setup, keep, _networks(setup))
    with run_of(_manifest(setup, backbone, ids), run) as opened:
        try:
            threads = kind == "endpoint"
            crew = workers or (0 if cluster else THREADS if threads else 1 if kind == "local" else 2)
            play_all(opened, episode, crew, "threading" if threads else "loky", show_progress, cluster)
        except budget.BudgetSpent as spent:
            if not opened.episodes:
                raise
            progress.note(str(spent))
        played = {name: opened.episodes[name] for name in _whole(ids, opened.episodes)}
        return Results(setup, backbone.engine.label, played, opened.usage(), opened.folder)


def _whole(ids: Sequence[str], played: Mapping[str, Episode]) -> list[str]:
    """The episodes of those instances that every condition has finished: only these can be compared."""
    unfinished = {split(name)[1] for name in ids if name not in played}
    return [name for name in ids if split(name)[1] not in unfinished]


def _networks(setup: Setup) -> dict[tuple[str, str], Network]:
    """(condition, domain) -> network, of all that can be played; the maker is asked here, and in no worker."""
    names = dict.fromkeys(problems.domain for problems in setup.problems)
    pairs = [(condition, name) for condition in setup.conditions for name in names]
    return {pair: network(*pair, setup.maker) for pair in pairs if _playable(*pair, setup.maker)}


def _planned(setup: Setup) -> list[str]:
    """The episodes, a condition beside the others on each instance, so that a stopped run has some of all."""
    names = dict.fromkeys(problems.domain for problems in setup.problems)
    played = {name: [c for c in setup.conditions if _playable(c, name, setup.maker)] for name in names}
    return [task_id(c, instance) for problems, instance in setup.instances().values() for c in played[problems.domain]]


def _playable(condition: str, name: str, maker: str) -> bool:
    try:
        network(condition, name, maker)
    except BadNetwork as error:
        _tell(f"{condition} is left out: {error}")
        return False
    return True


@cache
def _tell(message: str) -> None:
    """Once in a process: the same holds for every run of a notebook."""
    progress.note(message)


@cache
def made(name: str, maker: str) -> Made:
    """The network that the maker's engine makes for a domain."""
    return make(domain(name), backbone_of(maker))


def network(condition: str, name: str, maker: str = MADE_BY) -> Network:
    """The network of a condition in a domain. Raises as `procllm.conditions.network_of`."""
    return network_of(condition, domain(name), made(name, maker).network if condition == LLM else None)


def data_of(data: str) -> str:
    """ "official" or "made", whichever Travel Planner's instances come from. Raises as `worlds.travelplanner.load`."""
    from worlds.travelplanner import load

    return load(data).data


@cache
def _instances(problems: Problems, data: str, seed: int) -> list[Instance]:
    of_data = {"data": data} if problems.domain == TRAVEL else {}
    generate = domain(problems.domain).instances
    unknown = [name for name, _ in problems.size if name not in inspect.signature(generate).parameters]
    if unknown:
        raise ValueError(f"{problems.domain} has no size {unknown[0]!r}")
    return generate(problems.count, seed=seed, **dict(problems.size), **of_data)


def _manifest(setup: Setup, backbone: Backbone, ids: Iterable[str]) -> Manifest:
    about = asdict(setup)
    parameters = {name: about[name] for name in ("problems", "conditions", "data", "seed", "horizon", "maker")}
    # What the maker made belongs to the experiment as well: a recording of that name may be another one tomorrow.
    parameters["made"] = {
        name: key_of(write(made)) for (condition, name), made in _networks(setup).items() if condition == LLM
    }
    address = getattr(backbone, "address", "rules")
    return Manifest.of(METHOD, setup.engine, address, parameters, ids, ("lab", "worlds", "procllm"))


def _play(setup: Setup, record: bool, networks: Mapping[tuple[str, str], Network], name: str) -> Played:
    condition, instance_id = split(name)
    problems, instance = setup.instances()[instance_id]
    of_domain, used = domain(problems.domain), networks[condition, problems.domain]

    def work(ledger: Ledger) -> dict[str, Any]:
        return play(of_domain, instance, used, ledger, setup.horizon).to_json()

    return booked(setup.engine, record, work)
