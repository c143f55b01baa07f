"""Studies: benchmarks × conditions, declared once; rows, contrasts, costs and recordings follow from the declaration.

    DIRECT = Condition("direct", {"HotpotQA": multihop.HotpotQA}, {"evidence": "none"})
    STUDY = register(Study("my-study", ("HotpotQA",), (SDP, SDP.but("SDP without Validate", "settings.validate", False),
                           DIRECT), (Metric("{benchmark} EM", "em"),), against="SDP"))
    results = STUDY.run(engine="rules", limit=20)
    results.frame(); results.compare()

Conditions differ in their `settings`: fields of the experiment, or with dots fields of a nested dataclass.
All conditions play the same tasks. One run holds them all: it is resumed, recorded and replayed as one.
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
    """A column of the table. title: as in the paper; "{benchmark}" is replaced by the benchmark's name.

    of: a field of an episode's result, or "score", the experiment's own score. scale: factor for table rows:
    100 for values in [0, 1] reported in percent, 1 for counts.
    kind: "rate", the share of episodes with value 1; "mean"; or "auto", a rate if all values are 0 or 1.
    given: only episodes in which this field is true count, such as "has_answer".
    """

    title: str
    of: str = "score"
    kind: Literal["rate", "mean", "auto"] = "auto"
    given: str = ""
    scale: float = 100


@dataclass(frozen=True)
class Condition:
    """A method with its settings. plays: benchmark -> factory of its experiment; other benchmarks leave it out.

    settings: field -> value, where it differs from the defaults. role: "privileged" has information that agents lack;
    "null" has no skill, and its scores are a floor.
    extra: played only if named. recorded: a real model plays it by default. matched: name of the placebo's setting
    whose value `Study.matched` computes.
    """

    name: str
    plays: Mapping[str, Callable[..., Any]]
    settings: Settings = field(default_factory=dict)
    role: Literal["method", "placebo", "privileged", "null"] = "method"
    extra: bool = False
    recorded: bool = False
    matched: str = ""

    def but(self, name: str, setting: str = "", value: Any = None, **other: Any) -> Condition:
        """This condition with one setting changed, and other fields of `Condition`."""
        settings = {**self.settings, setting: value} if setting else self.settings
        return replace(self, **{"name": name, "settings": settings, **other})


# Defaults of a study: named functions, not lambdas, so that a study can be pickled for worker processes.
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
    """The declaration of a table or figure: what is played and which metrics are reported.

    Functions among the fields take a `Trial`, or the `Results` of one.

    name: in manifests of runs and recordings. metric: name of the score that experiments give an episode.
    against: the baseline condition of all comparisons.
    published: the paper's table, and the paper's file in `data/published`.
    options: default settings, in the form of `Trial.options`. synthetic: other defaults for synthetic data. limits:
    data -> benchmark -> default number of tasks, if not all.
    source: text of a row's column `source`. label: name of a condition in rows. rows: replaces `metrics` for scores
    that are no mean over episodes; takes results, benchmark and condition, and the arguments of `frame`.
    headline: title of the metric that is the mean of the tasks' scores; by default the first of `metrics`. titles:
    benchmark -> its name in titles, if the paper's differs. scale: of scores in contrasts, 100 for points.
    lower: whether lower scores are better. engine: default engine. others: default engines of single operators, such
    as rules for the operators of an expert that only acts; `engines` overrides them.
    matched: computes from the baseline's results the setting with which placebos reject as often.
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
        """The condition of that name. Raises BadSetting for an unknown name."""
        for condition in self.conditions:
            if condition.name == name:
                return condition
        known = [condition.name for condition in self.conditions]
        raise BadSetting(f"No condition {name!r}; choose from {', '.join(known)}{hint(name, known)}")

    def __post_init__(self) -> None:
        """Set the headline. Raises BadSetting for a name with "/", which separates the parts of an episode's id."""
        names = [*self.benchmarks, *(condition.name for condition in self.conditions)]
        if wrong := [name for name in names if "/" in name]:
            raise BadSetting(
                f"The name {wrong[0]!r} has a '/'; give it another, such as {wrong[0].replace('/', '-')!r}"
            )
        if not self.headline and self.metrics:
            object.__setattr__(self, "headline", self.metrics[0].title)

    def headline_of(self, benchmark: str) -> str:
        """The title of the headline metric on a benchmark."""
        return self.headline.format(benchmark=self.titles.get(benchmark, benchmark))

    @property
    def decimals(self) -> int:
        """Number of decimals of scores in text."""
        return 1 if self.scale == 100 else 3

    def names(self, engine: str = "rules") -> tuple[str, ...]:
        """The conditions that are played by default. A real model plays only those marked `recorded`, if any are."""
        every = parse(engine).by_rules or not any(condition.recorded for condition in self.conditions)
        return tuple(
            condition.name for condition in self.conditions if not condition.extra and (every or condition.recorded)
        )

    def trial(
        self, engine: str = "", benchmarks: Iterable[str] = (), conditions: Iterable[str] = (),
        options: Settings | None = None, **settings: Any,
    ) -> Trial:  # fmt: skip
        """The trial that `run` plays. settings: `engines`, `data`, `limit` and `seed` of `Experiment`."""
        engine = engine or self.engine
        trial = Trial(
            study=self.name, engine=engine, datasets=tuple(benchmarks) or self.benchmarks,
            methods=tuple(conditions) or self.names(engine), options=dict(options or {}), declared=self,
            **settings,
        )  # fmt: skip
        return replace(trial, engines={**self.others(trial), **trial.engines})

    def run(self, *, workers: int = 0, cluster: str = "", **settings: Any) -> Results:
        """Play the missing episodes and return all results. settings: those of `trial`.

        Raises what `lab.runs.collecting.collect` raises.
        """
        return collecting.collect(self.trial(**settings), workers, cluster)

    def replays(self, workers: int = 0) -> list[Results]:
        """Results of all recordings of the study that this machine's data can replay."""
        replayed = []
        for name in recordings.names(self.name):
            try:
                replayed.append(self.run(engine=f"replay:{name}", workers=workers))
            except (MissingData, BadSetting) as error:
                progress.say(f"{name}: {error}")
        return replayed

    def kept(self) -> pd.DataFrame:
        """The contrasts that `Results.keep` stored."""
        return recordings.paired(f"{self.name}{KEPT}")

    def beside_published(self, *measured: pd.DataFrame) -> pd.DataFrame:
        """The rows that the paper and its rivals report, then the given rows of runs, then rows of recordings.

        If two runs have a number of the same method and backbone, such as a baseline without a model, the first one's
        is returned.
        """
        import pandas as pd

        recorded, runs, known = recordings.rows(self.name), list[pd.DataFrame](), set[tuple[str, ...]]()
        for rows in measured:
            keys = [*rows[["method", "backbone", "metric"]].itertuples(index=False, name=None)]
            runs.append(rows[[key not in known for key in keys]])
            known.update(keys)
            # Drop the stored rows of recordings that were replayed here.
            recorded = recorded[~recorded["backbone"].isin(rows["backbone"])]
        stored = recordings.rows(f"{self.name}{KEPT}")
        published = [tables.published(*self.published)] if any(self.published) else []
        parts = [*published, *runs, recorded, stored]
        return pd.concat([part for part in parts if len(part)], ignore_index=True)


def register(study: Study) -> Study:
    """Register a study under its name, which runs and recordings store."""
    STUDIES.own[study.name] = study
    return study
