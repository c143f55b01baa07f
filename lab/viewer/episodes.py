"""Stored runs: outcomes and timelines of their episodes, read from the run's folder alone.

A run's manifest names the experiment class that wrote it. The class is imported here only when it is used, so that this
package knows no paper. A run without that entry, or of a class that cannot be imported, has the generic timeline.
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
    """A run's scores cannot be computed here; the message says why."""


@dataclass(frozen=True)
class StoredRun:
    """A run's folder, opened read-only without a lock. Its properties raise DamagedFile for a damaged file."""

    folder: Path

    @cached_property
    def manifest(self) -> Manifest:
        """The run's manifest."""
        return Manifest.read(self.folder)

    @cached_property
    def episodes(self) -> dict[str, Episode]:
        """Task -> its finished episode, in the manifest's order."""
        finished = {line["task"]: Episode(**line) for line in read_lines(self.folder / EPISODES)}
        return {task: finished[task] for task in self.manifest.tasks if task in finished}

    @cached_property
    def usage(self) -> dict[str, Any]:
        """Task -> the usage of its episode, by operator (`lab.models.backbone.by_operator`)."""
        return {line["task"]: line["usage"] for line in read_lines(self.folder / USAGE)}

    @cached_property
    def not_measured(self) -> dict[str, str]:
        """Task without an episode -> the fault of the machine that prevented it."""
        lines = read_lines(self.folder / FAULTS)
        return {line["task"]: line["why"] for line in lines if line["task"] not in self.episodes}

    @cached_property
    def setup(self) -> Experiment | None:
        """The experiment as it was played; None if its class is not recorded, or cannot be imported here."""
        return self._read_back[0]

    @property
    def unread(self) -> str:
        """Why there is no `setup`; "" if there is one."""
        return "" if self.setup else self._read_back[1]

    @property
    def metric(self) -> str:
        """The name of the score, such as "final pass"; "" if there is none here."""
        return (self.setup.headline or self.setup.metric) if self.setup else ""

    def scores(self) -> list[Score]:
        """The scores whose mean is the run's headline, from complete groups of episodes; failed ones have a reason.

        Raises NoScores.
        """
        if self.setup is None:
            raise NoScores(self.unread)
        if not self.metric:
            raise NoScores(f"{self.setup.method} has no score of its own")
        episodes, _ = by_group(self.setup, self.manifest.tasks, self.episodes, self.not_measured)
        try:
            return self.setup.scores(episodes)
        # Any error of a paper's or a user's experiment, which reads results that other code may have written.
        except Exception as error:
            raise NoScores(f"{type(error).__name__}: {error}") from error

    def judged(self, task: str) -> Judgement:
        """Score and reason of a finished episode. The score is None if the data for scoring are not on this machine."""
        episode = self._episode(task)
        try:
            return self.setup.judged(episode) if self.setup else Judgement(None, cause(episode.error))
        except MissingData as error:
            return Judgement(None, str(error))

    def timeline(self, task: str, prompts: bool = False) -> Timeline:
        """The timeline of a finished episode. Raises ValueError for a task without one.

        prompts: include prompts and answers, by playing the episode again from its stored answers (see
        `lab.viewer.transcripts`).
        """
        episode, judged, notes = self._episode(task), self.judged(task), list(self._read_back[1:])
        exchanges: tuple[Any, ...] = ()
        if prompts:
            exchanges, why = transcripts.of(self.folder, self.manifest, self.setup, episode)
            notes += [why] if why else []
        else:
            notes.append("Prompts and answers are left out; ask for them with prompts=True, or --prompts.")
        try:
            timeline = self.setup.timeline(episode, exchanges) if self.setup else generic_timeline(episode, exchanges)
        except MissingData as error:
            timeline = generic_timeline(episode, exchanges)
            notes.append(f"Only what was kept: {error}")
        facts = {"engine": engines.parse(self.manifest.engine).label, "run": self.folder.name}
        return replace(
            timeline, title=timeline.title or task, score=judged.score, notes=(*timeline.notes, *notes),
            outcome=timeline.outcome or judged.reason, about={**timeline.about, **self._took(task), **facts},
        )  # fmt: skip

    def _episode(self, task: str) -> Episode:
        if task not in self.episodes:
            examples = ", ".join(list(self.episodes)[:5]) or "none"
            why = cause(self.not_measured.get(task))
            fault = f", which was not measured ({why})" if why else ""
            raise ValueError(f"{self.folder.name} has no episode of {task}{fault}; some that it has: {examples}")
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
        """(experiment,), or (None, why there is none)."""
        reference = self.manifest.surroundings.get("experiment", "")
        if not reference:
            return None, "The run does not say which experiment reads it, so that its result is shown as it was kept."
        module, _, name = reference.partition(":")
        try:
            experiment = getattr(import_module(module), name)
            if not (isinstance(experiment, type) and issubclass(experiment, Experiment)):
                raise TypeError(f"{reference} is no experiment")
            return (experiment.kept(self.manifest),)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            # A class of a notebook, or of code that this checkout does not have.
            return None, f"{reference} cannot read the run here ({error}), so that its result is shown as it was kept."
