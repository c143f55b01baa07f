"""Servers of models: where one is, whether it answers for a model, and what it takes of a request.

The last is negotiated once a process for each server and model: an answer is bound to its schema by the strictest way
that the server takes, and a parameter that it rejects is left out. A preset (presets.yaml) or the engine option
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
STOP, NO_STOP, FREE = "stop", "no stop", "free"  # of free text: is it bound by the texts at which it ends, if any?
LIMITS = ("max_tokens", "max_completion_tokens")  # names of the token limit
MISSES = 2  # answers in another form after which a way that has bound none counts as ignored; one may be a model's slip
NOT_TAKEN = (400, 404, 422, 500, 501)  # what servers say to a binding that they do not take
REJECTS = re.compile(r"(un|not |n't )support|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed)", re.IGNORECASE)
SUFFIXES = re.compile(r"([-@:]\d{3,}[-\d]*|[-.:]i?q\d\w*|@\w+)*")  # of snapshots, files, revisions
LONGEST = 4.0  # seconds that one try of `Server.try_out` may take
SMALL = [{"role": "user", "content": "Answer with OK."}]  # what finds out whether a server answers at all
MOST_NAMES = 8  # of models that a message lists


class MissingKey(Unavailable):
    """An endpoint was chosen, and the environment has neither an address nor a usable key for it."""


def stated_address(who: str, instead: str, usual: str = "") -> str:
    """OPENAI_BASE_URL, or OpenAI's own address where there is a key alone.

    who, instead, usual: for the message. Raises MissingKey if neither is set, ValueError for what is no address.
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

    options: the engine's. Raises MissingKey where a header names a variable that is not set.
    """

    def held(name: str, value: str) -> str:
        """The value of a header or of a query, of the variable that it names if it names one."""
        if value.startswith("$") and not os.environ.get(value[1:], "").strip():
            raise MissingKey(f"{name} is to hold {value}, and no environment variable of that name is set")
        return os.environ[value[1:]].strip() if value.startswith("$") else value

    stated = os.environ.get("OPENAI_BASE_URL", "").strip()
    return {
        # The environment's address may carry what the cleaned one must not, unless it has changed since.
        "base_url": stated if clean_address(stated) == address else address,
        "api_key": os.environ.get("OPENAI_API_KEY", "").strip() or "none",  # the SDK wants a word
        "default_headers": {name: held(name, value) for name, value in options.get("headers", {}).items()},
        "default_query": {name: held(name, value) for name, value in options.get("query", {}).items()},
    }


@dataclass(frozen=True, slots=True)
class Profile:
    """bindings: ways to bind an answer, in the order in which they are tried. limits: the same of the token limit's
    names. without: parameters that are left out.
    """

    bindings: tuple[str, ...] = BINDINGS
    limits: tuple[str, ...] = LIMITS
    without: tuple[str, ...] = ()

    @classmethod
    def first(cls, options: Mapping[str, Any], bindings: tuple[str, ...] = BINDINGS) -> Profile:
        """The one with which the negotiation starts. options: an engine's. bindings: without a preset."""
        limits = LIMITS[::-1] if "reasoning_effort" in options else LIMITS  # what reasoning models call it
        preset = presets()[options["preset"]].get("profile", {}) if "preset" in options else {}
        stated = {"bindings": bindings, "limits": limits} | {name: tuple(value) for name, value in preset.items()}
        if forced := options.get("schema"):
            stated["bindings"] = (TEXT if forced == "off" else forced,)
        return cls(**stated)

    def adapted(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of a request as the server takes them."""
        limit = next(iter(self.limits), "")
        named = {limit if name in LIMITS else name: value for name, value in arguments.items()}
        return {name: value for name, value in named.items() if name and name not in self.without}


def bound(way: str, prompt: Prompt) -> dict[str, Any]:
    """The parameters that bind the answer to a prompt."""
    name, schema = re.sub(r"\W", "_", prompt.name), prompt.schema
    tool = {"name": name, "description": "Gives the answer.", "parameters": schema}
    form = {"name": name, "schema": schema, "strict": True}
    ways: dict[str, dict[str, Any]] = {
        SCHEMA: {"response_format": {"type": "json_schema", "json_schema": form}},
        TOOL: {
            "tools": [{"type": "function", "function": tool}],
            "tool_choice": {"type": "function", "function": {"name": name}},
        },
        OBJECT: {"response_format": {"type": "json_object"}},  # prompts name the keys in any case
        STOP: {"stop": list(prompt.stop)},
    }
    return ways.get(way, {})


def rejected(error: Any, sent: Mapping[str, Any]) -> str:
    """The parameter, of those sent, that a status error rejects; "" where it rejects none."""
    message = str(getattr(error, "message", error))[:500]
    if error.status_code not in (400, 422) or not REJECTS.search(f"{error.code} {message}"):
        return ""
    names = [name for name in sent if name not in ("response_format", "tools", "tool_choice")]
    named = (name for name in names if re.search(rf"\b{re.escape(name)}\b", message))
    return error.param if error.param in names else next(named, "")


def same_model(wanted: str, stated: str) -> bool:
    """Whether an answer's model is the one asked for: paths, dates and file suffixes make no other model."""
    short, long = (re.sub(r".*/|[-:]latest$|\.gguf$", "", name.lower()) for name in (wanted, stated))
    return not stated or (long.startswith(short) and bool(SUFFIXES.fullmatch(long, len(short))))


@dataclass(eq=False)
class Server:
    """What this process knows of a model at an address. Threads share it: a change is one assignment.

    bindings: prompt -> what binds its answers. proven: what has bound one; missed: what was taken and has bound none ->
    how often; ignored: prompts, and bindings that they go without. models, fingerprints: those that answers state.
    there: it was found to answer for the model.
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
        """Ask once a process whether this server answers for this model; a server that is slow or cannot tell passes.

        Asked within seconds, while a question would be repeated for as long as the patience lasts.
        Raises EndpointUnavailable where there is no connection, no permission, no such model, or a web page for an
        answer.
        """
        with _one_at_a_time:
            # Raised outside the handler of the SDK's error: no context that holds the request, and with it the key.
            if not self.there and (error := _objection(client, self.address, self.model)):
                raise error
            self.there = True

    def ways(self, prompt: Prompt) -> tuple[str, ...]:
        """The ways to bind a prompt's answer, in the order in which they are tried.

        One prompt's fall may be the fault of its schema; after two, the others start with the strictest that was taken.
        """
        ways = self.profile.bindings
        if prompt.free:
            ways = (STOP, NO_STOP) if prompt.stop else (FREE,)
        taken = [ways.index(way) for way in self.bindings.values() if way in ways]
        first = self.bindings.get(prompt.name, "")
        start = ways.index(first) if first in ways else min(taken) if len(taken) > 1 else 0
        left = tuple(way for way in ways[start:] if (prompt.name, way) not in self.ignored) or ways[-1:]
        # Of a prompt that was answered, the loosest alone tells whether a request is wrong in itself.
        return (left[0], *left[1:][-1:]) if first else left

    def takes(self, prompt: str, tried: tuple[str, ...], bound_it: bool | None) -> None:
        """Keep what binds a prompt's answers: the last way that was tried; the others the server did not take.

        bound_it: whether the answer was bound by it, None where it does not tell. Some servers take what they ignore:
        one that has bound no answer by a way, and missed MISSES, is asked by the next.
        """
        *before, way = tried
        if before and self.bindings.get(prompt) != way:
            self._say(f"takes no {', no '.join(before)} of {prompt}; its answers are bound by: {way}")
        self.ignored.update((prompt, other) for other in before)
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
        """Whether an error rejects a parameter that was sent; it is renamed or left out from then on."""
        name, was = rejected(error, sent), self.profile
        if name in was.limits:
            self.profile = replace(was, limits=tuple(limit for limit in was.limits if limit != name))
        elif name and name not in was.without:
            self.profile = replace(was, without=(*was.without, name))
        if self.profile != was:
            renamed = f"it is sent as {self.profile.limits[0]}" if name in LIMITS and self.profile.limits else ""
            self._say(f"rejects {name}; {renamed or 'it is left out'}")
        return bool(name)

    def other(self, stated: str, fingerprint: str = "") -> str:
        """Note which model answered; its name where that is not the one asked for, else ""."""
        other = "" if same_model(self.model, stated) else stated
        if other and other not in self.models:
            self._say(f"answers come from another model: {other}")
        self.models.add(stated)
        self.fingerprints.add(fingerprint)
        return other

    def record(self) -> dict[str, Any]:
        """What a run's manifest keeps of it."""
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
    """What this process knows of a server for which the negotiation started so."""
    return _servers.setdefault((address, model, start), Server(address, model, start))


def _objection(client: Client, address: str, model: str) -> EndpointError | None:
    """Why every question would fail, None where nothing says so.

    The list of models costs nothing and needs no model to be loaded; only where it says no, one token is asked for,
    since some servers answer for more models than they list.
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
        if error.status_code not in (401, 403):  # others have no such list
            return None
        listed = None
    except BadBody:
        listed = None
    models = listed.get("data") if isinstance(listed, dict) else None
    names = [entry.get("id") for entry in models if isinstance(entry, dict)] if isinstance(models, list) else []
    there = [name for name in names if isinstance(name, str)]
    if model in there:
        return None
    try:
        body = client.chat({"model": model, "messages": SMALL, "max_tokens": 1}, LONGEST)
    except openai.APIStatusError as error:
        # Only what would hold for every question; a model that wants other options is there.
        refusal, status = refused(error, address), error.status_code
    except (openai.APIConnectionError, BadBody, TimeoutError):  # it may pass: the first question will tell
        return None
    else:
        return only_pages(address) if is_page(body) else None
    if not isinstance(refusal, EndpointUnavailable):
        return None
    if status in (401, 403):
        return EndpointUnavailable(f"{refusal}. The key is what OPENAI_API_KEY holds")
    has = f". It has: {', '.join(there[:MOST_NAMES])}{', …' * (len(there) > MOST_NAMES)}" if there else ""
    return EndpointUnavailable(f"{refusal}{has}{hint(model, there)}")
