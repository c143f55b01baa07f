"""Figure 5: the Overall values of Tables 13 to 16 as five panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lab.results import tables
from lab.runs.study_results import Results
from statefactory.experiments import scores, triplets
from statefactory.studies import ablations

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
    levels: Results, results: Results, made: triplets.ParaphraseResults, embeddings: Sequence[str],
    replays: Sequence[Results] = (),
) -> dict[str, pd.DataFrame]:  # fmt: skip
    """Panel -> its rows, published before measured, of one metric each: Overall, or triplet accuracy in the last.

    levels: Table 13's run. results: StateFactory's. replays: recordings of models.
    """
    embedded = ablations.with_kept(ablations.embedding_rows(results, made, embeddings), results.setup.data)
    rows_of_panels = {
        "representation": levels.frame(),
        "goal": ablations.goal_sources(results),
        "backbone": ablations.backbones([results, *replays]),
        "embedding": embedded,
        "triplets": embedded,
    }
    return {name: _panel(name, rows) for name, rows in rows_of_panels.items()}


def overall(panels: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """All panels as one table, in the columns of a results table behind the panel's name."""
    import pandas as pd

    rows = pd.concat([rows.assign(panel=name) for name, rows in panels.items()], ignore_index=True)
    return rows[["panel", *tables.COLUMNS]]


def _panel(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The panel's metric alone, published rows first."""
    both = ablations.with_published(TABLES[name], rows)
    return both[both["metric"] == (triplets.ACCURACY if name == "triplets" else scores.OVERALL)]
