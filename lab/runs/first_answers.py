"""Whether a model's answers can be read: of a run at its beginning, and of each episode at its end.

A run most of whose first ten answers are malformed is stopped: its model or its server needs another setting, and
every further answer would be lost. Of a run that goes on, malformed answers are failures of the agent, as an agent of a
weak model has many. Only an episode of ten answers or more that are malformed but for a tenth is not measured: that is
what a server does that broke meanwhile. A recording counts as it was recorded, whatever it has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from lab.machine.faults import Unavailable
from lab.machine.printing import visible
from lab.machine.secrets import redact
from lab.models.backbone import RULES_PATHS
from lab.results.outcomes import Readings

FIRST = 10  # answers of a run that decide whether it goes on; an episode of fewer has failed, whatever their share
MOST_OF_FIRST = 0.5  # malformed share of a run's first answers above which it stops
MOST_OF_EPISODE = 0.9  # malformed share of an episode's answers above which it is not measured
LONGEST = 400  # characters of a raw reply in a message
NO_ANSWERS = (*RULES_PATHS, "failed")  # paths of calls that no model answered
HINT = (
    "See what it answers with: python -m lab try ENGINE. Then raise max_tokens where replies end early, set schema=off "
    "where the server does not bind answers to a schema, or take another model"
)


class FirstAnswers:
    """Counts a run's first answers by how they were read."""

    def __init__(self, paths: Iterable[str] = ()) -> None:
        self.paths = list(paths)

    def add_usage(self, usage: Any) -> None:
        """Count an episode's answers, from its usage by operator; what books something else has none."""
        for path in Counter(paths_of(usage)).elements():
            if path not in NO_ANSWERS and not self.complete:
                self.paths.append(path)

    @property
    def complete(self) -> bool:
        return len(self.paths) >= FIRST

    @property
    def unreadable(self) -> bool:
        first = self.paths[:FIRST]
        return self.complete and first.count("malformed") > MOST_OF_FIRST * FIRST


def paths_of(usage: Any) -> dict[str, int]:
    """How often each path was taken, of an episode's usage by operator (`lab.models.backbone.by_operator`)."""
    total: dict[str, int] = {}
    for part in usage.values() if isinstance(usage, Mapping) else ():
        for path, count in (part.get("paths") or {}).items() if isinstance(part, Mapping) else ():
            total[path] = total.get(path, 0) + count
    return total


def unreadable(answers: Iterable[Mapping[str, Any]]) -> Unavailable:
    """The error that stops a run, with one of the replies. answers: those that were recorded."""
    raw = next((answer["said"] for answer in answers if answer.get("said")), "")
    quoted = visible(redact(raw[:LONGEST])) + ("…" if len(raw) > LONGEST else "")
    reply = f"One of them: {quoted!r}. " if raw else ""
    return Unavailable(f"Most of the first {FIRST} answers cannot be read, so the run stops. {reply}{HINT}")


def readings(usages: Iterable[Any]) -> Readings | None:
    """How the answers of episodes were read; None where no model gave any."""
    usages = list(usages)
    paths: Counter[str] = sum((Counter(paths_of(usage)) for usage in usages), Counter())
    count = sum(times for path, times in paths.items() if path not in NO_ANSWERS)
    parts = (part for usage in usages if isinstance(usage, Mapping) for part in usage.values())
    truncated = sum(part.get("truncated", 0) for part in parts if isinstance(part, Mapping))
    if not count:
        return None
    shares = (paths["malformed"], truncated, paths["repaired"] + paths["reasked"])
    return Readings(count, *(100 * share / count for share in shares))


def unread(usage: Any) -> str:
    """Why an episode measures nothing: hardly one of its answers, of at least FIRST, could be read; else "".

    usage: by operator, or what an experiment of one's own books.
    """
    counts = {path: count for path, count in paths_of(usage).items() if path not in NO_ANSWERS}
    total, bad = sum(counts.values()), counts.get("malformed", 0)
    if total < FIRST or bad <= MOST_OF_EPISODE * total:
        return ""
    return f"{bad} of {total} answers of the episode could not be read. {HINT}"
