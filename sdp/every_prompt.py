"""Every prompt of SDP's operators, for checks of recordings, and an example of each operator for `lab try`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.models.prompts import Prompt
from sdp.adapters.assistantbench import prompts as assistantbench
from sdp.adapters.multihop import labelled
from sdp.adapters.multihop import prompts as multihop
from sdp.adapters.scienceworld import prompts as scienceworld
from sdp.adapters.travelplanner import prompts as travelplanner


def every_prompt() -> Iterator[Prompt]:
    """The prompts of all benchmarks."""
    for module in (assistantbench, multihop, labelled, scienceworld, travelplanner):
        yield from (value for value in vars(module).values() if isinstance(value, Prompt))


def examples() -> Iterator[tuple[Prompt, dict[str, Any]]]:
    """An example prompt of each operator with its fields, on synthetic text."""
    question = "In which year was the harbour of the town opened in which the painter Ada Lorn was born?"
    yield multihop.DECOMPOSE, {"question": question, "count": 2, "found": [], "planned": [], "single": False}
    options = [
        {"number": 1, "text": "Hill Hostel, shared room, 2 guests", "cost": 90},
        {"number": 2, "text": "Lake Inn, entire home, 3 guests", "cost": 210},
    ]
    yield travelplanner.SELECT, {
        "trip": "Two people, three days in Norwick, budget $600", "decided": ["Day 1: flight F12 for $240"],
        "target": "The stay is in an entire home for two", "slot": "stay in Norwick", "left": 360,
        "wanted": ["room type: entire home"], "options": options, "failures": [],
    }  # fmt: skip
    hop = {"title": "Ada Lorn", "text": "Ada Lorn (1850-1911) was a painter. She was born in Port Elm."}
    yield multihop.VERIFY, {**hop, "asked": "Where was Ada Lorn born?", "finding": "Port Elm"}
    result = {"number": 1, "query": "Port Elm harbour", "host": "elm.example", "state": "unread"}
    yield assistantbench.REPLAN, {
        "question": question, "found": [{"goal": "birthplace", "items": ["Port Elm"], "forced": False}],
        "kind": "collect", "goal": "the year in which the harbour of Port Elm was opened",
        "results": [{**result, "title": "Port Elm: history", "snippet": "The harbour was opened in …"}],
        "tried": ["Port Elm"], "refused": [{"items": ["1811"], "reason": "no page says so"}],
    }  # fmt: skip
