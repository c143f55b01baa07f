"""The base class of experiments: settings, tasks, how to play a task, and how to judge its episode.

A paper subclasses `Experiment`; `lab.collect` plays it and returns `Results`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, get_type_hints

from lab.machine.reading import Mismatch, check_fields
from lab.models import engines
from lab.models.backbone import Ledger
from lab.models.connect import connected
from lab.models.engines import Engine
from lab.models.prompt_sets import stamped
from lab.results.outcomes import Judgement, Outcomes, Score
from lab.results.stored import COLUMNS, DECIMALS, METHOD
from lab.runs import recordings
from lab.runs.first_answers import readings
from lab.runs.manifest import Manifest, own_code
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline, cause, generic_timeline

if TYPE_CHECKING:
    import pandas as pd


NOT_KEPT = {"kept": False}  # metadata of a field that is not part of a run's identity
NOT_TOLD = {"told": False}  # metadata of a field that is part of a run's identity, but hidden from folder names

T = TypeVar("T")


class BadSetting(ValueError):
    """A setting is invalid; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """One method on some tasks, answered by one engine.

    Subclasses are frozen dataclasses that add the settings of their paper; they are sent to worker processes.

    engine: see `lab.models.engines`. engines: other engines for single operators, such as {"verify": "gpt-4o"}; a
    resolved experiment has all of them in `engine`. data: "auto" (official where present, else synthetic), "official"
    or "synthetic". limit: number of tasks, spread evenly; 0 for all. seed: of synthetic data and of noise.
    """

    engine: str = "rules"
    engines: Mapping[str, str] = field(default_factory=dict, hash=False, metadata=NOT_KEPT)
    data: str = "auto"
    limit: int = 0
    seed: int = 0

    method: ClassVar[str]  # name of the method; recordings are found by it
    packages: ClassVar[tuple[str, ...]]  # packages of the suite whose source code the results depend on
    selection: ClassVar[tuple[str, ...]] = ("data", "limit")  # settings that select tasks; a recording decides them
    processes: ClassVar[int] = 2  # default number of worker processes where rules answer
    metric: ClassVar[str] = ""  # name of the score in `judged`, such as "success"; "" if an episode has no score
    headline: ClassVar[str] = ""  # name of the values in `scores`, if they are no scores of single episodes
    benchmark: ClassVar[str] = ""  # benchmark of the scores, if `Score.part` does not name it
    informed: ClassVar[bool] = False  # rules use knowledge that no agent has here, so their results are simulated

    @abstractmethod
    def tasks(self) -> Sequence[str]:
        """Ids of the tasks, in the order in which they are played. Raises ValueError if there are none."""

    @abstractmethod
    def play(self, task: str, ledger: Ledger) -> Any:
        """Play one episode and return its result as JSON. Raises MalformedAnswer or similar when the agent fails."""

    @cached_property
    def who(self) -> Engine:
        """The parsed engine. Raises BadEngine."""
        return engines.parse(self.engine)

    @property
    def sources(self) -> tuple[str, ...]:
        """Packages of the suite whose source code a run depends on, with `standins` where rules answer."""
        return (*self.packages, "standins") if "rules" in self.who.kinds else self.packages

    @property
    def results(self) -> type[Results[Any]]:
        """The class that `lab.collect` returns. A paper's subclass adds the values of its tables."""
        return Results

    def prepared(self, collect: Callable[[Experiment], Results[Any]]) -> Self:
        """A copy with settings that come from another run, such as a placebo's rate. collect: plays that run."""
        return self

    def calls(self, task: str) -> Mapping[str, int]:
        """Operator -> number of calls in an episode, if known before it is played; else empty."""
        return {}

    def operators(self) -> tuple[str, ...]:
        """Names (`Prompt.operator`) of the operators that call a backbone with these settings.

        `engines` accepts no other names.
        """
        return ()

    def decided(self) -> Self:
        """A copy in which everything that depends on this machine's files is decided: data, domains."""
        return self

    def unplayable(self) -> str:
        """Why this machine cannot play the experiment, such as an untrained model; "" if it can.

        A study leaves such a condition out of that benchmark.
        """
        return ""

    def inputs(self) -> dict[str, str]:
        """Name -> hash of inputs other than code and tasks, such as a task network that a model wrote."""
        return {}

    def group(self, task: str) -> str:
        """The group of tasks that a task is compared in. Of a stopped run only complete groups are reported."""
        return task

    def judged(self, episode: Episode) -> Judgement:
        """The score of a played episode and the reason for it, for lists and reports."""
        return Judgement(0.0 if self.metric else None, cause(episode.error)) if episode.failed else Judgement(None)

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """The scores whose mean is the run's headline, from the episodes of complete groups, failed ones included.

        By default the scores of `judged`. They are called `headline`, or `metric` if that is empty.
        """
        judged = {task: self.judged(episode) for task, episode in episodes.items()}
        return [
            Score(task, outcome.score, outcome.reason) for task, outcome in judged.items() if outcome.score is not None
        ]

    def data_of(self, dataset: str) -> str:
        """The data of a benchmark: the experiment's own, unless it plays several."""
        return self.data

    def side(self, score: Score) -> tuple[str, str]:
        """The benchmark and the condition of a score. `score.part` is "data set/method", or a condition alone."""
        dataset, _, condition = score.part.rpartition("/")
        return dataset or score.stratum or self.benchmark or self.method, condition or self.method

    def role(self, condition: str) -> str:
        """The role of a condition's stored scores: METHOD, or FLOOR for a null model."""
        return METHOD

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """An episode as displayable steps. exchanges: its prompts and answers in order, if available."""
        return generic_timeline(episode, exchanges)

    @classmethod
    def kept(cls, manifest: Manifest) -> Self:
        """The experiment of a stored run, from its manifest. Raises ValueError if another class wrote it."""
        setup = cls(engine=manifest.engine)
        return replace(setup, **setup._known(manifest.parameters))

    @property
    def condition(self) -> str:
        """A short text for the run's folder and progress line: the data, and all settings that differ from defaults."""
        return " ".join([self.data, *_differences(self)])

    def parameters(self) -> dict[str, Any]:
        """The run's identity apart from engine, tasks and the suite's code, as JSON. A replay adopts these settings."""
        from pydantic_core import to_jsonable_python

        names = (field.name for field in fields(self) if field.metadata.get("kept", True))
        settings = {name: to_jsonable_python(getattr(self, name)) for name in names if name != "engine"}
        own, inputs = own_code(type(self)), self.inputs()
        return settings | ({"own_code": own} if own else {}) | ({"inputs": inputs} if inputs else {})

    def resolved(self) -> Self:
        """A copy ready to play: all engines in one string, noisy ones with their seed, and a replay's settings.

        A recording that answers single operators must agree with the settings; it does not decide them.
        Raises BadEngine, BadSetting, and what `lab.models.connect.connect` raises.
        Raises BadSetting for a value of the wrong type, too: in a notebook run by hand this is the first check.
        """
        try:
            check_fields(self)
        except Mismatch as error:
            raise BadSetting(f"{error}, in {type(self).__module__}.{type(self).__name__}") from None
        requested, setup = engines.with_others(self.engine, self.engines), self
        if requested.kind == "replay":
            setup = self._as_recorded(requested.text)
        routed = engines.routed(self.engine, self.engines, setup.operators(), self.method)
        if routed.kind == "replay" and routed.text != requested.text:
            # `engines` names an engine for every operator, so `engine` itself answers nothing: the recording decides.
            return replace(setup, engine=str(routed), engines={}).resolved()
        for operator, other in routed.routes.items():
            if other.kind == "replay":
                setup._as_recorded(other.text, operator)
        return replace(setup, engine=stamped(engines.seeded(str(routed), setup.seed)), engines={}).decided()

    @classmethod
    def recorded(cls) -> list[str]:
        """Names of the finished, valid recordings of this method."""
        return recordings.names(cls.method)

    def answered_by(self, engine: str) -> Self:
        """A copy with another engine for all operators."""
        return replace(self, engine=engine, engines={})

    def _as_recorded(self, engine: str, operator: str = "") -> Self:
        """A copy with the recording's settings in place of defaults and of settings that select tasks.

        operator: if the recording answers only this one, no setting is replaced, and all must agree.
        Raises BadSetting when a setting differs from the recording's.
        """
        recorded = self._known(getattr(connected(engine), "parameters", {}))
        settings = {setting.name: setting for setting in fields(self)}
        for name in sorted(recorded.keys() - {*self.selection}):
            ours, theirs, setting = getattr(self, name), recorded[name], settings[name]
            default = setting.default_factory() if setting.default_factory is not MISSING else setting.default
            if ours != theirs and (operator or ours != default):
                raise BadSetting(
                    f"{engine}{f' is to answer {operator} and' if operator else ''} was recorded with "
                    f"{name}={theirs!r}, not {ours!r}; drop that setting, set it so, or record a run with it"
                )
        return self if operator else replace(self, **recorded)

    def _known(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """The recording's settings that are fields of this class, parsed to the fields' types."""
        from pydantic import TypeAdapter

        hints = get_type_hints(type(self))
        names = recorded.keys() & {setting.name for setting in fields(self)}
        return {name: TypeAdapter(hints[name]).validate_python(recorded[name]) for name in names}


S = TypeVar("S", bound=Experiment)


@dataclass(frozen=True)
class Results(Generic[S]):
    """The results of a run. setup: the resolved experiment. backbone: label of who answered, reported with each number.

    episodes: task -> episode, scored or failed by the agent, in the run's order. not_measured: task -> why the machine
    could not play it. usage: task -> the episode's usage by operator.
    """

    setup: S
    backbone: str
    episodes: Mapping[str, Episode]
    not_measured: Mapping[str, str]
    usage: Mapping[str, Any]
    folder: Path

    @cached_property
    def who(self) -> Engine:
        """The engine that answered; for a replay, the recorded engine."""
        return engines.parse(self.backbone)

    @property
    def evidence(self) -> str:
        """ "simulated" where noise, or knowledge that no agent has, stood in for a model's skill, else "measured".

        Null models are "measured", too: they imitate no model.
        """
        return "simulated" if self.setup.informed and "rules" in self.who.kinds else self.who.evidence

    @property
    def scores(self) -> dict[str, float]:
        """Task -> score, 0 where the episode failed; the input of paired comparisons."""
        return {score.of: score.value for score in self.setup.scores(self.episodes)}

    def named(self, name: str) -> dict[str, float]:
        """Task -> a number in its episode's result, such as "f1"; 0 where it failed. "score" gives `scores`."""
        results = {task: {} if episode.failed else episode.result for task, episode in self.episodes.items()}
        return self.scores if name == "score" else {task: result.get(name, 0.0) for task, result in results.items()}

    @property
    def by_rules(self) -> bool:
        """Whether only rules or null models answered, directly or replayed, and no model."""
        return self.who.by_rules

    @property
    def by_a_model(self) -> bool:
        """Whether a real model answered, alone or with noiseless rules. Only then is there a verdict on a direction."""
        return not self.by_rules and self.evidence == "measured"

    def outcomes(self, tasks: Iterable[str] | None = None) -> Outcomes:
        """Counts of scored, failed and not measured episodes, of all tasks or of the given ones."""
        wanted = [*self.episodes, *self.not_measured] if tasks is None else list(tasks)
        episodes = [self.episodes[task] for task in wanted if task in self.episodes]
        live = not self.setup.who.kinds.isdisjoint(engines.MODELS)  # in this run, not in a recording
        read = readings(self.usage.get(task) for task in wanted) if live else None
        not_measured = sum(task in self.not_measured for task in wanted)
        return Outcomes(len(episodes), sum(episode.failed for episode in episodes), not_measured, read)


def score_lines(results: Results[Any], benchmark: str = "", condition: str = "", role: str = "") -> pd.DataFrame:
    """The per-task scores of a run, sorted, with the columns of `lab.results.stored.COLUMNS`.

    benchmark, condition, role: replace those that the experiment gives (`Experiment.side`, `Experiment.role`).
    """
    import pandas as pd

    setup = results.setup
    run = setup.engine if setup.who.kind == "replay" else f"{setup.method} {setup.condition}"
    columns = {"metric": setup.headline or setup.metric, "engine": results.backbone}
    columns |= {"evidence": results.evidence, "run": run}
    rows = []
    for score in setup.scores(results.episodes):
        own_benchmark, own_condition = setup.side(score)
        sides = {"benchmark": benchmark or own_benchmark, "condition": condition or own_condition}
        sides |= {"role": role or setup.role(own_condition), "data": setup.data_of(own_benchmark)}
        rows.append({**sides, **columns, "task": score.of, "value": score.value})
    frame = pd.DataFrame(rows, columns=COLUMNS).sort_values(COLUMNS[:-1], kind="stable")
    return frame.assign(value=frame["value"].astype(float).round(DECIMALS))


def spread(items: Sequence[T], limit: int) -> list[T]:
    """`limit` items, evenly spaced in their order; 0 for all. Raises BadSetting for a negative limit."""
    if limit < 0:
        raise BadSetting(f"limit={limit}: state how many, or 0 for all")
    count = min(limit, len(items)) or len(items)
    return [items[index * len(items) // count] for index in range(count)]


def _differences(settings: Any) -> list[str]:
    """The settings that differ from their defaults, as text: "undo=3", or "-Validate" for a switched-off one."""
    texts = []
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if setting.name in ("engine", "data", "limit") or value == setting.default or setting.metadata:
            continue
        if is_dataclass(value):
            texts += _differences(value)
        elif isinstance(value, bool):
            texts.append(setting.name if value else f"-{setting.name.title()}")
        else:
            texts.append(f"{setting.name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    return texts
