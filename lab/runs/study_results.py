"""Results of a study's run: rows, contrasts and costs, by benchmark and condition.

Conditions are compared on the same tasks, in points: differences with intervals, exact tests and Holm's correction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.results import tables
from lab.results.outcomes import Outcomes
from lab.results.statistics import Comparison, compare, holm, smallest_difference
from lab.results.stored import FLOOR
from lab.results.verdicts import FEWEST
from lab.runs import collecting, experiment, recordings
from lab.runs.manifest import Manifest
from lab.runs.run import Episode
from lab.viewer.timeline import Timeline

if TYPE_CHECKING:
    import pandas as pd

CHANCE = 0.05  # significance level, after Holm's correction
NO_HEADLINE = "no condition has a headline score"
KEPT = "-kept"  # suffix of a study's name for stored rows of runs that are too slow to repeat


class Entry(NamedTuple):
    """A task id in a study's run: benchmark, condition and the benchmark's own task id."""

    dataset: str
    method: str
    task: str

    def __str__(self) -> str:
        return "/".join(self)


def entry(name: str) -> Entry:
    """Parse a task id that `str(Entry)` wrote."""
    return Entry(*name.split("/", 2))


@dataclass(frozen=True)
class Results(experiment.Results[Any]):
    """The episodes of a run, by benchmark and condition."""

    def frame(self, **how: Any) -> pd.DataFrame:
        """A results table: a row per benchmark, condition and metric, with interval. how: passed to `Study.rows`."""
        if not self.of_study.scored(self.setup):
            return tables.table([])
        rows = self.of_study.rows or by_metrics
        data = {dataset: self.setup.data_of(dataset) for dataset in self.setup.datasets}
        return tables.table(row | {"data": data[part[0]]} for part in self.parts for row in rows(self, *part, **how))

    def beside_published(self, **how: Any) -> pd.DataFrame:
        """The rows that the paper and its rivals report, then the rows of this run, then those of recordings."""
        return self.of_study.beside_published(self.frame(**how))

    def compare(self, against: str = "") -> pd.DataFrame:
        """Each condition minus the baseline on the same tasks, in points; see `comparisons`."""
        import pandas as pd

        base = against or self.of_study.against
        if base not in self.setup.methods or not self.of_study.scored(self.setup):
            return pd.DataFrame()
        table = comparisons([self], base)
        return table.assign(data=[self.setup.data_of(dataset) for dataset in table.get("dataset", ())])

    def answer(self) -> str:
        """The run's result in one or two sentences per benchmark: the headline of each condition, and the significant
        differences (p < .05 after Holm's correction). Computed, so it holds for any parameters; "" if the study has no
        headline.
        """
        if not self.of_study.headline:
            return ""
        rows, contrasts = self.frame(), self.compare()
        return "\n".join(_sentences(self, benchmark, rows, contrasts) for benchmark in self.setup.datasets)

    def timeline(self, benchmark: str, condition: str, task: str) -> Timeline:
        """An episode, step by step. Raises KeyError if it was not measured."""
        return self.setup.timeline(self.episodes[str(Entry(benchmark, condition, task))])

    def costs(self) -> pd.DataFrame:
        """Calls, tokens and seconds by benchmark, condition and operator."""
        return collecting.costs(self, lambda task: {"dataset": entry(task).dataset, "method": entry(task).method})

    def record(self, sitting: recordings.Sitting | None = None) -> None:
        """Save the run as a recording, if `python -m lab record` is running. sitting: the one that ends now."""
        collecting.record(self, self.frame(), self.costs(), sitting)

    def keep(self, name: str, played: str) -> None:
        """Store the rows and contrasts of a run that is too slow for a notebook, as the recording `name`.

        For engines that no recording can replay, such as an expert with errors. played: identifies the run or its
        tasks; appended to the conditions' names. Raises ValueError if episodes of the run are missing.
        """
        manifest = Manifest.read(self.folder)
        planned = len(manifest.tasks)
        if missing := planned - len(self.episodes.keys() | self.not_measured.keys()):
            raise ValueError(
                f"{self.folder} is not kept: {missing} of its {planned} episodes are not played; collect the run again"
            )
        rows = self.frame()
        rows["method"] += f", {played}"
        method = f"{self.of_study.name}{KEPT}"
        fields = {"method": method, "run": manifest.digest, "tasks": list(self.episodes), "planned": planned}
        copied = {
            field: getattr(manifest, field) for field in ("engine", "address", "parameters", "code", "surroundings")
        }
        recordings.save_rows(name, rows, fields | copied, self.compare())

    @property
    def of_study(self) -> Any:
        """The declaration, a `lab.runs.study.Study`."""
        return self.setup.of

    def played(self, method: str) -> list[dict[str, Any]]:
        """Results of a condition's episodes on all benchmarks, without failed ones."""
        episodes = (episode for dataset in self.setup.datasets for episode in self.of(dataset, method).values())
        return [episode.result for episode in episodes if not episode.failed]

    def of(self, dataset: str, method: str) -> dict[str, Episode]:
        """Task -> episode of a method on a dataset, without those that were not measured."""
        entries = ((entry(name), episode) for name, episode in self.episodes.items())
        return {name.task: episode for name, episode in entries if name[:2] == (dataset, method)}

    def part(self, dataset: str, method: str) -> Any:
        """The results of a method on a dataset, in its own experiment's class and with that experiment's task ids."""
        prefix = f"{dataset}/{method}/"

        def strip(named: Mapping[str, Any]) -> dict[str, Any]:
            return {name[len(prefix) :]: value for name, value in named.items() if name.startswith(prefix)}

        if prefix not in self._parts:
            setup, backbone = self.setup.part(dataset, method), self.backbone_of(dataset, method)
            episodes = {task: replace(episode, task=task) for task, episode in strip(self.episodes).items()}
            results = setup.results(setup, backbone, episodes, strip(self.not_measured), strip(self.usage), self.folder)
            self._parts[prefix] = results
        return self._parts[prefix]

    @cached_property
    def _parts(self) -> dict[str, Any]:
        return {}

    def scores_of(self, dataset: str, method: str) -> dict[str, float]:
        """Task -> score by the method's own experiment; 0 where the episode failed, if 0 is the lowest score."""
        scores: dict[str, float] = self.part(dataset, method).scores
        return scores

    def outcomes_of(self, dataset: str, method: str) -> Outcomes:
        """Counts of a method's scored, failed and not measured episodes."""
        prefix = f"{dataset}/{method}/"
        return self.outcomes(task for task in (*self.episodes, *self.not_measured) if task.startswith(prefix))

    def values(self, dataset: str, method: str, what: str) -> dict[str, float]:
        """Task -> a number of its episode, such as "calls" or "steps"; 0 where it failed.

        Read from the result, or from the usage if the result has no such field (as "tokens_in").
        """
        return {
            task: 0.0
            if episode.failed
            else float(episode.result[what] if what in episode.result else took(usage, what))
            for task, episode in self.of(dataset, method).items()
            for usage in [self.usage.get(episode.task)]
        }

    def mean(self, dataset: str, method: str, what: str) -> float:
        """The mean of `values`; NaN if there are none."""
        values = self.values(dataset, method, what).values()
        return sum(values) / len(values) if values else float("nan")

    def mean_score(self, dataset: str, method: str) -> float:
        """The mean of `scores_of`; NaN if there are none."""
        scores = self.scores_of(dataset, method).values()
        return sum(scores) / len(scores) if scores else float("nan")

    def backbone_of(self, dataset: str, *methods: str) -> str:
        """The backbone's label, without engines that answer only operators of other methods."""
        operators = [name for method in methods for name in self.setup.part(dataset, method).operators()]
        return self.who.among(operators).label

    @property
    def parts(self) -> list[tuple[str, str]]:
        """(dataset, method) pairs, in order."""
        pairs: list[tuple[str, str]] = self.setup.pairs
        return pairs


def answers() -> tuple[str, ...]:
    """Sentences of `Results.answer` for the runs since the last call in this process."""
    lines = [line for results in collecting.COLLECTED.values() for line in results.answer().splitlines()]
    collecting.COLLECTED.clear()
    return tuple(line for line in lines if NO_HEADLINE not in line)


def _sentences(results: Results, benchmark: str, rows: pd.DataFrame, contrasts: pd.DataFrame) -> str:
    study, headline = results.of_study, results.of_study.headline_of(benchmark)
    table = rows[rows["metric"] == headline]
    # With one row per size there is no row for the headline: pool all sizes.
    if table.empty and study.metrics and any(rows["metric"].str.startswith(f"{headline}, ")):
        pooled = (
            row
            for condition in results.setup.methods_of(benchmark)
            for row in by_metrics(results, benchmark, condition)
        )
        table = tables.table(pooled).assign(data=results.setup.data_of(benchmark))
        table = table[table["metric"] == headline]
    if table.empty:
        return f"{benchmark}: {NO_HEADLINE}."
    decimals, texts = study.decimals, []
    for metric, group in table.groupby("metric", sort=False):
        same = group["evidence"].nunique() == 1
        names = group["method"] if same else group["method"] + " (" + group["evidence"] + ")"
        conditions = zip(names, group.to_dict("records"), strict=True)
        values = "; ".join(f"{name}: {tables.with_interval(row, decimals)}" for name, row in conditions)
        first = group.iloc[0]
        origin = ", ".join([results.backbone, *([first["evidence"]] if same else []), f"{first['data']} data"])
        metric = metric if study.titles.get(benchmark, benchmark) in metric else f"{benchmark}, {metric}"
        texts.append(f"{metric} ({origin}, n = {tables.span(group['n'])}): {values}.")
    text = " ".join(texts)
    pairs = [contrast for contrast in contrasts.to_dict("records") if contrast["dataset"] == benchmark]
    if not pairs:
        return text
    differences = "; ".join(
        f"{contrast['method']}: {contrast[f'less {study.against}']:+.{decimals}f} "
        f"[{contrast['low']:+.{decimals}f}, {contrast['high']:+.{decimals}f}]"
        for contrast in pairs
        if contrast["p (Holm)"] < CHANCE
    )
    return f"{text} Significantly different from {study.against}: {differences or 'none'}."


def took(usage: Mapping[str, Any] | None, what: str) -> float:
    """Calls, tokens or seconds of an episode, summed over its operators."""
    return sum(operator[what] for operator in (usage or {}).values())


def by_metrics(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """The rows of a study's metrics for a condition on a benchmark, with `Metric.scale`."""
    study = results.of_study
    for metric in study.metrics:
        scored = metric.of == "score"
        values = results.scores_of(benchmark, condition) if scored else results.values(benchmark, condition, metric.of)
        outcomes = None if metric.given else results.outcomes_of(benchmark, condition)
        if metric.given:
            flags = results.values(benchmark, condition, metric.given)
            values = {task: value for task, value in values.items() if flags[task]}
        if not values:
            continue
        title = metric.title.format(benchmark=study.titles.get(benchmark, benchmark))
        setup = results.setup.part(benchmark, condition)
        informed = setup.informed and "rules" in results.who.kinds
        evidence = "simulated" if informed else results.who.evidence
        origin = (evidence, f"this run, {study.source(results.setup, benchmark)}")
        label, numbers = study.label(results, condition), [*values.values()]
        nobody = results.setup.role(condition) == FLOOR and not setup.operators()  # a null model that asks nothing
        backbone = "none" if nobody else results.backbone
        if metric.kind == "rate" or (metric.kind == "auto" and metric.scale == 100 and {*numbers} <= {0.0, 1.0}):
            passes = sum(value == 1 for value in numbers)
            yield tables.rate_row(label, backbone, title, passes, len(numbers), *origin, outcomes)
        else:
            scaled = [metric.scale * value for value in numbers]
            top = 100.0 if outcomes and metric.scale == 100 else None  # a count has no highest value
            yield tables.mean_row(label, backbone, title, scaled, *origin, outcomes=outcomes, top=top)


def comparisons(runs: Sequence[Results], against: str) -> pd.DataFrame:
    """Each method minus the baseline `against` on the same tasks, in points or the study's own scale. p has Holm's
    correction within each dataset.

    runs: of one study, with different seeds and equal settings; a task counts once, by its mean. p is McNemar's exact
    test if all scores are 0 or 1, else a paired sign-flip test. smallest: the smallest detectable difference with so
    many tasks; see `smallest`.
    """
    import pandas as pd

    first, rows = runs[0], list[dict[str, Any]]()
    scale = first.of_study.scale
    for dataset in (name for name in first.setup.datasets if against in first.setup.methods_of(name)):
        base = _pooled(runs, dataset, against)
        others = [method for method in first.setup.methods_of(dataset) if method != against]
        compared = {method: compare(_pooled(runs, dataset, method), base) for method in others}
        adjusted = holm([comparison.p for comparison in compared.values()])
        for (method, comparison), p in zip(compared.items(), adjusted, strict=True):
            difference, low, high = (scale * end for end in comparison.difference)
            rows.append(
                {"dataset": dataset, "method": method, "n": comparison.n, f"less {against}": difference, "low": low,
                 "high": high, "gained": comparison.wins, "lost": comparison.losses, "p": comparison.p, "p (Holm)": p,
                 "smallest": smallest(comparison, scale),
                 "calls": first.mean(dataset, method, "calls"),
                 "tokens in": first.mean(dataset, method, "tokens_in"),
                 "evidence": first.evidence, "backbone": first.backbone_of(dataset, method, against)}
            )  # fmt: skip
    return pd.DataFrame(rows)


def contrasts(runs: Iterable[Results], pairs: Sequence[tuple[str, str]]) -> pd.DataFrame:
    """Pairs of methods on the same tasks, in points: a row per run, pair, and dataset that both methods played.

    p as in `comparisons`, but with Holm's correction over all rows, since all are reported in one document.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for run, pair in product(runs, pairs):
        for dataset in (name for name in run.setup.datasets if {*pair} <= {*run.setup.methods_of(name)}):
            first, second = (run.scores_of(dataset, method) for method in pair)
            c = compare(first, second)
            difference, low, high = (100 * end for end in c.difference)
            rows.append(
                {"dataset": dataset, "compared": " − ".join(pair), "difference": difference, "ci_low": low,
                 "ci_high": high, "only the first": c.wins, "only the second": c.losses, "p": c.p, "p (Holm)": c.p,
                 "n": c.n, "evidence": run.evidence, "backbone": run.backbone}
            )  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(**{"p (Holm)": holm(table["p"])}) if rows else table


def smallest(c: Comparison, scale: float = 100) -> float:
    """The smallest difference that a comparison can detect, by its spread and by FEWEST; by default in points."""
    return scale * max(smallest_difference(c.difference), FEWEST / c.n)


def _pooled(runs: Sequence[Results], dataset: str, method: str) -> dict[str, float]:
    """Task -> mean score over the runs. Official and stored tasks are the same for all seeds, so each counts once."""
    scores = defaultdict[str, list[float]](list)
    for run in runs:
        for task, score in run.scores_of(dataset, method).items():
            scores[task].append(score)
    return {task: sum(values) / len(values) for task, values in scores.items()}
