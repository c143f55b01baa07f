"""What Validate's two error rates do to SDP's score: a grid of them, played on synthetic questions under noise.

Simulated: the rules read the synthetic encyclopedia, noise makes a share of their other answers wrong, and a Validate
errs at the two rates. Draws are nested across rates (see `lab.models.rules`), so that neighbours on the grid differ by
their rates and not by luck.

Rates alone do not say what a retry meets. A Validate that repeats itself on the same claim, as a model does at
temperature 0, makes a wrong rejection final until Replan finds other words; one that draws anew lets it pass later, and
what is wrong as well. Both are played.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar

from lab.models.backbone import Answer, Backbone, Ledger
from lab.models.judges import Errors
from lab.models.prompts import Prompt
from lab.results.statistics import wilson
from lab.runs.collecting import collect
from sdp.adapters.multihop.adapter import MultiHopAdapter
from sdp.adapters.multihop.prompts import VERIFY
from sdp.experiments import multihop
from sdp.experiments.certifying import Results

if TYPE_CHECKING:
    import pandas as pd

SIMULATED = {"data": "synthetic", "evidence": "simulated"}
REPEATED, REDRAWN = VERDICTS = ("verdicts repeated", "verdicts drawn anew")
COLUMNS = ("dataset", "verdicts", "certify", "reject", "score", "low", "high", "calls", "n")


class Redrawing:
    """A backbone that gives a new sample whenever Validate asks in the words of before; one episode's."""

    def __init__(self, backbone: Backbone) -> None:
        self.engine, self._backbone, self._asked = backbone.engine, backbone, Counter[str]()

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        if prompt.operator == VERIFY.operator:
            question = prompt.fill(**fields).model_dump_json()
            sample, self._asked[question] = self._asked[question], self._asked[question] + 1
        return self._backbone.ask(prompt, sample=sample, **fields)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        return self._backbone.request(prompt, sample=sample, **fields)


@dataclass(frozen=True, kw_only=True)
class HotpotQA(multihop.HotpotQA):
    """SDP on HotpotQA. redraw: whether Validate's verdict on the same claim is drawn anew."""

    redraw: bool = False
    trajectories: bool = False

    method: ClassVar[str] = "sdp-validate-surface-hotpotqa"

    def adapter(self, task: str, ledger: Ledger) -> MultiHopAdapter:
        return _redrawn(super().adapter(task, ledger), self.redraw)


@dataclass(frozen=True, kw_only=True)
class MuSiQue(multihop.MuSiQue):
    """The same on MuSiQue."""

    redraw: bool = False
    trajectories: bool = False

    method: ClassVar[str] = "sdp-validate-surface-musique"

    def adapter(self, task: str, ledger: Ledger) -> MultiHopAdapter:
        return _redrawn(super().adapter(task, ledger), self.redraw)


DATASETS: dict[str, type[HotpotQA] | type[MuSiQue]] = {"HotpotQA": HotpotQA, "MuSiQue": MuSiQue}


def play(
    engine: str,
    certify: Sequence[float],
    reject: Sequence[float],
    limit: int = 0,
    seed: int = 0,
    workers: int = 0,
    cluster: str = "",
) -> pd.DataFrame:
    """SDP's exact match in percent with its Wilson interval, and calls a question, at each pair of rates.

    engine: noisy rules without rates of Validate, such as "rules@0.8". certify, reject: the grid, shares of wrong and
    of right steps. limit: questions of each dataset, of those on which no rule was written. Columns: COLUMNS, evidence,
    backbone; a row for each dataset, kind of verdicts and pair.
    """
    pairs = [Errors(*pair) for pair in product(certify, reject)]
    return at(engine, pairs, limit, seed, workers, cluster)


def at(
    engine: str, pairs: Sequence[Errors], limit: int = 0, seed: int = 0, workers: int = 0, cluster: str = ""
) -> pd.DataFrame:
    """The same at single pairs of rates."""
    import pandas as pd

    lines = []
    for dataset, verdicts, errors in product(DATASETS, VERDICTS, pairs):
        erring = f"{engine}?certify={errors.certify:.4f}&reject={errors.reject:.4f}"
        asked: dict[str, Any] = {"engine": erring, "data": SIMULATED["data"], "limit": limit, "seed": seed}
        setup = DATASETS[dataset](**asked, split="reporting", redraw=verdicts == REDRAWN)
        run: Results[Any] = collect(setup, workers, cluster, show_progress=False)
        n, right = len(run.scores), int(sum(run.scores.values()))
        score = [100 * end for end in wilson(right, n)]
        lines.append(dict(zip(COLUMNS, (dataset, verdicts, *errors, *score, run.total("calls") / n, n), strict=True)))
    return pd.DataFrame(lines).assign(**SIMULATED, backbone=engine)


def interpolated(surface: pd.DataFrame, errors: Mapping[str, Errors]) -> pd.DataFrame:
    """The score at each judge's rates, bilinear between the four played pairs around it; NaN outside of the grid.

    surface: of `play`. Columns: judge, certify, reject, and the score in percent of each dataset and kind of verdicts.
    """
    import pandas as pd

    table = pd.DataFrame([{"judge": name} | one._asdict() for name, one in errors.items()])
    at_rates = table[["certify", "reject"]].to_numpy(float)
    for (dataset, verdicts), rows in surface.groupby(["dataset", "verdicts"], sort=False):
        table[f"{dataset}, {verdicts}"] = between(rows)(at_rates)
    return table.assign(**SIMULATED, backbone="interpolated")


def between(rows: pd.DataFrame) -> Any:
    """A function of pairs of rates, shape (n, 2): the scores of one dataset and kind of verdicts, shape (n,)."""
    import numpy as np
    from scipy.interpolate import RegularGridInterpolator

    grid = rows.pivot(index="certify", columns="reject", values="score")
    axes = tuple(axis.to_numpy(float) for axis in (grid.index, grid.columns))
    return RegularGridInterpolator(axes, grid.to_numpy(float), bounds_error=False, fill_value=np.nan)


def gaps(surface: pd.DataFrame, engine: str, errors: Mapping[str, Errors], **options: Any) -> pd.DataFrame:
    """How far interpolation is off: the score played at judges' own rates beside the interpolated one, in points.

    options: limit, seed, workers and cluster, as the surface was played with.
    """
    played = at(engine, [*errors.values()], **options)
    names = {(round(one.certify, 9), round(one.reject, 9)): name for name, one in errors.items()}
    judge = [names[round(row.certify, 9), round(row.reject, 9)] for row in played.itertuples()]
    guessed = interpolated(surface, errors).set_index("judge")
    columns = played["dataset"] + ", " + played["verdicts"]
    inside = [guessed.loc[name, column] for name, column in zip(judge, columns, strict=True)]
    wanted = [
        "judge",
        "dataset",
        "verdicts",
        "score",
        "low",
        "high",
        "interpolated",
        "off",
        "n",
        *SIMULATED,
        "backbone",
    ]
    return played.assign(judge=judge, interpolated=inside, off=inside - played["score"])[wanted]


def grid(surface: pd.DataFrame) -> pd.DataFrame:
    """The surface for reading: a row for each rate of false certification, a column for each of false rejection."""
    cells = surface.assign(cell=[f"{one.score:.0f} [{one.low:.0f}, {one.high:.0f}]" for one in surface.itertuples()])
    wide = cells.pivot(index=["dataset", "verdicts", "certify"], columns="reject", values="cell")
    wide.columns = [f"reject {rate:g}" for rate in wide.columns]
    return wide.reset_index().assign(n=int(surface["n"].max()), **SIMULATED, backbone=surface["backbone"].iloc[0])


def slopes(surface: pd.DataFrame) -> pd.DataFrame:
    """What ten points more of each error take away on average over the grid, in points of exact match: least squares.

    Columns: dataset, verdicts, false certification, false rejection, evidence, backbone.
    """
    import numpy as np
    import pandas as pd

    lines = []
    for (dataset, verdicts), rows in surface.groupby(["dataset", "verdicts"], sort=False):
        rates = np.column_stack([rows["certify"], rows["reject"], np.ones(len(rows))])
        certify, reject, _ = -np.linalg.lstsq(rates, rows["score"].to_numpy(float), rcond=None)[0] / 10
        about = {"dataset": dataset, "verdicts": verdicts}
        lines.append(about | {"false certification": certify, "false rejection": reject})
    return pd.DataFrame(lines).assign(**SIMULATED, backbone=surface["backbone"].iloc[0])


def _redrawn(adapter: MultiHopAdapter, redraw: bool) -> MultiHopAdapter:
    return replace(adapter, backbone=Redrawing(adapter.backbone)) if redraw else adapter
