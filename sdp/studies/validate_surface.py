"""How Validate's two error rates change SDP's score: a grid of rates, played on synthetic questions under noise.

Simulated: the rules read the synthetic encyclopedia, noise makes a share of their other answers wrong, and Validate
errs at the two rates. Samples are nested across rates (see `lab.models.rules`), so neighbours on the grid differ by
their rates and not by chance.

The rates alone do not determine what a retry meets. If Validate repeats its verdict on the same claim, as a model at
temperature 0 does, a wrong rejection is final until Replan finds other words. If it samples again, a right claim can
pass later, but so can a wrong one. Both are played.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.contour import QuadContourSet
from matplotlib.figure import Figure

from lab.models.judges import Errors
from lab.results import plots
from lab.results.statistics import holm
from lab.runs import recordings
from lab.runs.study import Metric, Study, register
from lab.runs.study_results import Results
from sdp.experiments import audit
from sdp.studies import table5
from sdp.studies.conditions import SDP, WITHOUT_VALIDATE
from sdp.studies.sweeps import erring, swept

SIMULATED = {"data": "synthetic", "evidence": "simulated"}
REPEATED, REDRAWN = VERDICTS = ("verdicts repeated", "verdicts drawn anew")
DATASETS = ("HotpotQA", "MuSiQue")
FINE = 101  # points per axis, for interpolated colours
MARKS = ("X", "P", "^", "s")
STUDY = register(
    Study(
        name="sdp-validate-surface",
        benchmarks=DATASETS,
        conditions=(SDP.but(REPEATED), SDP.but(REDRAWN, "redraw", True)),
        metrics=(Metric("{benchmark} EM", "em", "rate"),),
        against=REPEATED,
        options={"split": "reporting", "trajectories": False},
    )
)


def play(engine: str, certify: Sequence[float], reject: Sequence[float], **options: Any) -> pd.DataFrame:
    """SDP's exact match and calls per question at each pair of Validate's error rates: see `at`.

    certify, reject: the grid, shares of wrong and of right steps.
    """
    return at(engine, [Errors(*pair) for pair in product(certify, reject)], **options)


def at(
    engine: str, pairs: Iterable[Errors], limit: int = 0, seed: int = 0, workers: int = 0, cluster: str = ""
) -> pd.DataFrame:
    """The same as `play`, for single pairs of rates.

    engine: see `erring`. limit: questions per dataset, among those for which no rule was written. Columns: dataset,
    verdicts, certify, reject, score, low, high (percent, Wilson), calls, n, data, evidence, backbone.
    """
    points = ((erring(engine, errors), errors._asdict()) for errors in pairs)
    rows = swept(STUDY.trial(data="synthetic", limit=limit, seed=seed), points, workers, cluster)
    rows = rows.rename(columns={"condition": "verdicts", "rate": "score"}).assign(backbone=engine)
    surfaces = [surface for _, surface in rows.groupby(["dataset", "verdicts"], sort=False)]
    return pd.concat(surfaces, ignore_index=True)


def interpolated(surface: pd.DataFrame, errors: Mapping[str, Errors]) -> pd.DataFrame:
    """The score at each judge's rates, bilinear between the four played pairs around it; NaN outside the grid.

    surface: of `play`. Columns: judge, certify, reject, and for each dataset and kind of verdicts the score in percent.
    """
    table = pd.DataFrame([{"judge": judge, **rates._asdict()} for judge, rates in errors.items()])
    at_rates = table[["certify", "reject"]].to_numpy(float)
    for (dataset, verdicts), rows in surface.groupby(["dataset", "verdicts"], sort=False):
        table[f"{dataset}, {verdicts}"] = between(rows)(at_rates)
    return table.assign(**SIMULATED, backbone="interpolated")


def between(rows: pd.DataFrame) -> Any:
    """A function of pairs of rates, shape (n, 2): the scores of one dataset and kind of verdicts, shape (n,)."""
    from scipy.interpolate import RegularGridInterpolator

    grid = rows.pivot(index="certify", columns="reject", values="score")
    axes = tuple(axis.to_numpy(float) for axis in (grid.index, grid.columns))
    return RegularGridInterpolator(axes, grid.to_numpy(float), bounds_error=False, fill_value=np.nan)


def gaps(surface: pd.DataFrame, engine: str, errors: Mapping[str, Errors], **options: Any) -> pd.DataFrame:
    """The error of interpolation: the score played at the judges' own rates and the interpolated one, in points.

    options: limit, seed, workers and cluster, as the surface was played with.
    """
    played = at(engine, errors.values(), **options)
    names = {pair: name for name, pair in errors.items()}
    judges = [names[Errors(*pair)] for pair in zip(played["certify"], played["reject"], strict=True)]
    estimates = interpolated(surface, errors).set_index("judge")
    columns = played["dataset"] + ", " + played["verdicts"]
    inside = [estimates.loc[judge, column] for judge, column in zip(judges, columns, strict=True)]
    played.insert(0, "judge", judges)
    return played.assign(interpolated=inside, off=inside - played["score"]).drop(columns=["certify", "reject", "calls"])


NOISE = ("rules@0.6", "rules@0.8")  # errors of the other operators, which no audit measures


def beside(audited: Errors, *recorded: Results, limit: int = 0, workers: int = 0) -> pd.DataFrame:
    """SDP without Validate minus SDP: as Validate's audited error rates predict it, and as it was recorded.

    audited: the rates of one model (`audit.errors_of`). A simulated Validate has them, on synthetic questions, under
    each of NOISE. recorded: runs of the same model with both conditions. Returns the columns of `Results.compare`. The
    simulation does not know the errors of the model's other operators: compare sign and order of magnitude.
    """
    engines = [erring(noise, audited) for noise in NOISE]
    parts: dict[str, Any] = {"benchmarks": DATASETS, "conditions": (SDP.name, WITHOUT_VALIDATE.name)}
    simulated = (
        table5.STUDY.run(engine=engine, data="synthetic", limit=limit, workers=workers, **parts) for engine in engines
    )
    compared = [run.compare() for run in (*simulated, *recorded)]
    compared = [frame[frame["method"] == WITHOUT_VALIDATE.name] for frame in compared if len(frame)]
    return pd.concat(compared, ignore_index=True)


def predicted(limit: int = 0) -> pd.DataFrame:
    """`beside` for each model whose Validate was recorded, in one table; Holm's correction is over all its rows."""
    played = table5.STUDY.replays()
    parts = [
        beside(errors, *(run for run in played if run.backbone == model), limit=limit).assign(validate=model)
        for model, errors in audit.errors_of(recordings.rows(audit.Setup.method)).items()
    ]
    rows = pd.concat(parts, ignore_index=True)
    return rows.assign(**{"p (Holm)": holm(rows["p"])})


def grid(surface: pd.DataFrame) -> pd.DataFrame:
    """The surface for display: one row per rate of false certification, one column per rate of false rejection."""
    cells = surface.assign(cell=[f"{row.score:.0f} [{row.low:.0f}, {row.high:.0f}]" for row in surface.itertuples()])
    wide = cells.pivot(index=["dataset", "verdicts", "certify"], columns="reject", values="cell")
    wide.columns = [f"reject {rate:g}" for rate in wide.columns]
    return wide.reset_index().assign(n=int(surface["n"].max()), **SIMULATED, backbone=surface["backbone"].iloc[0])


def slopes(surface: pd.DataFrame) -> pd.DataFrame:
    """Points of exact match lost per ten points of each error, on average over the grid (least squares).

    Columns: dataset, verdicts, false certification, false rejection, evidence, backbone.
    """
    lines = []
    for (dataset, verdicts), rows in surface.groupby(["dataset", "verdicts"], sort=False):
        rates = np.column_stack([rows["certify"], rows["reject"], np.ones(len(rows))])
        certify, reject, _ = -np.linalg.lstsq(rates, rows["score"].to_numpy(float), rcond=None)[0] / 10
        key = {"dataset": dataset, "verdicts": verdicts}
        lines.append(key | {"false certification": certify, "false rejection": reject})
    return pd.DataFrame(lines).assign(**SIMULATED, backbone=surface["backbone"].iloc[0])


def draw(surface: pd.DataFrame, errors: Mapping[str, Mapping[str, Errors]], named: Sequence[str] = ()) -> Figure:
    """SDP's score over both error rates, one column per dataset and one row per kind of verdicts.

    Dots were played; colours between them are interpolated. errors: name of a group of judges -> their rates; a group
    has one kind of mark, and judges outside the grid are left out. named: judges of the first group to label.
    """
    shape = (len(VERDICTS), len(DATASETS))
    figure, panels = plt.subplots(*shape, figsize=(10.5, 8.6), sharex=True, sharey=True, squeeze=False)
    levels = np.linspace(0, 100, 21).tolist()
    for panel_row, verdicts in zip(panels, VERDICTS, strict=True):
        for axes, dataset in zip(panel_row, DATASETS, strict=True):
            rows = surface[(surface["dataset"] == dataset) & (surface["verdicts"] == verdicts)]
            colors = _filled(axes, rows, levels)
            axes.plot(rows["certify"], rows["reject"], "o", color="white", markeredgecolor="0.2", label="played",
                      clip_on=False)  # fmt: skip
            _mark(axes, errors, float(rows["reject"].max()), named)
            axes.set_title(f"{dataset}, {verdicts}")
    for axes in panels[-1]:
        axes.set_xlabel("false certification (of wrong steps)")
    for panel_row in panels:
        panel_row[0].set_ylabel("false rejection (of right steps)")
    figure.colorbar(colors, ax=panels.ravel().tolist(), label="exact match, %, interpolated")
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    plots.label_evidence(figure, surface)
    return figure


def _filled(axes: Axes, rows: pd.DataFrame, levels: Sequence[float]) -> QuadContourSet:
    """Bands of equal score, bilinear between the played points."""
    ends = [(float(rows[name].min()), float(rows[name].max())) for name in ("certify", "reject")]
    certify, reject = np.meshgrid(*(np.linspace(low, high, FINE) for low, high in ends), indexing="ij")
    return axes.contourf(certify, reject, between(rows)(np.stack([certify, reject], axis=-1)), levels, cmap="viridis")


def _mark(axes: Axes, errors: Mapping[str, Mapping[str, Errors]], most: float, named: Sequence[str]) -> None:
    for mark, (group, judges) in zip(MARKS, errors.items(), strict=False):
        inside = {name: rates for name, rates in judges.items() if rates.reject <= most}
        points = [*zip(*inside.values(), strict=True)] or [(), ()]
        color = "red" if mark == MARKS[0] else "white"
        axes.plot(*points, mark, color=color, markeredgecolor="0.1", markeredgewidth=0.6, markersize=7, label=group)
    for name, rates in next(iter(errors.values()), {}).items():
        if name in named and rates.reject <= most:
            axes.annotate(name, rates, (3, 7), textcoords="offset points", fontsize=8, color="white", rotation=28)
