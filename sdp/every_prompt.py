"""Every prompt that SDP's operators ask, for checks of recordings."""

from __future__ import annotations

from collections.abc import Iterator

from lab.models.prompts import Prompt
from sdp.adapters.assistantbench import prompts as assistantbench
from sdp.adapters.multihop import labelled
from sdp.adapters.multihop import prompts as multihop
from sdp.adapters.scienceworld import prompts as scienceworld
from sdp.adapters.travelplanner import prompts as travelplanner


def every_prompt() -> Iterator[Prompt]:
    """Those of all benchmarks."""
    for module in (assistantbench, multihop, labelled, scienceworld, travelplanner):
        yield from (value for value in vars(module).values() if isinstance(value, Prompt))
