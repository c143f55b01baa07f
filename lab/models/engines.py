"""Engine strings: the grammar of what a user types to choose the backbone.

    rules                       hand-written functions of the prompt's fields
    rules@0.7                   the same, each answer kept with probability 0.7, else a plausible wrong one
    rules@0.7?certify=0.45&reject=0.01    a Validate with two error rates: what is wrong passes with probability .45,
                                what is right is refused with .01; a rate that is not given is that of other answers
    rules@0.7?judge=GPT-5.2     the two rates of a published judge (lab/models/judges.py)
    oracle, oracle@0.7          rules that know the answer of the episode, where an experiment has such; simulated
    first, last, random         null models: the first or last option, or a random one (see lab/models/nulls.py)
    random?seed=3               the same draws in any order and process; without a seed it takes the run's
    replay:RUN                  the answers that a run recorded
    local                       a small real model on this machine's CPU (see lab/models/local.py)
    local:NAME?threads=1        another one; `python -m lab model` has the names
    gpt-4o?temperature=0        any other word: a model at the OpenAI-compatible address in OPENAI_BASE_URL
    qwen3?preset=vllm-reasoning&enable_thinking=false&extra_body={"min_p":0.1}    its server's kind, and what only that
                                kind of server takes (docs/models.md lists these options)
    first?shuffle=1             any engine but a replay: listed options are shown in another order, which follows from
                                this seed and the question (see lab/models/prompts.py)
    gpt-4o?prompts=mine         a model that is asked in the words of a folder of your own (lab/models/prompt_sets.py)
    rules@0.7, Verify: gpt-4o   the first one, but another for single operators (`Prompt.operator`; in any case)

Options follow a question mark, joined by `&`. All but `timeout` and `patience` are part of a run's identity. A colon
may stand for the equals sign (`rules@0.7?judge:GPT-5.2`): papermill drops a parameter whose line has two of these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from lab.machine import yaml12
from lab.machine.printing import hint
from lab.machine.secrets import SECRET_NAMES, redact
from lab.models import judges
from lab.models.judges import Errors

MODELS = ("endpoint", "local")  # kinds of engines behind which a model answers
LOCAL_MODEL = "qwen2.5-coder-0.5b"
# Who ran a local model. Today it is OpenVINO; the option stays readable, since manifests of recordings state it.
RUNTIME = "runtime"
OPENVINO, LLAMA = RUNTIMES = ("openvino", "llama.cpp")
# Part of the key, as if they were typed. max_tokens: a small model may write on until the context is full.
LOCAL_OPTIONS = {"context": 8192, "max_tokens": 1024, "timeout": 3600.0}
NULL = "null"  # the kind of these
FIRST, LAST, RANDOM = NULLS = ("first", "last", "random")
OFFLINE = ("rules", "oracle", "replay", "local", *NULLS)  # engines that need no server
ORACLE = "oracle"  # rules that know what no agent would
# Between the parts of a string that says something of all operators, and something else of single ones.
PART = re.compile(r",\s*([a-z_]\w*)\s*:\s*", re.ASCII | re.IGNORECASE)
COLON = re.compile(r"(?<![^&])([a-z_]+):")  # of an option without an equals sign
SCHEMA, TOOL, OBJECT, TEXT = BINDINGS = ("json_schema", "tool", "json_object", "text")  # from strict to loose
SHUFFLE = "shuffle"  # permutes what prompts list, for every engine that answers
PROMPTS = "prompts"  # a folder of a reader's own wordings, for every model
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
    PROMPTS: str,
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
# Left out of the sampling in a cache key: they change no answer, or the key has their effect (address, messages).
OF_THE_MACHINE = ("timeout", "patience", "threads", RUNTIME, "preset", PROMPTS)
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


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """Name -> facts about a kind of server: its address, options of the engine, and a profile."""
    return yaml12.load(Path(__file__).with_name("presets.yaml").read_text(encoding="utf-8"))


def read_options(tail: str, allowed: Mapping[str, type]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    # Blank values are kept, so that `temperature=` is an error and not passed over.
    for name, value in parse_qsl(tail, keep_blank_values=True):
        if name not in allowed:
            raise BadEngine(f"Unknown engine option {name!r}; this engine takes: {', '.join(allowed)}")
        kind, read = allowed[name], None
        with suppress(ValueError):
            read = json.loads(value) if kind in (bool, dict) else kind(value)
        if read == "" or not isinstance(read, kind) or (isinstance(read, float) and not isfinite(read)):
            raise BadEngine(f"Engine option {name}={value!r} is not {WORDS[kind]}")
        options[name] = read
    if tail and not options:
        raise BadEngine(f"Engine options {tail!r} are not of the form name=value joined by '&'")
    return options


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


@dataclass(frozen=True)
class Engine:
    """A parsed engine string.

    kind: "rules", "null", "replay", "local" or "endpoint". name: the model, the run folder, "rules", "oracle" or one of
    NULLS. routes: operator, in small letters -> the engine that answers it instead; all other fields are of the one
    that answers the rest.
    """

    text: str
    kind: str
    name: str
    keep: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    routes: Mapping[str, Engine] = field(default_factory=dict)

    def __str__(self) -> str:
        """The whole string, from which `parse` makes the same engine."""
        return joined(self.text, {operator: other.text for operator, other in self.routes.items()})

    @property
    def identity(self) -> str:
        """The string without what only says how long an answer is waited for."""
        head, _, tail = self.text.partition("?")
        kept = [option for option in tail.split("&") if option.partition("=")[0] not in WAITING]
        own = f"{head}?{'&'.join(kept)}" if any(kept) else head
        return joined(own, {operator: other.identity for operator, other in self.routes.items()})

    def of(self, operator: str) -> Engine:
        """The one that answers an operator."""
        return self.routes.get(operator.lower()) or replace(self, routes={})

    @property
    def parts(self) -> tuple[Engine, ...]:
        """The one that answers the rest, then those that answer single operators."""
        return replace(self, routes={}), *self.routes.values()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of all parts."""
        return frozenset(part.kind for part in self.parts)

    @property
    def by_rules(self) -> bool:
        """Whether no model answers: rules, null models or both do."""
        return self.kinds <= {"rules", NULL}

    @property
    def needs_rules(self) -> bool:
        """Whether rules answer and no model does; in some worlds they read synthetic data alone."""
        return self.by_rules and "rules" in self.kinds

    @property
    def label(self) -> str:
        """What stands beside a number: the model's name for a local one, else the engine string; so for each part."""
        # Recordings of llama.cpp, which was there first and alone, do not name it.
        runtime = f", {OPENVINO}" if self.options.get(RUNTIME) == OPENVINO else ""
        shuffled = f", {SHUFFLE}={self.options[SHUFFLE]}" if SHUFFLE in self.options else ""
        prompts = f", {PROMPTS}={self.options[PROMPTS]}" if PROMPTS in self.options else ""
        own = (
            f"{self.name} (local{runtime}{shuffled}{prompts})"
            if self.kind == "local"
            else replace(self, routes={}).identity
        )
        return joined(own, {operator: other.label for operator, other in self.routes.items()})

    @property
    def noisy(self) -> bool:
        """Whether answers, be it of one operator, are rules' with noise."""
        return any(part.kind == "rules" and (part.keep < 1 or any(part.errors or ())) for part in self.parts)

    @property
    def errors(self) -> Errors | None:
        """The two error rates of a Validate, where the string says any; also those of a Validate that is a program."""
        if "judge" in self.options:
            return judges.errors_of(self.options["judge"])
        if "certify" in self.options or "reject" in self.options:
            return Errors(*(self.options.get(name, 1 - self.keep) for name in Errors._fields))
        return None

    def kept(self, certifies: bool | None) -> float:
        """The probability that rules' answer stays right. certifies: what a verdict says; None if it is no verdict."""
        if certifies is None or self.errors is None:
            return self.keep
        return 1 - (self.errors.reject if certifies else self.errors.certify)

    @property
    def evidence(self) -> str:
        """What the engine's numbers are: "simulated" where noise or an oracle stands in for a model's skill."""
        return "simulated" if self.noisy or any(part.name == ORACLE for part in self.parts) else "measured"

    def with_others(self, others: Mapping[str, Engine]) -> Engine:
        """The same with these for single operators, by name in small letters."""
        return replace(self, routes={**self.routes, **others}) if others else self

    def at(self, address: str) -> Engine:
        """The same with the runtime of local models that their address names; one that names none is llama.cpp's."""
        whole, others = split(address)
        runtime = OPENVINO if f"/{OPENVINO}-" in whole else LLAMA
        options = {**self.options, RUNTIME: runtime} if self.kind == "local" else self.options
        routes = {operator: other.at(others.get(operator, whole)) for operator, other in self.routes.items()}
        return replace(self, options=options, routes=routes)

    def among(self, operators: Collection[str]) -> Engine:
        """The same in its shortest form, where only these operators ask: who answers none of them is left out."""
        answering = {operator: self.of(operator) for operator in operators}
        rest = next((engine for operator, engine in answering.items() if operator not in self.routes), None)
        rest = rest or next(iter(answering.values()), self.of(""))
        return replace(rest, routes={name: engine for name, engine in answering.items() if engine != rest})


def seeded(text: str, seed: int) -> str:
    """The engine string with the seed of its draws; parts that draw nothing, or have a seed of their own, stay."""
    whole, others = split(text)

    def one(part: str) -> str:
        engine = parse(part)
        # Rules without noise draw nothing, and a model's seed is a sampling option of its server.
        draws = engine.noisy or (engine.kind == NULL and engine.name == RANDOM)
        seeds = draws and "seed" not in engine.options and seed
        return f"{part}{'&' if '?' in part else '?'}seed={seed}" if seeds else part

    return joined(one(whole), {operator: one(part) for operator, part in others.items()})


def routed(engine: str, others: Mapping[str, str], operators: Collection[str], who: str) -> Engine:
    """The engine with others for single operators, in its shortest form.

    operators: those that ask, in small letters. who: asks them, for the message. Raises BadEngine.
    """
    whole = with_others(engine, others)
    for operator in whole.routes:
        if operator not in operators:
            known = ", ".join(operators) or "none that it names"
            raise BadEngine(
                f"engines: {operator!r} is no operator of {who} that asks a question, as it is set up. "
                f"Operators that do: {known}{hint(operator, operators)}"
            )
    return whole.among(operators) if whole.routes else whole


def with_others(engine: str, others: Mapping[str, str]) -> Engine:
    """The engine of a string, with those of other strings for single operators. Raises BadEngine."""
    return parse(engine).with_others(_by_operator((name, _plain(name, text)) for name, text in others.items()))


def parse(text: str) -> Engine:
    """Read an engine string. Raises BadEngine naming the offending part."""
    head, *rest = PART.split(text)
    return _one(head).with_others(_by_operator(zip(rest[::2], rest[1::2], strict=True)))


def split(text: str) -> tuple[str, dict[str, str]]:
    """What a string such as "rules, Verify: gpt-4o" says of all operators, and of single ones (in small letters)."""
    head, *rest = PART.split(text)
    return head, {name.lower(): part for name, part in zip(rest[::2], rest[1::2], strict=True)}


def joined(whole: str, others: Mapping[str, str]) -> str:
    """The string that `split` takes apart; operators stand by name, as the papers write them."""
    return ", ".join([whole, *(f"{name.capitalize()}: {others[name]}" for name in sorted(others))])


def said_of(text: str, operator: str) -> str:
    """What such a string says of an operator."""
    whole, others = split(text)
    return others.get(operator.lower(), whole)


def _by_operator(parts: Iterable[tuple[str, str]]) -> dict[str, Engine]:
    engines: dict[str, Engine] = {}
    for name, text in parts:
        if name.lower() in engines:
            raise BadEngine(f"engines: {name.lower()!r} has two engines; give it one")
        engines[name.lower()] = _one(text)
    return engines


def _plain(name: object, text: object) -> str:
    """An engine string from a user's mapping of operators."""
    if not isinstance(name, str) or not name.isidentifier() or not isinstance(text, str) or PART.search(text):
        raise BadEngine(f"engines: {name!r}: {text!r} is no operator with an engine, such as 'verify': 'rules@0.9'")
    return text


def _one(text: str) -> Engine:
    head, mark, tail = text.strip().partition("?")
    tail = COLON.sub(r"\1=", tail)
    text = f"{head}{mark}{tail}"
    if re.match(r"[a-z_]\w*\s*:\s", head, re.ASCII | re.IGNORECASE):  # a model's name, llama3:8b, has no space there
        raise BadEngine(f'Engine {text!r} is that of one operator; name the others\' before it: "rules, {text}"')
    if not head:
        raise BadEngine("The engine is empty; use 'rules', 'rules@0.7', 'replay:RUN' or a model name")
    if head == "local" or head.startswith("local:"):
        return _local(text, head, tail)
    if head.startswith("replay:"):
        run = head.removeprefix("replay:")
        if not run or tail:  # the recording's own engine has the options: others would miss all of its requests
            raise BadEngine(f"Engine {text!r}: write 'replay:' and the folder of a run, without options")
        return Engine(text, "replay", run)
    if head.partition("@")[0] in ("rules", ORACLE):
        return _rules(text, head, tail)
    if head in NULLS:
        allowed = {SHUFFLE: int, "seed": int} if head == RANDOM else {SHUFFLE: int}
        return Engine(text, NULL, head, options=read_options(tail, allowed))
    # A model may have any name, but one that is nearly a word of ours is a slip, and would wait for a server.
    if slip := hint(re.split(r"\W", head)[0], OFFLINE, nearness=0.8):
        raise BadEngine(
            f"Engine {text!r} is no engine{slip} They are typed: rules, rules@0.7, first, last, random, replay:NAME, "
            "local, local:NAME"
        )
    return Engine(text, "endpoint", head, options=server_options(tail))


def _rules(text: str, head: str, tail: str) -> Engine:
    options, (name, at, given) = read_options(tail, RULES), head.partition("@")
    keep = -1.0 if at else 1.0
    with suppress(ValueError):
        keep = float(given)
    if not 0.0 <= keep <= 1.0:  # NaN, which float() reads, fails this as well
        raise BadEngine(f"Engine {head!r}: after '{name}@' comes a probability between 0 and 1, such as {name}@0.7")
    for rate in ("certify", "reject"):
        if not 0.0 <= options.get(rate, 0.0) <= 1.0:
            raise BadEngine(f"Engine option {rate}={options[rate]} is no probability between 0 and 1")
    if "judge" in options:
        if {"certify", "reject"} & set(options):
            raise BadEngine(
                f"Engine {text!r}: a judge has both error rates; leave out certify and reject, or the judge"
            )
        try:
            judges.errors_of(options["judge"])
        except LookupError as error:
            raise BadEngine(f"Engine {text!r}: {error.args[0]}") from None
    return Engine(text, "rules", name, keep, options)


def _local(text: str, head: str, tail: str) -> Engine:
    name = head.removeprefix("local").removeprefix(":") or LOCAL_MODEL
    options = LOCAL_OPTIONS | read_options(tail, SAMPLING | {"threads": int, RUNTIME: str})
    if options.get(RUNTIME, OPENVINO) not in RUNTIMES:
        raise BadEngine(f"Engine option {RUNTIME}={options[RUNTIME]}: leave it out; local models run by {OPENVINO}")
    for option in ("context", "max_tokens", "threads"):
        if options.get(option, 1) < 1:
            raise BadEngine(f"Engine option {option}={options[option]} must be at least 1")
    return Engine(text, "local", name, options=options)
