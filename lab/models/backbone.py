"""The backbone protocol, and the accounting of tokens, seconds and money by operator.

`backbone.ask(prompt, **fields) -> Answer` is the only way to reach a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from lab.machine.paths import ROOT
from lab.models import engines
from lab.models.prompt_sets import reworded
from lab.models.prompts import Prompt
from lab.models.rendering import Rendered

PRICES = ROOT / "data" / "prices.yaml"
RULES_PATHS = ("rules", "corrupted", "null")  # `Call.path` of answers by rules and null models, which cost nothing


@dataclass(frozen=True, slots=True)
class Call:
    """One answered prompt.

    path: how the answer was obtained. Without a model: "rules", "corrupted" or "null". From a model's JSON: "schema",
    "strict", "repaired" or "reasked"; from free text: "text". "malformed" if no usable answer came, "failed" if the
    request failed. tokens_in, tokens_out: as the server counted them, re-asks included. seconds: wall time, waiting
    included. took: the same, but for a cache hit the time that the model took originally; 0 if it was not stored.
    usd: None if the model's price or the tokens are unknown. cached: a cache hit, which is free. retries: requests
    without a reply. cut: the prompt exceeded the engine's `context` and was truncated (lab/models/rendering.py).
    truncated: a reply, the first or the re-ask, ended at `max_tokens`. other_model: the model that answered,
    if the reply names another one than the engine.
    """

    operator: str
    prompt: str
    path: str
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    took: float = 0.0
    usd: float | None = 0.0
    cached: bool = False
    retries: int = 0
    cut: bool = False
    truncated: bool = False
    other_model: str = ""

    @property
    def paid(self) -> bool:
        """Whether a model answered, and not rules, a null model or the cache."""
        return not self.cached and self.path not in RULES_PATHS


@dataclass(frozen=True, slots=True)
class Cost:
    """Numbers of calls and tokens. Trajectories store these, since they do not depend on the machine."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.calls + other.calls, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


def cost_of(calls: Iterable[Call]) -> Cost:
    """Total cost of the calls."""
    return sum((Cost(1, call.tokens_in, call.tokens_out) for call in calls), Cost())


def by_operator(calls: Iterable[Call]) -> dict[str, dict[str, Any]]:
    """Totals for each operator: calls, cached, tokens, seconds, usd (None as soon as one price is unknown), paths.

    `cut`, `truncated` and `other_model` are included only if there were such calls.
    """
    groups: dict[str, list[Call]] = {}
    for call in calls:
        groups.setdefault(call.operator, []).append(call)
    totals = {}
    for operator, group in sorted(groups.items()):
        prices = [call.usd for call in group]
        rare = {"cut": sum(call.cut for call in group), "truncated": sum(call.truncated for call in group)}
        rare["other_model"] = sum(bool(call.other_model) for call in group)
        totals[operator] = asdict(cost_of(group)) | {
            "cached": sum(call.cached for call in group),
            "retries": sum(call.retries for call in group),
            "seconds": round(sum(call.seconds for call in group), 6),
            # A sum without the unknown part would look like a price.
            "usd": None if None in prices else sum(price or 0.0 for price in prices),
            "paths": dict(Counter(call.path for call in group)),
            **{name: count for name, count in rare.items() if count},
        }
    return totals


def summed(parts: Sequence[Mapping[str, Any]], timed: bool = True) -> dict[str, Any]:
    """Sum one operator's totals (`by_operator`) over episodes, for a table.

    timed: False if the seconds mean nothing, as for rules, where they also differ between runs. Seconds are None if
    any answer came from the cache.
    """
    prices = [part["usd"] for part in parts]
    paths: Counter[str] = Counter()
    for part in parts:
        paths.update(part["paths"])
    timed = timed and not any(part["cached"] for part in parts)
    return {
        "calls": sum(part["calls"] for part in parts),
        "tokens in": sum(part["tokens_in"] for part in parts),
        "tokens out": sum(part["tokens_out"] for part in parts),
        "retries": sum(part["retries"] for part in parts),
        "truncated": sum(part.get("truncated", 0) for part in parts),
        "seconds": round(sum(part["seconds"] for part in parts), 1) if timed else None,
        "dollars": None if None in prices else sum(prices),
        "paths": ", ".join(f"{path} {count}" for path, count in sorted(paths.items())),
    }


def price(model: str, tokens_in: int, tokens_out: int) -> float | None:
    """Dollars for a call, from the price file (dollars per million tokens); None if the model is not in it."""
    rates = prices(str(PRICES)).get(model)
    if rates is None:
        return None
    return (tokens_in * rates["input"] + tokens_out * rates["output"]) / 1e6


@cache
def prices(path: str) -> Mapping[str, Mapping[str, float]]:
    """The price file: model -> {input, output}, dollars per million tokens. Raises ValueError naming a bad entry."""
    from lab.machine import yaml12

    table = yaml12.load(Path(path).read_text()) or {}
    for model, rates in table.items():
        if not isinstance(rates, dict) or set(rates) != {"input", "output"}:
            raise ValueError(f"{path}: {model} needs exactly 'input' and 'output', dollars per million tokens")
    return table


class MalformedAnswer(ValueError):
    """A model's text does not answer the prompt. A backbone that gives up adds the booked call and the request hash.

    text: what the model wrote, for agents that are shown their own malformed answers.
    """

    call: Call = Call("unknown", "unknown", "malformed")
    request: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A typed answer and its cost. request: the hash of the whole request, the key of caches and recordings.

    text: the answer's JSON as the model gave it; it names options by the order in which they were displayed.
    """

    value: Any
    call: Call
    request: str = ""
    text: str = ""


def answered(question: Rendered, text: str, call: Call, request: str, said: str = "") -> Answer:
    """Convert an answer's JSON, as the model gave it, to a typed answer to the question's prompt.

    text: the JSON, or the error message if `call.path` is "malformed". said: what the model wrote.
    Raises MalformedAnswer if `call.path` is "malformed".
    """
    if call.path == "malformed":
        error = MalformedAnswer(text)
        error.call, error.request, error.text = call, request, said
        raise error
    return Answer(question.typed(text), call, request, text)


UNKEPT = "malformed, in words that are not kept"


class Backbone(Protocol):
    """Answers prompts. sample: index, from 0, of one of several independent answers to the same question."""

    engine: engines.Engine

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer: ...

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str: ...


class Ledger:
    """A wrapper of a backbone that logs the calls made through it: the accounting of one episode.

    Failed calls are logged too: the exception carries them in its attribute `call`.
    record: also store every answer, malformed ones included, in the form that `replay:` reads.
    """

    def __init__(self, backbone: Backbone, record: bool = False) -> None:
        self.backbone = backbone
        self.engine = backbone.engine
        self.record = record
        self.calls: list[Call] = []
        self.recorded: list[dict[str, Any]] = []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Ask the wrapped backbone, in the wording that its engine selects, and log the call.

        Raises what the backbone raises.
        """
        prompt = reworded(prompt, self.engine.of(prompt.operator))
        try:
            answer = self.backbone.ask(prompt, sample=sample, **fields)
        except MalformedAnswer as error:
            # A replay must fail where the model failed, with the same message if that may be stored.
            raw = {"said": error.text} if error.text and not prompt.unkept else {}
            self._book(prompt, error.call, error.request, UNKEPT if prompt.unkept else str(error), **raw)
            raise
        except Exception as error:
            if isinstance(call := getattr(error, "call", None), Call):
                self.calls.append(call)
            raise
        # Rules return no request hash: it needs the rendered prompt, which only recordings use.
        if self.record and not answer.request:
            request = self.backbone.request(prompt, sample=sample, **fields)
            answer = replace(answer, request=request, text=answer.text or answer.value.model_dump_json())
        self._book(prompt, answer.call, answer.request, _kept(prompt, answer))
        return answer

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The wrapped backbone's request hash."""
        prompt = reworded(prompt, self.engine.of(prompt.operator))
        return self.backbone.request(prompt, sample=sample, **fields)

    def _book(self, prompt: Prompt, call: Call, request: str, text: str, **raw: str) -> None:
        self.calls.append(call)
        if self.record:
            entry = {"request": request, "prompt": prompt.name, "version": prompt.version, "operator": call.operator}
            counts: dict[str, float] = {"tokens_in": call.tokens_in, "tokens_out": call.tokens_out}
            counts |= {"seconds": call.took} if call.took else {}  # rules: too short to report
            rare = {"truncated": True} if call.truncated else {}
            self.recorded.append(entry | {"path": call.path, "text": text} | raw | counts | rare)


def _kept(prompt: Prompt, answer: Answer) -> str:
    """The answer's JSON, with the fields that must not be stored blanked."""
    blank = dict.fromkeys(prompt.unkept, "")
    return answer.value.model_copy(update=blank).model_dump_json() if blank else answer.text
