"""SDP on TravelPlanner as a run: which tasks, which loop, which policy; the results with their verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

from lab.machine import progress
from lab.machine.paths import ROOT
from lab.models import engines
from lab.models.backbone import Backbone, Ledger
from lab.runs import budget
from lab.runs.episodes import backbone_of, booked, held_by
from lab.runs.execution import Played, play_all
from lab.runs.run import Episode, Manifest, Run
from sdp.adapters.travelplanner.adapter import Policy, TravelPlannerAdapter
from sdp.adapters.travelplanner.options import Listings
from sdp.adapters.travelplanner.trip import itinerary, state_from_json
from sdp.loop import Settings, run_episode
from sdp.trajectory import Trajectory
from worlds.travelplanner import Loaded, Rates, TripTask, Verdict, evaluate, load, rates, strict_faults
from worlds.travelplanner.world import TravelPlanner

METHOD = "sdp-travelplanner"
THREADS = 8  # an endpoint is waited for; rules compute, and one process does all 120 queries in seconds


@dataclass(frozen=True)
class Setup:
    """One experiment. data: "auto", "official" or "made"; levels: which queries of the split.

    limit: 0 for all queries, else so many, spread evenly over the sorted ids and so over levels and lengths.
    seed: of the made data and of noise. trajectories: keep them in the run folder (about 60 KB an episode).
    """

    engine: str = "rules"
    data: str = "auto"
    split: str = "validation"
    levels: tuple[str, ...] = ("medium", "hard")
    limit: int = 0
    seed: int = 0
    policy: Policy = Policy()
    settings: Settings = Settings()
    trajectories: bool = True

    def resolved(self) -> Setup:
        """The same with `data` decided, and the seed in a noisy engine's string."""
        engine = engines.seeded(self.engine, self.seed)
        return replace(self, data=_loaded(self.data, self.seed).data, engine=engine)

    def tasks(self) -> list[TripTask]:
        """The chosen queries, sorted by id. Raises ValueError if there are none."""
        known = _loaded(self.data, self.seed).tasks
        if self.split not in known:
            raise ValueError(f"TravelPlanner has no split {self.split!r}; choose one of {', '.join(known)}")
        chosen = [task for task in sorted(known[self.split], key=lambda t: t.id) if task.level in self.levels]
        if not chosen:
            raise ValueError(f"No {self.split} query has a level in {self.levels}; levels are easy, medium, hard")
        count = min(self.limit, len(chosen)) or len(chosen)
        return [chosen[number * len(chosen) // count] for number in range(count)]


@dataclass(frozen=True)
class Results:
    """The episodes of a run in the order of its tasks, and what the evaluator says of them."""

    setup: Setup
    backbone: str
    tasks: list[TripTask]
    episodes: list[Episode]
    usage: Mapping[str, Any]
    folder: Path

    @property
    def model(self) -> bool:
        """Whether a model answered, now or when it was recorded."""
        return engines.parse(self.setup.engine).kind != "rules"

    @cached_property
    def plans(self) -> list[Any]:
        """The delivered plans; None where the episode failed."""
        return [None if episode.failed else episode.result["plan"] for episode in self.episodes]

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The official verdict on each plan."""
        sandbox = _loaded(self.setup.data, self.setup.seed).sandbox
        return [evaluate(task, plan, sandbox) for task, plan in zip(self.tasks, self.plans, strict=True)]

    @cached_property
    def strict_faults(self) -> list[list[str]]:
        """What an honest reader objects to in each plan, beyond the official verdict."""
        sandbox = _loaded(self.setup.data, self.setup.seed).sandbox
        return [strict_faults(task, plan, sandbox) for task, plan in zip(self.tasks, self.plans, strict=True)]

    @property
    def honest(self) -> list[bool]:
        """Final pass, and nothing that the strict reading objects to."""
        return [v.final and not faults for v, faults in zip(self.verdicts, self.strict_faults, strict=True)]

    @cached_property
    def trajectories(self) -> list[Trajectory]:
        """The trajectories of the episodes that did not fail."""
        return [Trajectory.from_json(episode.result["trajectory"]) for episode in self.episodes if not episode.failed]

    @property
    def finals(self) -> dict[str, float]:
        """Task id -> 1.0 for a final pass, else 0.0; what paired comparisons take."""
        return {task.id: float(v.final) for task, v in zip(self.tasks, self.verdicts, strict=True)}

    def rates(self, denominators: str = "stated") -> Rates:
        """The six rates over these tasks, or over the official fixed denominators."""
        return rates(self.verdicts, self.tasks, denominators)

    def total(self, name: str) -> int:
        """Sum over episodes of "calls", "steps", "replans", "tokens_in" or "tokens_out"."""
        return sum(episode.result[name] for episode in self.episodes if not episode.failed)


def collect(
    setup: Setup, workers: int = 0, run: str = "", record: bool | None = None, show_progress: bool = True,
    cluster: str = "",
) -> Results:  # fmt: skip
    """Run what is not yet in the run folder, and read the whole run.

    workers: 0 for one process with rules and 8 threads with an endpoint. run: a folder (a name goes under `runs/`);
    without one, a folder whose name no other experiment shares. record: keep the answers for `replay:`; by default only
    a model's. cluster: the address of a Dask scheduler, "tcp://host:8786" (see lab/runs/cluster.py); workers=0 is then every
    thread that it has. Where the budget of `lab record` is spent, the results are those of the finished episodes.
    Raises ManifestMismatch if the folder holds another experiment, RunBusy if it is being written, BudgetSpent if
    nothing was finished.
    """
    setup = setup.resolved()
    backbone, kind = backbone_of(setup.engine), engines.parse(setup.engine).kind
    tasks = _recorded(backbone, setup.tasks())
    manifest = _manifest(setup, backbone, tasks)
    folder = ROOT / "runs" / (run or manifest.name())
    episode = partial(_play, setup, kind in ("endpoint", "local") if record is None else record)
    threads = kind == "endpoint"  # a local model answers one at a time
    with Run(folder, manifest) as opened:
        try:
            play_all(
                opened,
                episode,
                workers or (THREADS if threads and not cluster else 0),
                "threading" if threads else "loky",
                show_progress,
                cluster,
            )
        except budget.BudgetSpent as spent:
            if not opened.episodes:
                raise
            progress.note(str(spent))
        played = [task for task in tasks if task.id in opened.episodes]
        return Results(setup, backbone.engine.label, played, opened.results(), opened.usage(), folder)


def _recorded(backbone: Backbone, tasks: list[TripTask]) -> list[TripTask]:
    """The tasks that a recording holds, where one is replayed; of any other backbone, all."""
    held = held_by(backbone, [task.id for task in tasks])
    return [task for task in tasks if task.id in held]


def _manifest(setup: Setup, backbone: Backbone, tasks: Sequence[TripTask]) -> Manifest:
    about = asdict(setup)
    parameters = {name: about[name] for name in ("data", "split", "seed", "policy", "settings", "trajectories")}
    address = getattr(backbone, "address", "rules")
    packages = ("lab", "worlds", "sdp")
    ids = [task.id for task in tasks]
    return Manifest.of(METHOD, setup.engine, address, parameters, ids, packages)


def play(setup: Setup, task_id: str, ledger: Ledger | None = None) -> Trajectory:
    """One episode, kept nowhere. Raises KeyError for a task that the split does not have."""
    setup = setup.resolved()
    loaded, ledger = _loaded(setup.data, setup.seed), ledger or Ledger(backbone_of(setup.engine))
    task = {task.id: task for task in loaded.tasks[setup.split]}[task_id]
    world = TravelPlanner(loaded.sandbox, loaded.tasks)
    adapter = TravelPlannerAdapter(task, world, _listings(setup.data, setup.seed), ledger, setup.policy)
    return run_episode(task.id, adapter, setup.settings, ledger)


def plan_of(setup: Setup, trajectory: Trajectory) -> list[dict[str, Any]]:
    """The itinerary that the last certified state makes, in the benchmark's submission format."""
    tasks = _loaded(setup.data, setup.seed).tasks[setup.split]
    task = next(task for task in tasks if task.id == trajectory.task)
    return itinerary(state_from_json(task, trajectory.states[-1]))


def _play(setup: Setup, record: bool, task_id: str) -> Played:
    return booked(setup.engine, record, lambda ledger: _result(setup, play(setup, task_id, ledger)))


def _result(setup: Setup, trajectory: Trajectory) -> dict[str, Any]:
    cost = trajectory.cost
    last = trajectory.attempts[-1].reason if trajectory.attempts else "Propose gave no usable plan"
    return {
        "plan": plan_of(setup, trajectory),
        "end": trajectory.end,
        "stuck": "" if trajectory.reached_goal else last,
        "steps": len(trajectory.attempts),
        "replans": trajectory.replans,
        "progress": trajectory.progress,
        "calls": cost.calls,
        "tokens_in": cost.tokens_in,
        "tokens_out": cost.tokens_out,
    } | ({"trajectory": trajectory.to_json()} if setup.trajectories else {})


@cache
def _loaded(data: str, seed: int) -> Loaded:
    return load(data, seed)


@cache
def _listings(data: str, seed: int) -> Listings:
    return Listings(_loaded(data, seed).sandbox)
