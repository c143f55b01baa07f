"""Rules per domain for padding positive trajectories with random steps and for labelling their steps.

The metric and the data's format are published; the code that generated the data is not. Each rule says what the paper
states (`known`) and what was chosen because it reproduces the paper's monotonic baseline (`fitted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, NamedTuple

MOST_RANDOM_STEPS = 3  # Appendix A.1: k is between 0 and 3

Sides = Literal["both", "cut", "before", "none"]  # at which random steps are added to a positive


class Padding(NamedTuple):
    """Numbers of random steps before and after the expert's steps."""

    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Rule:
    """The rule of one domain.

    sides: position of the k random steps: "both" ends; "cut", as "both" but without the steps after success, where the
    world has ended; all "before"; or "none".
    expert: label of an expert step: "linear", t/T for step t of T, or "native", the world's own score.
    after: label of a random step after success: "kept", 1.0; "native"; or "zero".
    negative: label of a step of the random policy: "zero" or "native" (clipped to [0, 1]).
    known: what the paper or its code states. fitted: what was chosen, and what it was fitted to.
    """

    sides: Sides
    expert: Literal["linear", "native"]
    after: Literal["kept", "native", "zero"]
    negative: Literal["zero", "native"]
    known: str
    fitted: str

    def draw(self, random: Random) -> Padding:
        """Sample k ~ U{0..3} random steps in total, U{0..k} of them before; then drop or move steps as `sides` says."""
        # k is the total: sampled per end, AlfWorld's monotonic baseline would be .519 instead of .532.
        total = random.randint(0, MOST_RANDOM_STEPS)
        before = random.randint(0, total)
        sides = {
            "both": Padding(before, total - before), "cut": Padding(before, 0), "before": Padding(total, 0),
            "none": Padding(0, 0),
        }  # fmt: skip
        return sides[self.sides]

    def shaped_positive(self, native: Sequence[float], padding: Padding) -> list[float]:
        """Ground-truth rewards of a positive. native: the world's score after each step, including random ones."""
        clipped = [clip(score) for score in native]
        if self.expert == "native":
            return clipped
        steps = len(clipped) - padding.before - padding.after
        linear = [step / steps for step in range(1, steps + 1)]
        last = clipped[padding.before + steps :]
        after = {"native": last, "kept": [1.0] * len(last), "zero": [0.0] * len(last)}
        return [0.0] * padding.before + linear + after[self.after]

    def shaped_negative(self, native: Sequence[float]) -> list[float]:
        """Ground-truth rewards of a negative. native: the world's score after each step."""
        return [clip(score) if self.negative == "native" else 0.0 for score in native]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Parameters for generating the pairs of one domain.

    admissible: whether an action outside the world's valid ones counts as refused. refusals: prefixes of observations
    by which the world refuses an action. beginnings: attempts per length of a random beginning before a shorter one is
    tried. negatives: attempts at a random trajectory before giving up. segment: a random trajectory is rejected as a
    negative if it shares this many consecutive actions with the expert.
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
        """A random generator seeded by these values only, so that pairs do not depend on order or process."""
        return Random(f"{self.domain}|{task}|{self.seed}|{what}|{attempt}")


def clip(score: float) -> float:
    """Clip a score to [0, 1]; ScienceWorld's -100 for a failed task becomes 0 (Appendix A.3)."""
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
