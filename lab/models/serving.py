"""What a local model is loaded with."""

from __future__ import annotations

from typing import NamedTuple

from lab.models.engines import LLAMA


class Serving(NamedTuple):
    """What a model is loaded with. context: tokens. threads: of the computation."""

    model: str
    context: int
    threads: int
    runtime: str = LLAMA
