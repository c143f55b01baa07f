"""`lab try ENGINE`: ask one question per operator; report the answer, how it was parsed, its speed and its price."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any

from lab.machine.faults import Unavailable
from lab.machine.secrets import redact
from lab.models.backbone import Call
from lab.models.client import BadBody, body_json
from lab.models.connect import connect
from lab.models.endpoint import Endpoint
from lab.models.engines import parse
from lab.models.nulls import NoChoice
from lab.models.prompts import GROUP, Prompt

LONGEST = 300  # characters of a text that are displayed


@dataclass(frozen=True)
class TryResult:
    """Outcome of one question. raw: last reply. bound: what bound the answer to its schema. why: why there is none."""

    operator: str
    prompt: str
    raw: str
    answer: str
    bound: str
    call: Call
    why: str = ""

    def lines(self) -> Iterator[str]:
        """The report, line by line."""
        speed = f"{self.call.tokens_out / self.call.seconds:.1f}" if self.call.seconds and self.call.tokens_out else "?"
        price = "an unknown price" if self.call.usd is None else f"${self.call.usd:.6f}"
        yield f"{self.operator} ({self.prompt})"
        yield f"  raw     {_short(self.raw) or '(nothing)'}"
        yield f"  answer  {_short(self.why and f'NONE: {self.why}' or self.answer)}"
        bound = f" of a request bound by {self.bound}" if self.bound else ""
        yield f"  read as {self.call.path}{bound}; {self.call.seconds:.1f} s, {speed} tokens a second, {price}"


def examples() -> Iterator[tuple[str, Prompt, Mapping[str, Any]]]:
    """Yield (package, prompt, fields) of all examples: `examples()` of every module registered in `lab.prompts`."""
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        for prompt, fields in getattr(import_module(entry.module), "examples", lambda: ())():
            yield entry.name, prompt, fields


def tried(engine: str, known: dict[str, Any]) -> Iterator[TryResult]:
    """Ask all example questions, without the cache. known: is filled with the backbones, by engine string.

    Raises what `connect` raises, and Unavailable.
    """
    for package, prompt, fields in examples():
        part = parse(engine).of(prompt.operator).text
        if part not in known:
            known[part] = connect(part, cache=None)
            if hasattr(known[part], "try_out"):
                known[part].try_out()
        yield _asked(package, prompt, fields, known[part])


def show(engine: str) -> int:
    """Print each result and a summary. Returns 1 if a question got no answer, else 0."""
    results: list[TryResult] = []
    backbones: dict[str, Any] = {}
    try:
        for result in tried(engine, backbones):
            results.append(result)
            print("\n".join(result.lines()), flush=True)
    except Unavailable as error:
        print(f"error: {redact(str(error))}")
        return 1
    unanswered = [result.operator for result in results if result.why]
    for backbone in backbones.values():
        for server in getattr(backbone, "served", []):
            print(f"\n{_negotiated(server)}")
    answered = f"{len(results) - len(unanswered)} of {len(results)} questions were answered"
    print(f"\n{answered}; not: {', '.join(unanswered)}" if unanswered else f"\n{answered}")
    return 1 if unanswered else 0


def _asked(package: str, prompt: Prompt, fields: Mapping[str, Any], backbone: Any) -> TryResult:
    text, call, why = "", Call(prompt.operator, prompt.name, "failed"), ""
    try:
        answer = backbone.ask(prompt, **fields)
        text, call = str(answer.value), answer.call
    except Exception as error:  # also: no rule for this question, no option for a null model
        if isinstance(error, Unavailable) and not isinstance(error, NoChoice):
            raise
        why, call = redact(f"{type(error).__name__}: {error}"), getattr(error, "call", call)
    raw, bound = text, ""
    if isinstance(backbone, Endpoint):
        raw, bound = _message(backbone.body), backbone.server.bindings.get(prompt.name, "")
    return TryResult(f"{package} {prompt.operator}", prompt.name, redact(raw), text, bound, call, why)


def _negotiated(server: Mapping[str, Any]) -> str:
    """What was negotiated with the server, in one line."""
    bindings = ", ".join(f"{way} {times}" for way, times in Counter(server["bindings"].values()).items())
    limit = next(iter(server["limits"]), "not taken")
    without = f"; left out: {', '.join(server['without'])}" if server["without"] else ""
    models = ", ".join(server["models"]) or "not stated"
    takes = f"bound by {bindings}; token limit: {limit}{without}; model that answers: {models}"
    return f"{server['model']} at {server['address']}: {takes}"


def _message(body: bytes) -> str:
    """The model's part of a reply: all fields of its message; the whole body if there is no message."""
    try:
        match body_json(body):
            case {"choices": [{"message": dict() as message}, *_]}:
                return str({name: value for name, value in message.items() if value and name != "role"})
    except BadBody:
        pass
    return body.decode(errors="replace")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return f"{text[:LONGEST]}…" if len(text) > LONGEST else text
