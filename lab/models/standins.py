"""Stand-ins: modules that answer prompts offline in a model's place. Nothing imports them; they are entry points.

    [project.entry-points."lab.standins"]
    procllm = "standins.procllm.agent"          # for every prompt whose name begins with "procllm."

Such a module registers rules, noise and oracles where it is imported (`lab.models.rules`, `lab.models.noise`), which
happens when one of its prompts is first asked of the engine `rules` or `oracle`.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points

GROUP = "lab.standins"


@cache
def load(name: str) -> None:
    """Import what stands in for a prompt or an oracle of that name, if it is installed. Raises ImportError."""
    for point in _known():
        if f"{name}.".startswith(f"{point.name}."):
            try:
                point.load()
            except ModuleNotFoundError as error:
                # The whole package may be left out; a module that it lacks is a mistake.
                if error.name != point.module.partition(".")[0]:
                    raise


@cache
def _known() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))
