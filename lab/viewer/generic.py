"""The timeline of any episode: its calls one by one, and its result; an experiment may tell more (`Experiment`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from lab.models.usage import Cost
from lab.viewer.steps import Exchange, Step
from lab.viewer.timeline import Timeline

if TYPE_CHECKING:
    from lab.runs.run import Episode


def timeline(episode: Episode, exchanges: Sequence[Exchange] = ()) -> Timeline:
    """A step a call, then the result as it was kept, or the error that the agent failed with."""
    steps = [
        Step(title=exchange.operator, action=exchange.answer, exchanges=(exchange,), cost=exchange.cost)
        for exchange in exchanges
    ]
    if episode.error is None:
        last = Step(title="result", observation=episode.result)
    else:
        last = Step(title="failed", verdict=False, reason=cause(episode.error), observation=episode.error)
    return Timeline(title=episode.task, steps=(*steps, last))


def cause(error: str | None) -> str:
    """A traceback's last line; "" for none."""
    return (error or "").strip().rpartition("\n")[2].strip()


def dealt(exchanges: Sequence[Exchange], counts: Sequence[int]) -> list[tuple[Exchange, ...]]:
    """The exchanges of each step, by how many calls it made; none for all where the numbers do not add up."""
    if sum(counts) != len(exchanges):
        return [()] * len(counts)
    left: Iterator[Exchange] = iter(exchanges)
    return [tuple(next(left) for _ in range(count)) for count in counts]


def cost_of(exchanges: Sequence[Exchange]) -> Cost | None:
    """What they took together; None for none."""
    return sum((exchange.cost for exchange in exchanges), Cost()) if exchanges else None
