"""Engine strings: the grammar of what a user types to choose the backbone.

    rules                       hand-written functions of the prompt's fields
    rules@0.7                   the same, each answer kept with probability 0.7, else a plausible wrong one
    replay:RUN                  the answers that a run recorded
    local                       a small real model on this machine's CPU (see lab/models/local.py)
    local:NAME?threads=1        another one; `python -m lab model list` has the names
    gpt-4o?temperature=0        any other word: a model at the OpenAI-compatible address in OPENAI_BASE_URL

Options follow a question mark, joined by `&`; they are part of the cache key and of a run's manifest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any
from urllib.parse import parse_qsl

from lab.machine.spelling import hint

SAMPLING = {
    "temperature": float,
    "top_p": float,
    "max_tokens": int,
    "seed": int,
    "reasoning_effort": str,
    "context": int,
    "timeout": float,
    "patience": float,
}
OF_THE_MACHINE = ("timeout", "patience", "threads")  # change no answer, and are no part of the cache key
MODELS = ("endpoint", "local")  # kinds of engines behind which a model answers
LOCAL_MODEL = "qwen2.5-coder-0.5b"
# Part of the key, as if they were typed. max_tokens: a small model may write on until the context is full.
LOCAL_OPTIONS = {"context": 8192, "max_tokens": 1024, "timeout": 3600.0}
OFFLINE = ("rules", "replay", "local")  # engines that need no server
WORDS = {float: "a number", int: "a whole number", str: "a word"}


class BadEngine(ValueError):
    """An engine string that means nothing; the message names the part and what is allowed."""


@dataclass(frozen=True)
class Engine:
    """A parsed engine string.

    kind: "rules", "replay", "local" or "endpoint". name: the model, the run folder, or "rules".
    """

    text: str
    kind: str
    name: str
    keep: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """What stands beside a number: the model's name for a local one, else the engine string."""
        return f"{self.name} (local)" if self.kind == "local" else self.text

    @property
    def noisy(self) -> bool:
        """Whether the answers are rules' with noise."""
        return self.kind == "rules" and self.keep < 1

    @property
    def evidence(self) -> str:
        """What the engine's numbers are: "simulated" where noise stands in for a model's skill, else "measured"."""
        return "simulated" if self.noisy else "measured"


def seeded(text: str, seed: int) -> str:
    """The engine string with the seed of its noise; without noise, or with a seed of its own, it stays as it is."""
    engine = parse(text)
    # Only noise is drawn here: a rule draws nothing, and a model's seed is a sampling option of its server.
    return f"{text}?seed={seed}" if engine.noisy and "seed" not in engine.options and seed else text


def parse(text: str) -> Engine:
    """Read an engine string. Raises BadEngine naming the offending part."""
    text = text.strip()
    head, _, tail = text.partition("?")
    if not head:
        raise BadEngine("The engine is empty; use 'rules', 'rules@0.7', 'replay:RUN' or a model name")
    if head == "local" or head.startswith("local:"):
        return _local(text, head, tail)
    if head.startswith("replay:"):
        run = head.removeprefix("replay:")
        if not run or tail:  # the recording's own engine has the options: others would miss all of its requests
            raise BadEngine(f"Engine {text!r}: write 'replay:' and the folder of a run, without options")
        return Engine(text, "replay", run)
    if head == "rules" or head.startswith("rules@"):
        return Engine(text, "rules", "rules", _probability(head), _options(tail, {"seed": int}))
    # A model may have any name, but one that is nearly a word of ours is a slip, and would wait for a server.
    if slip := hint(re.split(r"\W", head)[0], OFFLINE, nearness=0.8):
        raise BadEngine(
            f"Engine {text!r} is no engine{slip} They are typed: rules, rules@0.7, replay:NAME, local, local:NAME"
        )
    return Engine(text, "endpoint", head, options=_options(tail, SAMPLING))


def _local(text: str, head: str, tail: str) -> Engine:
    name = head.removeprefix("local").removeprefix(":") or LOCAL_MODEL
    options = LOCAL_OPTIONS | _options(tail, SAMPLING | {"threads": int})
    # llama.cpp has meanings of its own for 0 and -1 (the model's context, no limit), which the key would not tell.
    for option in ("context", "max_tokens", "threads"):
        if options.get(option, 1) < 1:
            raise BadEngine(f"Engine option {option}={options[option]} must be at least 1")
    return Engine(text, "local", name, options=options)


def _probability(head: str) -> float:
    if head == "rules":
        return 1.0
    try:
        keep = float(head.removeprefix("rules@"))
    except ValueError:
        keep = -1.0
    if not 0.0 <= keep <= 1.0:  # NaN, which float() reads, fails this as well
        raise BadEngine(f"Engine {head!r}: after 'rules@' comes a probability between 0 and 1, such as rules@0.7")
    return keep


def _options(tail: str, allowed: Mapping[str, type]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    # Blank values are kept, so that `temperature=` is an error and not passed over.
    for name, value in parse_qsl(tail, keep_blank_values=True):
        if name not in allowed:
            raise BadEngine(f"Unknown engine option {name!r}; this engine takes: {', '.join(allowed)}")
        options[name] = _value(name, value, allowed[name])
    if tail and not options:
        raise BadEngine(f"Engine options {tail!r} are not of the form name=value joined by '&'")
    return options


def _value(name: str, text: str, kind: type) -> Any:
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value in (None, "") or (kind is float and not isfinite(value)):
        raise BadEngine(f"Engine option {name}={text!r} is not {WORDS[kind]}")
    return value
