"""Tables 13 to 16 and Figure 5: ablations of StateFactory. They score the runs of Table 1's study (§4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from lab.results import dots, statistics, tables
from lab.runs import recordings
from lab.runs.study import name_itself, register
from lab.runs.study_results import Results
from statefactory.benchmark import DOMAINS
from statefactory.benchmark.domains import title
from statefactory.embeddings import known, weights
from statefactory.experiments import scores, triplets
from statefactory.experiments.scoring import STANDARD, Goal, Scoring
from statefactory.predictors import METHODS
from statefactory.routing import OFFICIAL
from statefactory.studies.table1 import STATEFACTORY, STUDY, predicting
from statefactory.studies.table1_details import scored

OURS = STATEFACTORY.name
# Table 13's levels, from the least to the most structure, with the paper's names.
LEVELS = {
    "Unstructured Observations (Raw)": METHODS["raw"],
    "Textual States (Flat Denoising)": METHODS["textual"],
    "Object-Centric States (Nested)": METHODS["object_centric"],
    "Object-Attribute States (Ours)": METHODS["statefactory"],
}
STRUCTURES = tuple(predicting(method, name) for name, method in LEVELS.items())
# An additional row of ours, since the other levels use sentences.
FRAGMENTS = STRUCTURES[-1].but("Object-Attribute States, values as fragments", "values", "fragments", recorded=False)
SLICE = 2  # synthetic pairs of each domain by default
TABLE13 = register(
    replace(
        STUDY,
        name="statefactory-table13",
        conditions=(*STRUCTURES, FRAGMENTS),
        against=STRUCTURES[-1].name,
        published=("Table 13", "statefactory"),
        label=name_itself,
        # The cost of this study is embedding the long texts of the raw and the textual level.
        limits={"synthetic": dict.fromkeys(DOMAINS, SLICE)},
    )
)
GOALS: dict[Goal, str] = {"offline": "Offline (Oracle Goal State)", "online": "Online (Dynamic Goal State)"}
TASK_GOALS: dict[Goal, str] = {"offline_task": "Offline, the task's own objects"}  # a third row, of ours
# Table 15's embeddings, with the paper's spelling.
EMBEDDINGS = {
    "nli-distilroberta-base-v2": "nli-distilroberta-base-v2",
    "all-mpnet-base-v2": "all-mpnet-base-v2",
    "all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
    "bge-base-en-v1.5": "bge-base-en-v1.5",
    "embeddinggemma-300m": "embedding-gemma-300m",
}
PARAPHRASER = "replay:table15_embeddings-local-qwen2.5-coder-1.5b"  # paraphrases the anchors of triplets
KEPT = "embedding"  # the method name of stored rows of embeddings

# Panel of `statefactory.plots.results.draw_ablations` -> its table.
PANELS = {
    "representation": "Table 13",
    "goal": "Table 14",
    "backbone": "Table 16",
    "embedding": "Table 15",
    "triplets": "Table 15",
}


def official_program() -> Scoring:
    """The standard scoring in the official program's convention."""
    return replace(STANDARD, convention=OFFICIAL)


def gains(results: Results) -> pd.DataFrame:
    """Paired reduction of the EPIC distance by each level of structure over the one before, in each domain.

    results: of TABLE13. p: of a sign-flip test per row. p (Holm): corrected for all rows.
    """

    def distances(domain: str, condition: str) -> dict[str, float]:
        part = results.part(domain, condition)
        return dict(zip(part.episodes, map(float, part.distances()), strict=True))

    levels, rows = [*LEVELS], []
    for before, after in zip(levels, levels[1:], strict=False):
        for domain in results.setup.datasets:
            test = statistics.compare(distances(domain, before), distances(domain, after))
            gain, low, high = test.difference
            rows.append(
                {"from": before, "to": after, "domain": title(domain), "gain": gain, "ci_low": low,
                 "ci_high": high, "p": test.p_value, "n": test.n, "backbone": results.backbone_of(domain, after),
                 "evidence": results.evidence}
            )  # fmt: skip
    table = pd.DataFrame(rows)
    return table.assign(**{"p (Holm)": statistics.holm(table["p"].to_numpy(float))})


def goal_sources(results: Results) -> pd.DataFrame:
    """Table 14's rows, and one with the oracle's goal restricted to the task's objects. Oracle rows are simulated."""
    ways = {name: replace(STANDARD, goal=goal) for goal, name in (GOALS | TASK_GOALS).items()}
    return scored(results, ways, {OURS: "{}"})


def available(embeddings: Sequence[str]) -> list[str]:
    """The given embeddings, or the paper's five, that are on this machine. Unknown names count as available."""
    present = known()
    return [name for name in embeddings or EMBEDDINGS if present.get(name, True)]


def embedding_rows(results: Results, made: triplets.ParaphraseResults, embeddings: Sequence[str]) -> pd.DataFrame:
    """Table 15's rows: triplet accuracy and EPIC distances of each embedding."""
    titles = {name: EMBEDDINGS.get(name, name) for name in embeddings}
    accuracy = [row | {"method": titles[name]} for name in titles for row in triplets.accuracy_rows(made, name)]
    ways = {title: replace(STANDARD, embedding=name) for name, title in titles.items()}
    distances = scored(results, ways, {OURS: "{}"})
    return pd.concat([tables.table(accuracy).assign(data="synthetic"), distances], ignore_index=True)


def backbones(runs: Sequence[Results]) -> pd.DataFrame:
    """Table 16's rows: StateFactory's row of each run, one backbone per run."""
    played = [run for run in runs if OURS in run.setup.methods]
    return pd.concat([run.frame(names={OURS: OURS}) for run in played], ignore_index=True)


def keep(rows: pd.DataFrame, results: Results) -> list[str]:
    """Store the rows of Table 15 whose embedding is not part of the set-up, for machines without its files.

    Returns their names among the recordings.
    """
    names = []
    for name, entry in weights.KNOWN.items():
        stored = rows[rows["method"] == EMBEDDINGS.get(name, name)]
        if name == STANDARD.embedding or stored.empty:
            continue
        data = results.setup.data
        common: dict[str, Any] = {
            "method": KEPT, "engine": results.setup.engine, "address": f"sha256:{weights.fingerprint(entry)}",
            "parameters": {**results.setup.parameters(), "embedding": name},
        }  # fmt: skip
        names.append(recordings.save_rows(f"embedding-{name}-{data}", stored, common).name)
    return names


def with_kept(rows: pd.DataFrame, data: str) -> pd.DataFrame:
    """Add stored rows, from the same kind of data, of embeddings that have no row."""
    stored = recordings.rows(KEPT)
    stored = stored[(stored["data"] == data) & ~stored["method"].isin(rows["method"])]
    return pd.concat([rows, stored], ignore_index=True) if len(stored) else rows


def ordered(rows: pd.DataFrame, names: Sequence[str], metric: str = scores.OVERALL) -> bool | None:
    """Whether our values decrease in the order of `names`; None if one is missing."""
    by_method = values(rows, metric)
    if not {*names} <= by_method.keys():
        return None
    return all(by_method[first] > by_method[second] for first, second in zip(names, names[1:], strict=False))


def values(rows: pd.DataFrame, metric: str = scores.OVERALL) -> dict[str, float]:
    """Method -> our value of a metric; published ones are excluded."""
    ours = rows[(rows["metric"] == metric) & (rows["evidence"] != "published")]
    return dict(zip(ours["method"], ours["value"], strict=True))


def with_published(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of a published table, then these rows."""
    return pd.concat([tables.published(name, "statefactory"), rows], ignore_index=True)


def beside(name: str, rows: pd.DataFrame, extra: Sequence[str] = ()) -> pd.DataFrame:
    """A published table and these rows side by side. extra: metrics before the EPIC distances."""
    return tables.side_by_side(with_published(name, rows), [*extra, *scores.metrics()], decimals=3)


@dataclass(frozen=True)
class Ablations:
    """The runs behind Figure 5 and Tables 13 to 16.

    levels: run of TABLE13. results: StateFactory's run. made: the triplets. embeddings: names of those to compare.
    others: StateFactory's runs with other engines, and recordings.
    """

    levels: Results
    results: Results
    made: triplets.ParaphraseResults
    embeddings: Sequence[str]
    others: Sequence[Results] = ()

    @cached_property
    def embedded(self) -> pd.DataFrame:
        """Table 15's rows computed here, without stored ones."""
        return embedding_rows(self.results, self.made, self.embeddings)

    @cached_property
    def rows(self) -> dict[str, pd.DataFrame]:
        """The paper's table -> our rows, without published ones."""
        return {
            "Table 13": self.levels.frame(),
            "Table 14": goal_sources(self.results),
            "Table 15": with_kept(self.embedded, self.results.setup.data),
            "Table 16": backbones([self.results, *self.others]),
        }

    @property
    def panels(self) -> dict[str, pd.DataFrame]:
        """Panel -> its rows of one metric, published first: Overall, or in the last panel triplet accuracy."""
        tables_by_panel = {name: with_published(table, self.rows[table]) for name, table in PANELS.items()}
        metrics = dict.fromkeys(PANELS, scores.OVERALL) | {"triplets": triplets.ACCURACY}
        return {name: rows[rows["metric"] == metrics[name]] for name, rows in tables_by_panel.items()}

    @property
    def overall(self) -> pd.DataFrame:
        """All panels as one results table, with the panel's name as first column."""
        rows = pd.concat([rows.assign(panel=name) for name, rows in self.panels.items()], ignore_index=True)
        return rows[["panel", *tables.COLUMNS]]

    def summary(self) -> pd.DataFrame:
        """One row per method with our value and the paper's value of the same method and panel."""
        rows = self.overall
        rows["method"] = rows["backbone"].where(rows["panel"] == "backbone", rows["method"])
        published = rows["evidence"] == "published"
        paper = rows[published].set_index(["panel", "method"])["value"].to_dict()
        return pd.DataFrame(
            {
                "panel": row["panel"],
                "method": row["method"],
                "paper": paper.get((row["panel"], row["method"])),
                "here": tables.with_interval(row, 3),
                "n": int(row["n"]),
                "answered by": dots.who(row["backbone"], row["evidence"]),
            }
            for row in rows[~published].to_dict("records")
        )

    def answer(self) -> str:
        """One sentence per panel with our values, n and source."""
        ours = self.overall[self.overall["evidence"] != "published"]
        return "\n".join(
            f"{panel}, {metric} (n = {tables.span(rows['n'])}; {rows['source'].iloc[0]}): "
            + "; ".join(f"{row['method']} {tables.with_interval(row, 3)}" for row in rows.to_dict("records"))
            for (panel, metric), rows in ours.groupby(["panel", "metric"], sort=False)
        )


def collect(
    engine: str = "rules", others: Sequence[str] = (), data: str = "auto", limit: int = -1, reasoning: str = "short",
    embeddings: Sequence[str] = (), paraphraser: str = PARAPHRASER,
) -> Ablations:  # fmt: skip
    """Run Figure 5's studies. others: further engines, as backbones of Table 16. Other arguments: see the notebook."""
    common: dict[str, Any] = {"data": data, "limit": limit, "options": {"reasoning": reasoning}}
    runs = [STUDY.run(engine=name, conditions=[OURS], **common) for name in (engine, *others)]
    source = STUDY.run(data="synthetic", limit=0, conditions=[OURS])
    paraphrases = triplets.collect(source, paraphraser)
    triplets.record(paraphrases, STANDARD.embedding)
    levels = TABLE13.run(engine=engine, **common)
    return Ablations(levels, runs[0], paraphrases, available(embeddings), [*runs[1:], *STUDY.replays()])


def orders(made: Ablations, apart: pd.DataFrame, cases: pd.DataFrame) -> dict[str, tuple[bool | int | None, str]]:
    """Numbers to check of Tables 12 to 15: name -> (value, data that it requires, or "").

    apart: Table 13 in the official program's convention. cases: from `triplets.printed_cases`.
    """
    passes = cases.set_index(["case", "embedding"])["passes here"]
    first, second = (bool(passes[case, STANDARD.embedding]) for case in triplets.PRINTED)
    return {
        "raw > textual > object-centric > object-attribute": (ordered(made.rows["Table 13"], [*LEVELS]), ""),
        "the same, official program": (ordered(apart, [*LEVELS]), ""),
        "offline is better": (ordered(made.rows["Table 14"], [*reversed(GOALS.values())]), ""),
        "triplets": (sum(map(len, made.made.triplets.values())), "synthetic"),
        "case 1 passes with MiniLM": (first, "synthetic"),
        "case 2 as printed fails with MiniLM": (not second, "synthetic"),
    }
