"""Stand-ins: modules that answer prompts offline in a model's place. No method imports them; packages name theirs.

    [project.entry-points."lab.standins"]
    procllm = "procllm.rules.agent"          # for every prompt whose name begins with "procllm."

Such a module registers rules and noise where it is imported (`lab.models.rules`, `lab.models.noise`), which happens
when one of its prompts is first asked of the engine `rules` or `oracle`.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

GROUP = "lab.standins"


@cache
def load(prompt: str) -> None:
    """Import what stands in for a prompt, by its name. Raises ImportError of what cannot load."""
    for point in _known():
        if f"{prompt}.".startswith(f"{point.name}."):
            point.load()


@cache
def _known() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))
