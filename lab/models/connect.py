"""Connecting: from an engine string to the backbone behind it, or to several, one an operator (SDP, §6)."""

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
    """The backbone behind an engine string.

    engines: who answers single operators instead, by their name, such as {"validate": "gpt-4o"}; which operators there
    are, only an experiment knows. settings: `cache` for an endpoint or a local model (an AnswerCache, or None for no
    cache).
    Raises BadEngine for a string that means nothing, MissingKey if an endpoint's key is not in the environment,
    MissingRun if `replay:` names a folder without recorded answers, MissingLocal if `local` lacks its package or model.
    """
    choice = parse(stamped(str(with_others(engine, engines or {}))))
    if not choice.routes:
        return _behind(choice, **settings)
    others = {operator: _behind(other, **settings) for operator, other in choice.routes.items()}
    return Routed(_behind(choice.of(""), **settings), others)


def _behind(choice: Engine, **settings: Any) -> Backbone:
    """The backbone of an engine without others for single operators."""
    # Imported by kind: an offline run loads neither the client of endpoints nor OpenVINO.
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
    """The backbone of an engine string, connected once a process; raises as `connect` does."""
    # By address and cache, too: a notebook may change OPENAI_BASE_URL or LAB_CACHE between two cells.
    return _connected(engine, os.environ.get("OPENAI_BASE_URL", ""), answer_cache())


@cache
def _connected(engine: str, address: str, cached: Path) -> Backbone:
    return connect(engine)


class Routed:
    """A backbone that has each prompt answered by the backbone of its operator, in any case; by `rest` without one.

    engine: of all of them, for labels and evidence. address: for manifests, with the parts that differ. tasks: those
    that every recording among them holds.
    """

    def __init__(self, rest: Backbone, others: Mapping[str, Backbone]) -> None:
        self.rest, self.others = rest, {operator.lower(): other for operator, other in others.items()}
        # Of a recording's own parts, the one that answers this operator.
        self.engine = rest.engine.with_others({name: other.engine.of(name) for name, other in self.others.items()})
        whole, parts = split(address_of(rest))
        parts |= {name: said_of(address_of(other), name) for name, other in self.others.items()}
        self.address = joined(whole, {name: part for name, part in parts.items() if part != whole})
        held = [set(tasks) for backbone in (rest, *others.values()) if (tasks := getattr(backbone, "tasks", ()))]
        self.tasks = sorted(set.intersection(*held)) if held else []

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
        """What is known of every server among the backbones."""
        backbones = (self.rest, *self.others.values())
        return [record for backbone in backbones for record in getattr(backbone, "served", [])]

    def _of(self, prompt: Prompt) -> Backbone:
        return self.others.get(prompt.operator.lower(), self.rest)


def address_of(backbone: Backbone) -> str:
    """Where the answers come from, for a manifest: an endpoint's address, a local model's hash, else "rules"."""
    return getattr(backbone, "address", "rules")
