"""Tables 13 to 16 and Figure 5: what StateFactory's parts are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lab.results import statistics, tables
from lab.runs import recordings
from lab.runs.collecting import collect
from statefactory.embeddings import known, weights
from statefactory.experiments import scores, scoring, triplets
from statefactory.experiments.predictions import Results, Setup
from statefactory.experiments.scoring import STANDARD, Goal, Scoring
from statefactory.experiments.statistics import title
from statefactory.routing import OFFICIAL

if TYPE_CHECKING:
    import pandas as pd

# Table 13 from the least structure to the most, by method; and what the paper calls it.
LEVELS = {
    "raw": "Unstructured Observations (Raw)",
    "textual": "Textual States (Flat Denoising)",
    "object_centric": "Object-Centric States (Nested)",
    "statefactory": "Object-Attribute States (Ours)",
}
FRAGMENTS = "Object-Attribute States, values as fragments"  # of ours: at the other levels all is said in sentences
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

KEPT = "embedding"  # the method under which rows of embeddings are kept


def collect_methods(setup: Setup, methods: Sequence[str], workers: int = 0, cluster: str = "") -> dict[str, Results]:
    """A run a method, so that notebooks share what they have in common."""
    return {name: collect(replace(setup, methods=(name,)), workers, cluster) for name in methods}


def collect_levels(setup: Setup, workers: int = 0, cluster: str = "") -> dict[str, Results]:
    """A run for each level of representation, all in sentences; under "fragments", the method with such values."""
    runs = collect_methods(replace(setup, values="sentences"), list(LEVELS), workers, cluster)
    fragments = replace(setup, methods=("statefactory",), values="fragments")
    return runs | {"fragments": collect(fragments, workers, cluster)}


def representation(runs: Mapping[str, Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """Table 13's rows, and the one with fragments. runs: of `collect_levels`."""
    found = [row for method, name in LEVELS.items() for row in scoring.rows(runs[method], method, score, name)]
    found += scoring.rows(runs["fragments"], "statefactory", score, FRAGMENTS)
    return tables.table(found)


def gains(runs: Mapping[str, Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """What each level of structure takes off the EPIC distance of the one before it, pair by pair, in each domain.

    runs: of `collect_levels`. p: of a sign-flip test of one domain and step; p (Holm) the same for all rows together.
    """
    import pandas as pd

    found = {
        method: {
            domain: dict(zip([pair.task for pair in runs[method].pairs[domain]], values, strict=True))
            for domain, values in scoring.distances(runs[method], method, score).items()
        }
        for method in LEVELS
    }
    lines = []
    for before, after in zip(LEVELS, list(LEVELS)[1:], strict=False):
        for domain in found[after]:
            test = statistics.compare(found[before][domain], found[after][domain])
            lines.append(
                {"from": LEVELS[before], "to": LEVELS[after], "domain": title(domain), "gain": test.difference.value,
                 "ci_low": test.difference.low, "ci_high": test.difference.high, "p": test.p_value, "n": test.n,
                 "backbone": scoring.answering(runs[after], after).label,
                 "evidence": scoring.evidence_of(runs[after], after, score)}
            )  # fmt: skip
    table = pd.DataFrame(lines)
    return table.assign(**{"p (Holm)": statistics.holm(table["p"].to_numpy(float))})


def goal_sources(results: Results, score: Scoring = STANDARD) -> pd.DataFrame:
    """Table 14's rows, and one for the oracle's goal without what the task does not ask for; oracles are simulated."""
    ways = ((replace(score, goal=goal), name) for goal, name in (GOALS | TASK_GOALS).items())
    found = tables.table(row for way, name in ways for row in scoring.rows(results, "statefactory", way, name))
    return found


def available(embeddings: Sequence[str]) -> list[str]:
    """Those of the embeddings, or else of the paper's five, that can be used here; any other name counts as usable."""
    here = known()
    return [name for name in embeddings or EMBEDDINGS if here.get(name, True)]


def embedding_rows(
    results: Results, made: triplets.Paraphrased, embeddings: Sequence[str], score: Scoring = STANDARD
) -> pd.DataFrame:
    """Table 15's rows: triplet accuracy and EPIC distances of each embedding."""
    rows = []
    for name in embeddings:
        title = EMBEDDINGS.get(name, name)
        rows += [{**row, "method": title} for row in triplets.accuracy_rows(made, name)]
        rows += scoring.rows(results, "statefactory", replace(score, embedding=name), title)
    return tables.table(rows)


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
        about = {"method": KEPT, "engine": results.setup.engine, "address": f"sha256:{weights.fingerprint(entry)}",
                 "parameters": {**results.setup.parameters(), "embedding": name}}  # fmt: skip
        kept.append(recordings.save_rows(f"embedding-{name}-{data}", own, about).name)
    return kept


def with_kept(rows: pd.DataFrame, data: str) -> pd.DataFrame:
    """These rows of Table 15, and those that are kept of embeddings without one, made from the same kind of data."""
    import pandas as pd

    known = recordings.manifests().items()
    names = [name for name, about in known if about.method == KEPT and about.parameters.get("data") == data]
    if not names:
        return rows
    kept = recordings.rows(KEPT)
    kept = kept[kept["source"].str.startswith(tuple(f"recording {name}," for name in names))]
    return pd.concat([rows, kept[~kept["method"].isin(rows["method"])]], ignore_index=True)


def backbones(setup: Setup, engines: Sequence[str], workers: int = 0, cluster: str = "") -> dict[str, Results]:
    """Engine -> StateFactory's run on it."""
    chosen = replace(setup, methods=("statefactory",))
    return {name: collect(chosen.answered_by(name), workers, cluster) for name in engines}


def backbone_rows(runs: Mapping[str, Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """Table 16's rows, one backbone each."""
    found = tables.table(
        row for results in runs.values() for row in scoring.rows(results, "statefactory", score, "StateFactory")
    )
    return found


def official_program(score: Scoring = STANDARD) -> Scoring:
    """The same scoring in the official program's convention."""
    return replace(score, convention=OFFICIAL)


def ordered(rows: pd.DataFrame, names: Sequence[str], metric: str = scores.OVERALL) -> bool | None:
    """Whether the measured values fall in this order, the largest first; None where one lacks."""
    of = rows[(rows["metric"] == metric) & (rows["evidence"] != "published")].set_index("method")["value"]
    if not set(names) <= set(of.index):
        return None
    values = [of[name] for name in names]
    return all(first > second for first, second in zip(values, values[1:], strict=False))


def values(rows: pd.DataFrame, metric: str = scores.OVERALL) -> dict[str, float]:
    """Method -> its own value of a metric, without the published ones."""
    of = rows[(rows["metric"] == metric) & (rows["evidence"] != "published")]
    return dict(zip(of["method"], of["value"], strict=True))


def with_published(name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """These rows behind those of a published table."""
    import pandas as pd

    return pd.concat([tables.published(name, "statefactory"), rows], ignore_index=True)


def beside(name: str, rows: pd.DataFrame, extra: Sequence[str] = ()) -> pd.DataFrame:
    """A published table and these rows for reading. extra: metrics before the EPIC distances."""
    return tables.side_by_side(with_published(name, rows), [*extra, *scores.metrics()], decimals=3)
