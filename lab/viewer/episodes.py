"""Episodes of runs, read back from a run's folder alone: their outcomes and their timelines.

A run's manifest names the experiment's class that wrote it, which is imported here when it is used, so that this
package knows no paper. A run without that note, or of a class that is not to be had here, has the generic timeline.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from lab.machine.faults import MissingData
from lab.models import backbone, engines
from lab.models.backbone import Cost
from lab.results.outcomes import Judgement, Score
from lab.runs.collecting import by_group
from lab.runs.experiment import Experiment
from lab.runs.manifest import Manifest
from lab.runs.run import EPISODES, FAULTS, USAGE, Episode, read_lines
from lab.viewer import transcripts
from lab.viewer.steps import cost_in_words
from lab.viewer.timeline import Timeline, cause, generic_timeline


class NoScores(ValueError):
    """A run's scores cannot be had here; the message says why."""


@dataclass(frozen=True)
class StoredRun:
    """A run's folder, opened for reading; nothing in it is locked or changed. Raises DamagedFile where it is used."""

    folder: Path

    @cached_property
    def manifest(self) -> Manifest:
        """What was run."""
        return Manifest.read(self.folder)

    @cached_property
    def episodes(self) -> dict[str, Episode]:
        """The finished episodes by task, in the manifest's order."""
        read = {line["task"]: Episode(**line) for line in read_lines(self.folder / EPISODES)}
        return {task: read[task] for task in self.manifest.tasks if task in read}

    @cached_property
    def usage(self) -> dict[str, Any]:
        """Task -> what its episode took, by operator."""
        return {line["task"]: line["usage"] for line in read_lines(self.folder / USAGE)}

    @cached_property
    def not_measured(self) -> dict[str, str]:
        """Task -> why the machine kept it from being measured."""
        lines = read_lines(self.folder / FAULTS)
        return {line["task"]: line["why"] for line in lines if line["task"] not in self.episodes}

    @cached_property
    def setup(self) -> Experiment | None:
        """The experiment as it was played; None where its class is not noted, or not to be had here."""
        return self._read_back[0]

    @property
    def unread(self) -> str:
        """Why there is no `setup`; "" where there is one."""
        return "" if self.setup else self._read_back[1]

    @property
    def metric(self) -> str:
        """What the scores are, such as "final pass"; "" where it has none here."""
        return (self.setup.headline or self.setup.metric) if self.setup else ""

    def scores(self) -> list[Score]:
        """Returns what the run's headline is the mean of, from whole groups of episodes; failed ones say why.

        Raises NoScores.
        """
        if self.setup is None:
            raise NoScores(self.unread)
        if not self.metric:
            raise NoScores(f"{self.setup.method} has no score of its own")
        episodes, _ = by_group(self.setup, self.manifest.tasks, self.episodes, self.not_measured)
        try:
            return self.setup.scores(episodes)
        # Of a paper, or of a reader's own experiment, on what other code may have written.
        except Exception as error:
            raise NoScores(f"{type(error).__name__}: {error}") from error

    def judged(self, task: str) -> Judgement:
        """What a finished episode came to. Its score is None where what it is scored with is not on this machine."""
        episode = self._episode(task)
        try:
            return self.setup.judged(episode) if self.setup else Judgement(None, cause(episode.error))
        except MissingData as error:
            return Judgement(None, str(error))

    def timeline(self, task: str, prompts: bool = False) -> Timeline:
        """A finished episode to look at. prompts: with prompts and answers, which are had by playing it again from
        what was kept of its answers (see `lab.viewer.transcripts`). Raises ValueError for a task without one.
        """
        episode, judged, notes = self._episode(task), self.judged(task), list(self._read_back[1:])
        exchanges: tuple[Any, ...] = ()
        if prompts:
            exchanges, why = transcripts.of(self.folder, self.manifest, self.setup, episode)
            notes += [why] if why else []
        else:
            notes.append("Prompts and answers are left out; ask for them with prompts=True, or --prompts.")
        try:
            made = self.setup.timeline(episode, exchanges) if self.setup else generic_timeline(episode, exchanges)
        except MissingData as error:
            made = generic_timeline(episode, exchanges)
            notes.append(f"Only what was kept: {error}")
        facts = {"engine": engines.parse(self.manifest.engine).label, "run": self.folder.name}
        return replace(
            made, title=made.title or task, score=judged.score, notes=(*made.notes, *notes),
            outcome=made.outcome or judged.reason, about={**made.about, **self._took(task), **facts},
        )  # fmt: skip

    def _episode(self, task: str) -> Episode:
        if task not in self.episodes:
            there = ", ".join(list(self.episodes)[:5]) or "none"
            why = cause(self.not_measured.get(task))
            measured = f", which was not measured ({why})" if why else ""
            raise ValueError(f"{self.folder.name} has no episode of {task}{measured}; some that it has: {there}")
        return self.episodes[task]

    def _took(self, task: str) -> dict[str, str]:
        parts: list[Mapping[str, Any]] = list((self.usage.get(task) or {}).values())
        if not parts:
            return {}
        total = backbone.summed(parts)
        cost = Cost(total["calls"], total["tokens in"], total["tokens out"])
        return {"took": cost_in_words(cost, total["dollars"])}

    @cached_property
    def _read_back(self) -> tuple[Any, ...]:
        """The experiment or None, and a note on why there is none."""
        noted = self.manifest.surroundings.get("experiment", "")
        if not noted:
            return None, "The run does not say which experiment reads it, so that its result is shown as it was kept."
        module, _, name = noted.partition(":")
        try:
            experiment = getattr(import_module(module), name)
            if not (isinstance(experiment, type) and issubclass(experiment, Experiment)):
                raise TypeError(f"{noted} is no experiment")
            return (experiment.kept(self.manifest),)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            # A class of somebody's notebook, or of other code than this checkout's.
            return None, f"{noted} cannot read the run here ({error}), so that its result is shown as it was kept."
