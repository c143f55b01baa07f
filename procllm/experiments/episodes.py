"""ProcLLM's episodes as an experiment: problems of one domain, worked on under one network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, ClassVar

from lab.machine.datasets import check_kind
from lab.machine.faults import Unavailable
from lab.machine.files import canonical, key_of
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.models.engines import parse
from lab.results.outcomes import Judgement, Score
from lab.runs.experiment import NOT_KEPT, BadSetting, Experiment, Results
from lab.runs.manifest import own_code
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline
from procllm.conditions import HUMAN, LLM, network_of
from procllm.domains import Domain, Instance, domain, register
from procllm.generation import Made, make
from procllm.loop import FREE, HORIZON, JUDGES, MODEL, Form, Judge, play
from procllm.network import BadNetwork, Network, write
from procllm.prompts import ACTING, VERIFYING
from procllm.trajectory import Trajectory, timeline
from worlds.benchmark import Benchmark

OPERATORS = (ACTING.operator, VERIFYING.operator)
MADE_BY = "replay:llm_networks-local-qwen2.5-coder-1.5b"  # the committed recording of LLM-TN's maker
TRAVEL = "travel"  # the one domain with official data
COUNT = 20  # default number of instances a size, for domains that generate any number
Sizes = tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True)
class Episodes(Experiment):
    """ProcLLM's loop on instances of a domain under one network.

    domain: a name of `procllm.domains.NAMES`. own: a reader's domain, used instead. network: a condition of
    `procllm.conditions`. limit: how many instances of each size, the first ones; 0 for all of Travel Planner's
    requests, or COUNT in domains that generate any number.
    blocks: sizes (b, h) of Blocks World. units: sizes (n, k) of Unit Movement. sizes: sizes of a reader's domain, see
    its `sized`. () is a single default size, which tables do not name.
    nudge, form, verified_by: as for `procllm.loop.play`. attempts: how often an episode may start again until its last
    task is verified; the attempts share the iterations of `horizon`. maker: the engine of LLM-TN's networks.
    """

    domain: str = "blocks"
    own: Domain | None = field(default=None, metadata=NOT_KEPT)
    network: str = HUMAN
    blocks: Sizes = ()
    units: Sizes = ()
    sizes: tuple[tuple[int, ...], ...] = ()
    horizon: int = HORIZON
    nudge: bool = False
    form: Form = FREE
    verified_by: Judge = MODEL
    attempts: int = 1
    maker: str = MADE_BY

    method: ClassVar[str] = "procllm"
    packages: ClassVar[tuple[str, ...]] = ("lab", "worlds", "procllm")
    metric: ClassVar[str] = "success"

    def __post_init__(self) -> None:
        """Register a reader's domain in this process, which may be a worker."""
        if self.own:
            object.__setattr__(self, "domain", register(self.own).name)

    def operators(self) -> tuple[str, ...]:
        """The operators that act and verify; LLM-TN's networks are requested from `maker`."""
        return (ACTING.operator, *sorted(prompt.operator for prompt in JUDGES[self.verified_by]))

    def decided(self) -> Episodes:
        """The settings with `data` decided.

        Raises BadSetting for a horizon below 1 or attempts outside 1 to horizon, ValueError for another `data`.
        """
        if self.horizon < 1:
            raise BadSetting(f"horizon={self.horizon} must be at least 1")
        if not 1 <= self.attempts <= self.horizon:
            raise BadSetting(f"attempts={self.attempts}: from 1 to the horizon, {self.horizon}")
        if self.domain != TRAVEL:
            check_kind(self.data)
            return replace(self, data="synthetic")
        from worlds.travelplanner import TravelPlannerQueries

        return replace(self, data=TravelPlannerQueries(data=self.data).decided().data)

    def unplayable(self) -> str:
        """Why LLM-TN has no usable network; "" if it can be played."""
        try:
            network(self.network, self.domain, self.maker)
        except BadNetwork as error:
            return str(error)
        return ""

    def inputs(self) -> dict[str, str]:
        """Hashes of LLM-TN's network and of a reader's domain: either may change and keep its name."""
        texts = {"network": write(network(LLM, self.domain, self.maker))} if self.network == LLM else {}
        texts |= {"domain": _text_of(self.own)} if self.own else {}
        return {name: key_of(text) for name, text in texts.items()}

    def tasks(self) -> list[str]:
        """The ids of the instances."""
        return list(self.instances())

    def side(self, score: Score) -> tuple[str, str]:
        """The domain's title, and the condition."""
        return domain(self.domain).title, self.network

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        """Play an instance, in several attempts if needed. Returns the last result, with the iterations of all."""
        problem_domain, instance, iterations = domain(self.domain), self.instances()[task], 0
        methods = network(self.network, self.domain, self.maker)
        options: dict[str, Any] = {"nudge": self.nudge, "form": self.form, "verified_by": self.verified_by}
        for attempt in range(self.attempts):
            trajectory = play(
                problem_domain, instance, methods, ledger, self.horizon // self.attempts, attempt=attempt, **options
            )
            iterations += len(trajectory.steps)
            if trajectory.ended == "done":
                break
        return result_of(trajectory) | {"iterations": iterations}

    def judged(self, episode: Episode) -> Judgement:
        """Task success; a timeout is no success (§6)."""
        if episode.failed:
            return super().judged(episode)
        trajectory = Trajectory.from_json(episode.result["trajectory"])
        missed = [part for part, holds in trajectory.verdict.parts.items() if not holds]
        ended = "out of iterations" if trajectory.ended == "horizon" else ""
        return Judgement(float(trajectory.success), ended or (f"fails at {missed[0]}" if missed else ""))

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The trajectory's timeline, with the text of its problem."""
        if episode.failed:
            return super().timeline(episode, exchanges)
        trajectory = Trajectory.from_json(episode.result["trajectory"])
        return replace(timeline(trajectory, exchanges, self.instances()[episode.task].request), title=episode.task)

    def instances(self) -> dict[str, Instance]:
        """Instance id -> instance. Raises ValueError for a size that does not exist."""
        return {name: instance for instances in self.by_size().values() for name, instance in instances.items()}

    def by_size(self) -> Mapping[str, Mapping[str, Instance]]:
        """Size as tables show it ("b=3, h=2" or "") -> id -> instance, in playing order.

        Raises BadSetting for a wrong size.
        """
        if self.limit < 0:
            raise BadSetting(f"limit={self.limit}: state how many of each size, or 0 for all")
        sizes = {"blocks": self.blocks, "units": self.units}.get(self.domain, self.sizes)
        sized_domain = domain(self.domain)
        if wrong := [size for size in sizes if len(size) != len(sized_domain.sized)]:
            numbers = ", ".join(sized_domain.sized) or "no numbers: it has no sizes"
            raise BadSetting(f"sizes: {list(wrong[0])}: a size of {sized_domain.title} is {numbers}")
        return _by_size(sized_domain, sizes, self.limit, self.data, self.seed)


def result_of(trajectory: Trajectory) -> dict[str, Any]:
    """An episode's result: success, iterations, parts of the answer (cumulative, as in Table 1), trajectory."""
    parts = {name: float(holds) for name, holds in trajectory.parts.items()}
    numbers = {"success": float(trajectory.success), "iterations": len(trajectory.steps)}
    return numbers | parts | {"trajectory": trajectory.to_json()}


def trajectories(run: Results[Any]) -> dict[str, Trajectory]:
    """Task -> trajectory, for the episodes that did not fail. run: a whole study, or one condition on one domain."""
    results = ((name, episode.result) for name, episode in run.episodes.items() if not episode.failed)
    return {name: Trajectory.from_json(result["trajectory"]) for name, result in results}


@cache
def made(of: Domain, maker: str) -> Made:
    """The network that an engine makes for a domain. Raises BadNetwork if a recording does not contain it."""
    try:
        return make(of, connected(maker))
    except Unavailable as error:
        if parse(maker).kind != "replay":
            raise
        raise BadNetwork(f"{maker} has no network of {of.title}; name a model as `maker`, such as gpt-4o") from error


def network(condition: str, name: str, maker: str = MADE_BY) -> Network:
    """The network of a condition in a domain. Raises as `procllm.conditions.network_of`."""
    return network_of(condition, domain(name), made(domain(name), maker).network if condition == LLM else None)


@cache
def _by_size(
    of: Domain, sizes: tuple[tuple[int, ...], ...], limit: int, data: str, seed: int
) -> dict[str, dict[str, Instance]]:
    options: dict[str, Any] = {"seed": seed} | ({"data": data} if of.name == TRAVEL else {})
    count, by_size = limit or (0 if of.name == TRAVEL else COUNT), {}  # 0: all requests
    for size in [dict(zip(of.sized, numbers, strict=True)) for numbers in sizes] or [{}]:
        label = ", ".join(f"{letter}={number}" for letter, number in size.items())
        by_size[label] = {instance.id: instance for instance in of.instances(count, **options, **size)}
    return by_size


def _text_of(own: Domain) -> str:
    """The text and code of a reader's domain, so that an edited domain makes another run."""
    functions = [function for function in (own.check, own.instances, own.rule) if function]
    closed = [item for function in functions for item in (function, *_closed_over(function))]
    code = [own_code(item) for item in closed if callable(item)]
    worlds = [[repr(item), own_code(type(item))] for item in closed if isinstance(item, Benchmark)]
    return canonical([own.specification, own.tools_specification, own.human, own.sized, own.solver, code, *worlds])


def _closed_over(function: Any) -> Iterator[Any]:
    """What a function closes over: `in_one_go` and `in_advance` wrap what the reader wrote."""
    for cell in getattr(function, "__closure__", None) or ():
        yield cell.cell_contents
        yield from _closed_over(cell.cell_contents)
