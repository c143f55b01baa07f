"""Table 15's probing data: triplets from extracted states, paraphrased by a model, and how embeddings do on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.models import engines
from lab.models.usage import summed
from lab.results import tables
from lab.runs import budget, recordings
from lab.runs.episodes import backbone_of, booked, run_of
from lab.runs.execution import Played, play_all
from lab.runs.run import Episode, Manifest
from statefactory.benchmark import DOMAINS
from statefactory.experiments.predictions import Results
from statefactory.experiments.scoring import embedder_of
from statefactory.experiments.statistics import title
from statefactory.triplets import Probe, Triplet, hits, paraphrased, probes, similarities

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

METHOD = "triplets"
ACCURACY = "Triplet accuracy"
THREADS = 8  # an endpoint is waited for

# The paper's Table 12. It cuts its positives short ("…"), and the second anchor; nothing is added to them here.
PRINTED = {
    "Case 1, spatial relations": Triplet(
        "The blue block is on the orange block.",
        "The blue block is positioned on top of",
        "The agent is clutching the blue block while standing over the orange block.",
    ),
    "Case 2, topic distraction": Triplet(
        "The tissuebox 1 is examined",
        "holding the tissuebox under the lamp",
        "The tissuebox 1 is on sidetable 1",
    ),
}
PASSED = {  # what the paper says of them
    "Case 1, spatial relations": {"all-MiniLM-L6-v2": True, "all-mpnet-base-v2": True, "embeddinggemma-300m": True},
    "Case 2, topic distraction": {"all-MiniLM-L6-v2": True, "all-mpnet-base-v2": True, "embeddinggemma-300m": False},
}


@dataclass(frozen=True)
class Paraphrased:
    """The triplets of a run by domain. unreadable: probes that the model could not say in other words."""

    engine: str
    backbone: str
    triplets: dict[str, list[Triplet]]
    unreadable: int
    folder: Path
    tasks: list[str]
    usage: dict[str, Any]


def collect(
    extracted: Results, engine: str, each: int = 12, seed: int = 0, method: str = "statefactory", workers: int = 0,
    run: str = "",
) -> Paraphrased:  # fmt: skip
    """Probes from so many trajectories of each domain, said in other words by the engine.

    extracted: a run with extracted states. run: as for `predictions.collect`. A probe that the model only repeats is
    left out, and counted. Where the budget of `lab record` is spent, the triplets are those that were made.
    Raises ValueError for `rules`, since a template is no paraphrase, BudgetSpent if none was made, and what the
    backbone raises.
    """
    if engines.parse(engine).kind == "rules":
        raise ValueError("triplets want a model's paraphrases; give engine=local, a model's name or replay:RECORDING")
    backbone = backbone_of(engine)
    found = probes_of(extracted, each, seed, method)
    held = set(getattr(backbone, "tasks", ())) or set(found)
    found = {name: probe for name, probe in found.items() if name in held}
    manifest = _manifest(extracted, engine, getattr(backbone, "address", ""), each, seed, method, list(found))
    local = engines.parse(engine).kind == "local"
    with run_of(manifest, run) as opened:
        try:
            play_all(opened, partial(_play, engine, found), workers or (1 if local else THREADS), "threading")
        except budget.BudgetSpent as spent:
            if not opened.episodes:
                raise
            progress.note(str(spent))
        done = {name: episode for name, episode in opened.episodes.items() if not episode.failed}
        failed = len(opened.episodes) - len(done)
        return Paraphrased(
            engine,
            backbone.engine.label,
            _by_domain(done),
            failed,
            opened.folder,
            list(opened.episodes),
            opened.usage(),
        )


def record(made: Paraphrased, embedding: str) -> None:
    """Save the paraphrases as a recording, if `python -m lab record` runs the notebook."""
    import pandas as pd

    usages = [usage for usage in made.usage.values() if usage]
    operators = dict.fromkeys(operator for usage in usages for operator in usage)
    lines = [
        {"backbone": made.backbone, "operator": name} | summed([usage[name] for usage in usages if name in usage])
        for name in operators
    ]
    recordings.save(made.folder, tables.table(accuracy_rows(made, embedding)), pd.DataFrame(lines), made.tasks)


def probes_of(extracted: Results, each: int, seed: int, method: str) -> dict[str, Probe]:
    """Name -> probe, from trajectories spread evenly over each domain's pairs, positives and negatives in turn."""
    found: dict[str, Probe] = {}
    for domain, pairs in extracted.pairs.items():
        for number in range(min(each, len(pairs))):
            pair = pairs[number * len(pairs) // min(each, len(pairs))]
            row = pair.rows[number % len(pair.rows)]
            trace = extracted.trace(method, domain, row)
            drawn = probes(trace, Random(f"{row.id} {seed}")) if trace else []
            found |= {f"{domain}/{row.id}/{place}": probe for place, probe in enumerate(drawn)}
    return found


def accuracy_rows(made: Paraphrased, embedding: str) -> list[tables.Row]:
    """The triplet accuracy of an embedding, as a share, over all domains; no row where no paraphrase could be read."""
    triplets = [triplet for of in made.triplets.values() for triplet in of]
    return [_rate(made, embedding, triplets)] if triplets else []


def accuracy_by_domain(made: Paraphrased, embeddings: Sequence[str]) -> pd.DataFrame:
    """A row a domain, a column an embedding: right triplets of all."""
    import pandas as pd

    lines = [
        {"domain": title(domain), "triplets": len(of)}
        | {name: hits(of, embedder_of(name)).mean() for name in embeddings}
        for domain, of in made.triplets.items()
    ]
    return pd.DataFrame(lines).assign(paraphraser=made.backbone, evidence="measured")


def sample(made: Paraphrased, embedding: str, most: int = 2) -> pd.DataFrame:
    """The first triplets of each domain with their similarities."""
    import pandas as pd

    shown = [(title(domain), *triplet) for domain, of in made.triplets.items() for triplet in of[:most]]
    table = pd.DataFrame(shown, columns=["domain", "anchor", "paraphrase", "distractor"])
    near, far = similarities([Triplet(*line[1:]) for line in shown], embedder_of(embedding)).T
    return table.assign(**{"to paraphrase": near.round(3), "to distractor": far.round(3), "right": near > far})


def printed_cases(embeddings: Sequence[str]) -> pd.DataFrame:
    """Table 12's strings as printed: similarities here, whether they pass, and whether the paper says so."""
    import pandas as pd

    lines = []
    for case, triplet in PRINTED.items():
        for name in embeddings:
            ((near, far),) = similarities([triplet], embedder_of(name))
            lines.append((case, name, near, far, bool(near > far), PASSED[case].get(name), "measured"))
    columns = ["case", "embedding", "to positive", "to negative", "passes here", "passes in the paper", "evidence"]
    return pd.DataFrame(lines, columns=columns)


def _rate(made: Paraphrased, embedding: str, triplets: Sequence[Triplet]) -> tables.Row:
    from lab.results.statistics import wilson

    right = int(hits(triplets, embedder_of(embedding)).sum())
    share = wilson(right, len(triplets))
    source = f"paraphrases by {made.backbone}"
    interval = (share.low, share.high)
    return tables.row(
        embedding, made.backbone, ACCURACY, share.value, evidence="measured", source=source, n=len(triplets),
        interval=interval,
    )  # fmt: skip


def _play(engine: str, found: dict[str, Probe], name: str) -> Played:
    record = engines.parse(engine).kind in ("endpoint", "local")
    return booked(engine, record, lambda ledger: paraphrased(ledger, found[name])._asdict())


def _manifest(
    extracted: Results, engine: str, address: str, each: int, seed: int, method: str, names: Sequence[str]
) -> Manifest:
    about = {"extracted": extracted.folder.name, "each": each, "seed": seed, "method": method}
    return Manifest.of(METHOD, engine, address, about, names, ("lab", "statefactory"))


def _by_domain(episodes: Mapping[str, Episode]) -> dict[str, list[Triplet]]:
    found: dict[str, list[Triplet]] = {domain: [] for domain in DOMAINS}
    for name, episode in sorted(episodes.items()):
        found[name.split("/", 1)[0]].append(Triplet(**episode.result))
    return {domain: of for domain, of in found.items() if of}
