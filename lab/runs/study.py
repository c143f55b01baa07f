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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.machine.printing import hint
from lab.models.engines import parse
from lab.results import tables
from lab.runs import collecting, recordings
from lab.runs.experiment import BadSetting
from lab.runs.registry import STUDIES
from lab.runs.study_results import KEPT, Results
from lab.runs.trial import Settings, Trial

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Metric:
    """A column of the table. title: as the paper has it; "{benchmark}" stands for the benchmark's name.

    of: a field of an episode's result, or "score", by which the experiment judges it. scale: of its numbers in rows:
    100 for what is in [0, 1] and shown in percent, 1 for counts.
    kind: "rate", the share of episodes with 1; "mean"; or "auto", a rate where all values are 0 or 1.
    given: the field that an episode must have to count, such as "has_answer".
    """

    title: str
    of: str = "score"
    kind: Literal["rate", "mean", "auto"] = "auto"
    given: str = ""
    scale: float = 100


@dataclass(frozen=True)
class Condition:
    """A method as it is played. plays: benchmark -> what makes its experiment there; on others it is left out.

    settings: field -> value, in which it differs. role: what it is besides a method. extra: played only where it is
    named. recorded: a real model plays it by default. matched: the setting of a placebo that `Study.matched` gives.
    """

    name: str
    plays: Mapping[str, Callable[..., Any]]
    settings: Settings = field(default_factory=dict)
    role: Literal["method", "placebo", "privileged"] = "method"
    extra: bool = False
    recorded: bool = False
    matched: str = ""

    def but(self, name: str, setting: str = "", value: Any = None, **other: Any) -> Condition:
        """This condition with one setting changed, and other fields of `Condition`."""
        settings = {**self.settings, setting: value} if setting else self.settings
        return replace(self, **{"name": name, "settings": settings, **other})


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
class Study:
    """One table or figure as declared: what is played, and what is read off it.

    Functions among the fields take a `Trial`, or the `Results` of one.

    name: in manifests of runs and recordings. metric: name of the score that experiments give an episode.
    against: the baseline condition of all comparisons.
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

        known = recordings.rows(self.name)
        for rows in measured:  # a recording that is replayed is among them
            known = known[~known["backbone"].isin(rows["backbone"])]
        kept = recordings.rows(f"{self.name}{KEPT}")
        parts = [tables.published(*self.published), *measured, known, kept]
        return pd.concat([part for part in parts if len(part)], ignore_index=True)


def register(study: Study) -> Study:
    """Make a study known by its name, which runs and recordings keep."""
    STUDIES.own[study.name] = study
    return study
