"""Table 6: each mechanism of SDP removed, by Appendix C's replay and by a re-run: scores, contrasts, bounds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import Any, NamedTuple

import pandas as pd

from lab.models.connect import connected
from lab.models.replay import Replay
from lab.results import tables
from lab.results.statistics import Interval
from lab.results.verdicts import signed
from lab.runs.collecting import collect
from lab.runs.manifest import Manifest
from lab.runs.registry import STUDIES
from lab.runs.study import Study, register
from lab.runs.study_results import Results
from lab.runs.trial import Trial
from sdp.ablation import ABLATIONS, Ablation, replayed
from sdp.experiments import certifying, travelplanner
from sdp.experiments.certifying import paired
from sdp.studies.conditions import SDP, UNREMOVED, WITHOUT_VALIDATE


class Column(NamedTuple):
    """A benchmark of Table 6. metric: the name of its published scores. of: see `certifying.Results.named`."""

    metric: str
    of: str = "score"


# In the paper's order.
BENCHMARKS = {
    "TravelPlanner": Column("Final Pass Rate"),
    "AssistantBench": Column("Accuracy"),
    "ScienceWorld": Column("ScienceWorld score"),
    "HotpotQA": Column("HotpotQA F1", "f1"),
    "MuSiQue": Column("MuSiQue F1", "f1"),
}
FULL, REPLAY, AGAIN = "full", "replay", "run again"
# The engines under noise. A Validate that asks a prompt errs like a published judge. ScienceWorld has no rules, so an
# oracle plans. An episode of AssistantBench makes about fifteen calls, so fewer of its answers are wrong.
JUDGE = "GPT-5.2"
NOISE = {
    "TravelPlanner": "rules@0.8",
    "AssistantBench": f"rules@0.9?judge={JUDGE}",
    "ScienceWorld": "oracle@0.9?certify=0.02&reject=0.1",
    "HotpotQA": f"rules@0.8?judge={JUDGE}",
    "MuSiQue": f"rules@0.8?judge={JUDGE}",
}
TEXTS = ("HotpotQA", "MuSiQue")
SOME = {"TravelPlanner": 8, "AssistantBench": 20, "ScienceWorld": 4, **dict.fromkeys(TEXTS, 20)}  # synthetic tasks
# How a replay compares with the re-run.
LEVEL = 0.05  # of p (Holm)
ABOVE, BELOW, UNTOLD, SAME = "above", "below", "not told apart", "the same"


class Ablated(NamedTuple):
    """A benchmark's runs: the full loop, and by a mechanism's name the loop without it.

    benchmark: a key of BENCHMARKS, followed by a comma and the part of its tasks, if it is a part. Any other world
    counts by its own score.
    """

    benchmark: str
    full: certifying.Results[Any]
    without: dict[str, certifying.Results[Any]]

    def scores(self, way: str, ablation: Ablation) -> dict[str, float]:
        """Task -> score in [0, 1]: of the full loop, of its replay without a mechanism, or of the run without it."""
        run = self.without[ablation.name] if way == AGAIN else self.full
        scores = run.named(BENCHMARKS.get(self.benchmark.partition(",")[0], Column("score")).of)
        if way != REPLAY:
            return scores
        trajectories = {trajectory.task: trajectory for trajectory in run.trajectories}
        # A failed episode has no trajectory to replay; its score of 0 stays in the mean.
        return {t: replayed(ablation, trajectories[t], s) if t in trajectories else 0.0 for t, s in scores.items()}


class Asked(NamedTuple):
    """The trials to play: each benchmark as asked, and with rules or an oracle under noise."""

    clean: list[Trial]
    noisy: list[Trial]


def asked(
    engine: str = "rules",
    benchmarks: Sequence[str] = tuple(BENCHMARKS),
    data: str = "auto",
    questions: str = "synthetic",
    limits: Mapping[str, int] | None = None,
    budget: int = -1,
) -> Asked:
    """The full loop and each ablation on the same tasks of every benchmark.

    engine: if it is rules, an oracle plans on ScienceWorld. data: of TravelPlanner. questions: the data of HotpotQA and
    MuSiQue, "official" for a model. Under noise they are synthetic, since rules cannot read Wikipedia's texts;
    AssistantBench's web is always synthetic. limits: tasks, 0 for all; by default SOME, and all questions if the
    queries are official. budget: -1 for each benchmark's own.
    """
    limits = limits or {}
    fixed = {"settings.budget": budget} if budget >= 0 else {}
    reporting = {"split": "reporting"}  # the templates for which no rule was written
    official = travelplanner.Setup(data=data).decided().data == "official"
    counts = SOME | (dict.fromkeys(("TravelPlanner", *TEXTS), 0) if official else {}) | {**limits}
    specs: dict[str, Any] = {name: {"data": "synthetic", "options": fixed | reporting} for name in BENCHMARKS}
    specs["TravelPlanner"] = {"data": data, "options": fixed}
    specs["ScienceWorld"]["options"] = {"lengths": ("short",), "settings.budget": 30, "settings.step_cap": 80} | fixed
    texts = {name: {"data": questions, "options": fixed | {"split": ""}} for name in TEXTS if questions != "synthetic"}
    stand_ins = {"ScienceWorld": "oracle"} if engine.startswith("rules") else {}

    def trials(answering: Mapping[str, str], settings: Mapping[str, Any]) -> list[Trial]:
        chosen = ((name, answering.get(name, engine), settings[name]) for name in benchmarks)
        return [STUDY.trial(backbone, [name], limit=counts[name], **spec) for name, backbone, spec in chosen]

    return Asked(trials(stand_ins, specs | texts), trials(NOISE, specs))


class Played(NamedTuple):
    """The runs of `Asked`."""

    clean: list[Ablated]
    noisy: list[Ablated]

    @property
    def families(self) -> list[list[Ablated]]:
        """The runs in which something goes wrong: if rules make no mistakes, a mechanism has nothing to do."""
        return [family for family in self if family and family[0].full.backbone != "rules"]

    def answer(self) -> str:
        """How many removals cost points beyond chance, and which one costs most."""
        lines = []
        for family in self.families:
            contrasts = comparisons(family)
            costly = contrasts[(contrasts["p (Holm)"] <= LEVEL) & (contrasts["difference"] < 0)]
            text = f"{family[-1].full.evidence}: of {len(contrasts)} removals, {len(costly)} cost points beyond chance"
            if len(costly):
                worst = costly.loc[costly["difference"].idxmin()]
                interval = Interval(worst["difference"], worst["low"], worst["high"])
                text += f"; most: {worst['condition']} on {worst['benchmark']}, {signed(interval)} (n = {worst['n']})"
            lines.append(f"{text}.")
        return "\n".join(lines)


def ablated(results: Results, benchmark: str) -> list[Ablated]:
    """A run's results for SDP on a benchmark, with and without each mechanism; [] if it has no SDP there."""
    methods = results.setup.methods
    if SDP.name not in methods or benchmark not in results.setup.datasets:
        return []
    names = {ablation.name: f"SDP without {ablation.name[1:]}" for ablation in ABLATIONS}
    without = {name: results.part(benchmark, method) for name, method in names.items() if method in methods}
    return [Ablated(benchmark, results.part(benchmark, SDP.name), without)]


def rows(runs: Ablated) -> Iterator[tables.Row]:
    """Full, replayed and re-run scores in percent."""
    yield _row(runs, FULL, FULL, ABLATIONS[0])
    for ablation in ABLATIONS:
        yield _row(runs, method_of(REPLAY, ablation), REPLAY, ablation)
        if ablation.name in runs.without:
            yield _row(runs, method_of(AGAIN, ablation), AGAIN, ablation)


def method_of(way: str, ablation: Ablation) -> str:
    """The name of a row."""
    return f"{ablation.name}, {way}"


def _row(runs: Ablated, name: str, way: str, ablation: Ablation) -> tables.Row:
    run = runs.without[ablation.name] if way == AGAIN else runs.full
    scores = [100 * score for score in runs.scores(way, ablation).values()]
    key = (name, run.backbone, runs.benchmark)
    source = (run.evidence, "this run, Appendix C" if way == REPLAY else "this run")
    if {*scores} <= {0.0, 100.0}:  # a rate: if all tasks agree, a bootstrap would have no width
        row = tables.rate_row(*key, scores.count(100.0), len(scores), *source, run.outcomes())
    else:
        row = tables.mean_row(*key, scores, *source, outcomes=run.outcomes(), top=100.0)
    return row | {"data": run.setup.data}


def comparisons(*families: Sequence[Ablated]) -> pd.DataFrame:
    """Each run without a mechanism minus the full loop; the paper claims that each removal costs points.

    One row per benchmark and mechanism: the difference in points, paired by task, with its bootstrap interval. higher,
    lower: numbers of tasks with a higher and a lower score. p: McNemar's if every score is 0 or 1, else the permutation
    test's. p (Holm): over all rows of a family.
    """
    return _contrasts(families, AGAIN, FULL)


def bounds(*families: Sequence[Ablated]) -> pd.DataFrame:
    """Each replay minus the re-run, like `comparisons`; the paper claims an optimistic bound, so a difference above 0.

    found: which of the two is higher, at a p (Holm) of .05.
    """
    table = _contrasts(families, REPLAY, AGAIN)
    moved, significant = table["higher"] + table["lower"] > 0, table["p (Holm)"] <= LEVEL
    direction = table["difference"].gt(0).map({True: ABOVE, False: BELOW})
    return table.assign(found=direction.where(significant, UNTOLD).where(moved, SAME))


def orders(ablated: Sequence[Ablated]) -> pd.DataFrame:
    """The benchmarks ordered by the points that a removal costs, by replay and by re-run: one row per mechanism.

    Appendix C says that the replay shows this order. tau: Kendall's, between both orders; NaN if one of them is all
    ties.
    """
    from scipy.stats import kendalltau

    rows = []
    for ablation in ABLATIONS:
        costs: dict[str, dict[str, float]] = {REPLAY: {}, AGAIN: {}}
        for way, runs in product(costs, ablated):
            if ablation.name in runs.without:
                full, without = (fmean(runs.scores(scored, ablation).values()) for scored in (FULL, way))
                costs[way][runs.benchmark] = 100 * (full - without)
        ranked = {way: sorted(points.items(), key=lambda cost: -cost[1]) for way, points in costs.items()}
        texts = {way: ", ".join(f"{name} {cost:.1f}" for name, cost in points) for way, points in ranked.items()}
        tau = kendalltau(*([*points.values()] for points in costs.values())).statistic
        rows.append({"condition": ablation.name, **texts, "tau": float(tau)})
    labels = {"data": {runs.full.setup.data for runs in ablated}, "evidence": {runs.full.evidence for runs in ablated}}
    return pd.DataFrame(rows).assign(**{name: " and ".join(sorted(words)) for name, words in labels.items()})


def _contrasts(families: Iterable[Sequence[Ablated]], first: str, second: str) -> pd.DataFrame:
    """The scores of one way minus those of another, in points. See `comparisons`."""
    columns = ["benchmark", "data", "condition", "n", first, second, "difference", "low", "high", "higher", "lower"]
    columns += ["p", "p (Holm)", "evidence", "backbone"]
    frames = []
    for family in families:
        pairs = ((runs, ablation) for runs in family for ablation in ABLATIONS if ablation.name in runs.without)
        frames.append(paired(
            ({"benchmark": runs.benchmark, "data": runs.full.setup.data, "condition": ablation.name,
              "evidence": runs.full.evidence, "backbone": runs.full.backbone},
             runs.scores(first, ablation), runs.scores(second, ablation))
            for runs, ablation in pairs
        ))  # fmt: skip
    names = {"first": first, "second": second, "gained": "higher", "lost": "lower"}
    return pd.concat(frames, ignore_index=True).rename(columns=names).reindex(columns=columns)


def both_ways(results: Results, benchmark: str, condition: str) -> Iterator[tables.Row]:
    """The rows of a benchmark, all of them with the condition of the full loop."""
    if condition == SDP.name:
        for runs in ablated(results, benchmark):
            yield from rows(runs)


STUDY = register(
    Study(
        name="sdp-table6",
        benchmarks=tuple(BENCHMARKS),
        conditions=UNREMOVED,
        metrics=(),
        against=SDP.name,
        published=("Table 6 ablation", "sdp"),
        rows=both_ways,
    )
)


def by_validators(noisy: Sequence[Trial], judges: Sequence[str] = (JUDGE, "Qwen3-4B")) -> pd.DataFrame:
    """`bounds` for -Validate on the questions, for a Validate that never errs, errs like judges, or like other answers.

    noisy: of `Asked`. The rows are ordered by how well Validate judges; the run without Validate is the same in all.
    """
    rules = NOISE["TravelPlanner"]
    engines = [f"{rules}?certify=0&reject=0", *(f"{rules}?judge={judge}" for judge in judges), rules]
    pair = (SDP.name, WITHOUT_VALIDATE.name)
    texts = [trial for trial in noisy if trial.datasets[0] in TEXTS]
    return bounds(played(replace(trial, engine=engine, methods=pair) for trial in texts for engine in engines))


def played(trials: Iterable[Trial], workers: int = 0, cluster: str = "") -> list[Ablated]:
    """Play each trial; return its results for SDP, with and without the mechanisms.

    A recording of any table has the benchmarks and conditions that it was made with; only those of SDP are needed.
    Raises ValueError for recordings without any of the benchmarks, and what `lab.collect` raises.
    """
    trials, runs = list(trials), list[Ablated]()
    for trial in trials:
        backbone = connected(trial.engine)
        if isinstance(backbone, Replay):
            recorded: Any = STUDIES.named(Manifest.read(backbone.folder).parameters["study"])
            run = recorded.run(engine=trial.engine, workers=workers, cluster=cluster)
        else:
            run = collect(trial, workers, cluster)
        for benchmark in trial.datasets:
            runs += ablated(run, benchmark)
    if trials and not runs:
        engines = ", ".join(dict.fromkeys(trial.engine for trial in trials))
        benchmarks = ", ".join(benchmark for trial in trials for benchmark in trial.datasets)
        raise ValueError(f"{engines} has no run of {benchmarks}; name a recording of SDP on one of them")
    return runs


def with_published(results: pd.DataFrame) -> pd.DataFrame:
    """The paper's rows and ours, in the order of conditions; the metric is the benchmark."""
    published = tables.published("Table 6 ablation", "sdp")
    names = {column.metric: name for name, column in BENCHMARKS.items()} | {name: name for name in BENCHMARKS}
    published = published[published["metric"].isin(names)]
    # The paper's own ablated scores are replay estimates (Appendix C), so they belong with our replays.
    methods = {ablation.name: method_of(REPLAY, ablation) for ablation in ABLATIONS}
    published = published.assign(metric=published["metric"].map(names), method=published["method"].replace(methods))
    order = [FULL, *(method_of(way, ablation) for ablation in ABLATIONS for way in (REPLAY, AGAIN))]
    table = pd.concat([published, results], ignore_index=True)
    return table.sort_values("method", key=lambda m: m.map(order.index), kind="stable", ignore_index=True)


def numbers(
    noisy: Sequence[Ablated], caps: pd.DataFrame, validators: pd.DataFrame
) -> Iterator[tuple[str, float, bool]]:
    """The expected numbers of the noisy runs, of `cascade.table` and of `by_validators`.

    Yields name, value, and whether it comes from synthetic tasks, so that it does not depend on the data at hand.
    """
    for row in (row for runs in noisy for row in rows(runs)):
        synthetic = row["metric"] in ("AssistantBench", "ScienceWorld")
        yield f"{row['metric']}: {row['method']}", round(row["value"], 2), synthetic
        if row["method"] == FULL:
            yield f"{row['metric']}: tasks", int(row["n"]), synthetic
    for row in caps.to_dict("records"):
        yield f"{row['world']}, cap {row['cap']}: run again less full", round(row["difference"], 2), True
    for row in validators.to_dict("records"):
        yield f"{row['benchmark']}: replay less re-run, {row['backbone']}", round(row["difference"], 2), False


def layout(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 6's shape: one row per condition and backbone, one column per benchmark; unrecovered numbers stay empty.

    rows: of `with_published`. Each of our numbers is followed by its data.
    """
    texts = [
        row["text"] if row["evidence"] == "published" else f"{tables.with_interval(row, 1)}, {row['data']}"
        for row in rows.to_dict("records")
    ]
    return tables.side_by_side(rows.assign(text=texts), list(BENCHMARKS))
