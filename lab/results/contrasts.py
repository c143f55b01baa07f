"""Contrasts of claims: two conditions of a real model on the same tasks, beside placebo and strongest null model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lab.models import engines
from lab.results.claims import BY_NULL, BY_PLACEBO, MISSING, VOID, Claim, Contrast, Finding, missing
from lab.results.floors import headroom
from lab.results.statistics import Comparison, Interval, compare, holm
from lab.results.stored import CEILING, FLOOR, Scores, Stored
from lab.results.verdicts import AGREES, LEVEL, Verdict, direction_verdict, signed

Voided = Callable[[str], str]  # a recording's name -> why it is void, "" if it is not


class Compared(NamedTuple):
    """A contrast's scores and comparison. tasks, second: task -> score of the first and the second condition."""

    contrast: Contrast
    first: Scores
    result: Comparison
    tasks: Mapping[str, float]
    second: Mapping[str, float]


def compared(contrast: Contrast, stored: Stored, voided: Voided) -> Compared | Verdict:
    """Both conditions on the tasks that both have; a verdict where one, or the placebo, is gone or void."""
    sides = [contrast.side(contrast.of), contrast.side(contrast.less, contrast.less_engine)]
    controls = [contrast.side(contrast.placebo)] if contrast.placebo else []
    both: list[Scores] = []
    for side in (*sides, *controls):
        scores = stored.scores.get(side)
        if scores is None:
            return Verdict(MISSING, f"no scores of {', '.join(side)} are stored")
        if scores.run.startswith("replay:") and (why := voided(scores.run.removeprefix("replay:"))):
            return Verdict(VOID, why)
        both.append(scores)
    first, second = both[:2]
    if engines.parse(first.side.engine).kinds.isdisjoint(engines.MODELS) or first.evidence != "measured":
        return Verdict(MISSING, f"{first.side.engine} is no real model, and has no verdict")
    # Two recordings can hold different numbers of tasks; what both have is compared.
    shared = {task: score for task, score in first.values.items() if task in second.values}
    if not shared:
        return Verdict(MISSING, f"{', '.join(sides[0])} and {sides[1].condition} share no task")
    others = {task: second.values[task] for task in shared}
    return Compared(contrast, first, compare(shared, others), shared, others)


def by_holm(claims: Sequence[Claim], pairs: Mapping[str, Compared | Verdict]) -> dict[str, float]:
    """Claim -> its p-value, corrected over the contrasts of its item."""
    families: dict[str, dict[str, float]] = {}
    for claim in claims:
        if isinstance(pair := pairs.get(claim.id), Compared):
            families.setdefault(claim.item, {})[claim.id] = pair.result.p
    adjusted = [zip(family, holm([*family.values()]), strict=True) for family in families.values()]
    return {name: p for pairs in adjusted for name, p in pairs}


def of_contrast(claim: Claim, pair: Compared, p: float, stored: Stored) -> Finding:
    """The finding of a claim that rests on a contrast. p: of the comparison, as `by_holm` corrects it."""
    first, result = pair.first, pair.result
    scale = 100 if claim.unit == "%" else 1
    sides = scale * result.mean_a, scale * result.mean_b
    finding = Finding(
        claim, Verdict(""), here=_scaled(result.difference, scale), n=result.n, data=first.data,
        model=first.side.engine, sides=sides, p=p,
    )  # fmt: skip
    placebo = None
    if name := pair.contrast.placebo:
        scores = stored.scores[pair.contrast.side(name)]
        if not pair.tasks.keys() <= scores.values.keys():
            # Without it the claim could only look better than it is.
            return missing(claim, f"its placebo {name!r} is not stored on the same tasks")
        placebo = _control(claim, pair, scores)
        finding = finding._replace(placebo=_scaled(placebo.against_second, scale))
    null = _strongest_null(claim, pair, stored)
    if null:
        room = _headroom(claim, pair, null, stored)
        finding = finding._replace(null=(null.name, _scaled(null.against_second, scale)), headroom=room)
    in_points = result._replace(difference=_scaled(result.difference, scale))
    verdict = direction_verdict(in_points, claim.sign, p, claim.least)
    for control, word in ((null, BY_NULL), (placebo, BY_PLACEBO)):
        if verdict.word == AGREES and control and not control.beaten:
            less = control.first_less_it
            verdict = Verdict(word, f"less {control.name}: {signed(_scaled(less, scale))}; {verdict.detail}")
    return finding._replace(verdict=verdict)


class _Control(NamedTuple):
    """A placebo or null model on a contrast's tasks. beaten: whether the first condition is shown to be better."""

    name: str
    against_second: Interval
    first_less_it: Interval
    beaten: bool


def _control(claim: Claim, pair: Compared, scores: Scores) -> _Control:
    values = {task: scores.values[task] for task in pair.tasks}
    result = compare(pair.tasks, values)
    beaten = result.p <= LEVEL and (result.difference.value > 0) == (claim.sign > 0)
    return _Control(scores.side.condition, compare(values, pair.second).difference, result.difference, beaten)


def _strongest_null(claim: Claim, pair: Compared, stored: Stored) -> _Control | None:
    """The best of the null models that have played all tasks of the contrast."""
    nulls = _same_tasks(pair, stored, FLOOR)
    if not nulls:
        return None
    best = max(nulls, key=lambda scores: claim.sign * scores.mean(pair.tasks))
    return _control(claim, pair, best)


def _headroom(claim: Claim, pair: Compared, null: _Control, stored: Stored) -> float | None:
    """How far the first condition comes from the strongest null model to the ceiling; None without a ceiling."""
    ceilings = _same_tasks(pair, stored, CEILING)
    if not ceilings:
        return None
    ceiling = max(claim.sign * scores.mean(pair.tasks) for scores in ceilings) * claim.sign
    return headroom(pair.result.mean_a, pair.result.mean_a - null.first_less_it.value, ceiling)


def _same_tasks(pair: Compared, stored: Stored, role: str) -> list[Scores]:
    """The scores of a role on the contrast's benchmark that cover its tasks."""
    return [
        scores
        for side, scores in stored.scores.items()
        if scores.role == role
        and side.benchmark == pair.contrast.benchmark
        and pair.tasks.keys() <= scores.values.keys()
    ]


def _scaled(interval: Interval, scale: float) -> Interval:
    return Interval(*(scale * end for end in interval))
