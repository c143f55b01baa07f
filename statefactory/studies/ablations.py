"""Tables 13 to 16 and Figure 5: what StateFactory's parts are worth. They score the runs of Table 1's study (§4.3)."""

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
# Table 13 from the least structure to the most, as the paper calls it.
LEVELS = {
    "Unstructured Observations (Raw)": METHODS["raw"],
    "Textual States (Flat Denoising)": METHODS["textual"],
    "Object-Centric States (Nested)": METHODS["object_centric"],
    "Object-Attribute States (Ours)": METHODS["statefactory"],
}
STRUCTURES = tuple(predicting(method, name) for name, method in LEVELS.items())
# One more row, of ours: at the other levels all is said in sentences.
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
        # The raw and the textual level have long texts, whose embeddings are what this study costs.
        limits={"synthetic": dict.fromkeys(DOMAINS, SLICE)},
    )
)
GOALS: dict[Goal, str] = {"offline": "Offline (Oracle Goal State)", "online": "Online (Dynamic Goal State)"}
TASK_GOALS: dict[Goal, str] = {"offline_task": "Offline, the task's own objects"}  # a third row, of ours
# Table 15's embeddings, and the paper's spelling where it is another.
EMBEDDINGS = {
    "nli-distilroberta-base-v2": "nli-distilroberta-base-v2",
    "all-mpnet-base-v2": "all-mpnet-base-v2",
    "all-MiniLM-L6-v2": "all-MiniLM-L6-v2",
    "bge-base-en-v1.5": "bge-base-en-v1.5",
    "embeddinggemma-300m": "embedding-gemma-300m",
}
PARAPHRASER = "replay:table15_embeddings-local-qwen2.5-coder-1.5b"  # who said the anchors of triplets in other words
KEPT = "embedding"  # the method under which rows of embeddings are kept

# Panel, as `statefactory.plots.results.draw_ablations` names it -> the table behind it.
PANELS = {
    "representation": "Table 13",
    "goal": "Table 14",
    "backbone": "Table 16",
    "embedding": "Table 15",
    "triplets": "Table 15",
}

FIGURES = {  # of the domains, by table
    "Table 13": "table13_representation",
    "Table 14": "table14_goal",
    "Table 15": "table15_embeddings",
    "Table 16": "table16_backbone",
}


def official_program(score: Scoring = STANDARD) -> Scoring:
    """The same scoring in the official program's convention."""
    return replace(score, convention=OFFICIAL)


def gains(results: Results, score: Scoring = STANDARD) -> pd.DataFrame:
    """What each level of structure takes off the EPIC distance of the one before it, pair by pair, in each domain.

    results: of TABLE13. p: of a sign-flip test of one domain and step; p (Holm) the same for all rows.
    """

    def distances(domain: str, condition: str) -> dict[str, float]:
        part = results.part(domain, condition)
        return dict(zip(part.episodes, map(float, part.distances(score)), strict=True))

    levels, lines = [*LEVELS], []
    for before, after in zip(levels, levels[1:], strict=False):
        for domain in results.setup.datasets:
            test = statistics.compare(distances(domain, before), distances(domain, after))
            gain, low, high = test.difference
            lines.append(
                {"from": before, "to": after, "domain": title(domain), "gain": gain, "ci_low": low,
                 "ci_high": high, "p": test.p_value, "n": test.n, "backbone": results.backbone_of(domain, after),
                 "evidence": results.evidence}
            )  # fmt: skip
    table = pd.DataFrame(lines)
    return table.assign(**{"p (Holm)": statistics.holm(table["p"].to_numpy(float))})


def goal_sources(results: Results, score: Scoring = STANDARD) -> pd.DataFrame:
    """Table 14's rows, and one for the oracle's goal without what the task does not ask for; oracles are simulated."""
    ways = {name: replace(score, goal=goal) for goal, name in (GOALS | TASK_GOALS).items()}
    return scored(results, ways, {OURS: "{}"})


def available(embeddings: Sequence[str]) -> list[str]:
    """Those of the embeddings, or else of the paper's five, that can be used here; any other name counts as usable."""
    here = known()
    return [name for name in embeddings or EMBEDDINGS if here.get(name, True)]


def embedding_rows(
    results: Results, made: triplets.ParaphraseResults, embeddings: Sequence[str], score: Scoring = STANDARD
) -> pd.DataFrame:
    """Table 15's rows: triplet accuracy and EPIC distances of each embedding."""
    titles = {name: EMBEDDINGS.get(name, name) for name in embeddings}
    accuracy = [row | {"method": titles[name]} for name in titles for row in triplets.accuracy_rows(made, name)]
    ways = {title: replace(score, embedding=name) for name, title in titles.items()}
    distances = scored(results, ways, {OURS: "{}"})
    return pd.concat([tables.table(accuracy).assign(data="synthetic"), distances], ignore_index=True)


def backbones(runs: Sequence[Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """Table 16's rows: StateFactory's of each run, one backbone each."""
    played = [run for run in runs if OURS in run.setup.methods]
    return pd.concat([run.frame(scoring=score, names={OURS: OURS}) for run in played], ignore_index=True)


def keep(rows: pd.DataFrame, results: Results) -> list[str]:
    """Keep the rows of Table 15 whose embedding is not part of the set-up, to be shown where its files are not.

    Returns the names under which they lie beside the recordings.
    """
    kept = []
    for name, entry in weights.KNOWN.items():
        own = rows[rows["method"] == EMBEDDINGS.get(name, name)]
        if name == STANDARD.embedding or own.empty:
            continue
        data = results.setup.data
        common: dict[str, Any] = {
            "method": KEPT, "engine": results.setup.engine, "address": f"sha256:{weights.fingerprint(entry)}",
            "parameters": {**results.setup.parameters(), "embedding": name},
        }  # fmt: skip
        kept.append(recordings.save_rows(f"embedding-{name}-{data}", own, common).name)
    return kept


def with_kept(rows: pd.DataFrame, data: str) -> pd.DataFrame:
    """These rows of Table 15, and those that are kept of embeddings without one, made from the same kind of data."""
    kept = recordings.rows(KEPT)
    kept = kept[(kept["data"] == data) & ~kept["method"].isin(rows["method"])]
    return pd.concat([rows, kept], ignore_index=True) if len(kept) else rows


def ordered(rows: pd.DataFrame, names: Sequence[str], metric: str = scores.OVERALL) -> bool | None:
    """Whether the measured values fall in this order, the largest first; None where one lacks."""
    own = values(rows, metric)
    if not {*names} <= own.keys():
        return None
    return all(own[first] > own[second] for first, second in zip(names, names[1:], strict=False))


def values(rows: pd.DataFrame, metric: str = scores.OVERALL) -> dict[str, float]:
    """Method -> its own value of a metric, without the published ones."""
    own = rows[(rows["metric"] == metric) & (rows["evidence"] != "published")]
    return dict(zip(own["method"], own["value"], strict=True))


def with_published(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """These rows behind those of a published table."""
    return pd.concat([tables.published(name, "statefactory"), rows], ignore_index=True)


def beside(name: str, rows: pd.DataFrame, extra: Sequence[str] = ()) -> pd.DataFrame:
    """A published table and these rows for reading. extra: metrics before the EPIC distances."""
    return tables.side_by_side(with_published(name, rows), [*extra, *scores.metrics()], decimals=3)


@dataclass(frozen=True)
class Ablations:
    """The runs behind Figure 5 and Tables 13 to 16.

    levels: of TABLE13. results: StateFactory's. made: the triplets. embeddings: those that are used. others:
    StateFactory's runs by other engines, and recordings.
    """

    levels: Results
    results: Results
    made: triplets.ParaphraseResults
    embeddings: Sequence[str]
    others: Sequence[Results] = ()

    @cached_property
    def embedded(self) -> pd.DataFrame:
        """Table 15's rows that are made here, without stored ones."""
        return embedding_rows(self.results, self.made, self.embeddings)

    @cached_property
    def rows(self) -> dict[str, pd.DataFrame]:
        """Table of the paper -> its rows without the published ones."""
        return {
            "Table 13": self.levels.frame(),
            "Table 14": goal_sources(self.results),
            "Table 15": with_kept(self.embedded, self.results.setup.data),
            "Table 16": backbones([self.results, *self.others]),
        }

    @property
    def panels(self) -> dict[str, pd.DataFrame]:
        """Panel -> its rows, published before measured, of one metric: Overall, or triplet accuracy in the last."""
        both = {name: with_published(table, self.rows[table]) for name, table in PANELS.items()}
        metrics = dict.fromkeys(PANELS, scores.OVERALL) | {"triplets": triplets.ACCURACY}
        return {name: rows[rows["metric"] == metrics[name]] for name, rows in both.items()}

    @property
    def overall(self) -> pd.DataFrame:
        """All panels as one table, in the columns of a results table behind the panel's name."""
        rows = pd.concat([rows.assign(panel=name) for name, rows in self.panels.items()], ignore_index=True)
        return rows[["panel", *tables.COLUMNS]]

    def summary(self) -> pd.DataFrame:
        """A row a method with a value made here, beside the paper's value of the same method in the same panel."""
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
        """A sentence a panel: each value that is made here, and what its rows rest on."""
        own = self.overall[self.overall["evidence"] != "published"]
        return "\n".join(
            f"{panel}, {metric} (n = {tables.span(rows['n'])}; {rows['source'].iloc[0]}): "
            + "; ".join(f"{row['method']} {tables.with_interval(row, 3)}" for row in rows.to_dict("records"))
            for (panel, metric), rows in own.groupby(["panel", "metric"], sort=False)
        )


def collect(
    engine: str = "rules", others: Sequence[str] = (), data: str = "auto", limit: int = -1, reasoning: str = "short",
    embeddings: Sequence[str] = (), paraphraser: str = PARAPHRASER,
) -> Ablations:  # fmt: skip
    """Play Figure 5's runs. others: further engines, each a backbone of Table 16. The rest is as in the notebook."""
    chosen: dict[str, Any] = {"data": data, "limit": limit, "options": {"reasoning": reasoning}}
    runs = [STUDY.run(engine=name, conditions=[OURS], **chosen) for name in (engine, *others)]
    source = STUDY.run(data="synthetic", limit=0, conditions=[OURS])
    made = triplets.collect(source, paraphraser)
    triplets.record(made, STANDARD.embedding)
    levels = TABLE13.run(engine=engine, **chosen)
    return Ablations(levels, runs[0], made, available(embeddings), [*runs[1:], *STUDY.replays()])


def orders(made: Ablations, apart: pd.DataFrame, cases: pd.DataFrame) -> dict[str, tuple[bool | int | None, str]]:
    """What a reader checks of Tables 12 to 15: figure -> its value, and the data that it is of where that is fixed.

    apart: Table 13 in the official program's convention. cases: `triplets.printed_cases`.
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
