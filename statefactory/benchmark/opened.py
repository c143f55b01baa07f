"""Per-process registry of open worlds: a domain's world is started once and serves all pairs that the worker builds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import RLock
from typing import Any

from lab.runs.experiment import spread
from statefactory.benchmark.domains import Domain, Replan
from worlds.base import Expert, ListingWorld


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
