"""Table 1's zero-shot rows: the monotonic baseline, StateFactory and the judges, beside what the paper reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lab.machine import progress
from lab.machine.faults import DamagedFile, MissingData
from lab.models import engines
from lab.models.replay import RecordingMiss
from lab.results import tables
from lab.runs import collecting, recordings
from lab.runs.collecting import collect
from statefactory.experiments import scores, scoring
from statefactory.experiments.monotonic import METHOD as MONOTONIC
from statefactory.experiments.monotonic import distances
from statefactory.experiments.predictions import EXTRACTIONS, JUDGES, Results, Setup
from statefactory.experiments.scoring import STANDARD, Scoring
from statefactory.predictors import METHODS
from statefactory.routing import OFFICIAL, PAPER
from statefactory.rules import fidelity
from statefactory.state import Values

if TYPE_CHECKING:
    import pandas as pd


VALUES: tuple[Values, ...] = ("sentences", "fragments")
# Those of `statefactory.rules.blocksworld.WORDINGS`.
WORDINGS = {
    "observed": "the observation's words: on top of the blue block",
    "short": "shortened: on blue block",
    "searched": "searched among 150: red on blue",
}


def methods_for(engine: str, others: Mapping[str, str] | None = None, chosen: Sequence[str] = ()) -> tuple[str, ...]:
    """The chosen methods, or all that an engine, with others for single operators, can answer.

    The rules read worlds, and only a model judges. Predictors of one's own, registered before
    (`statefactory.predictors.register`), come last.
    """
    if chosen:
        return tuple(chosen)
    judging = engines.with_others(engine, others or {}).of("judge")
    own = (name for name in METHODS if name not in EXTRACTIONS and name not in JUDGES)
    return ("statefactory", *(() if judging.by_rules else JUDGES), *own)


def readers(engine: str, others: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The engine, with its others, if all are rules; else `rules`: a model would have to be asked everything again."""
    alone = engines.with_others(engine, others or {}).by_rules
    return {"engine": engine, "engines": others or {}} if alone else {"engine": "rules"}


def measured(results: Results, score: Scoring = STANDARD) -> pd.DataFrame:
    """The run's rows, behind those of the monotonic baseline on the same pairs."""
    baseline = {domain: distances(pairs) for domain, pairs in results.pairs.items()}
    source = f"this run, {results.setup.data} data"
    first = tables.table(scores.rows(MONOTONIC, "none", baseline, source))
    return _joined([first, scoring.frame(results, score)])


def replayed(names: Sequence[str], score: Scoring = STANDARD) -> pd.DataFrame:
    """The rows of recordings: their answers served again, extracted and scored anew.

    A recording of other prompts or trajectories is void: it has no rows, and a note says why. Where the trajectories
    cannot be made here (a world's compiler lacks), the rows that were saved with the recording, with a note.
    """
    return _joined([_replayed(name, score) for name in names])


def with_published(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows behind all those that the paper's Table 1 reports."""
    return _joined([tables.published("Table 1", "statefactory"), rows])


def record(results: Results, score: Scoring = STANDARD) -> None:
    """Save the run as a recording, if `python -m lab record` runs the notebook."""
    collecting.record(results, scoring.frame(results, score), costs(results))


def costs(results: Results) -> pd.DataFrame:
    """Calls, tokens and money by method and operator, and how each answer was read."""
    return collecting.costs(results, lambda task: {"method": METHODS[task.split("/")[0]].title})


def both_values(setup: Setup, workers: int = 0, cluster: str = "") -> dict[Values, Results]:
    """StateFactory on the same pairs with each form of an attribute's value, the paper's first."""
    chosen = replace(setup, methods=("statefactory",))
    return {values: collect(replace(chosen, values=values), workers, cluster) for values in VALUES}


def variants(runs: Mapping[Values, Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """StateFactory by both readings of the paper: conventions of routing, and values as sentences or fragments.

    runs: of `both_values`.
    """
    conventions = {"the paper's equations": PAPER, "the official program": OFFICIAL}
    return tables.table(
        row
        for values, of in runs.items()
        for title, convention in conventions.items()
        for row in scoring.rows(
            of, "statefactory", replace(score, convention=convention), f"values as {values}, {title}"
        )
    )


def wordings(runs: Mapping[Values, Results], score: Scoring = STANDARD) -> pd.DataFrame:
    """BlocksWorld's distance with each wording of a position, the searched one among them. runs: of `both_values`."""
    rows = [
        row
        for values, of in runs.items()
        for wording, title in WORDINGS.items()
        for row in scoring.rows(of, "statefactory", replace(score, wording=wording), f"{title}, values as {values}")
        if row["metric"] == scores.metric("blocksworld")
    ]
    return tables.table(rows)


def fidelity_table(games: int, seed: int, names: Sequence[str] = fidelity.NAMES) -> pd.DataFrame:
    """How faithful the rules' reading is: F1 of facts, a row a world; a world whose games are not here is left out."""
    import pandas as pd

    lines = []
    for name in names:
        try:
            found = fidelity.fidelity(list(fidelity.compared(name, games, seed)))
        except MissingData as error:
            progress.say(f"{name} is left out: {error}")
            continue
        lines.append({"world": name, "against": fidelity.against(name), **found._asdict(), "evidence": "measured"})
    return pd.DataFrame(lines)


def accounts(results: Results) -> pd.DataFrame:
    """What each method's episodes came to: steps, outcomes, malformed answers, sentences that no rule parsed."""
    import pandas as pd

    return pd.DataFrame([{"method": METHODS[name].title, **results.counts(name)} for name in results.setup.methods])


def without_focus(results: Results, score: Scoring = STANDARD) -> pd.DataFrame:
    """ScienceWorld with and without the milestone "focus on", which its tasks state and random play rarely reaches."""
    names = {"with its focus milestones": (), "without them": ("focus",)}
    rows = [
        row
        for name, ignored in names.items()
        for row in scoring.rows(results, "statefactory", replace(score, ignored=ignored), name)
        if row["metric"] == scores.metric("scienceworld")
    ]
    return tables.table(rows)


def _replayed(name: str, score: Scoring) -> pd.DataFrame:
    try:
        results = collect(Setup(engine=f"replay:{name}"), show_progress=False)
        return scoring.frame(results, score).assign(source=f"recording {name}, {results.setup.data} data")
    except RecordingMiss as error:
        progress.say(f"{name} is void, and its rows are left out: {error}")
        return tables.table([])
    except (MissingData, DamagedFile) as error:
        progress.say(f"{name} is shown as it was saved: {error}")
        rows = recordings.rows(Setup.method)
        return rows[rows["source"].str.startswith(f"recording {name},")]


def _joined(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    import pandas as pd

    filled = [frame for frame in frames if len(frame)]
    return pd.concat(filled, ignore_index=True) if filled else tables.table([])
