"""Figure 5: the Overall values of Tables 13 to 16 as five panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lab.results import tables
from lab.runs.collecting import collect
from statefactory.experiments import ablations, scores, table1, triplets
from statefactory.experiments.predictions import Results, Setup

if TYPE_CHECKING:
    import pandas as pd

# Panel, as `statefactory.plots.results.draw_ablations` names it -> the table behind it.
TABLES = {
    "representation": "Table 13",
    "goal": "Table 14",
    "backbone": "Table 16",
    "embedding": "Table 15",
    "triplets": "Table 15",
}


def panels(
    setup: Setup,
    embeddings: Sequence[str],
    paraphraser: str,
    recordings: Sequence[str] = (),
    workers: int = 0,
    cluster: str = "",
) -> dict[str, pd.DataFrame]:
    """Panel -> its rows, published before measured, of one metric each: Overall, or triplet accuracy in the last."""
    runs = ablations.collect_levels(setup, workers, cluster)
    results = runs["statefactory"]
    source = collect(Setup(data="synthetic"), workers, cluster)
    made = triplets.collect(source, paraphraser, workers=workers, cluster=cluster)
    embedded = ablations.embedding_rows(results, made, ablations.available(embeddings))
    embedded = ablations.with_kept(embedded, results.setup.data)
    found = {
        "representation": ablations.representation(runs),
        "goal": ablations.goal_sources(results),
        "backbone": _backbones(results, recordings),
        "embedding": embedded,
        "triplets": embedded,
    }
    return {name: _panel(name, rows) for name, rows in found.items()}


def overall(panels: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All panels as one table, in the columns of a results table behind the panel's name."""
    import pandas as pd

    return pd.concat([rows.assign(panel=name) for name, rows in panels.items()], ignore_index=True)[
        ["panel", *tables.COLUMNS]
    ]


def _backbones(results: Results, recordings: Sequence[str]) -> pd.DataFrame:
    import pandas as pd

    replayed = table1.replayed(recordings or Setup.recorded())
    models = replayed[replayed["method"].str.startswith("StateFactory")] if len(replayed) else replayed
    return pd.concat([ablations.backbone_rows({results.backbone: results}), models], ignore_index=True)


def _panel(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The panel's metric alone, published rows first."""
    import pandas as pd

    both = pd.concat([tables.published(TABLES[name], "statefactory")[tables.COLUMNS], rows], ignore_index=True)
    return both[both["metric"] == (triplets.ACCURACY if name == "triplets" else scores.OVERALL)]
