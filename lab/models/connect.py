"""Connect: from an engine string to the backbone that it selects, or to one backbone per operator (SDP, §6)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lab.machine.paths import answer_cache
from lab.models.backbone import Answer, Backbone
from lab.models.engines import NULL, Engine, joined, parse, said_of, split, with_others
from lab.models.prompt_sets import stamped
from lab.models.prompts import Prompt


def connect(engine: str, engines: Mapping[str, str] | None = None, **settings: Any) -> Backbone:
    """The backbone that an engine string selects.

    engines: operator -> engine that answers it instead, such as {"validate": "gpt-4o"}; only an experiment knows its
    operators. settings: `cache` for an endpoint or a local model (an AnswerCache, or None for no cache).
    Raises BadEngine for an invalid string.
    Raises MissingKey if an endpoint's key is not in the environment.
    Raises MissingRun if `replay:` names a folder without recorded answers.
    Raises MissingLocal if `local` lacks its package or model.
    """
    choice = parse(stamped(str(with_others(engine, engines or {}))))
    if not choice.routes:
        return _behind(choice, **settings)
    others = {operator: _behind(other, **settings) for operator, other in choice.routes.items()}
    return Routed(_behind(choice.of(""), **settings), others)


def _behind(choice: Engine, **settings: Any) -> Backbone:
    """The backbone of an engine without routes."""
    # Imported as needed: an offline run loads neither the client of endpoints nor OpenVINO.
    if choice.kind == "rules":
        from lab.models.rules import Rules

        return Rules(choice)
    if choice.kind == NULL:
        from lab.models.nulls import Null

        return Null(choice)
    if choice.kind == "replay":
        from lab.models.replay import Replay

        return Replay.of(choice)
    if choice.kind == "local":
        from lab.models import local

        return local.connect(choice, **settings)
    from lab.models.endpoint import Endpoint

    return Endpoint.of(choice, **settings)


def connected(engine: str) -> Backbone:
    """The backbone of an engine string, connected once per process. Raises as `connect` does."""
    # All that a notebook may change between two cells is part of the key: server, key and cache.
    server = os.environ.get("OPENAI_BASE_URL", ""), os.environ.get("OPENAI_API_KEY", "")
    return _connected(engine, server, answer_cache())


@cache
def _connected(engine: str, server: tuple[str, str], cached: Path) -> Backbone:
    return connect(engine)


class Routed:
    """A backbone that routes a prompt by its operator (case-insensitive) to one of `others`, by default to `rest`.

    engine: the combined engine, for labels and evidence. address: for manifests; names addresses that differ from the
    address of `rest`. tasks: tasks that all recordings among the backbones contain.
    """

    def __init__(self, rest: Backbone, others: Mapping[str, Backbone]) -> None:
        self.rest, self.others = rest, {operator.lower(): other for operator, other in others.items()}
        # A recording may have several engines itself; take the one that answers this operator.
        self.engine = rest.engine.with_others({name: other.engine.of(name) for name, other in self.others.items()})
        default, parts = split(address_of(rest))
        parts |= {name: said_of(address_of(other), name) for name, other in self.others.items()}
        self.address = joined(default, {name: part for name, part in parts.items() if part != default})
        task_sets = [set(tasks) for backbone in (rest, *others.values()) if (tasks := getattr(backbone, "tasks", ()))]
        self.tasks = sorted(set.intersection(*task_sets)) if task_sets else []

    def ask(self, prompt: Prompt, sample: int = 0, **fields: Any) -> Answer:
        """Raises what the operator's own backbone raises."""
        return self._of(prompt).ask(prompt, sample=sample, **fields)

    def request(self, prompt: Prompt, sample: int = 0, **fields: Any) -> str:
        """The request hash of the operator's own backbone."""
        return self._of(prompt).request(prompt, sample=sample, **fields)

    def try_out(self) -> None:
        """Try every server among the backbones. Raises EndpointUnavailable."""
        for backbone in (self.rest, *self.others.values()):
            if hasattr(backbone, "try_out"):
                backbone.try_out()

    @property
    def served(self) -> list[dict[str, Any]]:
        """What is known about each server among the backbones."""
        backbones = (self.rest, *self.others.values())
        return [record for backbone in backbones for record in getattr(backbone, "served", [])]

    def _of(self, prompt: Prompt) -> Backbone:
        return self.others.get(prompt.operator.lower(), self.rest)


def address_of(backbone: Backbone) -> str:
    """Where the answers come from, for a manifest: an endpoint's address, a local model's hash, else "rules"."""
    return getattr(backbone, "address", "rules")
