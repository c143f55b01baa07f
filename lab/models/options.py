"""Options of engine strings: their names, types and values; the grammar around them is in lab/models/engines.py."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import isfinite
from typing import Any
from urllib.parse import parse_qsl

from lab.machine.secrets import SECRET_NAMES, redact
from lab.machine.spelling import hint
from lab.models.profiles import BINDINGS, presets

SHUFFLE = "shuffle"  # permutes what prompts list, for every engine that answers
SAMPLING = {
    "temperature": float,
    "top_p": float,
    "max_tokens": int,
    "seed": int,
    "reasoning_effort": str,
    "context": int,
    "timeout": float,
    "patience": float,
    SHUFFLE: int,
}
SERVERS = {
    "top_k": int,
    "enable_thinking": bool,  # of the chat template
    "extra_body": dict,
    "headers": dict,
    "query": dict,
    "schema": str,
    "preset": str,
}
RULES = {"seed": int, "certify": float, "reject": float, "judge": str, SHUFFLE: int}
# No part of the sampling in a cache key: they change no answer, or, as the runtime, are named by the address.
OF_THE_MACHINE = ("timeout", "patience", "threads", "runtime", "preset")
WAITING = ("timeout", "patience")  # how long an answer is waited for: no part of a run's identity and label
OURS = {"model", "messages", "stream", "n", "response_format", "tools", "tool_choice"}  # no `extra_body` may hold them
WORDS = {
    float: "a number",
    int: "a whole number",
    str: "a word",
    bool: "true or false",
    dict: 'a JSON object, such as {"name":"value"}, in which & and + are written %26 and %2B',
}


class BadEngine(ValueError):
    """An engine string that means nothing; the message names the part and what is allowed."""


def read_options(tail: str, allowed: Mapping[str, type]) -> dict[str, Any]:
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
    value: Any
    try:
        value = json.loads(text) if kind in (bool, dict) else kind(text)
    except ValueError:
        value = None
    if value == "" or not isinstance(value, kind) or (isinstance(value, float) and not isfinite(value)):
        raise BadEngine(f"Engine option {name}={text!r} is not {WORDS[kind]}")
    return value


def server_options(tail: str) -> dict[str, Any]:
    """The options of a model behind an address, with its preset's. Raises BadEngine."""
    options = read_options(tail, SAMPLING | SERVERS)
    for name, known in {"preset": [*presets()], "schema": ["off", *BINDINGS[:-1]]}.items() if options else ():
        if (value := options.get(name, known[0])) not in known:
            raise BadEngine(f"Engine option {name}={value} must be {' or '.join(known)}{hint(value, known)}")
    preset = presets()[options["preset"]].get("options", {}) if "preset" in options else {}
    tables = {name: preset[name] | value for name, value in options.items() if name in preset}
    options = preset | options | tables  # what is typed goes first, also inside of a table
    if own := OURS & options.get("extra_body", {}).keys():
        raise BadEngine(f"Engine option extra_body: {', '.join(sorted(own))} is the suite's own to send; leave it out")
    for name, text in {**options.get("headers", {}), **options.get("query", {})}.items():
        if not isinstance(text, str):
            raise BadEngine(f"Engine options headers and query: {name} holds {text!r}, which is no text")
        if not text.startswith("$") and (SECRET_NAMES.search(name) or redact(text) != text):
            raise BadEngine(
                f"Engine options headers and query: {name} is a secret, and an engine string is written down; put it "
                f'into an environment variable and name that: {{"{name}":"$NAME"}}'
            )
    return options
