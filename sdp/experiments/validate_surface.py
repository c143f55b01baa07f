"""What Validate's two error rates do to SDP's score: a grid of them, played on made questions under noise.

Simulated: the rules read the made encyclopedia, noise makes a share of their other answers wrong, and a Validate errs
at the two rates. Draws are nested across rates (see `lab.models.rules`), so that neighbours on the grid differ by their
rates and not by luck.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

from lab.models.judges import Errors
from lab.results.statistics import wilson
from sdp.experiments import table5

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("dataset", "certify", "reject", "score", "low", "high", "calls", "n")


def play(
    base: table5.Setup,
    engine: str,
    certify: Sequence[float],
    reject: Sequence[float],
    workers: int = 0,
    cluster: str = "",
) -> pd.DataFrame:
    """SDP's exact match in percent with its Wilson interval, and calls a question, at each pair of rates.

    engine: noisy rules without rates of Validate, such as "rules@0.8". certify, reject: the grid, shares of wrong and
    of right steps. Columns: COLUMNS, evidence, backbone; a row a dataset and pair.
    """
    return at(base, engine, [Errors(*pair) for pair in product(certify, reject)], workers, cluster)


def at(
    base: table5.Setup, engine: str, pairs: Sequence[Errors], workers: int = 0, cluster: str = ""
) -> pd.DataFrame:  # fmt: skip
    """The same at single pairs of rates."""
    import pandas as pd

    lines: list[dict[str, Any]] = []
    for errors in pairs:
        erring = base.answered_by(f"{engine}?certify={errors.certify:.4f}&reject={errors.reject:.4f}")
        run = table5.collect(replace(erring, methods=(table5.SDP,)), workers, cluster, show_progress=False)
        for dataset in run.setup.datasets:
            scores = run.values(dataset, table5.SDP).values()
            score = [100 * end for end in wilson(int(sum(scores)), len(scores))]
            calls = table5.mean(run, dataset, table5.SDP, "calls")
            lines.append(dict(zip(COLUMNS, (dataset, *errors, *score, calls, len(scores)), strict=True)))
    return pd.DataFrame(lines).assign(evidence="simulated", backbone=engine)


def interpolated(surface: pd.DataFrame, errors: Mapping[str, Errors]) -> pd.DataFrame:
    """The score at each judge's rates, bilinear between the four played pairs around it; NaN outside of the grid.

    surface: of `play`. Columns: judge, certify, reject, and a dataset's score in percent each.
    """
    import numpy as np
    import pandas as pd
    from scipy.interpolate import RegularGridInterpolator

    table = pd.DataFrame([{"judge": name} | one._asdict() for name, one in errors.items()])
    for dataset, rows in surface.groupby("dataset", sort=False):
        grid = rows.pivot(index="certify", columns="reject", values="score")
        axes = tuple(axis.to_numpy(float) for axis in (grid.index, grid.columns))
        between = RegularGridInterpolator(axes, grid.to_numpy(float), bounds_error=False, fill_value=np.nan)
        table[str(dataset)] = between(table[["certify", "reject"]].to_numpy(float))
    return table.assign(evidence="simulated", backbone="interpolated")


def grid(surface: pd.DataFrame) -> pd.DataFrame:
    """The surface for reading: a row a dataset and rate of false certification, a column a rate of false rejection."""
    cells = surface.assign(cell=[f"{one.score:.0f} [{one.low:.0f}, {one.high:.0f}]" for one in surface.itertuples()])
    wide = cells.pivot(index=["dataset", "certify"], columns="reject", values="cell")
    wide.columns = [f"reject {rate:g}" for rate in wide.columns]
    return wide.reset_index().assign(
        n=int(surface["n"].max()), evidence="simulated", backbone=surface["backbone"].iloc[0]
    )  # fmt: skip


def slopes(surface: pd.DataFrame) -> pd.DataFrame:
    """What ten points more of each error cost on average over the grid, in points of exact match, by least squares.

    Columns: dataset, false certification, false rejection: points that ten points of it take away.
    """
    import numpy as np
    import pandas as pd

    lines = []
    for dataset, rows in surface.groupby("dataset", sort=False):
        rates = np.column_stack([rows["certify"], rows["reject"], np.ones(len(rows))])
        fall = np.linalg.lstsq(rates, rows["score"].to_numpy(float), rcond=None)[0] / 10
        lines.append({"dataset": dataset, "false certification": -fall[0], "false rejection": -fall[1]})
    return pd.DataFrame(lines).assign(evidence="simulated", backbone=surface["backbone"].iloc[0])
