"""The `replay:RUN` engine: answers from a recorded run; a request that was not recorded is an error."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.machine.faults import Unavailable
from lab.machine.paths import ROOT, recordings_folder, runs_folder, shown
from lab.machine.printing import hint
from lab.machine.reading import MANIFEST, damaged, lines_in, read_json, read_whole, typed
from lab.models import engines
from lab.models.backbone import Answer, Call, answered
from lab.models.prompts import Prompt
from lab.models.rendering import rendered

ANSWERS = "answers.jsonl"
PACKED = f"{ANSWERS}.gz"


class MissingRun(FileNotFoundError):
    """No run, or more than one, has this name; or the folder that `replay:` names has no recorded answers."""


@dataclass(frozen=True, slots=True)
class RecordedAnswer:
    """One recorded answer. text: the answer's JSON, or the error message of a malformed answer.

    said: what the model wrote, if that was no answer. seconds: that the model took; 0 if they were not stored.
    truncated: as in `lab.models.backbone.Call`; recordings before 2026-11-28 do not say so.
    """

    request: str
    prompt: str
    version: str
    operator: str
    path: str
    text: str
    tokens_in: int
    tokens_out: int
    said: str = ""
    seconds: float = 0.0
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class ReplayManifest:
    """The part of a run's or recording's manifest about its answers. digest: part of the lines' checksums."""

    engine: str
    address: str
    tasks: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    sha256: Mapping[str, str] = field(default_factory=dict)


class Replay:
    """Answers from a recording. `engine` is the recorded engine, so that results name what really answered.

    If other engines answered single operators, a request is looked up as its operator's own engine made it.

    answers: request hash -> answer. tasks: ids of the recorded tasks; for a run folder, of the planned ones.
    parameters: the settings of the recorded experiment.
    """

    def __init__(self, folder: Path, manifest: ReplayManifest, answers: dict[str, RecordedAnswer]) -> None:
        self.folder, self.answers = folder, answers
        self.engine, self.address = engines.parse(manifest.engine).at(manifest.address), manifest.address
        self.tasks, self.parameters = list(manifest.tasks), manifest.parameters
        self._versions = Counter((answer.prompt, answer.version) for answer in answers.values())

    @classmethod
    def of(cls, engine: engines.Engine) -> Replay:
        """Open a run folder or recording: a path, or a name in `runs/` or `data/recordings/`.

        Raises MissingRun, and DamagedFile if any part differs from what was recorded.
        """
        folders = (Path(engine.name), runs_folder() / engine.name, recordings_folder() / engine.name)
        # Plain in a run folder, packed in a recording.
        names = (ANSWERS, PACKED)
        paths = (folder / name for folder in folders if os.path.lexists(folder / MANIFEST) for name in names)
        answers = next((path for path in paths if os.path.lexists(path)), None)
        if answers is None:
            recordings = sorted(path.parent.name for path in recordings_folder().glob("*/manifest.json"))
            raise MissingRun(
                f"{engine.name} holds no {ANSWERS} and no {PACKED}: name a run folder of a model, or a "
                f"recording. Recordings: {', '.join(recordings) or 'none'}{hint(engine.name, recordings)}"
            )
        return cls.at(answers.parent, answers.name)

    @classmethod
    def at(cls, folder: Path, answers: str = ANSWERS) -> Replay:
        """Open a folder. answers: the name of its file of answers. Raises DamagedFile."""
        manifest = read_json(folder / MANIFEST, ReplayManifest, _remedy(folder))
        return cls(folder, manifest, read_answers(folder / answers, manifest))

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Look up the recorded answer.

        Raises Unavailable if there is none, MalformedAnswer if the recorded model gave no usable answer, PromptTooLong.
        """
        question = rendered(prompt, fields, self.engine.of(prompt.operator))
        request = question.key(sample, engines.said_of(self.address, prompt.operator))
        recorded = self.answers.get(request)
        if recorded is None:
            raise Unavailable(self._why(prompt))
        tokens = recorded.tokens_in, recorded.tokens_out
        # Logged as a cache hit: nothing was computed, so no seconds may count as the model's.
        call = Call(
            recorded.operator, prompt.name, recorded.path, *tokens, took=recorded.seconds, cached=True,
            cut=question.cut, truncated=recorded.truncated,
        )  # fmt: skip
        return answered(question, recorded.text, call, request, recorded.said)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash, computed with the recorded engine and address."""
        question = rendered(prompt, fields, self.engine.of(prompt.operator))
        return question.key(sample, engines.said_of(self.address, prompt.operator))

    def _why(self, prompt: Prompt) -> str:
        damaged_lines = self.folder / f"{ANSWERS}.damaged"
        versions = sorted(version for name, version in self._versions if name == prompt.name)
        if damaged_lines.exists():
            why = f"some of its lines were damaged, and are in {damaged_lines}; delete the run's folder before"
        elif not versions:
            why = f"it holds no answer to this prompt, only to {sorted({name for name, _ in self._versions})}"
        elif prompt.version not in versions:
            why = f"it was recorded with version {', '.join(versions)}, the prompt is now version {prompt.version}"
        else:
            why = "the version is the same, so its wording, schema or fields differ from what was recorded"
        return f"Recording {self.folder.name} has no answer to this {prompt.name} request: {why}. Record it again"


def read_answers(path: Path, manifest: ReplayManifest) -> dict[str, RecordedAnswer]:
    """All answers of a recording, by request hash; a torn last line, left by a killed recorder, is skipped.

    Raises DamagedFile naming the line: an episode that lacks an answer could not be replayed.
    """
    answers, remedy = {}, _remedy(path.parent)
    for line in lines_in(read_whole(path, remedy, manifest.sha256.get(path.name, "")), manifest.digest):
        try:
            if line.why:
                raise ValueError(line.why)
            answer = typed(line.value, RecordedAnswer)
        except ValueError as error:
            raise damaged(path, error, remedy, line.number) from None
        answers[answer.request] = answer  # the last one counts: its episode was played again
    return answers


def _remedy(folder: Path) -> str:
    inside = folder.is_relative_to(ROOT)
    restore = f"Restore it: git checkout -- {shown(folder)}; or record" if inside else "Restore it, or record"
    return f"{restore} it again: delete {shown(folder)}, and run the same command; the cache answers what it has"
