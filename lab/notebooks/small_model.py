"""Results of recorded models, which are small: the claims on them, the recordings with their costs, and replays.

All words and numbers come from the register, from the plan of recordings (lab/runs/planned.py) and from recordings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from lab.machine import progress
from lab.machine.faults import MissingData
from lab.machine.paths import recordings_folder
from lab.machine.reading import read_table
from lab.notebooks import scoreboard
from lab.notebooks.register import PaperFindings
from lab.results.claims import BY_NULL, BY_PLACEBO, SHOWS_NOTHING, Finding, count
from lab.results.exports import EMPTY
from lab.results.plots import FEW
from lab.results.statistics import Interval, smallest_difference
from lab.results.verdicts import AGREES, OPPOSES, TOO_SMALL, signed
from lab.runs import planned, recordings
from lab.runs.collecting import collect
from lab.runs.experiment import BadSetting
from lab.runs.planned import Planned
from lab.runs.recordings import Recording

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

LEADING = 4  # sentences on single claims, after the one that counts all claims
PILOTS_UNTIL = "2026-11-22"  # recordings up to this day decide nothing (PROTOCOL.md)


def run(judged: Sequence[PaperFindings]) -> list[Finding]:
    """The findings of all claims that a recorded model answered."""
    return [finding for finding in scoreboard.findings(judged) if finding.on_a_model]


def leading(judged: Sequence[PaperFindings]) -> list[Finding]:
    """Of each table or figure the claim with most tasks; without claims on fewer than FEW.

    Each paper's largest come first, then their second largest, and so on; those with more tasks first, and comparisons
    that show nothing last. A claim that was named before its recording precedes an exploratory one.
    """
    ranked = list[tuple[int, Finding]]()
    for paper in judged:
        by_item: dict[str, Finding] = {}
        for finding in sorted(run([paper]), key=lambda finding: (finding.claim.exploratory, -finding.n)):
            by_item.setdefault(finding.claim.item, finding)
        enough = [finding for finding in by_item.values() if finding.n >= FEW]
        ranked += enumerate(sorted(enough, key=lambda finding: (_shows_nothing(finding), -finding.n)))
    ranked.sort(key=lambda entry: (_shows_nothing(entry[1]), entry[0], -entry[1].n))
    return [finding for _, finding in ranked]


def sentences(judged: Sequence[PaperFindings]) -> list[str]:
    """The main results: the verdicts on all claims that were run, counted, then the leading claims."""
    every, answered = [f for f in scoreboard.findings(judged) if f.claim.contrast], run(judged)
    tally, model = count(answered), scoreboard.largest({finding.model for finding in answered})
    first = (
        f"Of {len(every)} claims on small models, {len(answered)} were run (the largest model is {model}). Confirmed, "
        f"beyond placebo and null model: {tally[AGREES]}. Contradicted: {tally[OPPOSES]}. Not better than a placebo or "
        f"null model: {tally[BY_PLACEBO] + tally[BY_NULL]}. Plain agent at floor or ceiling: {tally[SHOWS_NOTHING]}. "
        f"Undecided: {tally[TOO_SMALL]}."
    )
    return [first, *map(_sentence, leading(judged)[:LEADING])]


def _shows_nothing(finding: Finding) -> bool:
    return finding.verdict.word == SHOWS_NOTHING


def _sentence(finding: Finding) -> str:
    """A claim as text: verdict, sentence, difference with n and model, and that of the strongest null model."""
    null = ""
    if finding.rival:
        name, difference = finding.rival
        null = f"; the null model `{name}` instead: {0.0 + difference.value:+.{scoreboard.decimals(finding)}f}"
    return f"**{finding.verdict.word}**: {finding.claim.sentence}. {scoreboard.here_text(finding)}{null}."


def comparisons(findings: Sequence[Finding]) -> pd.DataFrame:
    """A row per claim: the paired difference, those of placebo or control and strongest null model, and the verdict.

    smallest: the minimum detectable difference for this n, from the width of the interval, if it has one.
    """
    import pandas as pd

    return pd.DataFrame(
        {
            "claim": finding.claim.sentence,
            "difference [95 %], n": f"{signed(finding.here)}, {finding.n}",
            "control instead": f"{signed(finding.placebo)} ({finding.claim.contrast.placebo})"
            if finding.placebo and finding.claim.contrast
            else EMPTY,
            "null model instead": f"{signed(finding.rival[1])} ({finding.rival[0]})" if finding.rival else EMPTY,
            "smallest": f"{smallest:.2g}" if (smallest := smallest_difference(finding.here)) > 0 else EMPTY,
            "verdict": finding.verdict.word,
        }
        for finding in findings
        if isinstance(finding.here, Interval)
    )


def costs() -> pd.DataFrame:
    """Recordings of answers to prompts, then the planned ones: state, hours, calls, tokens, and what was unreadable.

    hours: of the wall clock; a sitting may have waited for other work. calls: of the model. A recording that plays
    another one's condition has its calls, too.
    """
    import pandas as pd

    plan = planned.plan()
    made = {name: recording for name, recording in recordings.manifests().items() if recording.prompts}
    rows = [_cost(name, recording, plan.get(name)) for name, recording in made.items()]
    rows += [{"recording": row.name, "state": row.state, "planned hours": row.hours} for row in plan.values()
             if row.name not in made]  # fmt: skip
    return pd.DataFrame(rows)


def _cost(name: str, recording: Recording, row: Planned | None) -> dict[str, Any]:
    pilot = recording.date <= PILOTS_UNTIL
    line: dict[str, Any] = {"recording": name, "state": row.state if row else "pilot" if pilot else "whole"}
    line |= {"planned hours": row.hours} if row else {}
    hours = recording.hours or recording.seconds / 3600
    line |= {"hours": round(hours, 1)} if hours else {}
    if not recording.whole:
        return line
    used = recordings.read_usage(name, recording)
    malformed, by_rules = (_read_by(used, path).sum() for path in ("malformed", "rules"))
    calls = int(used["calls"].sum() - by_rules)
    return line | {
        "episodes": len(recording.tasks),
        "calls": calls,
        "tokens": int(used["tokens in"].sum() + used["tokens out"].sum()),
        "malformed, %": 100 * malformed / calls,
        "cut, %": 100 * used["truncated"].sum() / calls if "truncated" in used else None,
    }


def _read_by(used: pd.DataFrame, path: str) -> pd.Series:
    """How many answers of each row of a usage.csv were read in this way."""
    return used["paths"].str.extract(rf"{path} (\d+)")[0].astype(float).fillna(0)


def unreadable(method: str) -> pd.DataFrame:
    """Of each operator in the recordings of a method: calls, and malformed and cut answers in percent of them."""
    used = recordings.usage(method)
    used = used.assign(calls=used["calls"] - _read_by(used, "rules"), malformed=_read_by(used, "malformed"))
    rows = used[used["calls"] > 0].groupby(["dataset", "method", "operator"], sort=False)
    counts = rows.agg({"calls": "sum", "malformed": "sum", "truncated": "sum"}).astype(int).reset_index()
    shares = {f"{name}, %": 100 * counts[column] / counts["calls"]
              for name, column in (("malformed", "malformed"), ("cut", "truncated"))}  # fmt: skip
    return counts.drop(columns=["malformed", "truncated"]).assign(**shares, evidence="measured")


def worst(counts: pd.DataFrame) -> str:
    """The operator with most malformed answers over all datasets, and their share. counts: of `unreadable`."""
    malformed = (counts["malformed, %"] * counts["calls"] / 100).groupby(counts["operator"]).sum()
    share = malformed / counts.groupby("operator")["calls"].sum()
    return f"{share.idxmax()} {100 * share.max():.0f} %"


def next_hours() -> pd.DataFrame:
    """The rows that are yet to be recorded, in their order, with what each would settle.

    left: hours for the tasks that a row lacks, at the pace of its sittings, or as planned before the first. in all:
    hours until it is whole. settles: claims that need no row after it.
    """
    import pandas as pd

    pending = [row for row in planned.plan().values() if row.state not in ("whole", "void") and not row.floor]
    pending.sort(key=lambda row: (row.tier, row.recording is None))
    last = {claim: row.name for row in pending for claim in row.claims}
    settles = [", ".join(claim for claim in row.claims if last[claim] == row.name) or EMPTY for row in pending]
    left = [_hours_left(row) for row in pending]
    return pd.DataFrame(
        {
            "recording": [row.name for row in pending],
            "tier": [row.tier for row in pending],
            "state": [row.state for row in pending],
            "left": left,
            "in all": [*accumulate(left)],
            "settles": settles,
        }
    )


def _hours_left(row: Planned) -> float:
    begun = row.recording
    if not begun or not begun.tasks:
        return row.hours
    return begun.hours / len(begun.tasks) * (begun.planned - len(begun.tasks))


class Played(NamedTuple):
    """A planned row and its results. same: whether a replay gives the recorded scores; True for other engines."""

    row: Planned
    results: Any
    same: bool


def play(engine: str = "", names: Sequence[str] = (), data: str = "", limit: int = 0, workers: int = 0) -> list[Played]:
    """Play rows of the plan: replay their recordings, or play them with another engine.

    names: of rows, by default all whole ones. data, limit: "" and 0 as planned. Rows without a finished recording, or
    whose data is missing, are left out with a message. Raises BadSetting for an unknown row.
    """
    rows = planned.plan()
    if unknown := [name for name in names if name not in rows]:
        raise BadSetting(f"No planned recording {unknown[0]!r}; choose from {', '.join(rows)}")
    played = []
    for row in [rows[name] for name in names] or [row for row in rows.values() if row.state == "whole"]:
        if not engine and row.state != "whole":
            progress.say(f"{row.name}: {row.state}")
            continue
        chosen = replace(row, engine=engine or f"replay:{row.name}", data=data or row.data, limit=limit or row.limit)
        try:
            results: Any = collect(chosen.experiment(), workers or row.workers)
        except (MissingData, BadSetting) as error:
            progress.say(f"{row.name}: {error}")
            continue
        played.append(Played(row, results, bool(engine) or bool(limit) or _same(row.name, results)))
    return played


def _same(name: str, results: Any) -> bool:
    """Whether a replay gives the recorded task scores."""
    from lab.runs.experiment import score_lines

    now = score_lines(results)
    then = read_table(recordings_folder() / name / recordings.SCORES, (*now.columns,), ("value",))
    keys = ["benchmark", "condition", "task"]
    tables = [frame.sort_values(keys)[[*keys, "value"]].reset_index(drop=True) for frame in (then, now)]
    return bool(tables[0].equals(tables[1]))


def table(played: Sequence[Played]) -> pd.DataFrame:
    """A row per played row of the plan and headline of it. same scores: whether a replay gives what was recorded."""
    import pandas as pd

    from lab.results.outcomes import headlines

    rows = []
    for row, results, same in played:
        setup = results.setup
        for line in headlines(setup.scores(results.episodes), setup.headline or setup.metric):
            rows.append({"recording": row.name, "answered by": results.backbone, "result": str(line), "n": line.n,
                         "same scores": same})  # fmt: skip
    return pd.DataFrame(rows, columns=["recording", "answered by", "result", "n", "same scores"])


def by_benchmark(played: Sequence[Played]) -> pd.DataFrame:
    """The paired differences of each played row on each of its benchmarks (`Results.compare`)."""
    import pandas as pd

    studies = [(item.row.name, item.results) for item in played if hasattr(item.results, "compare")]
    parts = [results.compare().assign(recording=name) for name, results in studies]
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def forest(judged: Sequence[PaperFindings]) -> Figure:
    """A forest plot (`scoreboard.forest`) of the claims run on at least FEW tasks, without exploratory ones."""
    return scoreboard.forest([finding for finding in run(judged) if finding.n >= FEW and not finding.claim.exploratory])
