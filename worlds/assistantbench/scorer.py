"""AssistantBench's official `question_scorer`, which compares a predicted text with the gold text.

All rules are followed, also surprising ones, which are marked as quirks. This reproduces 72 recorded scores of the
official program and the published scores of six systems. Where that program would crash, `Unscorable` is raised.
Source: Yoran et al. 2024, §3.3; the evaluator of the package browsergym-assistantbench 0.14.3.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from worlds.assistantbench.values import number_of, number_score, objects_score, string_score

Kind = Literal["number", "json", "string", "string list"]
# Replacements that turn Python's notation, {'a': 'b'}, into JSON in gold answers; applied in this order.
MENDED = (("{'", '{"'), ("', '", '", "'), ("': '", '": "'), ("'}", '"}'), ("': ", '": '))


class Unscorable(ValueError):
    """The official scorer crashes on this prediction; the message says what to submit instead."""


class Score(NamedTuple):
    """accuracy: in [0, 1] (but for negative numbers, see `number_score`). has_answer: 0 or 1."""

    accuracy: float
    has_answer: float


@dataclass(frozen=True, slots=True)
class Scores:
    """Aggregates over tasks, as shares in [0, 1].

    precision: mean accuracy over the answered tasks, NaN if there are none. exact_match: share with an accuracy of
    exactly 1. unscorable: number of predictions on which the official program would crash; here they count as answered,
    with an accuracy of 0.
    """

    accuracy: float
    answer_rate: float
    precision: float
    exact_match: float
    tasks: int
    unscorable: int


def scores(predictions: Mapping[str, str], gold: Mapping[str, str]) -> Scores:
    """The four official metrics over all gold answers. A missing prediction counts as an empty one.

    predictions, gold: by task id. Raises ValueError without gold answers, or for predictions of other tasks.
    """
    unknown = sorted(predictions.keys() - gold.keys())
    if unknown or not gold:
        raise ValueError(f"predictions of tasks without a gold answer: {', '.join(unknown[:3]) or 'there is none'}")
    scored = [scored_or_why(predictions.get(task, ""), right) for task, right in gold.items()]
    results = [score for score, _ in scored]
    answered = sum(result.has_answer for result in results)
    return Scores(
        accuracy=sum(result.accuracy for result in results) / len(results),
        answer_rate=answered / len(results),
        precision=sum(result.accuracy for result in results if result.has_answer) / answered
        if answered
        else float("nan"),
        exact_match=sum(result.accuracy == 1 for result in results) / len(results),
        tasks=len(results),
        unscorable=sum(bool(why) for _, why in scored),
    )


def scored_or_why(prediction: str, gold: str) -> tuple[Score, str]:
    """The score and ""; where the official program would crash, an accuracy of 0 and the reason."""
    try:
        return question_scorer(prediction, gold), ""
    except Unscorable as error:
        return Score(0.0, 1.0), str(error)


def question_scorer(prediction: str, gold: str) -> Score:
    """Accuracy of a prediction, and whether it is an answer at all. gold: one item per line.

    Quirk: the prediction is read as JSON if possible, else as text. So several items have to be a JSON array; lines are
    not split (the gold text of a list scores 0.08 to 0.375 against itself). Quirk: "None" is an answer.
    Raises Unscorable where the official program raises.
    """
    right, kind = gold_of(gold)
    try:
        predicted = cleaned(parsed(prediction), kind)
        has_answer = float(answers(predicted))
        empty = isinstance(predicted, str | list | dict) and not predicted
        several = kind == "number" and isinstance(predicted, list) and len(predicted) > 1
        return Score(0.0 if empty or several else compared(predicted, right, kind), has_answer)
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Unscorable(
            f"the official scorer fails on {prediction[:80]!r} against a {kind} answer ({error}); hand in a number or "
            "text as it is, several texts as a JSON array of strings, and objects as a JSON array of objects"
        ) from error


def parsed(prediction: str) -> Any:
    try:
        return json.loads(prediction)
    except (ValueError, RecursionError):
        return prediction


def gold_of(gold: str) -> tuple[Any, Kind]:
    """The value of a gold text, and its kind.

    Quirk: lines that are all JSON count as objects, even if they are numbers, which nothing can match. So does an empty
    gold text, against which everything scores 0.
    """
    lines = [line for line in gold.split("\n") if line.strip()]
    if len(lines) == 1 and (number := number_of(lines[0]))[1]:
        return number[0], "number"
    try:
        return [json.loads(mended(line)) for line in lines], "json"
    except (ValueError, RecursionError):
        return (lines[0], "string") if len(lines) == 1 else (lines, "string list")


def mended(line: str) -> str:
    for wrong, right in MENDED:
        line = line.replace(wrong, right)
    return line


def cleaned(predicted: Any, kind: Kind) -> Any:
    """Prepare a prediction for comparison: numbers are parsed; if the gold answer is objects, it becomes a list.

    Quirk: the official program turns a list of one whole number into a pair (number, True). No number matches the pair,
    and a string is compared with the pair as Python prints it.
    """
    if isinstance(predicted, list) and len(predicted) == 1:
        item = predicted[0]
        if type(item) is int or (isinstance(item, str) and item.isnumeric()):
            predicted = number_of(item)
    if isinstance(predicted, list):
        return predicted
    predicted, _ = number_of(predicted)
    if kind != "json":
        return predicted
    try:
        return [json.loads(line) for line in predicted.split("\n")]
    except (ValueError, AttributeError, RecursionError):
        return [predicted]


def answers(predicted: Any) -> bool:
    """Whether a prediction counts as an answer. Raises TypeError for true, false and null."""
    if (not isinstance(predicted, float) and len(predicted) == 0) or is_nan(predicted):
        return False
    return not (isinstance(predicted, list) and all(is_empty(item) for item in predicted))


def is_empty(item: Any) -> bool:
    return (type(item) not in (float, int) and len(item) == 0) or is_nan(item)


def is_nan(value: Any) -> bool:
    """Quirk: a list of one NaN counts as NaN too, as in numpy."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return isinstance(value, float) and value != value


def compared(predicted: Any, right: Any, kind: Kind) -> float:
    if kind == "json":
        return objects_score(predicted, right)
    return number_score(predicted, right) if kind == "number" else string_score(predicted, right)
