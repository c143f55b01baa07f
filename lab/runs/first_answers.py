"""Checks whether a model's answers can be read: for a run after its first answers, and for each episode at its end.

If most of a run's first ten answers are malformed, the run stops: the model or its server needs another setting, and
further answers would be wasted. Later, malformed answers count as failures of the agent: weak models give many. Only
an episode with at least ten answers, over 90 % of them malformed, is not measured: then the server has probably broken.
The engine `local` has none. Replayed recordings are not checked.
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

FIRST = 10  # answers that decide whether a run continues; an episode with fewer answers is always measured
MOST_OF_FIRST = 0.5  # share of malformed answers among a run's first ones above which it stops
MOST_OF_EPISODE = 0.9  # share of malformed answers in an episode above which it is not measured
LONGEST = 400  # characters of a raw reply in a message
NO_ANSWERS = (*RULES_PATHS, "failed")  # paths of calls that no model answered
HINT = (
    "See what it answers with: python -m lab try ENGINE. Then raise max_tokens where replies end early, set schema=off "
    "where the server does not bind answers to a schema, or take another model"
)


class FirstAnswers:
    """Collects how a run's first answers were read. served: by a server, which can break during a run."""

    def __init__(self, paths: Iterable[str] = (), served: bool = True) -> None:
        self.paths, self.served = list(paths), served

    def add_usage(self, usage: Any) -> None:
        """Count an episode's answers, from its usage by operator. Usage of another form has no answers."""
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
    """Parse path -> number of answers, from an episode's usage by operator (`lab.models.backbone.by_operator`)."""
    total: dict[str, int] = {}
    for part in usage.values() if isinstance(usage, Mapping) else ():
        for path, count in (part.get("paths") or {}).items() if isinstance(part, Mapping) else ():
            total[path] = total.get(path, 0) + count
    return total


def unreadable(answers: Iterable[Mapping[str, Any]]) -> Unavailable:
    """The error that stops a run; it quotes one raw reply. answers: the recorded ones."""
    raw = next((answer["said"] for answer in answers if answer.get("said")), "")
    quoted = visible(redact(raw[:LONGEST])) + ("…" if len(raw) > LONGEST else "")
    reply = f"One of them: {quoted!r}. " if raw else ""
    return Unavailable(f"Most of the first {FIRST} answers cannot be read, so the run stops. {reply}{HINT}")


def readings(usages: Iterable[Any]) -> Readings | None:
    """How the answers of episodes were read; None if no model answered."""
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
    """Why an episode is not measured: nearly all of its answers, of at least FIRST, are malformed; else "".

    usage: by operator, or in another form of the user's own experiment.
    """
    counts = {path: count for path, count in paths_of(usage).items() if path not in NO_ANSWERS}
    answers, malformed = sum(counts.values()), counts.get("malformed", 0)
    if answers < FIRST or malformed <= MOST_OF_EPISODE * answers:
        return ""
    return f"{malformed} of {answers} answers of the episode could not be read. {HINT}"
