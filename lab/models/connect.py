"""Connecting: from an engine string to the backbone behind it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from lab.machine.paths import answer_cache
from lab.models.backbone import Backbone
from lab.models.engines import NULL, Engine, with_others


def connect(engine: str, engines: Mapping[str, str] | None = None, **settings: Any) -> Backbone:
    """The backbone behind an engine string.

    engines: who answers single operators instead, by their name, such as {"validate": "gpt-4o"}; which operators there
    are, only an experiment knows. settings: `cache` for an endpoint or a local model (an AnswerCache, or None for no
    cache).
    Raises BadEngine for a string that means nothing, MissingKey if an endpoint's key is not in the environment,
    MissingRun if `replay:` names a folder without recorded answers, MissingLocal if `local` lacks its package or model.
    """
    choice = with_others(engine, engines or {})
    if not choice.routes:
        return _behind(choice, **settings)
    from lab.models.routed import Routed

    others = {operator: _behind(other, **settings) for operator, other in choice.routes.items()}
    return Routed(_behind(choice.of(""), **settings), others)


def _behind(choice: Engine, **settings: Any) -> Backbone:
    """The backbone of an engine without others for single operators."""
    # Imported by kind: an offline run loads neither the client of endpoints nor llama.cpp.
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
