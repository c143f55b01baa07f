"""Studies: benchmarks × conditions, declared once; rows, contrasts, costs and recordings follow from the declaration.

    DIRECT = Condition("direct", {"HotpotQA": multihop.HotpotQA}, {"evidence": "none"})
    STUDY = register(Study("my-study", ("HotpotQA",), (SDP, SDP.but("SDP without Validate", "settings.validate", False),
                           DIRECT), (Metric("{benchmark} EM", "em"),), against="SDP"))
    results = STUDY.run(engine="rules", limit=20)
    results.frame(); results.compare()

A condition differs from another by its `settings`, each a field of the experiment or, with dots, of what is in one.
All conditions play the same tasks, and a run holds them all: it is resumed, recorded and replayed as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, cached_property
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, ClassVar, Self

from lab.machine import progress
from lab.machine.spelling import hint
from lab.models.backbone import Ledger
from lab.models.cache import canonical
from lab.models.engines import parse
from lab.results import tables
from lab.results.outcomes import Judged, Score
from lab.runs import collecting, paired, recordings
from lab.runs.conditions import Condition, Entry, Metric, Settings, entry
from lab.runs.experiment import NOT_KEPT, NOT_TOLD, BadSetting, Experiment
from lab.runs.manifest import Manifest
from lab.runs.run import Episode
from lab.runs.settings import changed, has
from lab.runs.study_results import KEPT, Results
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline

if TYPE_CHECKING:
    import pandas as pd

GROUP = "lab.studies"
SHARED = ("engine", "engines", "data", "limit", "seed")  # settings that all conditions share
_registered: dict[str, Study] = {}


# Defaults of a study; by name, so that it can be sent to other processes.
def data_in_words(trial: Trial, benchmark: str) -> str:
    return f"{trial.data_of(benchmark)} data"


def name_itself(results: Results, condition: str) -> str:
    return condition


def no_check(trial: Trial) -> None: ...


def nobody_else(trial: Trial) -> Mapping[str, str]:
    return {}


def always(trial: Trial) -> bool:
    return True


@dataclass(frozen=True)
class Study:
    """One table or figure: what is played, and what is read off it.

    name: in manifests of runs and recordings. metric: name of the score that experiments give an episode.
    against: the baseline condition of all comparisons. primary: the condition of the protocol's primary comparison.
    published: the paper's table, and the paper's file in `data/published`.
    options: default settings, as `Trial.options` has them. synthetic: defaults that differ on synthetic data. limits:
    data -> benchmark -> how many tasks by default, where these are not all.
    source: text of a row's column `source`. label: name of a condition in rows. rows: in place of `metrics`, for
    scores that no mean over episodes gives: of results, benchmark and condition, with the arguments of `frame`.
    headline: title of the metric that is the mean of the tasks' scores; by default the first of `metrics`. titles:
    benchmark -> its name in titles, where the paper writes it otherwise. scale: of scores in contrasts, 100 for points.
    lower: whether lower scores are the better ones. engine: who answers by default. others: who answers single
    operators where `engines` names nobody else, such as rules beside an expert that only acts.
    matched: computes from the baseline's results the setting that gives placebos as many rejections.
    check: raises BadSetting for a trial that cannot be played. scored: whether the tasks' answers are known.
    """

    name: str
    benchmarks: tuple[str, ...]
    conditions: tuple[Condition, ...]
    metrics: tuple[Metric, ...]
    metric: str = "score"
    against: str = ""
    primary: str = ""
    published: tuple[str, str] = ("", "")
    options: Settings = field(default_factory=dict)
    synthetic: Settings = field(default_factory=dict)
    limits: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    source: Callable[[Trial, str], str] = data_in_words
    label: Callable[[Results, str], str] = name_itself
    rows: Callable[..., Iterable[tables.Row]] | None = None
    headline: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    scale: float = 100
    lower: bool = False
    engine: str = "rules"
    others: Callable[[Trial], Mapping[str, str]] = nobody_else
    matched: Callable[[Results], Any] | None = None
    check: Callable[[Trial], None] = no_check
    scored: Callable[[Trial], bool] = always
    packages: tuple[str, ...] = ("lab", "worlds", "agents", "sdp")

    def condition(self, name: str) -> Condition:
        """Raises BadSetting for a name that there is not."""
        for condition in self.conditions:
            if condition.name == name:
                return condition
        known = [condition.name for condition in self.conditions]
        raise BadSetting(f"No condition {name!r}; choose from {', '.join(known)}{hint(name, known)}")

    def __post_init__(self) -> None:
        if not self.headline and self.metrics:
            object.__setattr__(self, "headline", self.metrics[0].title)

    def headline_of(self, benchmark: str) -> str:
        """The title of the headline metric on a benchmark."""
        return self.headline.format(benchmark=self.titles.get(benchmark, benchmark))

    @property
    def decimals(self) -> int:
        """Of scores in text."""
        return 1 if self.scale == 100 else 3

    def names(self, engine: str = "rules") -> tuple[str, ...]:
        """The conditions that are played by default: of a real model those that the protocol of recordings names."""
        by_rules = parse(engine).by_rules
        return tuple(c.name for c in self.conditions if not c.extra and (by_rules or c.recorded))

    def trial(
        self, engine: str = "", benchmarks: Iterable[str] = (), conditions: Iterable[str] = (),
        options: Settings | None = None, **settings: Any,
    ) -> Trial:  # fmt: skip
        """What `run` plays. settings: `engines`, `data`, `limit` and `seed` of `Experiment`."""
        engine = engine or self.engine
        trial = Trial(
            study=self.name, engine=engine, datasets=tuple(benchmarks) or self.benchmarks,
            methods=tuple(conditions) or self.names(engine), options=dict(options or {}), declared=self,
            **settings,
        )  # fmt: skip
        return replace(trial, engines={**self.others(trial), **trial.engines})

    def run(self, *, workers: int = 0, cluster: str = "", **settings: Any) -> Results:
        """Play it, or what is missing of it. settings: those of `trial`. Raises as `lab.runs.collecting.collect`."""
        return collecting.collect(self.trial(**settings), workers, cluster)

    def replays(self, workers: int = 0) -> list[Results]:
        """Every recording of the study that can be replayed with the data at hand."""
        from lab.machine.faults import MissingData

        replayed = []
        for name in recordings.names(self.name):
            try:
                replayed.append(self.run(engine=f"replay:{name}", workers=workers))
            except (MissingData, BadSetting) as error:
                progress.say(f"{name}: {error}")
        return replayed

    def kept(self) -> pd.DataFrame:
        """The contrasts that `Results.keep` kept."""
        return recordings.paired(f"{self.name}{KEPT}")

    def beside_published(self, *measured: pd.DataFrame) -> pd.DataFrame:
        """Rows of runs, and those of recordings, behind those that the paper and its rivals report."""
        import pandas as pd

        known = recordings.rows_with_data(self.name)
        for rows in measured:  # a recording that is replayed is among them
            known = known[~known["backbone"].isin(rows["backbone"])]
        kept = recordings.rows_with_data(f"{self.name}{KEPT}")
        parts = [tables.published(*self.published), *measured, known, kept]
        return pd.concat([part for part in parts if len(part)], ignore_index=True)


def register(study: Study) -> Study:
    """Make a study known by its name, which runs and recordings keep."""
    _registered[study.name] = study
    return study


def names() -> list[str]:
    """The studies of installed packages, sorted; nothing is imported for it."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def named(name: str) -> Study:
    """A study by its name, which is that of its entry point, or "module:STUDY". Raises BadSetting, ImportError."""
    if name in _registered:
        return _registered[name]
    for point in entry_points(group=GROUP):
        if point.name == name:
            return register(point.load())
    module, colon, attribute = name.partition(":")
    if colon and isinstance(loaded := getattr(import_module(module), attribute, None), Study):
        return register(loaded)
    known = names()
    raise BadSetting(f"There is no study {name!r}. There are: {', '.join(known)}{hint(name, known)}")


@dataclass(frozen=True, kw_only=True)
class Trial(Experiment):
    """Some conditions of a study on some tasks of its benchmarks.

    limit: how many tasks of each benchmark, 0 for all; -1 for the study's own limits. options: settings in place of the
    study's own, for all conditions that have them; behind the name of a condition or a benchmark and a colon, for that
    one alone.
    """

    limit: int = -1
    study: str = field(metadata=NOT_TOLD)
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    options: Settings = field(default_factory=dict, hash=False)
    declared: Study | None = field(default=None, repr=False, compare=False, metadata=NOT_KEPT)

    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "datasets", "methods", "options")

    def __post_init__(self) -> None:
        """With the declaration, which worker processes need of a study that a notebook declares."""
        if self.declared is None:
            object.__setattr__(self, "declared", named(self.study))
        register(self.of)

    @property
    def of(self) -> Study:
        """The declaration."""
        assert self.declared is not None
        return self.declared

    @property
    def results(self) -> type[Results]:
        return Results

    @property
    def method(self) -> str:  # type: ignore[override]  # one class plays all studies
        return self.study

    @property
    def packages(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.of.packages

    @property
    def metric(self) -> str:  # type: ignore[override]
        return self.of.metric

    @classmethod
    def kept(cls, manifest: Manifest) -> Self:
        setup = cls(study=manifest.parameters["study"], engine=manifest.engine)
        return replace(setup, **setup._known(manifest.parameters))

    def methods_of(self, dataset: str) -> list[str]:
        return [name for played, name in self._declared() if played == dataset and (played, name) not in self.left_out]

    @cached_property
    def left_out(self) -> dict[tuple[str, str], str]:
        """(benchmark, condition) -> why it cannot be played here: see `Experiment.unplayable`."""
        reasons = {pair: self.part(*pair).unplayable() for pair in self._declared()}
        return {pair: reason for pair, reason in reasons.items() if reason}

    def inputs(self) -> dict[str, str]:
        """Those of all conditions, by benchmark and condition."""
        pairs = [(dataset, name) for dataset in self.datasets for name in self.methods_of(dataset)]
        return {f"{'/'.join(pair)}/{name}": key for pair in pairs for name, key in self.part(*pair).inputs().items()}

    def data_of(self, dataset: str) -> str:
        """The data of a benchmark: one without official data has synthetic tasks beside another's official ones."""
        return self.part(dataset, self.methods_of(dataset)[0]).decided().data

    def _declared(self) -> list[tuple[str, str]]:
        """Benchmarks with the conditions that play them as declared."""
        return [(dataset, name) for dataset in self.datasets for name in self.methods
                if dataset in self.of.condition(name).plays]  # fmt: skip

    def operators(self) -> tuple[str, ...]:
        parts = (self.part(dataset, method) for dataset in self.datasets for method in self.methods_of(dataset))
        return tuple(dict.fromkeys(operator for part in parts for operator in part.operators()))

    def tasks(self) -> list[str]:
        """A method beside the others on each task, so that a stopped run has some of all."""
        return [
            str(Entry(dataset, method, task))
            for dataset in self.datasets
            for task in self.part(dataset, self.methods_of(dataset)[0]).tasks()
            for method in self.methods_of(dataset)
        ]

    def group(self, task: str) -> str:
        """A dataset's task: only those that every method has played are compared."""
        of = entry(task)
        return f"{of.dataset}/{self._of(task).group(of.task)}"

    def player(self, task: str) -> tuple[Experiment, str]:
        return self._of(task), entry(task).task

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        return self._of(task).play(entry(task).task, ledger)

    def judged(self, episode: Episode) -> Judged:
        """As the method's own experiment judges it."""
        return self._of(episode.task).judged(replace(episode, task=entry(episode.task).task))

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """Of each task under each condition, as its own experiment scores it; `part` is "benchmark/condition"."""
        parts: dict[tuple[str, str], dict[str, Episode]] = {}
        for name, episode in episodes.items():
            dataset, method, task = entry(name)
            parts.setdefault((dataset, method), {})[task] = replace(episode, task=task)
        return [
            score._replace(part="/".join(pair), episodes=(str(Entry(*pair, score.of)),))
            for pair, own in parts.items()
            for score in self.part(*pair).scores(own)
        ]

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """As the method's own experiment shows it."""
        shown = self._of(episode.task).timeline(replace(episode, task=entry(episode.task).task), exchanges)
        return replace(shown, title=episode.task)

    def _of(self, task: str) -> Any:
        of = entry(task)
        return self.part(of.dataset, of.method)

    def decided(self) -> Self:
        """With data, conditions and options decided. Raises BadSetting where there is nothing to play."""
        if unknown := [name for name in self.datasets if name not in self.of.benchmarks]:
            raise BadSetting(f"No benchmark {unknown[0]!r}; choose from {', '.join(self.of.benchmarks)}")
        if self.limit < -1:
            raise BadSetting(f"limit={self.limit}: state how many, 0 for all, or -1 for the study's own")
        data = self._playable()._data()
        known = replace(self, data=data)
        known._say_missing()
        setup = replace(known._playable(), limit=max(self.limit, 0))
        setup._check_options()
        own = {**self.of.options, **(self.of.synthetic if data == "synthetic" else {})}
        few = self.of.limits.get(data, {}) if self.limit < 0 else {}
        limits = {f"{dataset}:limit": few[dataset] for dataset in setup.datasets if dataset in few}
        options = {**own, **limits, **self.options}
        first = replace(setup, options=options)._first().decided()
        # What an experiment decides by itself, such as the first split, is part of what was played.
        options |= {name: getattr(first, name) for name in options if "." not in name and hasattr(first, name)}
        decided = replace(setup, options=options)
        self.of.check(decided)
        return decided

    def _playable(self) -> Self:
        """With the benchmarks and conditions that can be played. Raises BadSetting where there are none."""
        datasets = tuple(dataset for dataset in self.datasets if self.methods_of(dataset))
        playing = {name for dataset in datasets for name in self.methods_of(dataset)}
        methods = tuple(name for name in self.methods if name in playing)
        if not methods:
            known = ", ".join(condition.name for condition in self.of.conditions)
            reasons = "".join(f". Left out here: {reason}" for reason in dict.fromkeys(self.left_out.values()))
            where = ", ".join(self.datasets) or "no benchmark"
            raise BadSetting(f"No condition plays {where}; choose from {known}{reasons}")
        return replace(self, datasets=datasets, methods=methods)

    def _say_missing(self) -> None:
        """Say which conditions are left out of which benchmarks, once a reason."""
        benchmarks: dict[tuple[str, str], list[str]] = {}
        for (dataset, name), reason in self.left_out.items():
            benchmarks.setdefault((name, reason), []).append(dataset)
        together: dict[tuple[str, str], list[str]] = {}
        for (name, reason), datasets in benchmarks.items():
            together.setdefault((", ".join(datasets), reason), []).append(name)
        for (where, reason), names in together.items():
            _say(f"{'; '.join(names)} {'are' if len(names) > 1 else 'is'} left out of {where}: {reason}")

    def _data(self) -> str:
        """Of all benchmarks alike, so synthetic where one lacks its official data."""
        from lab.machine.faults import MissingData

        def decided(data: str) -> list[str]:
            parts = (replace(self, data=data).part(name, self.methods_of(name)[0]) for name in self.datasets)
            return [part.decided().data for part in parts]

        first: str = self._first().decided().data
        try:
            decided(first)
        except MissingData:
            if self.data != "auto":
                raise
            return "synthetic"
        return first

    @property
    def condition(self) -> str:
        """Data, benchmarks, how many conditions, and options, for the run's folder."""
        options = [f"{name}={value}" for name, value in self.options.items() if value != self.of.options.get(name)]
        return " ".join([self.data, *self.datasets, f"{len(self.methods)} conditions", *options])

    def prepared(self, collect: Callable[[Experiment], Any]) -> Self:
        """With the settings of placebos that are not stated: the baseline is played, and its results give them."""
        resolved = self.resolved()
        stated = {name.rpartition(":")[0] for name in resolved.options}
        conditions = (self.of.condition(name) for name in resolved.methods if name not in stated)
        placebos = [condition for condition in conditions if condition.matched]
        if not self.of.matched or not placebos:
            return self
        alone = replace(self, methods=(self.of.against,))
        engines = {name: other for name, other in self.engines.items() if name in alone.operators()}
        value = self.of.matched(collect(replace(alone, engines=engines)))
        matched = {f"{placebo.name}:{placebo.matched}": value for placebo in placebos}
        return replace(self, options={**self.options, **matched})

    def part(self, dataset: str, method: str) -> Any:
        """The experiment of one condition on one benchmark. Raises BadSetting for one that there is not."""
        condition = self.of.condition(method)
        if dataset not in condition.plays:
            raise BadSetting(f"{method} does not play {dataset}; it plays {', '.join(condition.plays)}")
        shared = {name: getattr(self, name) for name in SHARED}
        experiment = condition.plays[dataset](**{**shared, "limit": max(self.limit, 0)})
        options = {**self.of.options, **self.options}
        for name, value in options.items():
            whose, _, setting = name.rpartition(":")
            if whose in ("", dataset) and has(experiment, setting):
                experiment = changed(experiment, setting, value)
        own = {name.rpartition(":")[2]: value for name, value in options.items() if name.startswith(f"{method}:")}
        for name, value in {**condition.settings, **own}.items():
            experiment = changed(experiment, name, value)
        return experiment

    def world(self) -> Any:
        """The tasks of all conditions."""
        return self._first().world()

    def _first(self) -> Any:
        return self.part(self.datasets[0], self.methods_of(self.datasets[0])[0])

    def _check_options(self) -> None:
        """Raise BadSetting for an option that no condition has, or of another type."""
        for option in self.options:
            whose, colon, name = option.rpartition(":")
            named = (*self.of.benchmarks, *(condition.name for condition in self.of.conditions))
            if colon and whose not in named:
                raise BadSetting(f"options: {option}: no benchmark or condition {whose!r}{hint(whose, named)}")
            played = [(dataset, method) for dataset in self.datasets for method in self.methods_of(dataset)]
            parts = [self.part(*pair) for pair in played if not colon or whose in pair]
            for part in (part for part in parts if has(part, name)):
                changed(part, name, self.options[option])  # a value of another type is refused before anything runs
            if not any(has(part, name) for part in parts) and (parts or not colon):
                known = sorted({setting.name for part in parts for setting in fields(part)})
                raise BadSetting(f"options: no setting {name!r}; choose from {', '.join(known)}{hint(name, known)}")

    def _known(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        known = super()._known(recorded)
        if "options" in known:
            agreed = [known["options"], self.of.options]
            asked = {
                name: value
                for name, value in self.options.items()
                if name in known["options"] and canonical(value) not in [canonical(of.get(name)) for of in agreed]
            }
            if asked:
                name = next(iter(asked))
                raise BadSetting(
                    f"{self.engine} was recorded with {name}={known['options'][name]!r}, not {asked[name]!r}; drop "
                    "that option, or record a run with it"
                )
        return known


@cache
def _say(message: str) -> None:
    """Once in a process, since the same holds for every run of a notebook."""
    progress.say(message)


def primary(runs: Sequence[Results]) -> pd.DataFrame:
    """The protocol's comparison in each run: see `lab.runs.paired.primary`; nothing of no runs."""
    import pandas as pd

    if not runs:
        return pd.DataFrame()
    study = runs[0].of_study
    rows = paired.primary(runs, study.against, study.primary)
    data = {(run.backbone, dataset): run.setup.data_of(dataset) for run in runs for dataset in run.setup.datasets}
    return rows.assign(data=[data[row.backbone, row.dataset] for row in rows.itertuples()])
