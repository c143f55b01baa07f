"""What is played: an experiment has settings, tasks, a way to play one of them, and words for what came of it.

A paper subclasses `Experiment`; `lab.collect` plays it, and gives `Results`.
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
from lab.results.stored import COLUMNS, METHOD
from lab.runs import recordings
from lab.runs.first_answers import readings
from lab.runs.manifest import Manifest, own_code
from lab.runs.run import Episode
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline, cause, generic_timeline

if TYPE_CHECKING:
    import pandas as pd


NOT_KEPT = {"kept": False}  # metadata of a field that does not make two runs different
NOT_TOLD = {"told": False}  # of one that does, and that nobody wants to read in a folder's name

T = TypeVar("T")


class BadSetting(ValueError):
    """A setting that no run can have; the message names it."""


@dataclass(frozen=True, kw_only=True)
class Experiment(ABC):
    """One method on some tasks, answered by one engine.

    Subclasses are frozen dataclasses that add the settings of their paper; they are sent to worker processes.

    engine: see `lab.models.engines`. engines: who answers single operators instead, such as {"verify": "gpt-4o"}; a
    resolved experiment has all of them in `engine`. data: "auto" (official where present, else synthetic), "official"
    or "synthetic". limit: how many tasks, spread evenly; 0 for all. seed: of synthetic data and of noise.
    """

    engine: str = "rules"
    engines: Mapping[str, str] = field(default_factory=dict, hash=False, metadata=NOT_KEPT)
    data: str = "auto"
    limit: int = 0
    seed: int = 0

    method: ClassVar[str]  # what is run; recordings are found by it
    packages: ClassVar[tuple[str, ...]]  # of the suite, whose source code the results depend on
    selection: ClassVar[tuple[str, ...]] = ("data", "limit")  # settings that say which tasks; a recording decides them
    processes: ClassVar[int] = 2  # at a time by default where rules answer
    metric: ClassVar[str] = ""  # what `judged` scores, such as "success"; "" where a single episode has no score
    headline: ClassVar[str] = ""  # what `scores` are, where that is no score of single episodes
    benchmark: ClassVar[str] = ""  # what the scores are of, where a part does not name it
    informed: ClassVar[bool] = False  # rules look up here what no agent knows, so that what they come to is simulated
    private: ClassVar[bool] = False  # a task's score gives away a label without a licence: only means are stored

    @abstractmethod
    def tasks(self) -> Sequence[str]:
        """Ids of the tasks, in the order in which they are played. Raises ValueError if there are none."""

    @abstractmethod
    def play(self, task: str, ledger: Ledger) -> Any:
        """Play one episode; returns its result, JSON. Raises MalformedAnswer and its like where the agent fails."""

    @cached_property
    def who(self) -> Engine:
        """Who answers: the engine, read. Raises BadEngine."""
        return engines.parse(self.engine)

    @property
    def sources(self) -> tuple[str, ...]:
        """Packages of the suite whose source code a run depends on: where rules answer, stand-ins, too."""
        return (*self.packages, "standins") if "rules" in self.who.kinds else self.packages

    @property
    def results(self) -> type[Results[Any]]:
        """The class of what `lab.collect` returns: a paper's own has the readings of its tables."""
        return Results

    def prepared(self, collect: Callable[[Experiment], Results[Any]]) -> Self:
        """With the settings that another run gives, such as a placebo's rate. collect: plays that run."""
        return self

    def calls(self, task: str) -> Mapping[str, int]:
        """How often an episode asks each operator, where that is known before it is played; else nothing."""
        return {}

    def operators(self) -> tuple[str, ...]:
        """The operators that ask a backbone, as it is set up, by `Prompt.operator`; `engines` takes no others."""
        return ()

    def decided(self) -> Self:
        """The same with everything decided that depends on what is on this machine: data, domains."""
        return self

    def unplayable(self) -> str:
        """Why it cannot be played on this machine, such as a model that is not trained; "" where it can be.

        A study leaves such a condition out of that benchmark.
        """
        return ""

    def inputs(self) -> dict[str, str]:
        """Name -> hash of what a run is made with besides code and tasks, such as a network that a model made."""
        return {}

    def group(self, task: str) -> str:
        """What a task is compared within: of a run that was stopped, only groups that are whole are shown."""
        return task

    def judged(self, episode: Episode) -> Judgement:
        """What an episode came to, for lists and reports; it reads the result, and plays nothing."""
        return Judgement(0.0 if self.metric else None, cause(episode.error)) if episode.failed else Judgement(None)

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """What a run's headline is the mean of, from the episodes of whole groups; those that failed are among them.

        By default what `judged` says of each. Its name is `headline`, else `metric`.
        """
        judged = {task: self.judged(episode) for task, episode in episodes.items()}
        return [
            Score(task, outcome.score, outcome.reason) for task, outcome in judged.items() if outcome.score is not None
        ]

    def side(self, score: Score) -> tuple[str, str]:
        """The benchmark and the condition that a score is of; its part is "data set/method", or a condition."""
        dataset, _, condition = score.part.rpartition("/")
        return dataset or score.stratum or self.benchmark or self.method, condition or self.method

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """An episode as steps to look at. exchanges: its prompts and answers, in order, where they are at hand."""
        return generic_timeline(episode, exchanges)

    @classmethod
    def kept(cls, manifest: Manifest) -> Self:
        """The settings of a run, from its manifest. Raises ValueError for one that this class did not write."""
        setup = cls(engine=manifest.engine)
        return replace(setup, **setup._known(manifest.parameters))

    @property
    def condition(self) -> str:
        """A few words for the run's folder and progress line: the data, and each setting that is not the default."""
        return " ".join([self.data, *_differences(self)])

    def parameters(self) -> dict[str, Any]:
        """What makes two runs different besides engine, tasks and the suite's code, and what a replay adopts; JSON."""
        from pydantic_core import to_jsonable_python

        kept = (field.name for field in fields(self) if field.metadata.get("kept", True))
        settings = {name: to_jsonable_python(getattr(self, name)) for name in kept if name != "engine"}
        own, inputs = own_code(type(self)), self.inputs()
        return settings | ({"own_code": own} if own else {}) | ({"inputs": inputs} if inputs else {})

    def resolved(self) -> Self:
        """The same as it is played: all engines in one string, noisy ones with their seed, a replay's settings.

        A recording that answers single operators must agree with the settings; it does not decide them.
        Raises what `lab.models.connect.connect` raises, BadEngine, BadSetting, and BadSetting for a value of
        another type: in a notebook that no runner checks, this is the first to look.
        """
        try:
            check_fields(self)
        except Mismatch as error:
            raise BadSetting(f"{error}, in {type(self).__module__}.{type(self).__name__}") from None
        asked, setup = engines.with_others(self.engine, self.engines), self
        if asked.kind == "replay":
            setup = self._as_recorded(asked.text)
        answering = engines.routed(self.engine, self.engines, setup.operators(), self.method)
        if answering.kind == "replay" and answering.text != asked.text:
            # Every operator has an engine of its own, and so another one answers the rest: it decides.
            return replace(setup, engine=str(answering), engines={}).resolved()
        for operator, other in answering.routes.items():
            if other.kind == "replay":
                setup._as_recorded(other.text, operator)
        return replace(setup, engine=stamped(engines.seeded(str(answering), setup.seed)), engines={}).decided()

    @classmethod
    def recorded(cls) -> list[str]:
        """The recordings of this method."""
        return recordings.names(cls.method)

    def answered_by(self, engine: str) -> Self:
        """The same with another engine, for all operators."""
        return replace(self, engine=engine, engines={})

    def _as_recorded(self, engine: str, operator: str = "") -> Self:
        """With the recording's settings in place of those left at their defaults and of those that select tasks.

        operator: the one that it answers; it then decides nothing, and must agree with all settings. Raises BadSetting.
        """
        known = self._known(getattr(connected(engine), "parameters", {}))
        settings = {setting.name: setting for setting in fields(self)}
        for name in sorted(known.keys() - {*self.selection}):
            asked, there, setting = getattr(self, name), known[name], settings[name]
            default = setting.default_factory() if setting.default_factory is not MISSING else setting.default
            if asked != there and (operator or asked != default):
                raise BadSetting(
                    f"{engine}{f' is to answer {operator} and' if operator else ''} was recorded with "
                    f"{name}={there!r}, not {asked!r}; drop that setting, set it so, or record a run with it"
                )
        return self if operator else replace(self, **known)

    def _known(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """A recording's settings that are settings here, typed."""
        from pydantic import TypeAdapter

        hints = get_type_hints(type(self))
        ours = recorded.keys() & {setting.name for setting in fields(self)}
        return {name: TypeAdapter(hints[name]).validate_python(recorded[name]) for name in ours}


S = TypeVar("S", bound=Experiment)


@dataclass(frozen=True)
class Results(Generic[S]):
    """What a run came to. setup: as it was played. backbone: what stands beside each number.

    episodes: those that count, scored or failed by the agent, by task in the run's order. not_measured: task -> why, of
    those that the machine kept from being played. usage: task -> what its episode took, by operator.
    """

    setup: S
    backbone: str
    episodes: Mapping[str, Episode]
    not_measured: Mapping[str, str]
    usage: Mapping[str, Any]
    folder: Path

    @cached_property
    def who(self) -> Engine:
        """Who answered: of a replay, who was recorded."""
        return engines.parse(self.backbone)

    @property
    def evidence(self) -> str:
        """ "simulated" where noise, or knowledge that no agent has, stood in for a model's skill, else "measured".

        So also of null models, which stand in for nobody.
        """
        return "simulated" if self.setup.informed and "rules" in self.who.kinds else self.who.evidence

    @property
    def scores(self) -> dict[str, float]:
        """Task -> score, 0 where the episode failed: what paired comparisons take."""
        return {score.of: score.value for score in self.setup.scores(self.episodes)}

    def named(self, name: str) -> dict[str, float]:
        """Task -> a number of its episode's result, such as "f1", 0 where it failed; of "score", `scores`."""
        results = {task: {} if episode.failed else episode.result for task, episode in self.episodes.items()}
        return self.scores if name == "score" else {task: result.get(name, 0.0) for task, result in results.items()}

    @property
    def by_rules(self) -> bool:
        """Whether no model answered but rules or null models alone, also where what they answered is replayed."""
        return self.who.by_rules

    @property
    def by_a_model(self) -> bool:
        """Whether a real model answered, alone or beside rules without noise: what a verdict on a direction is for."""
        return not self.by_rules and self.evidence == "measured"

    def outcomes(self, tasks: Iterable[str] | None = None) -> Outcomes:
        """How the episodes came out, all or those of these tasks."""
        wanted = [*self.episodes, *self.not_measured] if tasks is None else list(tasks)
        episodes = [self.episodes[task] for task in wanted if task in self.episodes]
        asked = not self.setup.who.kinds.isdisjoint(engines.MODELS)  # now, and by no recording
        answers = readings(self.usage.get(task) for task in wanted) if asked else None
        not_measured = sum(task in self.not_measured for task in wanted)
        return Outcomes(len(episodes), sum(episode.failed for episode in episodes), not_measured, answers)


def score_lines(results: Results[Any], benchmark: str = "", condition: str = "", role: str = METHOD) -> pd.DataFrame:
    """The per-task scores of a run, with the columns of `lab.results.stored.COLUMNS`, sorted; none of a private one.

    benchmark, condition: in place of what the experiment says of each part (`Experiment.side`).
    """
    import pandas as pd

    setup = results.setup
    run = setup.engine if setup.who.kind == "replay" else f"{setup.method} {setup.condition}"
    shared = {"metric": setup.headline or setup.metric, "role": role, "engine": results.backbone}
    shared |= {"evidence": results.evidence, "data": setup.data, "run": run}
    lines = []
    for score in [] if setup.private else setup.scores(results.episodes):
        own_benchmark, own_condition = setup.side(score)
        sides = {"benchmark": benchmark or own_benchmark, "condition": condition or own_condition}
        lines.append({**sides, **shared, "task": score.of, "value": score.value})
    frame = pd.DataFrame(lines, columns=COLUMNS).sort_values(COLUMNS[:-1], kind="stable")
    return frame.assign(value=frame["value"].astype(float).round(6))  # the last bits differ between machines


def spread(items: Sequence[T], limit: int) -> list[T]:
    """`limit` of the items, evenly over their order; 0 for all. Raises BadSetting for a negative limit."""
    if limit < 0:
        raise BadSetting(f"limit={limit}: state how many, or 0 for all")
    count = min(limit, len(items)) or len(items)
    return [items[number * len(items) // count] for number in range(count)]


def _differences(settings: Any) -> list[str]:
    """The settings that are not at their defaults, in words: "undo=3", "-Validate" for one that is switched off."""
    words = []
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if setting.name in ("engine", "data", "limit") or value == setting.default or setting.metadata:
            continue
        if is_dataclass(value):
            words += _differences(value)
        elif isinstance(value, bool):
            words.append(setting.name if value else f"-{setting.name.title()}")
        else:
            words.append(f"{setting.name}={','.join(map(str, value)) if isinstance(value, tuple) else value}")
    return words
