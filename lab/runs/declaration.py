"""Declarations of studies: their fields, and the registry that finds one by its name.

A module of its own, so that what is played (`lab.runs.trial`) knows a declaration and not the study that plays it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, TypeVar

from lab.machine.printing import hint
from lab.models.engines import parse
from lab.results import tables
from lab.runs.conditions import Condition, Metric, Settings
from lab.runs.experiment import BadSetting

GROUP = "lab.studies"
D = TypeVar("D", bound="Declaration")
_registered: dict[str, Any] = {}


# Defaults of a study; by name, so that it can be sent to other processes.
def data_in_words(trial: Any, benchmark: str) -> str:
    return f"{trial.data_of(benchmark)} data"


def name_itself(results: Any, condition: str) -> str:
    return condition


def no_check(trial: Any) -> None: ...


def nobody_else(trial: Any) -> Mapping[str, str]:
    return {}


def always(trial: Any) -> bool:
    return True


@dataclass(frozen=True)
class Declaration:
    """One table or figure as declared: what is played, and what is read off it (`lab.runs.study.Study` plays it).

    Functions among the fields take a `lab.runs.trial.Trial`, or the `Results` of one.

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
    source: Callable[[Any, str], str] = data_in_words
    label: Callable[[Any, str], str] = name_itself
    rows: Callable[..., Iterable[tables.Row]] | None = None
    headline: str = ""
    titles: Mapping[str, str] = field(default_factory=dict)
    scale: float = 100
    lower: bool = False
    engine: str = "rules"
    others: Callable[[Any], Mapping[str, str]] = nobody_else
    matched: Callable[[Any], Any] | None = None
    check: Callable[[Any], None] = no_check
    scored: Callable[[Any], bool] = always
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


def register(study: D) -> D:
    """Make a study known by its name, which runs and recordings keep."""
    _registered[study.name] = study
    return study


def names() -> list[str]:
    """The studies of installed packages, sorted; nothing is imported for it."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def named(name: str) -> Any:
    """Returns a `lab.runs.study.Study` by its name, which is that of its entry point, or "module:STUDY".

    Raises BadSetting for a name that there is not, ImportError for a module that cannot load.
    """
    if name in _registered:
        return _registered[name]
    for point in entry_points(group=GROUP):
        if point.name == name:
            return register(point.load())
    module, colon, attribute = name.partition(":")
    if colon and isinstance(loaded := getattr(import_module(module), attribute, None), Declaration):
        return register(loaded)
    known = names()
    raise BadSetting(f"There is no study {name!r}. There are: {', '.join(known)}{hint(name, known)}")
