"""Beside Table 2: plans that are not honest, and what each failure is."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from lab.results.exports import readable
from sdp.experiments.travelplanner import Results
from worlds.travelplanner import first_failure


def honesty(runs: Mapping[str, Results]) -> pd.DataFrame:
    """Final passes of runs by name, and how many of them also stand up to the strict reading."""
    lines = [(name, len(run.tasks), sum(v.final for v in run.verdicts), sum(run.honest)) for name, run in runs.items()]
    table = pd.DataFrame(lines, columns=["sample", "n", "final passes", "of them honest"])
    labels = {"data": [run.setup.data for run in runs.values()], "evidence": [run.evidence for run in runs.values()]}
    return table.assign(**labels, backbone=[run.backbone for run in runs.values()])


def failures(runs: Mapping[str, Results]) -> pd.DataFrame:
    """Every query that does not pass: where the loop got stuck, what the diagnostic said, what the evaluator says."""
    lines = [
        (name, task.id, task.level, "episode failed", "", str(episode.error).strip().splitlines()[-1])
        if episode.failed
        else (name, task.id, task.level, *(episode.result[key] for key in ("end", "stuck")), first_failure(verdict))
        for name, run in runs.items()
        for task, episode, verdict in zip(run.tasks, run.episodes.values(), run.verdicts, strict=True)
        if not verdict.final
    ]
    return readable(lines, columns=["sample", "task", "level", "ended by", "diagnostic", "evaluator"])
