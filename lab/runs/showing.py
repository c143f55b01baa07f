"""One run in words: what was run, its headline, how its episodes ended, why some failed, and what they took."""

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
from lab.results.outcomes import Outcomes
from lab.runs import catalogue
from lab.runs.collecting import costs
from lab.runs.experiment import Results
from lab.runs.first_answers import readings
from lab.runs.run import writer
from lab.viewer.episodes import Kept
from lab.viewer.generic import cause

if TYPE_CHECKING:
    import pandas as pd

    from lab.viewer.timeline import Timeline

MOST = 15  # rows of a table


@dataclass(frozen=True, repr=False)
class Shown:
    """A run's folder, to be looked at."""

    kept: Kept

    @cached_property
    def facts(self) -> dict[str, str]:
        """The settings of the run, and how many episodes were scored, failed or not measured."""
        kept, manifest = self.kept, self.kept.manifest
        episodes, tasks = kept.episodes.values(), manifest.tasks
        pending, writing = len(tasks) - len(episodes), writer(kept.folder)
        state = f"{pending} of {len(tasks)} episodes pending" if pending else "finished"
        commit = str(manifest.surroundings.get("commit", "unknown"))
        code = f"{manifest.code}, commit {commit[:8]}{' with changes' * commit.endswith('+')}"
        changed = "" if manifest.current else "; the sources have changed since, so it would not be resumed"
        answers = readings(kept.usage.values())
        return {
            "run": catalogue.called(kept.folder),
            "outcomes": str(Outcomes(len(episodes), sum(e.failed for e in episodes), len(kept.not_measured))),
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
        not_measured = [(task, cause(why)) for task, why in self.kept.not_measured.items()]
        tables = {
            "headline": self._headlines(),
            "why episodes came out below the best": self._reasons(),
            "what they took": self._costs(),
            "not measured, and played again when the run is opened": readable(not_measured, columns=["task", "why"]),
        }
        return {title: table.head(MOST) for title, table in tables.items() if len(table)}

    def text(self) -> str:
        """For a terminal."""
        tables = (f"\n\n{title}\n{display.shown(table)!r}" for title, table in self.tables.items())
        return visible(aligned([*self.facts.items()]) + "".join(tables))

    def _headlines(self) -> pd.DataFrame:
        try:
            found = catalogue.headline(self.kept)
        except catalogue.NoScores as error:
            return readable([[f"no score: {error}"]], columns=[""])
        lines = [(one.part or "all", str(one._replace(metric="", part="")).strip(), one.n) for one in found]
        return readable(lines, columns=["part", catalogue.metric(self.kept), "n"])

    def _reasons(self) -> pd.DataFrame:
        try:
            lines = [(score.part, score.why) for score in catalogue.scores(self.kept) if score.why]
        except catalogue.NoScores:
            lines = [("", cause(episode.error)) for episode in self.kept.episodes.values() if episode.failed]
        table = readable(lines, columns=["part", "reason"])
        # What stands behind a colon is often of the one episode: which day, which file.
        groups = table.groupby(["part", table["reason"].str.split(":").str[0]], sort=False)["reason"]
        counted = groups.agg(episodes="size", reason=lambda reasons: reasons.value_counts().index[0])
        found = counted.reset_index("part").sort_values("episodes", ascending=False, kind="stable", ignore_index=True)
        return found[["episodes", *(["part"] if found["part"].any() else []), "reason"]]

    def _costs(self) -> pd.DataFrame:
        import pandas as pd

        kept = self.kept
        label = engines.parse(kept.manifest.engine).at(kept.manifest.address).label
        try:
            table = costs(Results[Any](kept.setup, label, kept.episodes, {}, kept.usage, kept.folder))
        except (TypeError, KeyError, AttributeError):  # of an own program, which books something else than calls
            return pd.DataFrame()
        return table.drop(columns=["backbone", "evidence"], errors="ignore")

    def _repr_html_(self) -> str:
        tables = {"": readable([*self.facts.items()], columns=["", "the run"]), **self.tables}
        return "".join(f"<p>{title}</p>{display.shown(table)._repr_html_()}" for title, table in tables.items())

    def __repr__(self) -> str:
        return self.text()


def show(run: str | Path, task: str = "", prompts: bool = False) -> Shown | Timeline:
    """A run in words, or one of its episodes as a timeline.

    run: as for `lab.runs.catalogue.find`. task: an id, or a part of one that no other finished episode has. prompts:
    with prompts and answers. Raises MissingRun, UnknownTask, DamagedFile.
    """
    kept = Kept(catalogue.find(run))
    matches = [name for name in kept.episodes if task.lower() in name.lower()]
    if task and task not in kept.episodes and len(matches) == 1:
        task = matches[0]
    return kept.timeline(task, prompts) if task else Shown(kept)


def _plain(value: Any) -> str:
    """A setting in few characters: what is nested as in a folder's name."""
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name}={_plain(part)}' for name, part in value.items())})"
    if isinstance(value, list):
        return f"[{', '.join(map(_plain, value))}]"
    return str(value)
