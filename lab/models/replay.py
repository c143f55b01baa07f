"""The `replay:RUN` engine: serves the answers of a recorded run; a miss is an error."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.machine.faults import Unavailable
from lab.machine.paths import recordings_folder, runs_folder
from lab.machine.spelling import hint
from lab.models import engines
from lab.models.backbone import Answer, request_of
from lab.models.cache import key_of
from lab.models.context import Asked, asked
from lab.models.parsing import MalformedAnswer
from lab.models.prompts import Prompt
from lab.models.usage import Call

ANSWERS = "answers.jsonl"


class MissingRun(FileNotFoundError):
    """`replay:` names a folder that holds no recorded answers."""


class RecordingMiss(Unavailable, LookupError):
    """The recording has no answer to a request. Stops the run, since later requests depend on the missing answer."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One recorded answer: the prompt's name and version, the answer's JSON text or the fault, and the token counts.

    said: what the model wrote, where that is no answer.
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


class Replay:
    """Serves a recording. `engine` is the recorded engine, so that results carry the name of what really answered.

    Where other engines answered single operators, each request is looked for as the one that was asked made it.

    tasks: ids of the tasks that were recorded, or planned where a run folder is served. parameters: the settings of the
    experiment that was recorded.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any], answers: dict[str, Recorded]) -> None:
        self.folder, self._answers = folder, answers
        self.engine, self.address = engines.parse(manifest["engine"]), manifest["address"]
        self.tasks, self.parameters = manifest.get("tasks", []), manifest.get("parameters", {})
        self._versions = Counter((answer.prompt, answer.version) for answer in answers.values())

    @classmethod
    def of(cls, engine: engines.Engine) -> Replay:
        """Open a run folder or recording: a path, or a name in `runs/` or `data/recordings/`. Raises MissingRun."""
        folders = (Path(engine.name), runs_folder() / engine.name, recordings_folder() / engine.name)
        # Plain in a run folder, packed in a recording.
        names = (ANSWERS, f"{ANSWERS}.gz")
        found = (folder / name for folder in folders if (folder / "manifest.json").is_file() for name in names)
        answers = next((path for path in found if path.is_file()), None)
        if answers is None:
            there = sorted(path.parent.name for path in recordings_folder().glob("*/manifest.json"))
            raise MissingRun(
                f"{engine.name} holds no {ANSWERS}: name a run folder made with record=True, or a recording. "
                f"Recordings: {', '.join(there) or 'none'}{hint(engine.name, there)}"
            )
        folder = answers.parent
        return cls(folder, json.loads((folder / "manifest.json").read_text()), read_answers(answers))

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises RecordingMiss, PromptTooLong, and MalformedAnswer where the recorded model gave no usable answer."""
        question = asked(prompt, fields, self.engine.of(prompt.operator))
        request = self._key(question, sample)
        known = self._answers.get(request)
        if known is None:
            raise RecordingMiss(self._why(prompt))
        tokens = known.tokens_in, known.tokens_out
        # Booked as a cache hit: nothing was computed, and no seconds may count as the model's.
        call = Call(known.operator, prompt.name, known.path, *tokens, cached=True, cut=question.cut)
        if known.path == "malformed":
            error = MalformedAnswer(known.text)
            error.call, error.request, error.text = call, known.request, known.said
            raise error
        return Answer(prompt.answer.model_validate_json(known.text), call, request, known.text)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash, made with the recorded engine and address."""
        return self._key(asked(prompt, fields, self.engine.of(prompt.operator)), sample)

    def _key(self, question: Asked, sample: int) -> str:
        operator = question.prompt.operator
        engine, address = self.engine.of(operator), engines.said_of(self.address, operator)
        return key_of(request_of(question.prompt, question.messages, engine, address, sample))

    def _why(self, prompt: Prompt) -> str:
        versions = sorted(version for name, version in self._versions if name == prompt.name)
        if not versions:
            why = f"it holds no answer to this prompt, only to {sorted({name for name, _ in self._versions})}"
        elif prompt.version not in versions:
            why = f"it was recorded with version {', '.join(versions)}, the prompt is now version {prompt.version}"
        else:
            why = "the version is the same, so its wording, schema or fields differ from what was recorded"
        return f"Recording {self.folder.name} has no answer to this {prompt.name} request: {why}. Record it again"


def read_answers(path: Path) -> dict[str, Recorded]:
    """All answers of a recording by request; a torn last line, left by a killed recorder, is skipped."""
    answers = {}
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    for line in data.split(b"\n"):
        try:
            answer = Recorded(**json.loads(line))
        except (ValueError, TypeError):
            continue
        answers[answer.request] = answer  # the last one: of an episode played again, that one counted
    return answers
