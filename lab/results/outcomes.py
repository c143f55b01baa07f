"""Outcomes of episodes: scored, failed by the agent, or not measured because the machine failed.

    scored         it ran to its end, and its result is scored
    failed         the agent failed it: malformed or refused answers, a prompt that fits no context; it scores 0
    not measured   the endpoint, a world, the sandbox or the operating system failed; it is no result at all

The first two count. What was not measured is played again the next time the run is opened. Until then it stands beside
the headline, which it bounds: what the value would be if all of it had scored 0, and if all of it had scored 1.
"""

from __future__ import annotations

from typing import NamedTuple


class Readings(NamedTuple):
    """How a model's answers were read. answers: how many; the rest are shares of them, in percent.

    malformed: could not be read. truncated: ended at the limit of tokens. repaired: needed repair, or were asked again.
    """

    answers: int
    malformed: float
    truncated: float
    repaired: float

    def __str__(self) -> str:
        shares = ", ".join(f"{getattr(self, name):.1f} % {name}" for name in self._fields[1:])
        return f"{self.answers:,} answers: {shares}"


class Outcomes(NamedTuple):
    """How the episodes behind a number came out. n: those that count. failed: those of them that the agent failed.

    readings: of their answers, where a model was asked.
    """

    n: int
    failed: int = 0
    not_measured: int = 0
    readings: Readings | None = None

    def bounds(self, total: float, n: int, top: float = 1.0) -> tuple[float, float] | None:
        """The lowest and the highest mean that what was not measured leaves open; None where there is none.

        total, n: the sum of the scores that count, and how many they are. top: the highest score; the lowest is 0.
        """
        if not self.not_measured:
            return None
        # n, not self.n: a metric may be taken over fewer episodes than were played.
        everything = n + self.not_measured
        return total / everything, (total + top * self.not_measured) / everything

    def __str__(self) -> str:
        scored = self.n - self.failed
        return f"{scored} scored, {self.failed} failed, {self.not_measured} not measured"


class Judged(NamedTuple):
    """What one episode came to. score: in [0, 1], None where a single episode has none. reason: why it is not 1."""

    score: float | None
    reason: str = ""


class Score(NamedTuple):
    """One value that a run's headline is the mean of.

    of: the task, or what several episodes are about together, such as a pair. value: 0 or 1, or in a unit of its own.
    why: what kept it from the best, in words that recur, so that they can be counted. part: what the run compares
    within itself, such as a condition; "" where there is nothing. stratum: each counts the same in the mean, however
    many values it has, such as a domain. episodes: the tasks that it rests on; () is `of` itself.
    """

    of: str
    value: float
    why: str = ""
    part: str = ""
    stratum: str = ""
    episodes: tuple[str, ...] = ()

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks of its episodes."""
        return self.episodes or (self.of,)
