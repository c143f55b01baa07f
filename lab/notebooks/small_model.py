"""Results of small models: the planned recordings (lab/runs/planned.py) with their claims, costs and replays.

All words and numbers come from the register and from recordings; unfinished rows are listed as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.machine.paths import recordings_folder
from lab.machine.reading import read_table
from lab.notebooks import register, scoreboard
from lab.notebooks.register import PaperFindings
from lab.results.claims import BY_NULL, BY_PLACEBO, NOT_RUN, Finding, count
from lab.results.exports import EMPTY
from lab.results.statistics import Interval, smallest_difference
from lab.results.verdicts import AGREES, OPPOSES, TOO_SMALL, signed
from lab.runs import planned, recordings
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.runs.planned import Planned

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LEADING = 4  # sentences on single claims, after the one that counts all claims


def findings(judged: Sequence[PaperFindings]) -> list[Finding]:
    """The findings of the planned rows' claims, in the rows' order, without repeats."""
    by_id = {finding.claim.id: finding for finding in scoreboard.findings(judged)}
    ids = dict.fromkeys(claim for row in planned.plan().values() for claim in row.claims)
    return [by_id[name] for name in ids]


def sentences(judged: Sequence[PaperFindings]) -> list[str]:
    """The main results: counts of the planned claims' verdicts, then the primary claims of rows that were run."""
    every = findings(judged)
    tally = count(every)
    run = len(every) - tally[NOT_RUN]
    model = scoreboard.largest({finding.model for finding in every if finding.on_a_model})
    first = (
        f"Of {len(every)} planned claims on a small model, {run} were run ({model}): {tally[AGREES]} agree with the "
        f"papers and beat placebo and null model, {tally[OPPOSES]} oppose them, {tally[BY_PLACEBO] + tally[BY_NULL]} "
        f"are matched by a placebo or null model, and for {tally[TOO_SMALL]} n is too small."
    )
    by_id = {finding.claim.id: finding for finding in every}
    primary = dict.fromkeys(row.claims[0] for row in planned.plan().values() if row.claims)
    answered = [by_id[name] for name in primary if by_id[name].on_a_model]
    return [first, *(scoreboard.sentence(finding) for finding in answered[:LEADING])]


def comparisons(judged: Sequence[PaperFindings]) -> pd.DataFrame:
    """A row per planned claim: the paired difference, those of placebo and strongest null model, and the verdict.

    smallest: the minimum detectable difference for this n, from the width of the interval.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "claim": finding.claim.says,
            "difference [95 %], n": _difference(finding),
            "placebo instead": signed(finding.placebo) if finding.placebo else EMPTY,
            "null model instead": f"{signed(finding.null[1])} ({finding.null[0]})" if finding.null else EMPTY,
            "smallest": _smallest(finding),
            "verdict": finding.verdict.word,
        }
        for finding in findings(judged)
    )


def _difference(finding: Finding) -> str:
    if not isinstance(finding.here, Interval):
        return finding.verdict.detail
    return f"{signed(finding.here)}, {finding.n}"


def _smallest(finding: Finding) -> str:
    return f"{smallest_difference(finding.here):.2g}" if isinstance(finding.here, Interval) else EMPTY


def costs() -> pd.DataFrame:
    """Rows of planned recordings: state, hours, episodes, calls, tokens; malformed and truncated answers in percent."""
    import pandas as pd

    return pd.DataFrame([_cost(row) for row in planned.plan().values()])


def _cost(row: Planned) -> dict[str, Any]:
    recording = row.recording
    line: dict[str, Any] = {"recording": row.name, "state": row.state, "planned hours": row.hours}
    if recording is None:
        return line
    line |= {"hours": round(recording.hours, 1), "sittings": len(recording.sittings)}
    if not recording.whole:
        return line
    used = recordings.read_usage(row.name, recording)
    calls = int(used["calls"].sum())
    malformed = used["paths"].str.extract(r"malformed (\d+)")[0].astype(float).sum()
    return line | {
        "episodes": len(recording.tasks),
        "calls": calls,
        "tokens": int(used["tokens in"].sum() + used["tokens out"].sum()),
        "malformed, %": 100 * malformed / calls,
        "cut, %": 100 * used["truncated"].sum() / calls if "truncated" in used else 0.0,
    }


class Played(NamedTuple):
    """A planned row and its results. same: whether a replay gives the recorded scores; True for other engines."""

    row: Planned
    results: Any
    same: bool


def play(
    engine: str = "", names: Sequence[str] = (), data: str = "official", limit: int = 0, workers: int = 0
) -> list[Played]:
    """Play rows of the plan: replay their recordings, or play them with another engine.

    names: of rows, by default all. limit: tasks, 0 for the planned number. Rows without a finished recording, or whose
    data is missing, are left out with a message. Raises BadSetting for an unknown row.
    """
    rows = planned.plan()
    if unknown := [name for name in names if name not in rows]:
        raise BadSetting(f"No planned recording {unknown[0]!r}; choose from {', '.join(rows)}")
    played = []
    for row in (rows[name] for name in names or rows):
        if not engine and row.state != "whole":
            progress.say(f"{row.name}: {row.state}")
            continue
        chosen = row if engine else row.answered_by(f"replay:{row.name}")
        chosen = replace(chosen, engine=engine or chosen.engine, data=data, limit=limit or row.limit)
        try:
            results: Any = collect(chosen.experiment(), workers or row.workers)
        except (MissingData, BadSetting) as error:
            progress.say(f"{row.name}: {error}")
            continue
        played.append(Played(row, results, bool(engine) or bool(limit) or _same(row.name, results)))
    return played


def _same(name: str, results: Any) -> bool:
    """Whether a replay gives the recorded task scores; True if single tasks have no scores."""
    from lab.runs.experiment import score_lines

    now = score_lines(results)
    if not len(now):
        return True
    then = read_table(recordings_folder() / name / recordings.SCORES, (*now.columns,), ("value",))
    keys = ["benchmark", "condition", "task"]
    tables = [frame.sort_values(keys)[[*keys, "value"]].reset_index(drop=True) for frame in (then, now)]
    return bool(tables[0].equals(tables[1]))


def forest() -> Figure:
    """A forest plot (`scoreboard.forest`) of the planned claims that were run."""
    return scoreboard.forest([finding for finding in findings(register.committed()) if finding.on_a_model])
