"""ProcLLM's episodes as a run: which problems under which conditions; what came of them, a row an episode.

An episode is one instance under one condition. Everything that the notebooks show is a grouping of these rows.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from lab.machine import progress
from lab.models.backbone import Ledger
from lab.models.cache import key_of
from lab.models.connect import connected
from lab.results.outcomes import Judged, Score
from lab.runs import experiment
from lab.runs.experiment import NOT_KEPT, Experiment
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline
from procllm.conditions import HUMAN, LLM, NONE, network_of
from procllm.domains import Instance, domain
from procllm.generation import Made, make
from procllm.loop import HORIZON, play
from procllm.network import BadNetwork, Network, write
from procllm.prompts import ACTING, VERIFYING
from procllm.timeline import timeline
from procllm.trajectory import Trajectory

if TYPE_CHECKING:
    import pandas as pd

TRAVEL = "travel"  # the one domain with official data
SLICE = 6  # synthetic requests of it, where the count is -1
OPERATORS = (ACTING.operator, VERIFYING.operator)
MADE_BY = "replay:llm_networks-local-qwen2.5-coder-1.5b"  # the committed recording of LLM-TN's maker


@dataclass(frozen=True)
class Problems:
    """Some instances of a domain. size: parameters of its generator, such as (("b", 3), ("h", 2)).

    count: how many; 0 is all of Travel Planner's requests, and nothing for domains that have as many as one likes. -1
    is all of its official requests, and SLICE of the synthetic ones.
    """

    domain: str
    count: int
    size: tuple[tuple[str, int], ...] = ()

    @property
    def label(self) -> str:
        """The size for a table: "b=3, h=2"; "" for a domain without sizes."""
        return ", ".join(f"{name}={value}" for name, value in self.size)


@dataclass(frozen=True, kw_only=True)
class Setup(Experiment):
    """ProcLLM's loop on some problems. conditions: of `procllm.conditions`. maker: the engine of LLM-TN's networks.

    nudge: as for `procllm.loop.play`. Only Travel Planner has official data. seed: of instances and noise. networks:
    (condition, domain) -> network, of all that can be played; LLM-TN is left out, and that is told, where the maker
    made no usable network.
    """

    problems: tuple[Problems, ...] = ()
    conditions: tuple[str, ...] = (HUMAN, NONE)
    horizon: int = HORIZON
    nudge: bool = False
    maker: str = MADE_BY
    networks: Mapping[tuple[str, str], Network] = field(
        default_factory=dict, compare=False, repr=False, metadata=NOT_KEPT
    )

    method: ClassVar[str] = "procllm"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "procllm")
    # A recording was made at its own horizon, which notebooks state as a default of theirs.
    selection: ClassVar[tuple[str, ...]] = (
        "data", "limit", "problems", "conditions", "horizon", "nudge", "maker", "seed",
    )  # fmt: skip

    metric: ClassVar[str] = "success"

    @property
    def results(self) -> type[Results]:
        return Results

    def operators(self) -> tuple[str, ...]:
        """Who acts, and who verifies; LLM-TN's networks are the `maker`'s."""
        return OPERATORS

    def decided(self) -> Setup:
        """With `data` decided, and the networks: the maker is asked here, and in no worker.

        Raises ValueError for a horizon below 1 and a condition that there is not.
        """
        if self.horizon < 1:
            raise ValueError(f"horizon={self.horizon} must be at least 1")
        domains = dict.fromkeys(problems.domain for problems in self.problems)
        pairs = [(condition, name) for condition in self.conditions for name in domains]
        networks = {pair: network(*pair, self.maker) for pair in pairs if _playable(*pair, self.maker)}
        data = data_of(self.data) if TRAVEL in domains else "synthetic"
        count = 0 if data == "official" else SLICE
        problems = tuple(replace(each, count=count) if each.count == -1 else each for each in self.problems)
        return replace(self, data=data, problems=problems, networks=networks)

    @property
    def condition(self) -> str:
        """Domains, conditions, data and the nudge, for the run's folder."""
        domains = dict.fromkeys(problems.domain for problems in self.problems)
        return f"{'+'.join(domains)} {'+'.join(self.conditions)} {self.data}{' nudge' * self.nudge}"

    def parameters(self) -> dict[str, Any]:
        """With a hash of what the maker made: a recording of that name may be another one tomorrow."""
        made = {name: key_of(write(made)) for (condition, name), made in self.networks.items() if condition == LLM}
        return super().parameters() | {"synthetic": made}

    def tasks(self) -> list[str]:
        """A condition beside the others on each instance, so that a stopped run has some of all."""
        return [
            task_id(condition, instance)
            for problems, instance in self.instances().values()
            for condition in self.conditions
            if (condition, problems.domain) in self.networks
        ]

    def group(self, task: str) -> str:
        """An instance: only those that every condition has finished can be compared."""
        return split(task)[1]

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """Success by condition, so that conditions stand beside each other on the same instances."""
        parts = ((*split(score.of), score) for score in super().scores(episodes))
        return [
            score._replace(of=instance, part=condition, episodes=(score.of,)) for condition, instance, score in parts
        ]

    def side(self, score: Score) -> tuple[str, str]:
        """The instance's domain, and the condition."""
        problems, _ = self.instances()[score.of]
        return domain(problems.domain).title, score.part

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """One instance under one condition: its trajectory."""
        condition, instance_id = split(task)
        problems, instance = self.instances()[instance_id]
        used = self.networks[condition, problems.domain]
        return play(domain(problems.domain), instance, used, ledger, self.horizon, self.nudge).to_json()

    def judged(self, episode: Episode) -> Judged:
        """Task success, a timeout being none (§6)."""
        if episode.failed:
            return super().judged(episode)
        trajectory = Trajectory.from_json(episode.result)
        missed = [part for part, held in trajectory.verdict.parts.items() if not held]
        ended = "out of iterations" if trajectory.ended == "horizon" else ""
        return Judged(float(trajectory.success), ended or (f"fails at {missed[0]}" if missed else ""))

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The trajectory with its problem."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        _, instance = self.instances()[split(episode.task)[1]]
        return replace(timeline(Trajectory.from_json(episode.result), exchanges, instance.request), title=episode.task)

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
class Results(experiment.Results[Setup]):
    """The played episodes of a run, by task id (see `task_id`)."""

    def of(self, condition: str = "", domain: str = "", size: str | None = None) -> list[str]:
        """Ids of the episodes, measured or not, of a condition, a domain and a size; by default of all."""
        instances, known = self.setup.instances(), (*self.episodes, *self.not_measured)
        found = ((task, *split(task)) for task in known)
        return [
            task
            for task, under, instance in found
            if condition in ("", under)
            and domain in ("", instances[instance][0].domain)
            and size in (None, instances[instance][0].label)
        ]

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
    """success, and what else is counted: iterations, rejected checks, refused and malformed actions."""
    if trajectory is None:
        missing = {"iterations": float("nan")} | dict.fromkeys(COUNTED, 0)  # nobody knows how far it came
        return {"success": False, "right": False, "ended": "failed"} | missing
    outcomes: list[str] = [step.outcome for step in trajectory.steps]
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
    progress.say(message)


@cache
def made(name: str, maker: str) -> Made:
    """The network that the maker's engine makes for a domain."""
    return make(domain(name), connected(maker))


def network(condition: str, name: str, maker: str = MADE_BY) -> Network:
    """The network of a condition in a domain. Raises as `procllm.conditions.network_of`."""
    return network_of(condition, domain(name), made(name, maker).network if condition == LLM else None)


def data_of(data: str) -> str:
    """ "official" or "synthetic": where Travel Planner's instances come from. Raises as `worlds.travelplanner.load`."""
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
