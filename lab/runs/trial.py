"""A trial of a study: selected conditions on selected tasks of its benchmarks, played as one run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_type_hints

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.machine.files import canonical
from lab.machine.printing import hint
from lab.models import budget
from lab.models.backbone import Ledger
from lab.results.outcomes import Judgement, Score
from lab.results.stored import FLOOR, METHOD
from lab.runs.experiment import NOT_KEPT, NOT_TOLD, BadSetting, Experiment
from lab.runs.manifest import Manifest, own_code
from lab.runs.registry import STUDIES
from lab.runs.run import Episode
from lab.runs.study_results import Entry, Results, entry
from lab.viewer.steps import Exchange
from lab.viewer.timeline import Timeline

if TYPE_CHECKING:
    from pydantic import TypeAdapter

Settings = Mapping[str, Any]
SHARED = ("engine", "engines", "data", "limit", "seed")  # settings that all conditions share


@dataclass(frozen=True, kw_only=True)
class Trial(Experiment):
    """Selected conditions of a study on selected tasks of its benchmarks.

    limit: tasks per benchmark, 0 for all; -1 for the study's own limits. options: settings that override the study's,
    for all conditions that have them. "NAME:setting" sets it for the condition or benchmark NAME alone.
    """

    limit: int = -1
    study: str = field(metadata=NOT_TOLD)
    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    options: Settings = field(default_factory=dict, hash=False)
    declared: Any = field(default=None, repr=False, compare=False, metadata=NOT_KEPT)

    selection: ClassVar[tuple[str, ...]] = ("data", "limit", "datasets", "methods", "options")

    def __post_init__(self) -> None:
        """Store the declaration in the trial: worker processes need it if a notebook declared the study."""
        if self.declared is None:
            object.__setattr__(self, "declared", STUDIES.named(self.study))
        STUDIES.own[self.study] = self.declared

    @property
    def of(self) -> Any:
        """The declaration, a `lab.runs.study.Study`."""
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
    def informed(self) -> bool:  # type: ignore[override]
        return any(self.part(*pair).informed for pair in self._declared())

    @property
    def metric(self) -> str:  # type: ignore[override]
        return self.of.metric

    @classmethod
    def kept(cls, manifest: Manifest) -> Self:
        setup = cls(study=manifest.parameters["study"], engine=manifest.engine)
        return replace(setup, **setup._known(manifest.parameters))

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(benchmark, condition) pairs that are played, in order."""
        return [pair for pair in self._declared() if pair not in self.left_out]

    def methods_of(self, dataset: str) -> list[str]:
        return [name for benchmark, name in self.pairs if benchmark == dataset]

    @cached_property
    def left_out(self) -> dict[tuple[str, str], str]:
        """(benchmark, condition) -> why this machine cannot play it; see `Experiment.unplayable`."""
        reasons = {pair: self.part(*pair).unplayable() for pair in self._declared()}
        return {pair: reason for pair, reason in reasons.items() if reason}

    def inputs(self) -> dict[str, str]:
        """The inputs of all experiments and a reader's own code, as "benchmark/condition/name" -> hash."""
        parts = {"/".join(pair): self.part(*pair) for pair in self.pairs}
        inputs = {f"{pair}/{name}": key for pair, part in parts.items() for name, key in part.inputs().items()}
        code = {f"{pair}/own_code": own_code(type(part)) for pair, part in parts.items()}
        return inputs | {name: key for name, key in code.items() if key}

    def data_of(self, dataset: str) -> str:
        """The data of a benchmark. One that has no official data plays synthetic tasks even if others play official."""
        return self.part(dataset, self.methods_of(dataset)[0]).decided().data

    def _declared(self) -> list[tuple[str, str]]:
        """(benchmark, condition) pairs as declared, including those that this machine cannot play."""
        return [(dataset, name) for dataset in self.datasets for name in self.methods
                if dataset in self.of.condition(name).plays]  # fmt: skip

    def operators(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(operator for pair in self.pairs for operator in self.part(*pair).operators()))

    def tasks(self) -> list[str]:
        """All methods on a task before the next task, so that a stopped run has tasks that all have played."""
        return [
            str(Entry(dataset, method, task))
            for dataset in self.datasets
            for task in self.part(dataset, self.methods_of(dataset)[0]).tasks()
            for method in self.methods_of(dataset)
        ]

    def group(self, task: str) -> str:
        """The benchmark and the task's group: only groups that every method has played are compared."""
        names = entry(task)
        return f"{names.dataset}/{self._of(task).group(names.task)}"

    def play(self, task: str, ledger: Ledger) -> dict[str, Any]:
        return self._of(task).play(entry(task).task, ledger)

    def calls(self, task: str) -> Mapping[str, int]:
        return self._of(task).calls(entry(task).task)

    def judged(self, episode: Episode) -> Judgement:
        """The judgement of the method's own experiment."""
        return self._of(episode.task).judged(replace(episode, task=entry(episode.task).task))

    def scores(self, episodes: Mapping[str, Episode]) -> list[Score]:
        """Scores of each task under each condition, by its own experiment; `part` is "benchmark/condition"."""
        parts: dict[tuple[str, str], dict[str, Episode]] = {}
        for name, episode in episodes.items():
            dataset, method, task = entry(name)
            parts.setdefault((dataset, method), {})[task] = replace(episode, task=task)
        return [
            score._replace(part="/".join(pair), episodes=(str(Entry(*pair, score.of)),))
            for pair, played in parts.items()
            for score in self.part(*pair).scores(played)
        ]

    def role(self, condition: str) -> str:
        """See `Experiment.role`; the study declares it."""
        return FLOOR if self.of.condition(condition).role == "null" else METHOD

    def timeline(self, episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
        """The timeline of the method's own experiment."""
        timeline = self._of(episode.task).timeline(replace(episode, task=entry(episode.task).task), exchanges)
        return replace(timeline, title=episode.task)

    def _of(self, task: str) -> Any:
        names = entry(task)
        return self.part(names.dataset, names.method)

    def decided(self) -> Self:
        """A copy with data, conditions and options decided. Raises BadSetting if nothing can be played."""
        if unknown := [name for name in self.datasets if name not in self.of.benchmarks]:
            raise BadSetting(f"No benchmark {unknown[0]!r}; choose from {', '.join(self.of.benchmarks)}")
        if self.limit < -1:
            raise BadSetting(f"limit={self.limit}: state how many, 0 for all, or -1 for the study's own")
        data = self._playable()._data()
        with_data = replace(self, data=data)
        with_data._say_missing()
        setup = replace(with_data._playable(), limit=max(self.limit, 0))
        setup._check_options()
        defaults = {**self.of.options, **(self.of.synthetic if data == "synthetic" else {})}
        default_limits = self.of.limits.get(data, {}) if self.limit < 0 else {}
        limits = {
            f"{dataset}:limit": default_limits[dataset] for dataset in setup.datasets if dataset in default_limits
        }
        options = self._over({**defaults, **limits})
        first = replace(setup, options=options)._first().decided()
        # Settings that the experiment decides, such as the first split, belong to the run's identity.
        options |= {name: getattr(first, name) for name in options if "." not in name and hasattr(first, name)}
        decided = replace(setup, options=options)
        self.of.check(decided)
        return decided

    def _playable(self) -> Self:
        """A copy with the benchmarks and conditions that can be played. Raises BadSetting if there are none."""
        datasets = tuple(dict.fromkeys(dataset for dataset, _ in self.pairs))
        playing = {method for _, method in self.pairs}
        methods = tuple(name for name in self.methods if name in playing)
        if not methods:
            known = ", ".join(condition.name for condition in self.of.conditions)
            reasons = "".join(f". Left out here: {reason}" for reason in dict.fromkeys(self.left_out.values()))
            where = ", ".join(self.datasets) or "no benchmark"
            raise BadSetting(f"No condition plays {where}; choose from {known}{reasons}")
        return replace(self, datasets=datasets, methods=methods)

    def _say_missing(self) -> None:
        """Report which conditions are left out of which benchmarks, one message per reason."""
        benchmarks: dict[tuple[str, str], list[str]] = {}
        for (dataset, name), reason in self.left_out.items():
            benchmarks.setdefault((name, reason), []).append(dataset)
        merged: dict[tuple[str, str], list[str]] = {}
        for (name, reason), datasets in benchmarks.items():
            merged.setdefault((", ".join(datasets), reason), []).append(name)
        for (where, reason), names in merged.items():
            verb = "are" if len(names) > 1 else "is"
            progress.say_once(f"{'; '.join(names)} {verb} left out of {where}: {reason}")

    def _data(self) -> str:
        """The data that all benchmarks play: with "auto", synthetic for all if one lacks its official data."""

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
        """Data, benchmarks, number of conditions, and options, for the name of the run's folder."""
        options = [f"{name}={value}" for name, value in self.options.items() if value != self.of.options.get(name)]
        return " ".join([self.data, *self.datasets, f"{len(self.methods)} conditions", *options])

    def prepared(self, collect: Callable[[Experiment], Any]) -> Self:
        """A copy with the settings of placebos whose options are not given: they come from the baseline's results.

        collect: plays the baseline. Raises BudgetSpent if the budget ends the baseline early.
        """
        resolved = self.resolved()
        conditions = (self.of.condition(name) for name in resolved.methods)
        placebos = [
            condition
            for condition in conditions
            if condition.matched and f"{condition.name}:{condition.matched}" not in resolved.options
        ]
        if not self.of.matched or not placebos:
            return self
        baseline = replace(self, methods=(self.of.against,))
        engines = {name: engine for name, engine in self.engines.items() if name in baseline.operators()}
        played = collect(replace(baseline, engines=engines))
        if len(played.episodes) < len(played.setup.tasks()):
            budget.of_environment().check()  # a budget that ended the baseline early leaves no rate to match
        value = self.of.matched(played)
        matched = {f"{placebo.name}:{placebo.matched}": value for placebo in placebos}
        return replace(self, options={**self.options, **matched})

    def part(self, dataset: str, method: str) -> Any:
        """The experiment of a condition on a benchmark. Raises BadSetting if the condition does not play it."""
        condition = self.of.condition(method)
        if dataset not in condition.plays:
            raise BadSetting(f"{method} does not play {dataset}; it plays {', '.join(condition.plays)}")
        shared = {name: getattr(self, name) for name in SHARED}
        experiment = condition.plays[dataset](**{**shared, "limit": max(self.limit, 0)})
        options = self._over(self.of.options)
        for name, value in sorted(options.items(), key=lambda option: ":" in option[0]):  # those of a benchmark win
            prefix, _, setting = name.rpartition(":")
            if prefix in ("", dataset) and has(experiment, setting):
                experiment = changed(experiment, setting, value)
        named = {name.rpartition(":")[2]: value for name, value in options.items() if name.startswith(f"{method}:")}
        for name, value in {**condition.settings, **named}.items():
            experiment = changed(experiment, name, value)
        return experiment

    def _over(self, defaults: Settings) -> dict[str, Any]:
        """The options over defaults. An option for all benchmarks replaces its default for one of them, too."""
        replaced = {f"{dataset}:{name}" for dataset in self.of.benchmarks for name in self.options}
        return {name: value for name, value in defaults.items() if name not in replaced} | dict(self.options)

    def world(self) -> Any:
        """The world with the tasks of all conditions."""
        return self._first().world()

    def _first(self) -> Any:
        return self.part(self.datasets[0], self.methods_of(self.datasets[0])[0])

    def _check_options(self) -> None:
        """Raises BadSetting for an option that no condition has, or with a value of the wrong type."""
        for option in self.options:
            prefix, colon, name = option.rpartition(":")
            prefixes = (*self.of.benchmarks, *(condition.name for condition in self.of.conditions))
            if colon and prefix not in prefixes:
                raise BadSetting(f"options: {option}: no benchmark or condition {prefix!r}{hint(prefix, prefixes)}")
            parts = [self.part(*pair) for pair in self.pairs if not colon or prefix in pair]
            for part in (part for part in parts if has(part, name)):
                changed(part, name, self.options[option])  # raises for a wrong type before anything runs
            if not any(has(part, name) for part in parts) and (parts or not colon):
                known = sorted({setting.name for part in parts for setting in fields(part)})
                raise BadSetting(f"options: no setting {name!r}; choose from {', '.join(known)}{hint(name, known)}")

    def _known(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        known = super()._known(recorded)
        if "options" in known:
            allowed = [known["options"], self.of.options]
            different = {
                name: value
                for name, value in self.options.items()
                if name in known["options"]
                and canonical(value) not in [canonical(options.get(name)) for options in allowed]
            }
            if different:
                name = next(iter(different))
                raise BadSetting(
                    f"{self.engine} was recorded with {name}={known['options'][name]!r}, not {different[name]!r}; drop "
                    "that option, or record a run with it"
                )
        return known


def has(holder: Any, name: str) -> bool:
    """Whether a dataclass has a field of that name. Dots lead to fields of nested dataclasses."""
    first, _, rest = name.partition(".")
    known = is_dataclass(holder) and first in {setting.name for setting in fields(holder)}
    return known and (not rest or has(getattr(holder, first), rest))


def changed(holder: Any, name: str, value: Any) -> Any:
    """A copy with one field changed. value: in JSON types. Raises BadSetting for an unknown field or a wrong type."""
    from pydantic import ValidationError

    first, _, rest = name.partition(".")
    known = [setting.name for setting in fields(holder)]
    if first not in known:
        raise BadSetting(f"{type(holder).__name__} has no setting {first!r}; there are: {', '.join(known)}")
    if rest:
        return replace(holder, **{first: changed(getattr(holder, first), rest, value)})
    kind: Any = type(holder)
    try:
        typed = _typed(kind, first).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise BadSetting(f"{name}={value!r}: {error.errors()[0]['msg']}") from None
    return replace(holder, **{first: typed})


@cache
def _typed(kind: Any, name: str) -> TypeAdapter[Any]:
    """The validator of a field. Cached: it takes milliseconds to build, and studies change thousands of settings."""
    from pydantic import TypeAdapter

    return TypeAdapter(get_type_hints(kind)[name])
