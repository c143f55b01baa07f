"""Table 6: each mechanism of SDP removed, by Appendix C's replay and by running again: scores, contrasts, bounds."""

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
    """A benchmark of Table 6. metric: what its published scores are kept under. of: see `certifying.Results.named`."""

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
# Who answers under noise. Where Validate asks, it errs as a published judge does. ScienceWorld has no rules, so that an
# oracle plans. An episode of AssistantBench asks some fifteen times, so that fewer answers are wrong.
JUDGE = "GPT-5.2"
NOISE = {
    "TravelPlanner": "rules@0.8",
    "AssistantBench": f"rules@0.9?judge={JUDGE}",
    "ScienceWorld": "oracle@0.9?certify=0.02&reject=0.1",
    "HotpotQA": f"rules@0.8?judge={JUDGE}",
    "MuSiQue": f"rules@0.8?judge={JUDGE}",
}
TEXTS = ("HotpotQA", "MuSiQue")
SOME = {"TravelPlanner": 8, "AssistantBench": 20, "ScienceWorld": 6, **dict.fromkeys(TEXTS, 20)}  # synthetic tasks
# How a replay compares with the re-run.
LEVEL = 0.05  # of p (Holm)
ABOVE, BELOW, UNTOLD, SAME = "above", "below", "not told apart", "the same"


class Ablated(NamedTuple):
    """A benchmark's runs: the full loop, and the loop without each mechanism, by its name.

    benchmark: of BENCHMARKS, a part of its tasks named behind a comma; another world counts by its own score.
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
    """What is played: each benchmark as asked, and by rules or an oracle with noise."""

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

    engine: an oracle plans in place of rules on ScienceWorld. data: of TravelPlanner. questions: the data of HotpotQA
    and MuSiQue, "official" for a model; under noise they are synthetic, since rules read no text of Wikipedia, as is
    AssistantBench's web always. limits: tasks, 0 for all; else SOME, and beside official queries all questions. budget:
    -1 for each benchmark's own.
    """
    limits = limits or {}
    spent = {"settings.budget": budget} if budget >= 0 else {}
    reporting = {"split": "reporting"}  # the templates on which no rule was written
    official = travelplanner.Setup(data=data).decided().data == "official"
    some = SOME | (dict.fromkeys(("TravelPlanner", *TEXTS), 0) if official else {}) | {**limits}
    own: dict[str, Any] = {name: {"data": "synthetic", "options": spent | reporting} for name in BENCHMARKS}
    own["TravelPlanner"] = {"data": data, "options": spent}
    own["ScienceWorld"]["options"] = {"lengths": ("short",), "settings.budget": 30, "settings.step_cap": 80} | spent
    texts = {name: {"data": questions, "options": spent | {"split": ""}} for name in TEXTS if questions != "synthetic"}
    by = {"ScienceWorld": "oracle"} if engine.startswith("rules") else {}

    def trials(answering: Mapping[str, str], settings: Mapping[str, Any]) -> list[Trial]:
        chosen = ((name, answering.get(name, engine), settings[name]) for name in benchmarks)
        return [STUDY.trial(who, [name], limit=some[name], **of) for name, who, of in chosen]

    return Asked(trials(by, own | texts), trials(NOISE, own))


class Played(NamedTuple):
    """The runs of `Asked`."""

    clean: list[Ablated]
    noisy: list[Ablated]

    @property
    def families(self) -> list[list[Ablated]]:
        """Those in which something goes wrong: rules without mistakes give a mechanism nothing to do."""
        return [family for family in self if family and family[0].full.backbone != "rules"]

    def answer(self) -> str:
        """How many removals cost points beyond chance, and the one that costs most."""
        lines = []
        for family in self.families:
            paired = comparisons(family)
            lost = paired[(paired["p (Holm)"] <= LEVEL) & (paired["difference"] < 0)]
            text = f"{family[-1].full.evidence}: of {len(paired)} removals, {len(lost)} cost points beyond chance"
            if len(lost):
                worst = lost.loc[lost["difference"].idxmin()]
                interval = Interval(worst["difference"], worst["low"], worst["high"])
                text += f"; most: {worst['condition']} on {worst['benchmark']}, {signed(interval)} (n = {worst['n']})"
            lines.append(f"{text}.")
        return "\n".join(lines)


def ablated(results: Results, benchmark: str) -> list[Ablated]:
    """What a run has of SDP on a benchmark, with and without a mechanism; none where it has no SDP there."""
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
    """A row's name."""
    return f"{ablation.name}, {way}"


def _row(runs: Ablated, name: str, way: str, ablation: Ablation) -> tables.Row:
    run = runs.without[ablation.name] if way == AGAIN else runs.full
    scores = [100 * score for score in runs.scores(way, ablation).values()]
    key = (name, run.backbone, runs.benchmark)
    source = (run.evidence, "this run, Appendix C" if way == REPLAY else "this run")
    if {*scores} <= {0.0, 100.0}:  # a rate, which a bootstrap would call certain where all tasks agree
        row = tables.rate_row(*key, scores.count(100.0), len(scores), *source, run.outcomes())
    else:
        row = tables.mean_row(*key, scores, *source, outcomes=run.outcomes(), top=100.0)
    return row | {"data": run.setup.data}


def comparisons(*families: Sequence[Ablated]) -> pd.DataFrame:
    """Each run without a mechanism less the full loop; the paper's claim is that each removal costs.

    A row a benchmark and mechanism: difference in points with its bootstrap interval, task by task. higher, lower:
    tasks with a higher and a lower score. p: McNemar's where every score is 0 or 1, else the permutation test's.
    p (Holm): for all rows of a family together.
    """
    return _contrasts(families, AGAIN, FULL)


def bounds(*families: Sequence[Ablated]) -> pd.DataFrame:
    """Each replay less the re-run, as `comparisons`; the paper's claim is an optimistic bound, so above 0.

    found: which of the two is above, at a p (Holm) of .05.
    """
    table = _contrasts(families, REPLAY, AGAIN)
    moved, significant = table["higher"] + table["lower"] > 0, table["p (Holm)"] <= LEVEL
    direction = table["difference"].gt(0).map({True: ABOVE, False: BELOW})
    return table.assign(found=direction.where(significant, UNTOLD).where(moved, SAME))


def orders(ablated: Sequence[Ablated]) -> pd.DataFrame:
    """The benchmarks in the order of what a removal costs, with the points, by both ways: a row a mechanism.

    Appendix C says that the replay tells this order. tau: Kendall's, of both; NaN where one finds all of them alike.
    """
    from scipy.stats import kendalltau

    lines = []
    for ablation in ABLATIONS:
        costs: dict[str, dict[str, float]] = {REPLAY: {}, AGAIN: {}}
        for way, runs in product(costs, ablated):
            if ablation.name in runs.without:
                full, without = (fmean(runs.scores(scored, ablation).values()) for scored in (FULL, way))
                costs[way][runs.benchmark] = 100 * (full - without)
        falling = {way: sorted(points.items(), key=lambda cost: -cost[1]) for way, points in costs.items()}
        texts = {way: ", ".join(f"{name} {cost:.1f}" for name, cost in points) for way, points in falling.items()}
        tau = kendalltau(*([*points.values()] for points in costs.values())).statistic
        lines.append({"condition": ablation.name, **texts, "tau": float(tau)})
    labels = {"data": {runs.full.setup.data for runs in ablated}, "evidence": {runs.full.evidence for runs in ablated}}
    return pd.DataFrame(lines).assign(**{name: " and ".join(sorted(words)) for name, words in labels.items()})


def _contrasts(families: Iterable[Sequence[Ablated]], first: str, second: str) -> pd.DataFrame:
    """One way to score less another, in points. See `comparisons`."""
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
    """The rows of a benchmark, with those of the full loop."""
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
    """`bounds` for -Validate on the questions, by Validates that do not err, that err as judges, and as other answers.

    noisy: of `Asked`. They come in the order of how well they judge; the run without Validate is the same in all.
    """
    rules = NOISE["TravelPlanner"]
    engines = [f"{rules}?certify=0&reject=0", *(f"{rules}?judge={judge}" for judge in judges), rules]
    pair = (SDP.name, WITHOUT_VALIDATE.name)
    texts = [trial for trial in noisy if trial.datasets[0] in TEXTS]
    return bounds(played(replace(trial, engine=engine, methods=pair) for trial in texts for engine in engines))


def played(trials: Iterable[Trial], workers: int = 0, cluster: str = "") -> list[Ablated]:
    """What each trial has of SDP, with and without its mechanisms.

    A recording of any table has the benchmarks and conditions that it was made with; the replay needs SDP alone.
    Raises ValueError for recordings of none of the benchmarks, and what `lab.collect` raises.
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
        wanted = ", ".join(benchmark for trial in trials for benchmark in trial.datasets)
        raise ValueError(f"{engines} was made on none of {wanted}; name a recording of SDP on one of them")
    return runs


def with_published(results: pd.DataFrame) -> pd.DataFrame:
    """The paper's rows and ours, in the order of conditions; metrics are benchmarks."""
    published = tables.published("Table 6 ablation", "sdp")
    names = {column.metric: name for name, column in BENCHMARKS.items()} | {name: name for name in BENCHMARKS}
    published = published[published["metric"].isin(names)]
    # The paper's own ablated scores are replay estimates (Appendix C), so they stand beside ours of that kind.
    methods = {ablation.name: method_of(REPLAY, ablation) for ablation in ABLATIONS}
    published = published.assign(metric=published["metric"].map(names), method=published["method"].replace(methods))
    order = [FULL, *(method_of(way, ablation) for ablation in ABLATIONS for way in (REPLAY, AGAIN))]
    whole = pd.concat([published, results], ignore_index=True)
    return whole.sort_values("method", key=lambda m: m.map(order.index), kind="stable", ignore_index=True)


def numbers(
    noisy: Sequence[Ablated], caps: pd.DataFrame, validators: pd.DataFrame
) -> Iterator[tuple[str, float, bool]]:
    """What is expected of the noisy runs, of `cascade.table` and of `by_validators`.

    Name, value, and whether it is of synthetic tasks whose number does not depend on the data at hand.
    """
    for row in (row for one in noisy for row in rows(one)):
        made = row["metric"] in ("AssistantBench", "ScienceWorld")
        yield f"{row['metric']}: {row['method']}", round(row["value"], 2), made
    for row in caps.to_dict("records"):
        yield f"{row['world']}, cap {row['cap']}: run again less full", round(row["difference"], 2), True
    for row in validators.to_dict("records"):
        yield f"{row['benchmark']}: replay less re-run, {row['backbone']}", round(row["difference"], 2), False


def layout(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 6's shape: a row a condition and backbone, a column a benchmark; what nobody could recover stays empty.

    rows: of `with_published`. Behind each number that was made here stands the data that it was made on.
    """
    texts = [
        row["text"] if row["evidence"] == "published" else f"{tables.with_interval(row, 1)}, {row['data']}"
        for row in rows.to_dict("records")
    ]
    return tables.side_by_side(rows.assign(text=texts), list(BENCHMARKS))
