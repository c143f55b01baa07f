"""Summary of a run: settings, headline, outcomes, reasons for failures, costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.printing import aligned, visible
from lab.models import engines
from lab.results import display
from lab.results.exports import readable
from lab.results.headlines import headlines
from lab.results.outcomes import Outcomes
from lab.runs import catalogue
from lab.runs.collecting import costs
from lab.runs.experiment import Results
from lab.runs.first_answers import readings
from lab.runs.run import writer
from lab.viewer.episodes import NoScores, StoredRun
from lab.viewer.timeline import cause

if TYPE_CHECKING:
    import pandas as pd

    from lab.viewer.timeline import Timeline

MOST = 15  # rows of a table


@dataclass(frozen=True, repr=False)
class RunSummary:
    """A stored run as a summary: facts, and tables by title."""

    run: StoredRun

    @cached_property
    def facts(self) -> dict[str, str]:
        """The settings of the run, and how many episodes were scored, failed or not measured."""
        run, manifest = self.run, self.run.manifest
        episodes, tasks = run.episodes.values(), manifest.tasks
        pending, writing = len(tasks) - len(episodes), writer(run.folder)
        state = f"{pending} of {len(tasks)} episodes pending" if pending else "finished"
        commit = str(manifest.surroundings.get("commit", "unknown"))
        code = f"{manifest.code}, commit {commit[:8]}{' with changes' * commit.endswith('+')}"
        changed = "" if manifest.current else "; the sources have changed since, so it would not be resumed"
        answers = readings(run.usage.values())
        return {
            "run": catalogue.called(run.folder),
            "outcomes": str(Outcomes(len(episodes), sum(e.failed for e in episodes), len(run.not_measured))),
            "state": f"running: {writing} writes to it; {state}" if writing else state,
            "method": manifest.method,
            "engine": f"{manifest.engine} ({engines.parse(manifest.engine).evidence})",
            "settings": ", ".join(f"{name}={_plain(value)}" for name, value in manifest.parameters.items()),
            "tasks": f"{len(tasks)}: {', '.join(tasks[:3])}{', …' * (len(tasks) > 3)}",
            "code": code + changed,
            **({"answers": str(answers)} if answers else {}),
        }

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        """The headlines; why episodes came out below the best, the most frequent reasons first; what they took, by
        operator; and why some were not measured. Empty ones are left out.
        """
        not_measured = [(task, cause(why)) for task, why in self.run.not_measured.items()]
        tables = {
            "headline": self._headlines(),
            "why episodes came out below the best": self._reasons(),
            "what they took": self._costs(),
            "not measured, and played again when the run is opened": readable(not_measured, columns=["task", "why"]),
        }
        return {title: table.head(MOST) for title, table in tables.items() if len(table)}

    def _headlines(self) -> pd.DataFrame:
        try:
            parts = headlines(self.run.scores(), self.run.metric)
        except NoScores as error:
            return readable([[f"no score: {error}"]], columns=[""])
        rows = [(part.part or "all", str(part._replace(metric="", part="")).strip(), part.n) for part in parts]
        return readable(rows, columns=["part", self.run.metric, "n"])

    def _reasons(self) -> pd.DataFrame:
        try:
            rows = [(score.part, score.why) for score in self.run.scores() if score.why]
        except NoScores:
            rows = [("", cause(episode.error)) for episode in self.run.episodes.values() if episode.failed]
        table = readable(rows, columns=["part", "reason"])
        # What stands behind a colon is often of the one episode: which day, which file.
        groups = table.groupby(["part", table["reason"].str.split(":").str[0]], sort=False)["reason"]
        counted = groups.agg(episodes="size", reason=lambda reasons: reasons.value_counts().index[0])
        table = counted.reset_index("part").sort_values("episodes", ascending=False, kind="stable", ignore_index=True)
        return table[["episodes", *(["part"] if table["part"].any() else []), "reason"]]

    def _costs(self) -> pd.DataFrame:
        import pandas as pd

        run = self.run
        label = engines.parse(run.manifest.engine).at(run.manifest.address).label
        try:
            table = costs(Results[Any](run.setup, label, run.episodes, {}, run.usage, run.folder))
        except (TypeError, KeyError, AttributeError):  # of an own program, which books something else than calls
            return pd.DataFrame()
        return table.drop(columns=["backbone", "evidence"], errors="ignore")

    def __repr__(self) -> str:
        """For a terminal."""
        tables = (f"\n\n{title}\n{display.shown(table)!r}" for title, table in self.tables.items())
        return visible(aligned([*self.facts.items()]) + "".join(tables))


def show(run: str | Path, task: str = "", prompts: bool = False) -> RunSummary | Timeline:
    """Returns the summary of a run, or one of its episodes as a timeline.

    run: as for `lab.runs.catalogue.find`. task: an id, or a part of one that no other finished episode has. prompts:
    with prompts and answers. Raises MissingRun, ValueError for a task that has no episode, DamagedFile.
    """
    stored = StoredRun(catalogue.find(run))
    matches = [name for name in stored.episodes if task.lower() in name.lower()]
    if task and task not in stored.episodes and len(matches) == 1:
        task = matches[0]
    return stored.timeline(task, prompts) if task else RunSummary(stored)


def _plain(value: Any) -> str:
    """A setting in few characters: what is nested as in a folder's name."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name}={_plain(part)}' for name, part in value.items())})"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value)
