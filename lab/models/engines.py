"""Engine strings: the grammar of what a user types to choose the backbone.

    rules                       hand-written functions of the prompt's fields
    rules@0.7                   the same with noise: an answer stays right with probability 0.7, else it is replaced by
                                a plausible wrong one
    rules@0.7?certify=0.45&reject=0.01    two error rates for Validate: it accepts a wrong attempt with probability .45
                                and rejects a right one with .01; a missing rate is that of all other answers, 0.3
    rules@0.7?judge=GPT-5.2     the two rates of a published judge (lab/models/judges.py)
    oracle, oracle@0.7          rules that know the episode's answer, if the experiment has an oracle; simulated
    first, last, random         null models: the first or last option, or a random one (see lab/models/nulls.py)
    random?seed=3               reproducible choices in any order and process; default: the run's seed
    replay:RUN                  the answers that a run recorded
    local                       a small real model on this machine's CPU (see lab/models/local.py)
    local:NAME?threads=1        another one; `python -m lab model` lists the names
    gpt-4o?temperature=0        any other word: a model at the OpenAI-compatible address in OPENAI_BASE_URL
    qwen3?preset=vllm-reasoning&enable_thinking=false&extra_body={"min_p":0.1}    the kind of server, and options that
                                only this kind accepts (listed in docs/models.md)
    first?shuffle=1             any engine but a replay: shuffles listed options; the order follows from this seed and
                                the question (see lab/models/rendering.py)
    gpt-4o?prompts=mine         a model that is asked in your own wording, from a folder (lab/models/prompt_sets.py)
    rules@0.7, Verify: gpt-4o   the first engine, but others for single operators (`Prompt.operator`; in any case)

Options follow a question mark, joined by `&`. All but `timeout` and `patience` are part of a run's identity. A colon
may replace the equals sign (`rules@0.7?judge:GPT-5.2`): papermill drops a parameter whose line has two equals signs.
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

MODELS = ("endpoint", "local")  # kinds of engines that are models
LOCAL_MODEL = "qwen2.5-coder-0.5b"
# The runtime of a local model. Today it is always OpenVINO; the option stays readable, since recordings state it.
RUNTIME = "runtime"
OPENVINO, LLAMA = RUNTIMES = ("openvino", "llama.cpp")
# Defaults of local models; part of the cache key, as if typed. max_tokens: a small model may not stop by itself.
LOCAL_OPTIONS = {"context": 8192, "max_tokens": 1024, "timeout": 3600.0}
NULL = "null"  # the kind of null models
FIRST, LAST, RANDOM = NULLS = ("first", "last", "random")
OFFLINE = ("rules", "oracle", "replay", "local", *NULLS)  # engines that need no server
ORACLE = "oracle"  # rules that know the episode's solution
# Separates the default part of an engine string from the parts of single operators.
PART = re.compile(r",\s*([a-z_]\w*)\s*:\s*", re.ASCII | re.IGNORECASE)
COLON = re.compile(r"(?<![^&])([a-z_]+):")  # begins an option typed with a colon for the equals sign
SCHEMA, TOOL, OBJECT, TEXT = BINDINGS = ("json_schema", "tool", "json_object", "text")  # from strict to loose
SHUFFLE = "shuffle"  # option of every engine but a replay: permutes the options that prompts list
PROMPTS = "prompts"  # option of every model: a folder of the user's own wordings
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
    "enable_thinking": bool,  # an argument of the chat template
    "extra_body": dict,
    "headers": dict,
    "query": dict,
    "schema": str,
    "preset": str,
}
RULES = {"seed": int, "certify": float, "reject": float, "judge": str, SHUFFLE: int}
# Not in the sampling part of a cache key: they change no answer, or the key has their effect (address, messages).
OF_THE_MACHINE = ("timeout", "patience", "threads", RUNTIME, "preset", PROMPTS)
WAITING = ("timeout", "patience")  # how long to wait for an answer: not part of a run's identity and label
OURS = {"model", "messages", "stream", "n", "response_format", "tools", "tool_choice"}  # not allowed in `extra_body`
WORDS = {
    float: "a number",
    int: "a whole number",
    str: "a word",
    bool: "true or false",
    dict: 'a JSON object, such as {"name":"value"}, in which & and + are written %26 and %2B',
}


class BadEngine(ValueError):
    """Invalid engine string; the message names the part and what is allowed."""


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """Name -> settings for a kind of server: its address, engine options, and a profile."""
    return yaml12.load(Path(__file__).with_name("presets.yaml").read_text(encoding="utf-8"))


def read_options(tail: str, allowed: Mapping[str, type]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    # Blank values are parsed too, so that `temperature=` is an error and not ignored.
    for name, value in parse_qsl(tail, keep_blank_values=True):
        if name not in allowed:
            raise BadEngine(f"Unknown engine option {name!r}; this engine takes: {', '.join(allowed)}")
        kind, parsed = allowed[name], None
        with suppress(ValueError):
            parsed = json.loads(value) if kind in (bool, dict) else kind(value)
        if parsed == "" or not isinstance(parsed, kind) or (isinstance(parsed, float) and not isfinite(parsed)):
            raise BadEngine(f"Engine option {name}={value!r} is not {WORDS[kind]}")
        options[name] = parsed
    if tail and not options:
        raise BadEngine(f"Engine options {tail!r} are not of the form name=value joined by '&'")
    return options


def server_options(tail: str) -> dict[str, Any]:
    """The options of a model behind an address, with its preset's. Raises BadEngine."""
    options = read_options(tail, SAMPLING | SERVERS)
    for name, choices in {"preset": [*presets()], "schema": ["off", *BINDINGS[:-1]]}.items() if options else ():
        if (value := options.get(name, choices[0])) not in choices:
            raise BadEngine(f"Engine option {name}={value} must be {' or '.join(choices)}{hint(value, choices)}")
    preset = presets()[options["preset"]].get("options", {}) if "preset" in options else {}
    tables = {name: preset[name] | value for name, value in options.items() if name in preset}
    options = preset | options | tables  # typed options override the preset's, also inside a table
    if reserved := OURS & options.get("extra_body", {}).keys():
        raise BadEngine(
            f"Engine option extra_body: {', '.join(sorted(reserved))} is the suite's own to send; leave it out"
        )
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
    NULLS. routes: operator, in lower case -> the engine that answers it instead. All other fields describe the
    default engine, which answers the other operators.
    """

    text: str
    kind: str
    name: str
    keep: float = 1.0
    options: Mapping[str, Any] = field(default_factory=dict)
    routes: Mapping[str, Engine] = field(default_factory=dict)

    def __str__(self) -> str:
        """The whole engine string; `parse` returns an equal engine."""
        return joined(self.text, {operator: other.text for operator, other in self.routes.items()})

    @property
    def identity(self) -> str:
        """The engine string without options that only set how long to wait."""
        head, _, tail = self.text.partition("?")
        options = [option for option in tail.split("&") if option.partition("=")[0] not in WAITING]
        default = f"{head}?{'&'.join(options)}" if any(options) else head
        return joined(default, {operator: other.identity for operator, other in self.routes.items()})

    def of(self, operator: str) -> Engine:
        """The engine that answers an operator."""
        return self.routes.get(operator.lower()) or replace(self, routes={})

    @property
    def parts(self) -> tuple[Engine, ...]:
        """The default engine, then those of single operators."""
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
        """Whether rules answer and no model does; in some worlds rules can only read synthetic data."""
        return self.by_rules and "rules" in self.kinds

    @property
    def label(self) -> str:
        """The label of a number: for every part the model's name if it is a local model, else the engine string.

        A local model's seed is named unless it is 0, so that two recordings of one table can be told apart.
        """
        # Recordings by llama.cpp, once the only runtime, do not name it.
        runtime = f", {OPENVINO}" if self.options.get(RUNTIME) == OPENVINO else ""
        shuffled = f", {SHUFFLE}={self.options[SHUFFLE]}" if SHUFFLE in self.options else ""
        prompts = f", {PROMPTS}={self.options[PROMPTS]}" if PROMPTS in self.options else ""
        seed = f", seed={self.options['seed']}" if self.options.get("seed") else ""
        default = (
            f"{self.name} (local{runtime}{shuffled}{prompts}{seed})"
            if self.kind == "local"
            else replace(self, routes={}).identity
        )
        return joined(default, {operator: other.label for operator, other in self.routes.items()})

    @property
    def noisy(self) -> bool:
        """Whether any operator is answered by rules with noise."""
        return any(part.kind == "rules" and (part.keep < 1 or any(part.errors or ())) for part in self.parts)

    @property
    def errors(self) -> Errors | None:
        """The two error rates of Validate, if the string states any; a Validate that is a program has them, too."""
        if "judge" in self.options:
            return judges.errors_of(self.options["judge"])
        if "certify" in self.options or "reject" in self.options:
            return Errors(*(self.options.get(name, 1 - self.keep) for name in Errors._fields))
        return None

    def kept(self, certifies: bool | None) -> float:
        """The probability that a rule's answer stays right. certifies: its verdict; None if the answer is none."""
        if certifies is None or self.errors is None:
            return self.keep
        return 1 - (self.errors.reject if certifies else self.errors.certify)

    @property
    def evidence(self) -> str:
        """Evidence of the numbers: "simulated" if noise or an oracle stands in for a model's skill, else "measured"."""
        return "simulated" if self.noisy or any(part.name == ORACLE for part in self.parts) else "measured"

    def with_others(self, others: Mapping[str, Engine]) -> Engine:
        """A copy with these engines for single operators. others: operator in lower case -> engine."""
        return replace(self, routes={**self.routes, **others}) if others else self

    def at(self, address: str) -> Engine:
        """A copy with the runtime of local models that the address names; by default llama.cpp."""
        default, others = split(address)
        runtime = OPENVINO if f"/{OPENVINO}-" in default else LLAMA
        options = {**self.options, RUNTIME: runtime} if self.kind == "local" else self.options
        routes = {operator: other.at(others.get(operator, default)) for operator, other in self.routes.items()}
        return replace(self, options=options, routes=routes)

    def among(self, operators: Collection[str]) -> Engine:
        """The shortest equivalent if only these operators ask: engines that answer none of them are dropped."""
        answering = {operator: self.of(operator) for operator in operators}
        default = next((engine for operator, engine in answering.items() if operator not in self.routes), None)
        default = default or next(iter(answering.values()), self.of(""))
        return replace(default, routes={name: engine for name, engine in answering.items() if engine != default})


def seeded(text: str, seed: int) -> str:
    """The engine string with a seed for its random parts; deterministic parts and those with a seed do not change."""
    default, others = split(text)

    def with_seed(part: str) -> str:
        engine = parse(part)
        # Rules without noise are deterministic, and a model's seed is a sampling option of its server.
        is_random = engine.noisy or (engine.kind == NULL and engine.name == RANDOM)
        needs_seed = is_random and "seed" not in engine.options and seed
        return f"{part}{'&' if '?' in part else '?'}seed={seed}" if needs_seed else part

    return joined(with_seed(default), {operator: with_seed(part) for operator, part in others.items()})


def routed(engine: str, others: Mapping[str, str], operators: Collection[str], who: str) -> Engine:
    """The engine with others for single operators, in its shortest form.

    operators: those that ask questions, in lower case. who: the method that they belong to, for the error message.
    Raises BadEngine, also for an operator that asks no question.
    """
    combined = with_others(engine, others)
    for operator in combined.routes:
        if operator not in operators:
            known = ", ".join(operators) or "none that it names"
            raise BadEngine(
                f"engines: {operator!r} is no operator of {who} that asks a question, as it is set up. "
                f"Operators that do: {known}{hint(operator, operators)}"
            )
    return combined.among(operators) if combined.routes else combined


def with_others(engine: str, others: Mapping[str, str]) -> Engine:
    """Parse an engine string, and other strings for single operators. Raises BadEngine."""
    return parse(engine).with_others(_by_operator((name, _plain(name, text)) for name, text in others.items()))


def parse(text: str) -> Engine:
    """Parse an engine string. Raises BadEngine, which names the offending part."""
    head, *pairs = PART.split(text)
    return _one(head).with_others(_by_operator(zip(pairs[::2], pairs[1::2], strict=True)))


def split(text: str) -> tuple[str, dict[str, str]]:
    """Split a string such as "rules, Verify: gpt-4o" into its default part and {operator in lower case: its part}."""
    head, *pairs = PART.split(text)
    return head, {name.lower(): part for name, part in zip(pairs[::2], pairs[1::2], strict=True)}


def joined(whole: str, others: Mapping[str, str]) -> str:
    """The inverse of `split`; operators are sorted and capitalised, as in the papers."""
    return ", ".join([whole, *(f"{name.capitalize()}: {others[name]}" for name in sorted(others))])


def said_of(text: str, operator: str) -> str:
    """The part of such a string that applies to an operator."""
    default, others = split(text)
    return others.get(operator.lower(), default)


def _by_operator(parts: Iterable[tuple[str, str]]) -> dict[str, Engine]:
    engines: dict[str, Engine] = {}
    for name, text in parts:
        if name.lower() in engines:
            raise BadEngine(f"engines: {name.lower()!r} has two engines; give it one")
        engines[name.lower()] = _one(text)
    return engines


def _plain(name: object, text: object) -> str:
    """Validate one entry of a user's operator -> engine mapping; returns the engine string. Raises BadEngine."""
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
        if not run or tail:  # its engine is that of the recording: with other options no request would match
            raise BadEngine(f"Engine {text!r}: write 'replay:' and the folder of a run, without options")
        return Engine(text, "replay", run)
    if head.partition("@")[0] in ("rules", ORACLE):
        return _rules(text, head, tail)
    if head in NULLS:
        allowed = {SHUFFLE: int, "seed": int} if head == RANDOM else {SHUFFLE: int}
        return Engine(text, NULL, head, options=read_options(tail, allowed))
    # A model may have any name, but a near match of our own engines is a typo, and would wait for a server.
    if guess := hint(re.split(r"[@:/\s]", head)[0], OFFLINE, nearness=0.8):
        raise BadEngine(
            f"Engine {text!r} is no engine{guess} They are typed: rules, rules@0.7, first, last, random, replay:NAME, "
            "local, local:NAME"
        )
    return Engine(text, "endpoint", head, options=server_options(tail))


def _rules(text: str, head: str, tail: str) -> Engine:
    options, (name, mark, probability) = read_options(tail, RULES), head.partition("@")
    keep = -1.0 if mark else 1.0
    with suppress(ValueError):
        keep = float(probability)
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
