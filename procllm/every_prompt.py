"""Every prompt that ProcLLM asks, for checks of recordings."""

from __future__ import annotations

from collections.abc import Iterator

from lab.models.prompts import Prompt
from procllm.generation import PLANNING
from procllm.prompts import ACTING, VERIFYING


def every_prompt() -> Iterator[Prompt]:
    """The acting model's, the verifying model's, and that for LLM-TN's networks."""
    yield from (ACTING, VERIFYING, PLANNING)
