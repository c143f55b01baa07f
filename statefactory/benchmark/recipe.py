"""The parameters of a domain's trajectory pairs: labelling rule, seed, and limits of rejection sampling."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from statefactory.benchmark.labels import Rule

BEGINNINGS = 50
NEGATIVES = 5000
SEGMENT = 2


@dataclass(frozen=True, slots=True)
class Recipe:
    """How pairs of one domain are made.

    admissible: whether an action that is not among the world's valid ones counts as refused; refusals: how the world's
    words begin where it refuses one. beginnings: random beginnings of one length drawn before a shorter one is taken;
    negatives: random trajectories drawn before giving up. segment: so many consecutive actions shared with the expert
    make a random trajectory no negative.
    """

    domain: str
    rule: Rule
    seed: int
    admissible: bool = True
    refusals: tuple[str, ...] = ()
    beginnings: int = BEGINNINGS
    negatives: int = NEGATIVES
    segment: int = SEGMENT

    def random(self, task: str, what: str, attempt: int = 0) -> Random:
        """A generator for one purpose, seeded by these values alone: a pair is the same in any order and process."""
        return Random(f"{self.domain}|{task}|{self.seed}|{what}|{attempt}")
