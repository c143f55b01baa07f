"""How a positive trajectory is padded with random steps and how its steps are labelled, domain by domain.

The metric and the data's shape are published; the code that generated the data is not. Each rule says what the paper
states (known) and what was chosen because it gives the paper's monotonic baseline (fitted).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

MOST_RANDOM_STEPS = 3  # Appendix A.1: k is between 0 and 3

Sides = Literal["both", "cut", "before", "none"]  # of a positive, that random steps are added at


class Padding(NamedTuple):
    """How many random steps stand before and after the expert's."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of one domain.

    sides: where the k random steps stand: at "both" ends; "cut", the same without those after success, where the world
    has ended; all "before"; or "none" at all.
    expert: what an expert step is worth, "linear" t/T for step t of T, or "native", the world's own score.
    after: what a random step after success is worth, "kept" 1.0, "native", or "zero".
    negative: what a step of the random policy is worth, "zero" or "native" (clipped to [0, 1]).
    known: what the paper or its code states. fitted: what was chosen, and what it was fitted to.
    """

    sides: Sides
    expert: Literal["linear", "native"]
    after: Literal["kept", "native", "zero"]
    negative: Literal["zero", "native"]
    known: str
    fitted: str

    def draw(self, random: Random) -> Padding:
        """k ~ U{0..3} random steps in total, U{0..k} of them before, the rest after; then what `sides` makes of it."""
        # In total: drawn for each end by itself, AlfWorld's monotonic baseline is .519 and not .532.
        total = random.randint(0, MOST_RANDOM_STEPS)
        before = random.randint(0, total)
        sides = {
            "both": Padding(before, total - before), "cut": Padding(before, 0), "before": Padding(total, 0),
            "none": Padding(0, 0),
        }  # fmt: skip
        return sides[self.sides]

    def shaped_positive(self, native: Sequence[float], padding: Padding) -> list[float]:
        """The ground truth of a positive. native: the world's score after each step, random ones included."""
        clipped = [clip(score) for score in native]
        if self.expert == "native":
            return clipped
        steps = len(clipped) - padding.before - padding.after
        linear = [step / steps for step in range(1, steps + 1)]
        last = clipped[padding.before + steps :]
        after = {"native": last, "kept": [1.0] * len(last), "zero": [0.0] * len(last)}
        return [0.0] * padding.before + linear + after[self.after]

    def shaped_negative(self, native: Sequence[float]) -> list[float]:
        """The ground truth of a negative."""
        return [clip(score) if self.negative == "native" else 0.0 for score in native]


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
    beginnings: int = 50
    negatives: int = 5000
    segment: int = 2

    def random(self, task: str, what: str, attempt: int = 0) -> Random:
        """A generator for one purpose, seeded by these values alone: a pair is the same in any order and process."""
        return Random(f"{self.domain}|{task}|{self.seed}|{what}|{attempt}")


def clip(score: float) -> float:
    """A score within [0, 1]; ScienceWorld's -100 of a failed task becomes 0 (Appendix A.3)."""
    return min(max(float(score), 0.0), 1.0)


_KNOWN = (
    "t/T over the expert's steps; k in [0, 3] random steps at the beginning and the end, with the world's own reward; "
    "negatives of a random policy are flat 0 (§2.2, A.1). "
)
_FITTED = "k uniform and in total, not per end; negatives as long as their positive (A.5 and D print 8 of 9 so). "

RULES: dict[str, Rule] = {
    "alfworld": Rule(
        "both", "linear", "kept", "zero",
        known=_KNOWN + "A random step after success keeps 1.0 (Table 4).",
        fitted=_FITTED + "Monotonic .532 +- .001; the paper has .532.",
    ),
    "scienceworld": Rule(
        "before", "native", "native", "native",
        known="Every printed step has the world's score / 100, in negatives too (Tables 18, 19); failures are clipped "
        "to 0 (A.3); the episode ends with success.",
        fitted="k uniform, all before; negatives as long as their positive. Monotonic .511; the paper has .508.",
    ),
    "webshop": Rule(
        "cut", "linear", "kept", "zero",
        known=_KNOWN + "Buying ends the episode; the two printed pairs have no padding (Tables 26, 28).",
        fitted=_FITTED + "No steps after buying. The paper has .535: unpadded sessions of 13 steps give it, shorter "
        "ones with steps at both ends come near, so it tells little. This rule gives .525.",
    ),
    "blocksworld": Rule(
        "both", "linear", "zero", "zero",
        known=_KNOWN + "The two printed pairs have no padding (Tables 22, 24).",
        fitted=_FITTED + "A random step after success is worth 0, since a move leaves the goal; the plan is made "
        "anew after random steps. Monotonic .588 +- .005; the paper has .589.",
    ),
    "textworld": Rule(
        "cut", "linear", "kept", "zero",
        known=_KNOWN + "The game ends with success; one of the two printed pairs has a step before (Tables 30, 32).",
        fitted=_FITTED + "No steps after the end. The paper has .536: quests of four steps with steps at both ends "
        "give it, and long ones without any, so it tells little. This rule gives .524.",
    ),
}  # fmt: skip
