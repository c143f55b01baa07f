"""The backbone protocol: `backbone.ask(prompt, **fields) -> Answer` is the only way to reach a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from lab.models import engines
from lab.models.parsing import MalformedAnswer
from lab.models.prompts import Prompt
from lab.models.usage import Call


@dataclass(frozen=True, slots=True)
class Answer:
    """A typed answer and its cost. request: the hash of the whole request, the key of caches and recordings.

    text: the answer's JSON as it was given, which names options by the order in which they were shown.
    """

    value: Any
    call: Call
    request: str = ""
    text: str = ""


UNKEPT = "malformed, in words that are not kept"


class Backbone(Protocol):
    """Answers prompts. sample: which of several independent answers to the same question is wanted, from 0."""

    engine: engines.Engine

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer: ...

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str: ...


class Ledger:
    """A backbone that wraps another and keeps the calls made through it: the accounts of one episode.

    A failed call is booked as well: it comes as the attribute `call` of the exception.
    record: keep every answer, malformed ones included, in the form that `replay:` serves.
    """

    def __init__(self, backbone: Backbone, record: bool = False) -> None:
        self.backbone = backbone
        self.engine = backbone.engine
        self.record = record
        self.calls: list[Call] = []
        self.recorded: list[dict[str, Any]] = []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Ask the inner backbone and book the call."""
        try:
            answer = self.backbone.ask(prompt, sample=sample, **fields)
        except MalformedAnswer as error:
            # A replay has to fail where the model failed, and in the same words where these may be kept.
            raw = {"said": error.text} if error.text and not prompt.unkept else {}
            self._book(prompt, error.call, error.request, UNKEPT if prompt.unkept else str(error), **raw)
            raise
        except Exception as error:
            if isinstance(call := getattr(error, "call", None), Call):
                self.calls.append(call)
            raise
        # Rules give no request hash, since it takes a rendering that only a recording needs.
        if self.record and not answer.request:
            request = self.backbone.request(prompt, sample=sample, **fields)
            answer = replace(answer, request=request, text=answer.text or answer.value.model_dump_json())
        self._book(prompt, answer.call, answer.request, _kept(prompt, answer))
        return answer

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The inner backbone's request hash."""
        return self.backbone.request(prompt, sample=sample, **fields)

    def _book(self, prompt: Prompt, call: Call, request: str, text: str, **raw: str) -> None:
        self.calls.append(call)
        if self.record:
            entry = {"request": request, "prompt": prompt.name, "version": prompt.version, "operator": call.operator}
            counts: dict[str, float] = {"tokens_in": call.tokens_in, "tokens_out": call.tokens_out}
            counts |= {"seconds": call.took} if call.took else {}  # rules take none that would be told
            self.recorded.append(entry | {"path": call.path, "text": text} | raw | counts)


def _kept(prompt: Prompt, answer: Answer) -> str:
    """The answer's JSON as it may be kept."""
    blank = dict.fromkeys(prompt.unkept, "")
    return answer.value.model_copy(update=blank).model_dump_json() if blank else answer.text


def request_of(
    prompt: Prompt, messages: list[dict[str, str]], engine: engines.Engine, address: str, sample: int
) -> dict[str, Any]:
    """Everything that an answer depends on; its hash is the key of the cache and of recordings."""
    options = options_of(prompt, engine, sample)
    return {
        "address": address,
        # `rules@0.7` differs from `rules` in no option: of such engines the whole string counts.
        "model": engine.name if engine.kind in ("endpoint", "local") else engine.text,
        "messages": messages,
        # Longer patience or more threads ask the same question, and must not void a recording.
        "sampling": {name: options[name] for name in sorted(options) if name not in engines.OF_THE_MACHINE},
        "schema": prompt.schema,
        "sample": sample,
        "prompt": [prompt.name, prompt.version],
    } | ({"stop": list(prompt.stop)} if prompt.stop else {})


def options_of(prompt: Prompt, engine: engines.Engine, sample: int) -> Mapping[str, Any]:
    """The engine's options for one sample; a retry is asked at the temperature that the prompt raises it to."""
    if not (sample and prompt.retry_temperatures):
        return engine.options
    raised = prompt.retry_temperatures[min(sample, len(prompt.retry_temperatures)) - 1]
    return {**engine.options, "temperature": max(raised, engine.options.get("temperature", 0.0))}
