"""Prompts and answers of a stored episode. A run does not store prompts: the episode is played again to log them.

No model is asked again. The answers are the run's stored ones (`answers.jsonl`), looked up by the hash of the whole
request, so that the displayed prompt is the prompt that was sent; or those of rules, which are deterministic. If the
result differs from the stored episode, only this fact is displayed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.faults import MissingData, Unavailable
from lab.machine.versions import code_hash
from lab.models import engines
from lab.models.backbone import Answer, Backbone, Cost, Ledger
from lab.models.connect import connected
from lab.models.prompt_sets import reworded
from lab.models.prompts import Prompt
from lab.models.rendering import rendered
from lab.models.replay import ANSWERS, Replay
from lab.viewer.steps import Exchange

if TYPE_CHECKING:
    from lab.runs.experiment import Experiment
    from lab.runs.manifest import Manifest
from lab.runs.run import Episode

Found = tuple[tuple[Exchange, ...], str]


class Transcript(Ledger):
    """A ledger that also logs every prompt as it is sent, with its answer."""

    def __init__(self, backbone: Backbone) -> None:
        super().__init__(backbone, record=True)
        self.exchanges: list[Exchange] = []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Ask, and log prompt and answer, also an answer that could not be parsed."""
        engine = self.engine.of(prompt.operator)
        messages = rendered(reworded(prompt, engine), fields, engine).messages
        count = len(self.recorded)
        try:
            return super().ask(prompt, sample, **fields)
        finally:
            # A request that failed altogether is not recorded.
            for entry in self.recorded[count:]:
                cost = Cost(1, entry["tokens_in"], entry["tokens_out"])
                text = entry.get("said") or entry["text"]
                self.exchanges.append(Exchange(prompt.operator, tuple(messages), text, entry["path"], cost))


def of(folder: Path, manifest: Manifest, setup: Experiment | None, episode: Episode) -> Found:
    """An episode's prompts and answers in order, and a note: why there are none, a caveat, or ""."""
    if setup is None:
        return (), "Prompts and answers are not shown: only the experiment that wrote the run can play it again."
    backbone = _answering(folder, manifest)
    if backbone is None:
        return (), f"Prompts and answers were not kept: the run has no {ANSWERS}."
    transcript = Transcript(backbone)
    try:
        result = setup.decided().play(episode.task, transcript)
    except (Unavailable, MissingData) as error:
        return (), f"Prompts and answers are not shown: the episode cannot be played again here ({error})."
    except Exception as error:
        matches, why = episode.failed, f"it failed ({error})"
    else:
        matches, why = not episode.failed and _json(result) == _json(episode.result), "it came out otherwise"
    if not matches:
        return (), f"Prompts and answers are not shown: when the episode was played again, {why}."
    # A replayed request has the hash of the one that was sent; a rule gets only fields, so its code must be the same.
    by_hash = isinstance(backbone, Replay) or manifest.code == code_hash(setup.sources)
    return tuple(transcript.exchanges), "" if by_hash else "Prompts are as today's code writes them."


def _answering(folder: Path, manifest: Manifest) -> Backbone | None:
    """A backbone that answers as in the run, without asking a model; None if there is none."""
    if (folder / ANSWERS).exists():
        return Replay.at(folder)
    kinds = engines.parse(manifest.engine).kinds
    return connected(manifest.engine) if kinds.isdisjoint(engines.MODELS) else None


def _json(value: Any) -> Any:
    return json.loads(json.dumps(value))
