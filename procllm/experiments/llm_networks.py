"""Networks that a model makes (§6, appendix E): which can be used, their faults and their sizes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.results import tables
from lab.results.outcomes import Judgement
from lab.runs import collecting, experiment
from lab.runs.experiment import Experiment
from lab.runs.run import Episode
from procllm import effects
from procllm.conditions import LLM
from procllm.domains import NAMES, domain
from procllm.generation import PLANNING, Made, make
from procllm.network import Network

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True)
class Setup(Experiment):
    """An engine makes a network for each domain."""

    method: ClassVar[str] = "procllm-networks"
    packages: ClassVar[tuple[str, ...]] = ("lab", "procllm")
    processes: ClassVar[int] = 1
    metric: ClassVar[str] = "usable network"

    @property
    def results(self) -> type[Makings]:
        return Makings

    def operators(self) -> tuple[str, ...]:
        """The operator of the only prompt."""
        return (PLANNING.operator,)

    def decided(self) -> Setup:
        """The settings with `data` fixed: specifications come with the code."""
        return replace(self, data="synthetic")

    def tasks(self) -> list[str]:
        """The names of the domains."""
        return list(NAMES)

    def play(self, task: str, ledger: Ledger) -> dict[str, bool]:
        """Whether the network for a domain can be used; its text is in the answers. Raises NoRule for `rules`."""
        return {"usable": make(domain(task), ledger).network is not None}

    def judged(self, episode: Episode) -> Judgement:
        """1 if there is a usable network, else 0."""
        if episode.failed:
            return super().judged(episode)
        return Judgement(1.0) if episode.result["usable"] else Judgement(0.0, "no usable network")


@dataclass(frozen=True)
class Makings(experiment.Results[Setup]):
    """The networks that an engine made."""

    @cached_property
    def made(self) -> dict[str, Made]:
        """Domain -> its network and attempts; from the cache or the recording, since the run has just asked for it."""
        return {name: make(domain(name), connected(self.setup.engine)) for name in self.episodes}


def collect(engine: str, workers: int = 0, cluster: str = "") -> Makings:
    """Ask an engine for a network of each domain; save the recording if `python -m lab record` requests one.

    workers, cluster: as for `lab.runs.collecting.collect`. Raises RuntimeError if an episode failed.
    """
    makings = collecting.collect(Setup(engine=engine), workers or 1, cluster)
    for episode in makings.episodes.values():
        if episode.failed:
            raise RuntimeError(f"{episode.task}: {episode.error}")
    collecting.record(makings, rows(makings), collecting.costs(makings, lambda task: {"domain": task}))
    return makings


def rows(makings: Makings) -> pd.DataFrame:
    """How many of the n domains have a usable network, from the first answer and with the repair."""
    counts = {
        "usable networks, first answer": sum(not made.attempts[0].fault for made in makings.made.values()),
        "usable networks, repaired once": sum(made.network is not None for made in makings.made.values()),
    }
    # These are all domains, not a sample, so there is no interval.
    origin: dict[str, Any] = {"evidence": "measured", "source": "this run", "n": len(makings.made)}
    origin["outcomes"] = makings.outcomes()
    return tables.table(tables.row(LLM, makings.backbone, name, count, **origin) for name, count in counts.items())


def overview(makings: Makings) -> pd.DataFrame:
    """One row a domain: whether its network can be used, its first and last fault, its size and the human network's."""
    import pandas as pd

    lines = map(_line, makings.made.values())
    return pd.DataFrame(lines).assign(evidence="measured", backbone=makings.backbone)


def beside_rules(makings: Makings) -> pd.DataFrame:
    """`overview`, with the number of tasks in each network whose effect rules cannot check."""
    networks = {domain(name): made.network for name, made in makings.made.items() if made.network}
    unread = {domain_used.title: len(effects.unread(domain_used, network)) for domain_used, network in networks.items()}
    table = overview(makings)
    return table.assign(**{"tasks that rules cannot check": table["domain"].map(unread)})


def _line(made: Made) -> dict[str, Any]:
    network, human = made.network, _size(domain(made.domain).network)
    tasks, depth = _size(network) if network else (None, None)
    # Without answer.txt among the effect files, no task ever asks for an answer.
    answers = network and any("answer.txt" in network.task(name).files for _, name in network.tree())
    return {
        "domain": domain(made.domain).title,
        "usable": network is not None,
        "answers": len(made.attempts),
        "fault of the first": made.attempts[0].fault,
        "fault of the last": made.attempts[-1].fault,
        "tasks": tasks,
        "depth": depth,
        "ends in an answer": answers,
        "tasks (human)": human[0],
        "depth (human)": human[1],
    }


def _size(network: Network) -> tuple[int, int]:
    """The number of tasks in the tree, including the top one, and its depth below the top."""
    depths = [depth for depth, _ in network.tree()]
    return len(depths), max(depths)


def playable(makings: Iterable[Made]) -> list[str]:
    """The domains with a usable network."""
    return [made.domain for made in makings if made.network is not None]
