"""Table 6: each mechanism removed, by Appendix C's replay and by running again; sweeps of noise and of validators."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.models.connect import connected
from lab.models.judges import Errors, errors_of
from lab.models.replay import Replay
from lab.results import plots, tables
from lab.results.statistics import compare, holm, wilson
from lab.runs import collecting, study
from lab.runs.manifest import Manifest
from sdp.ablation import ABLATIONS, Ablation, replayed
from sdp.experiments.benchmark import Benchmark, Results
from sdp.experiments.travelplanner import Setup
from sdp.studies import table2, table3, table4, table5
from sdp.studies.conditions import SDP

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


class Column(NamedTuple):
    """A benchmark of Table 6. metric: what its published scores are kept under. of: see `benchmark.Results.named`."""

    metric: str
    of: str = "score"


# In the paper's order.
BENCHMARKS = {
    "TravelPlanner": Column("Final Pass Rate"),
    table3.BENCHMARK: Column("Accuracy"),
    "ScienceWorld": Column("ScienceWorld score"),
    "HotpotQA": Column("HotpotQA F1", "f1"),
    "MuSiQue": Column("MuSiQue F1", "f1"),
}
# Runs of several methods, by name.
STUDIES = {study.name: study for study in (table2.STUDY, table3.STUDY, table4.STUDY, table5.STUDY)}
FULL, REPLAY, AGAIN = "full", "replay", "run again"
# How a replay compares with the re-run, and the words for it.
ABOVE, BELOW, UNTOLD, SAME = "above", "below", "not told apart", "the same"
FOUND = {
    ABOVE: "The replay is above the re-run, an optimistic bound",
    BELOW: "It is below the re-run, no bound",
    UNTOLD: "They are not told apart",
    SAME: "They are the same on every task",
}
# Undoing goes beyond the paper (A.2: retry only). It is there because it alone can act on what Validate finds here.
UNDOING = "undoing Replan (beyond the paper)"
CONDITIONS: dict[str, Callable[[Setup], Setup]] = {
    "SDP": lambda setup: setup,
    "without Validate": lambda setup: replace(setup, settings=replace(setup.settings, validate=False)),
    "without Replan": lambda setup: replace(setup, settings=replace(setup.settings, replan=False)),
    UNDOING: lambda setup: replace(setup, policy=replace(setup.policy, undo=3)),
}


class Ablated(NamedTuple):
    """A benchmark's runs: the full loop, and the loop without each mechanism, by its name.

    benchmark: of BENCHMARKS; a part of its tasks is named behind a comma.
    """

    benchmark: str
    full: Results[Any]
    without: dict[str, Results[Any]]

    def scores(self, way: str, ablation: Ablation) -> dict[str, float]:
        """Task -> score in [0, 1]: of the full loop, of its replay without a mechanism, or of the run without it."""
        run = self.without[ablation.name] if way == AGAIN else self.full
        scores = run.named(BENCHMARKS[self.benchmark.partition(",")[0]].of)
        if way != REPLAY:
            return scores
        trajectories = {trajectory.task: trajectory for trajectory in run.trajectories}
        # A failed episode has no trajectory to replay; its score of 0 stays in the mean.
        return {t: replayed(ablation, trajectories[t], s) if t in trajectories else 0.0 for t, s in scores.items()}


def collect(
    setups: Mapping[str, Benchmark], workers: int = 0, cluster: str = "", ablations: Sequence[Ablation] = ABLATIONS
) -> list[Ablated]:
    """Run the full loop and each ablation on the same tasks. setups: by their column of Table 6.

    A recording answers the columns that it was made on, and has the runs that are in it: those of Tables 2 to 5
    several, any other that of its own loop alone, which is all that the replay needs.
    Raises ValueError for recordings of none of these columns, and what `lab.runs.collecting.collect` raises.
    """
    found = []
    for name, setup in setups.items():
        backbone = connected(setup.engine)
        recorded = Manifest.read(backbone.folder).method if isinstance(backbone, Replay) else ""
        if recorded in STUDIES:
            several = ablated(STUDIES[recorded].run(engine=setup.engine, workers=workers, cluster=cluster))
            found += [one for one in several if one.benchmark == name]
        elif recorded in ("", setup.method):
            tried = [] if recorded else ablations
            without = {a.name: replace(setup, settings=a.without(setup.settings)) for a in tried}
            again = {mechanism: collecting.collect(each, workers, cluster) for mechanism, each in without.items()}
            found.append(Ablated(name, collecting.collect(setup, workers, cluster), again))
    if not found:
        asked = ", ".join(dict.fromkeys(setup.engine for setup in setups.values()))
        raise ValueError(f"{asked} was made on none of {', '.join(setups)}; name a recording of SDP on one of them")
    return found


def rows(ablated: Iterable[Ablated]) -> list[tables.Row]:
    """Full, replayed and re-run scores in percent, as rows of a results table with a column `data`."""
    found = []
    for one in ablated:
        found.append(_row(one, FULL, ABLATIONS[0]))
        for ablation in ABLATIONS:
            found.append(_row(one, REPLAY, ablation))
            if ablation.name in one.without:
                found.append(_row(one, AGAIN, ablation))
    return found


def layout(results: pd.DataFrame) -> pd.DataFrame:
    """Table 6's shape: a row a condition and backbone, a column a benchmark; what nobody could recover stays empty.

    Behind each number that was made here stands the data that it was made on.
    """
    import pandas as pd

    published = tables.published("Table 6 ablation", "sdp")
    names = {column.metric: name for name, column in BENCHMARKS.items()} | {name: name for name in BENCHMARKS}
    published = published[published["metric"].isin(names)]
    # The paper's own ablated scores are replay estimates (Appendix C), so they stand beside ours of that kind.
    methods = {ablation.name: _method(REPLAY, ablation) for ablation in ABLATIONS}
    published = published.assign(metric=published["metric"].map(names), method=published["method"].replace(methods))
    cells = [f"{tables.with_interval(row, 1)}, {row['data']}" for row in results.to_dict("records")]
    order = [FULL, *(_method(way, ablation) for ablation in ABLATIONS for way in (REPLAY, AGAIN))]
    whole = pd.concat([published, results.assign(text=cells)], ignore_index=True)
    return tables.side_by_side(
        whole.sort_values("method", key=lambda m: m.map(order.index), kind="stable"), list(BENCHMARKS)
    )


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
    moved, told = table["higher"] + table["lower"] > 0, table["p (Holm)"] <= 0.05
    found = table["difference"].gt(0).map({True: ABOVE, False: BELOW}).where(told, UNTOLD).where(moved, SAME)
    return table.assign(found=found)


def orders(ablated: Sequence[Ablated]) -> pd.DataFrame:
    """The benchmarks in the order of what a removal costs, with the points, by both ways: a row a mechanism.

    Appendix C says that the replay tells this order. tau: Kendall's, of both; NaN where one finds all of them alike.
    """
    import pandas as pd
    from scipy.stats import kendalltau

    lines = []
    for ablation in ABLATIONS:
        there = [one for one in ablated if ablation.name in one.without]
        costs = {way: {one.benchmark: _cost(one, way, ablation) for one in there} for way in (REPLAY, AGAIN)}
        told = {
            way: ", ".join(f"{n} {c:.1f}" for n, c in sorted(of.items(), key=_falling)) for way, of in costs.items()
        }
        tau = kendalltau(*([*of.values()] for of in costs.values())).statistic
        lines.append({"condition": ablation.name} | told | {"tau": float(tau)})
    about = {"data": {one.full.setup.data for one in ablated}, "evidence": {one.full.evidence for one in ablated}}
    return pd.DataFrame(lines).assign(**{name: " and ".join(sorted(words)) for name, words in about.items()})


def _cost(one: Ablated, way: str, ablation: Ablation) -> float:
    full, without = (one.scores(each, ablation).values() for each in (FULL, way))
    return 100 * (fmean(full) - fmean(without))


def _falling(cost: tuple[str, float]) -> float:
    return -cost[1]


def in_words(bounds: pd.DataFrame) -> str:
    """For which mechanisms and benchmarks the replay is above or below the re-run, in points; a line each."""
    lines = []
    for found, words in FOUND.items():
        places: dict[str, list[str]] = {}
        for row in bounds[bounds["found"] == found].itertuples():
            points = "" if found == SAME else f" ({row.difference:+.1f})"
            places.setdefault(row.condition, []).append(row.benchmark + points)
        told = "; ".join(f"{mechanism} on {', '.join(of)}" for mechanism, of in places.items())
        lines.append(f"{words}: {told or 'nowhere'}.")
    return "\n".join(lines)


def noise_sweep(base: Setup, keeps: Sequence[float], workers: int = 0, cluster: str = "") -> pd.DataFrame:
    """Final pass rate and model calls a query against p of `rules@p`, with and without Validate and Replan.

    Columns: condition, keep, rate, low, high (percent, Wilson), calls (mean a query), n.
    """
    import pandas as pd

    lines = []
    for keep, (name, change) in product(keeps, CONDITIONS.items()):
        setup = change(replace(base.answered_by(f"rules@{keep:g}"), trajectories=False))
        lines.append({"condition": name, "keep": keep} | _rate(setup, workers, cluster))
    return pd.DataFrame(lines).assign(data=base.decided().data, evidence="simulated", backbone="rules@p")


def validator_sweep(
    base: Setup,
    engine: str,
    certify: Sequence[float],
    reject: Sequence[float],
    judges: Sequence[str],
    workers: int = 0,
    cluster: str = "",
) -> pd.DataFrame:
    """Final pass rate and model calls a query against the two error rates of Validate, with both kinds of Replan.

    engine: noisy rules without rates of Validate, such as "rules@0.8". certify, reject: each is tried with the other at
    0. judges: names of published judges (lab/models/judges.py), which have both rates.
    Columns: condition, validator, certify, reject (shares of wrong and of right steps), rate, low, high, calls, n.
    """
    import pandas as pd

    validators = {f"certify={rate:g}, reject=0": Errors(rate, 0.0) for rate in certify}
    validators |= {f"certify=0, reject={rate:g}": Errors(0.0, rate) for rate in reject}
    validators |= {name: errors_of(name) for name in judges}
    lines = []
    for (validator, errors), name in product(validators.items(), ("SDP", UNDOING)):
        noisy = f"{engine}?certify={errors.certify:.4f}&reject={errors.reject:.4f}"
        setup = CONDITIONS[name](replace(base.answered_by(noisy), trajectories=False))
        lines.append({"condition": name, "validator": validator} | errors._asdict() | _rate(setup, workers, cluster))
    return pd.DataFrame(lines).assign(data=base.decided().data, evidence="simulated", backbone=engine)


def draw_sweep(sweep: pd.DataFrame) -> Figure:
    """Final pass rate, and model calls a query, against p; a line a condition."""
    import matplotlib.pyplot as plt

    figure, (rates, calls) = plt.subplots(1, 2, figsize=(10, 4))
    plots.lines_with_bands(sweep, "keep", "rate", "condition", "low", "high", rates)
    plots.lines_with_bands(sweep, "keep", "calls", "condition", "calls", "calls", calls)
    rates.set(xlabel="probability of an answer being kept, p", ylabel="final pass rate, %", ylim=(-2, 102))
    calls.set(xlabel="probability of an answer being kept, p", ylabel="model calls a query", ylim=(0, None))
    calls.get_legend().remove()
    rates.get_legend().remove()
    figure.legend(*rates.get_legend_handles_labels(), loc="outside upper center", ncols=len(CONDITIONS))
    plots.label_evidence(figure, sweep)
    return figure


def draw_validators(sweep: pd.DataFrame) -> Figure:
    """Final pass rate against false certification, with the published judges, and rate and calls against rejection."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 3, figsize=(13, 4))
    words = {"certify": "false certification (wrong called right)", "reject": "false rejection (right called wrong)"}
    stepped = sweep["validator"].str.startswith("certify=")
    for axes, x, y in zip(panels, ("certify", "reject", "reject"), ("rate", "rate", "calls"), strict=True):
        rows = sweep[stepped & (sweep["reject" if x == "certify" else "certify"] == 0)].sort_values(x)
        low, high = ("low", "high") if y == "rate" else (y, y)
        plots.lines_with_bands(rows, x, y, "condition", low, high, axes)
        axes.get_legend().remove()
        axes.set(xlabel=words[x], ylabel="final pass rate, %" if y == "rate" else "model calls a query", ylim=(0, None))
    for axes in panels[:2]:
        axes.set_ylim(-2, 102)
    of_judges = sweep[~stepped & (sweep["condition"] == UNDOING)]
    panels[0].plot(of_judges["certify"], of_judges["rate"], "x", color="black", label="the same with a published judge")
    for judge in of_judges.itertuples():
        panels[0].annotate(judge.validator, (judge.certify, judge.rate), (4, 6), textcoords="offset points", fontsize=8)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    plots.label_evidence(figure, sweep)
    return figure


def ablated(results: study.Results) -> list[Ablated]:
    """What a run of Tables 2 to 5 has of SDP, with and without a mechanism."""
    names = {ablation.name: f"SDP without {ablation.name[1:]}" for ablation in ABLATIONS}
    held = results.setup.methods
    return [
        Ablated(of, results.part(of, SDP.name), {m: results.part(of, n) for m, n in names.items() if n in held})
        for of in results.setup.datasets
        if SDP.name in held
    ]


def _contrasts(families: Iterable[Sequence[Ablated]], first: str, second: str) -> pd.DataFrame:
    """One way to score less another, in points. See `comparisons`."""
    import pandas as pd

    lines = []
    for ablated in families:
        pairs = [(one, ablation) for one in ablated for ablation in ABLATIONS if ablation.name in one.without]
        compared = [compare(one.scores(first, ablation), one.scores(second, ablation)) for one, ablation in pairs]
        adjusted = holm([c.p for c in compared])
        for (one, ablation), c, p in zip(pairs, compared, adjusted, strict=True):
            points = [100 * each for each in (c.mean_a, c.mean_b, *c.difference)]
            about = (one.benchmark, one.full.setup.data, ablation.name, c.n)
            evidence = (one.full.evidence, one.full.backbone)
            lines.append((*about, *points, c.wins, c.losses, c.p, p, *evidence))
    columns = ["benchmark", "data", "condition", "n", first, second, "difference", "low", "high", "higher", "lower"]
    return pd.DataFrame(lines, columns=[*columns, "p", "p (Holm)", "evidence", "backbone"])


def _rate(setup: Setup, workers: int, cluster: str) -> dict[str, float]:
    """The final pass rate of a run in percent with its Wilson interval, its mean calls a query, and n."""
    run = collecting.collect(setup, workers, cluster, show_progress=False)
    rate, n = wilson(sum(v.final for v in run.verdicts), len(run.tasks)), len(run.tasks)
    values = {"rate": 100 * rate.value, "low": 100 * rate.low, "high": 100 * rate.high}
    return values | {"calls": run.total("calls") / n, "n": n}


def _method(way: str, ablation: Ablation) -> str:
    return FULL if way == FULL else f"{ablation.name}, {way}"


def _row(one: Ablated, way: str, ablation: Ablation) -> tables.Row:
    run = one.without[ablation.name] if way == AGAIN else one.full
    named = (_method(way, ablation), run.backbone, one.benchmark)
    about = (run.evidence, "this run, Appendix C" if way == REPLAY else "this run")
    scores = [100 * score for score in one.scores(way, ablation).values()]
    if set(scores) <= {0.0, 100.0}:  # a rate, which a bootstrap would call certain where all tasks agree
        passes = sum(score > 0 for score in scores)
        made = tables.rate_row(*named, passes, len(scores), *about, run.outcomes())
    else:
        made = tables.mean_row(*named, scores, *about, outcomes=run.outcomes(), top=100.0)
    return made | {"data": run.setup.data}
