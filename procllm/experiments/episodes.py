"""ProcLLM's episodes as an experiment: the problems of one domain, worked on under one network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

from lab.machine.files import key_of
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.results.outcomes import Judged, Score
from lab.runs.experiment import BadSetting, Experiment, Results
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline
from procllm.conditions import HUMAN, LLM, network_of
from procllm.domains import Instance, domain
from procllm.generation import Made, make
from procllm.loop import HORIZON, play
from procllm.network import BadNetwork, Network, write
from procllm.prompts import ACTING, VERIFYING
from procllm.trajectory import Trajectory, timeline

OPERATORS = (ACTING.operator, VERIFYING.operator)
MADE_BY = "replay:llm_networks-local-qwen2.5-coder-1.5b"  # the committed recording of LLM-TN's maker
TRAVEL = "travel"  # the one domain with official data
COUNT = 20  # instances of a size by default, where a domain makes as many as one likes
SIZED = {"blocks": ("b", "h"), "units": ("n", "k")}  # domain -> what the numbers of a size are called
Sizes = tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Episodes(Experiment):
    """ProcLLM's loop on instances of a domain under one network.

    domain: of `procllm.domains.NAMES`. network: a condition of `procllm.conditions`. limit: instances of each size, the
    first ones; 0 for all of Travel Planner's requests, and COUNT where there is no end of them. blocks: sizes (b, h) of
    Blocks World; units: (n, k) of Unit Movement; () for one default size, which tables do not name. nudge: as for
    `procllm.loop.play`. maker: the engine of LLM-TN's networks.
    """

    domain: str = "blocks"
    network: str = HUMAN
    blocks: Sizes = ()
    units: Sizes = ()
    horizon: int = HORIZON
    nudge: bool = False
    maker: str = MADE_BY

    method: ClassVar[str] = "procllm"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "procllm")
    metric: ClassVar[str] = "success"

    def operators(self) -> tuple[str, ...]:
        """Who acts, and who verifies; LLM-TN's networks are the `maker`'s."""
        return OPERATORS

    def decided(self) -> Episodes:
        """With `data` decided. Raises BadSetting for a horizon below 1."""
        if self.horizon < 1:
            raise BadSetting(f"horizon={self.horizon} must be at least 1")
        if self.domain != TRAVEL:
            return replace(self, data="synthetic")
        from worlds.travelplanner import load

        return replace(self, data=load(self.data).data)

    def unplayable(self) -> str:
        """What is wrong with LLM-TN's network, where the maker made none that can be used."""
        try:
            network(self.network, self.domain, self.maker)
        except BadNetwork as error:
            return str(error)
        return ""

    def inputs(self) -> dict[str, str]:
        """LLM-TN's network, hashed: a recording of that name may be another one tomorrow."""
        return {"network": key_of(write(network(LLM, self.domain, self.maker)))} if self.network == LLM else {}

    def tasks(self) -> list[str]:
        """Ids of the instances."""
        return list(self.instances())

    def side(self, score: Score) -> tuple[str, str]:
        """The domain, and the condition."""
        return domain(self.domain).title, self.network

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Play an instance; see `result_of`."""
        tasks = network(self.network, self.domain, self.maker)
        return result_of(play(domain(self.domain), self.instances()[task], tasks, ledger, self.horizon, self.nudge))

    def judged(self, episode: Episode) -> Judged:
        """Task success, a timeout being none (§6)."""
        if episode.failed:
            return super().judged(episode)
        trajectory = Trajectory.from_json(episode.result["trajectory"])
        missed = [part for part, held in trajectory.verdict.parts.items() if not held]
        ended = "out of iterations" if trajectory.ended == "horizon" else ""
        return Judged(float(trajectory.success), ended or (f"fails at {missed[0]}" if missed else ""))

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The trajectory with its problem."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        trajectory = Trajectory.from_json(episode.result["trajectory"])
        return replace(timeline(trajectory, exchanges, self.instances()[episode.task].request), title=episode.task)

    def instances(self) -> dict[str, Instance]:
        """Instance id -> instance. Raises ValueError for a size that does not exist."""
        return {name: instance for instances in self.by_size().values() for name, instance in instances.items()}

    def by_size(self) -> Mapping[str, Mapping[str, Instance]]:
        """Size for a table, "b=3, h=2" or "" -> id -> instance, in the order in which they are played."""
        if self.limit < 0:
            raise BadSetting(f"limit={self.limit}: state how many of each size, or 0 for all")
        sizes: Sizes = getattr(self, self.domain) if self.domain in SIZED else ()
        return _by_size(self.domain, sizes, self.limit, self.data, self.seed)


def result_of(trajectory: Trajectory) -> dict[str, Any]:
    """An episode's result: success, iterations, each part of the answer (cumulative, as in Table 1), the trajectory."""
    parts = {name: float(held) for name, held in trajectory.parts.items()}
    numbers = {"success": float(trajectory.success), "iterations": len(trajectory.steps)}
    return numbers | parts | {"trajectory": trajectory.to_json()}


def trajectories(run: Results[Any]) -> dict[str, Trajectory]:
    """Task -> trajectory, of the episodes that did not fail; of a whole study, or of one condition on one domain."""
    played = ((name, episode.result) for name, episode in run.episodes.items() if not episode.failed)
    return {name: Trajectory.from_json(result["trajectory"]) for name, result in played}


@cache
def made(name: str, maker: str) -> Made:
    """The network that the maker's engine makes for a domain."""
    return make(domain(name), connected(maker))


def network(condition: str, name: str, maker: str = MADE_BY) -> Network:
    """The network of a condition in a domain. Raises as `procllm.conditions.network_of`."""
    return network_of(condition, domain(name), made(name, maker).network if condition == LLM else None)


@cache
def _by_size(name: str, sizes: Sizes, limit: int, data: str, seed: int) -> dict[str, dict[str, Instance]]:
    options: dict[str, Any] = {"seed": seed} | ({"data": data} if name == TRAVEL else {})
    count, by_size = limit or (0 if name == TRAVEL else COUNT), {}  # 0: all that there are
    for size in [dict(zip(SIZED[name], numbers, strict=True)) for numbers in sizes] or [{}]:
        label = ", ".join(f"{letter}={number}" for letter, number in size.items())
        by_size[label] = {instance.id: instance for instance in domain(name).instances(count, **options, **size)}
    return by_size
