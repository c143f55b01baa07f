"""Profiles: what a server takes of a request, negotiated once a process for each server and model.

An answer is bound to its schema by the strictest way that the server takes, and a parameter that it rejects is left
out. A preset (presets.yaml) or the engine option `schema` says where the negotiation starts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from lab.machine import progress, yaml12
from lab.models.prompts import Prompt

SCHEMA, TOOL, OBJECT, TEXT = BINDINGS = ("json_schema", "tool", "json_object", "text")  # from strict to loose
STOP, NO_STOP, FREE = "stop", "no stop", "free"  # of free text: is it bound by the texts at which it ends, if any?
LIMITS = ("max_tokens", "max_completion_tokens")  # names of the token limit
MISSES = 2  # answers in another form after which a way that has bound none counts as ignored; one may be a model's slip
NOT_TAKEN = (400, 404, 422, 500, 501)  # what servers say to a binding that they do not take
REJECTS = re.compile(r"(un|not |n't )support|unrecogni[sz]ed|unknown|unexpected|not (permitted|allowed)", re.IGNORECASE)
SUFFIXES = re.compile(r"([-@:]\d{3,}[-\d]*|[-.:]i?q\d\w*|@\w+)*")  # of snapshots, files, revisions


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


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """Name -> facts about a kind of server: its address, options of the engine, and a profile."""
    return yaml12.load(Path(__file__).with_name("presets.yaml").read_text(encoding="utf-8"))


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

    def answered(self, prompt: str, tried: tuple[str, ...], bound_it: bool) -> None:
        """Note whether an answer was bound by the last way that was tried.

        Some servers take what they ignore. One that has bound no answer by it, and missed MISSES, is asked by the next.
        """
        way = tried[-1]
        if bound_it:
            self.proven.add(way)
        elif way not in self.proven:
            self.missed[way] += 1
            if self.missed[way] >= MISSES and way != self.profile.bindings[-1]:
                self._say(f"ignores {way} of {prompt}")
                self.ignored.update((prompt, other) for other in tried)
                self.bindings.pop(prompt, None)

    def takes(self, prompt: str, binding: str, before: tuple[str, ...] = ()) -> None:
        """Keep what binds a prompt's answers. before: what the server did not take."""
        if before and self.bindings.get(prompt) != binding:
            self._say(f"takes no {', no '.join(before)} of {prompt}; its answers are bound by: {binding}")
        self.ignored.update((prompt, way) for way in before)
        self.bindings[prompt] = binding

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
        known = asdict(self) | asdict(self.profile) | {"bindings": self.bindings}
        for name in ("profile", "proven", "missed", "ignored"):
            del known[name]
        return {name: sorted(value - {""}) if isinstance(value, set) else value for name, value in known.items()}

    def _say(self, message: str) -> None:
        progress.say(f"{self.address}: {self.model}: {message}")


_servers: dict[tuple[str, str, Profile], Server] = {}


def server_of(address: str, model: str, start: Profile) -> Server:
    """What this process knows of a server for which the negotiation started so."""
    return _servers.setdefault((address, model, start), Server(address, model, start))
