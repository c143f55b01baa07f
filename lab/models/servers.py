"""Servers of models: their address, whether they answer for a model, and which request parameters they support.

The parameters are negotiated once per process, server and model: an answer is bound to its schema by the strictest way
that the server supports, and a parameter that it rejects is left out. A preset (presets.yaml) or the engine option
`schema` says where the negotiation starts.
"""

from __future__ import annotations

import os
import re
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from lab.machine import progress
from lab.machine.faults import Unavailable
from lab.machine.printing import hint
from lab.machine.secrets import clean_address
from lab.models.client import (
    BadBody,
    Client,
    EndpointError,
    EndpointUnavailable,
    body_json,
    is_page,
    only_pages,
    refused,
)
from lab.models.engines import BINDINGS, OBJECT, SCHEMA, TEXT, TOOL, presets
from lab.models.prompts import Prompt

OPENAI = "https://api.openai.com/v1"
STOP, NO_STOP, FREE = "stop", "no stop", "free"  # free text: with stop texts; without, as rejected; prompt has none
LIMITS = ("max_tokens", "max_completion_tokens")  # names of the token limit
MISSES = 2  # wrong-form answers after which a binding that never worked counts as ignored; one may be a model's slip
NOT_TAKEN = (400, 404, 422, 500, 501)  # statuses for a binding that a server does not support
REJECTS = re.compile(r"(un|not |n't )support|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed)", re.IGNORECASE)
SUFFIXES = re.compile(r"([-@:]\d{3,}[-\d]*|[-.:]i?q\d\w*|@\w+)*")  # of model names: snapshots, files, revisions
LONGEST = 4.0  # seconds for each request of `Server.try_out`
SMALL = [
    {"role": "user", "content": "Answer with OK."}
]  # a minimal request, to find out whether a server answers at all
MOST_NAMES = 8  # of models that a message lists


class MissingKey(Unavailable):
    """An endpoint was chosen, but the environment has neither an address nor a usable key for it."""


def stated_address(who: str, instead: str, usual: str = "") -> str:
    """OPENAI_BASE_URL, or OpenAI's own address if only a key is set.

    who, instead, usual: for the message: who needs the server, what to use instead, the usual address.
    Raises MissingKey if neither is set or the key is unusable, ValueError for an invalid address.
    """
    address = os.environ.get("OPENAI_BASE_URL", "").strip()
    if not address and (usual or not os.environ.get("OPENAI_API_KEY")):
        raise MissingKey(
            f"{who}: set OPENAI_BASE_URL to the server that has it{usual and f', usually {usual}'} (and OPENAI_API_KEY "
            f"if the server wants one), or use {instead}"
        )
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise MissingKey("OPENAI_API_KEY holds a line break or a letter that no key has; copy the key again")
    if address and not address.startswith(("http://", "https://")):
        raise ValueError("OPENAI_BASE_URL must start with http:// or https://, as in http://localhost:8000/v1")
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"OPENAI_BASE_URL is no address ({error}); it looks like http://localhost:8000/v1") from None
    if parts.query or parts.fragment:
        names = ", ".join(f'"{name}":"…"' for name, _ in parse_qsl(parts.query, keep_blank_values=True))
        raise ValueError(
            f"OPENAI_BASE_URL holds a query; set it to {clean_address(address)}, and state the query in the engine "
            f"string: MODEL?query={{{names}}} (for Azure: MODEL?preset=azure)"
        )
    return address or OPENAI


def client_settings(address: str, options: Mapping[str, Any] = {}) -> dict[str, Any]:
    """Settings of the SDK's client for a cleaned address: the full address, the environment's key, headers and query.

    options: the engine's. Raises MissingKey if a header or query names an environment variable that is not set.
    """

    def resolved(name: str, value: str) -> str:
        """A header's or query's value; for $NAME, the value of that environment variable."""
        if value.startswith("$") and not os.environ.get(value[1:], "").strip():
            raise MissingKey(f"{name} is to hold {value}, and no environment variable of that name is set")
        return os.environ[value[1:]].strip() if value.startswith("$") else value

    env_address = os.environ.get("OPENAI_BASE_URL", "").strip()
    return {
        # The environment's address may hold a password, which the cleaned one must not; if it has not changed, use it.
        "base_url": env_address if clean_address(env_address) == address else address,
        "api_key": os.environ.get("OPENAI_API_KEY", "").strip() or "none",  # the SDK rejects an empty key
        "default_headers": {name: resolved(name, value) for name, value in options.get("headers", {}).items()},
        "default_query": {name: resolved(name, value) for name, value in options.get("query", {}).items()},
    }


@dataclass(frozen=True, slots=True)
class Profile:
    """The request parameters that a server supports. bindings: ways to bind an answer, in the order to try them.

    limits: names of the token limit, in the order to try them. without: parameters to leave out.
    """

    bindings: tuple[str, ...] = BINDINGS
    limits: tuple[str, ...] = LIMITS
    without: tuple[str, ...] = ()

    @classmethod
    def first(cls, options: Mapping[str, Any], bindings: tuple[str, ...] = BINDINGS) -> Profile:
        """The profile that negotiation starts with. options: an engine's. bindings: the default without a preset."""
        limits = LIMITS[::-1] if "reasoning_effort" in options else LIMITS  # what reasoning models call it
        preset = presets()[options["preset"]].get("profile", {}) if "preset" in options else {}
        fields = {"bindings": bindings, "limits": limits} | {name: tuple(value) for name, value in preset.items()}
        if forced := options.get("schema"):
            fields["bindings"] = (TEXT if forced == "off" else forced,)
        return cls(**fields)

    def adapted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The request parameters, renamed or left out as the server requires."""
        limit = next(iter(self.limits), "")
        renamed = {limit if name in LIMITS else name: value for name, value in arguments.items()}
        return {name: value for name, value in renamed.items() if name and name not in self.without}


def bound(way: str, prompt: Prompt) -> dict[str, Any]:
    """The request parameters that bind the answer to a prompt in this way; {} for a way that needs none."""
    name, schema = re.sub(r"\W", "_", prompt.name), prompt.schema
    tool = {"name": name, "description": "Gives the answer.", "parameters": schema}
    form = {"name": name, "schema": schema, "strict": True}
    ways: dict[str, dict[str, Any]] = {
        SCHEMA: {"response_format": {"type": "json_schema", "json_schema": form}},
        TOOL: {
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": {"type": "function", "function": {"name": name}},
        },
        OBJECT: {"response_format": {"type": "json_object"}},  # the prompt's text names the keys
        STOP: {"stop": list(prompt.stop)},
    }
    return ways.get(way, {})


def rejected(error: Any, sent: Mapping[str, Any]) -> str:
    """The name of the sent parameter that a status error rejects; "" if none."""
    message = str(getattr(error, "message", error))[:500]
    if error.status_code not in (400, 422) or not REJECTS.search(f"{error.code} {message}"):
        return ""
    names = [name for name in sent if name not in ("response_format", "tools", "tool_choice")]
    matches = (name for name in names if re.search(rf"\b{re.escape(name)}\b", message))
    return error.param if error.param in names else next(matches, "")


def same_model(wanted: str, stated: str) -> bool:
    """Whether an answer's model is the one asked for; paths, dates and file suffixes may differ."""
    short, long = (re.sub(r".*/|[-:]latest$|\.gguf$", "", name.lower()) for name in (wanted, stated))
    return not stated or (long.startswith(short) and bool(SUFFIXES.fullmatch(long, len(short))))


@dataclass(eq=False)
class Server:
    """What this process knows about a model at an address. Threads share it, so every change is one assignment.

    bindings: prompt -> the way its answers are bound. proven: ways that have worked. missed: way -> how often the
    server accepted it without effect. ignored: (prompt, way) pairs that are no longer tried. models, fingerprints: as
    answers state them. there: the server was found to answer for the model.
    """

    address: str
    model: str
    profile: Profile
    bindings: dict[str, str] = field(default_factory=dict)
    proven: set[str] = field(default_factory=set)
    missed: Counter[str] = field(default_factory=Counter)
    ignored: set[tuple[str, str]] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    fingerprints: set[str] = field(default_factory=set)
    there: bool = False

    def try_out(self, client: Client) -> None:
        """Check once per process that this server answers for this model; a slow or unclear reply passes.

        Takes seconds, while a question would be retried for as long as the patience lasts.
        Raises EndpointUnavailable if there is no connection, no permission, no such model, or only a web page.
        """
        with _one_at_a_time:
            # Raised outside the handler of the SDK's error, whose request, and with it the key, would stay as context.
            if not self.there and (error := _objection(client, self.address, self.model)):
                raise error
            self.there = True

    def ways(self, prompt: Prompt) -> tuple[str, ...]:
        """The ways to bind a prompt's answer, in the order to try them.

        If one prompt fell back, its schema may be the cause. After two, others start at the strictest one accepted.
        """
        ways = self.profile.bindings
        if prompt.free:
            ways = (STOP, NO_STOP) if prompt.stop else (FREE,)
        accepted = [ways.index(way) for way in self.bindings.values() if way in ways]
        current = self.bindings.get(prompt.name, "")
        start = ways.index(current) if current in ways else min(accepted) if len(accepted) > 1 else 0
        remaining = tuple(way for way in ways[start:] if (prompt.name, way) not in self.ignored) or ways[-1:]
        # For a prompt that was answered before, the loosest way alone tells whether the request itself is wrong.
        return (remaining[0], *remaining[1:][-1:]) if current else remaining

    def takes(self, prompt: str, tried: tuple[str, ...], bound_it: bool | None) -> None:
        """Record how a prompt's answers are bound: by the last way tried; the server rejected the others.

        bound_it: whether the answer was bound; None if unclear. Some servers accept a way and ignore it: one that
        never worked is replaced by the next after MISSES answers that it did not bind.
        """
        *failed, way = tried
        if failed and self.bindings.get(prompt) != way:
            self._say(f"takes no {', no '.join(failed)} of {prompt}; its answers are bound by: {way}")
        self.ignored.update((prompt, other) for other in failed)
        self.bindings[prompt] = way
        if bound_it:
            self.proven.add(way)
        elif bound_it is False and way not in self.proven:
            self.missed[way] += 1
            if self.missed[way] >= MISSES and way != self.profile.bindings[-1]:
                self._say(f"ignores {way} of {prompt}")
                self.ignored.add((prompt, way))
                self.bindings.pop(prompt, None)

    def adapts(self, error: Any, sent: Mapping[str, Any]) -> bool:
        """Whether an error rejects a parameter that was sent; if so, later requests rename it or leave it out."""
        name, profile = rejected(error, sent), self.profile
        if name in profile.limits:
            self.profile = replace(profile, limits=tuple(limit for limit in profile.limits if limit != name))
        elif name and name not in profile.without:
            self.profile = replace(profile, without=(*profile.without, name))
        if self.profile != profile:
            renamed = f"it is sent as {self.profile.limits[0]}" if name in LIMITS and self.profile.limits else ""
            self._say(f"rejects {name}; {renamed or 'it is left out'}")
        return bool(name)

    def other(self, stated: str, fingerprint: str = "") -> str:
        """Note which model answered. Returns its name if it is not the one asked for, else ""."""
        other = "" if same_model(self.model, stated) else stated
        if other and other not in self.models:
            self._say(f"answers come from another model: {other}")
        self.models.add(stated)
        self.fingerprints.add(fingerprint)
        return other

    def record(self) -> dict[str, Any]:
        """The server's entry in a run's manifest."""
        return {
            "address": self.address,
            "model": self.model,
            "bindings": self.bindings,
            "models": sorted(self.models - {""}),
            "fingerprints": sorted(self.fingerprints - {""}),
            "limits": self.profile.limits,
            "without": self.profile.without,
        }

    def _say(self, message: str) -> None:
        progress.say(f"{self.address}: {self.model}: {message}")


_servers: dict[tuple[str, str, Profile], Server] = {}
_one_at_a_time = threading.Lock()


def server_of(address: str, model: str, start: Profile) -> Server:
    """This process's `Server` for an address, a model and a starting profile."""
    return _servers.setdefault((address, model, start), Server(address, model, start))


def _objection(client: Client, address: str, model: str) -> EndpointError | None:
    """The error that every question would meet; None if nothing points to one.

    The list of models is free and loads no model. Only if the model is not on it, one token is requested, since some
    servers answer for more models than they list.
    """
    import openai

    try:
        listed = body_json(client.body(lambda sdk: sdk.models.with_streaming_response.list(), LONGEST))
    except TimeoutError:
        return None
    except openai.APIConnectionError as error:
        cause = error.__cause__ or error
        if type(cause).__name__ not in ("ConnectTimeout", "ConnectError", "ProxyError", "UnsupportedProtocol"):
            return None  # there was a connection, and it broke
        return EndpointUnavailable(
            f"{address} cannot be reached: {str(cause) or type(cause).__name__}. Start the server, or set "
            "OPENAI_BASE_URL to the address of one that runs"
        )
    except openai.APIStatusError as error:
        if error.status_code not in (401, 403):  # with other statuses the server has no such list
            return None
        listed = None
    except BadBody:
        listed = None
    models = listed.get("data") if isinstance(listed, dict) else None
    names = [entry.get("id") for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []
    model_ids = [name for name in names if isinstance(name, str)]
    if model in model_ids:
        return None
    try:
        body = client.chat({"model": model, "messages": SMALL, "max_tokens": 1}, LONGEST)
    except openai.APIStatusError as error:
        # Only errors that hold for every question: a model that wants other options is there.
        refusal, status = refused(error, address), error.status_code
    except (openai.APIConnectionError, BadBody, TimeoutError):  # may be temporary: the first question will tell
        return None
    else:
        return only_pages(address) if is_page(body) else None
    if not isinstance(refusal, EndpointUnavailable):
        return None
    if status in (401, 403):
        return EndpointUnavailable(f"{refusal}. The key is what OPENAI_API_KEY holds")
    available = (
        f". It has: {', '.join(model_ids[:MOST_NAMES])}{', …' * (len(model_ids) > MOST_NAMES)}" if model_ids else ""
    )
    return EndpointUnavailable(f"{refusal}{available}{hint(model, model_ids)}")
