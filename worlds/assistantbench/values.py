"""Comparison of numbers, strings, objects and lists of them, as in AssistantBench's official scorer.

Surprising rules are followed, since published scores depend on them; each is marked as a quirk.
Source: Yoran et al. 2024, §3.3; the evaluator of the package browsergym-assistantbench 0.14.3. Strings are compared as
in DROP (Dua et al. 2019).
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ZERO = 1e-4  # replaces a zero in a ratio
UNITS = ("$", "%", "sqft")
AREA = " square kilometers"
ARTICLE = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def number_of(value: Any, area: str = AREA) -> tuple[Any, bool]:
    """A value as a float if it is a number or the text of one, else unchanged; and whether it counts as a number.

    area: a further unit to drop; "" inside objects. Quirk: every comma becomes a decimal point, so "1,010" is 1.01 and
    "1,010,000" is no number. Quirk: a value that is neither string nor whole number, such as a list, counts as a
    number.
    """
    if isinstance(value, str):
        text = value
        for unit in UNITS:
            text = text.replace(unit, " ")
        try:
            return float(text.strip().replace(",", ".").replace(area, "")), True
        except ValueError:
            return value, False
    return (float(value) if type(value) is int else value), True


def number_score(prediction: Any, gold: float) -> float:
    """1 - ln(larger / smaller), at least 0. It is 0 from a factor of e on; the paper says an order of magnitude.

    Raises TypeError if the prediction is a list or an object.
    Quirk: for two negative numbers the ratio is inverted, so a wrong one scores above 1. One error is not followed: the
    official program gives minus infinity an infinite score against any positive number; here it scores 0.
    """
    try:
        value = float(prediction)
    except ValueError:  # of a string; a list raises TypeError
        return 0.0
    value, gold = value or (ZERO if gold else 0.0), gold or (ZERO if value else 0.0)
    if value == gold == 0:
        return 1.0
    ratio = value / gold if value > gold else gold / value
    if not ratio > 0:  # different signs, or NaN
        return 0.0
    return max(0.0, 1 - math.log(ratio))


def string_score(prediction: Any, gold: Any) -> float:
    """DROP's F1 of bags of words; for lists, of the best one-to-one alignment of their items.

    Quirk: a list with an item that is no string scores 0.
    """
    predicted, right = (value if isinstance(value, list) else [str(value)] for value in (prediction, gold))
    if not all(isinstance(item, str) for item in (*predicted, *right)):
        return 0.0
    return aligned([bag(item) for item in predicted], [bag(item) for item in right], bag_score)


def bag(text: str) -> frozenset[str]:
    """The set of a text's words, without articles and punctuation; numbers are written as Python floats.

    Quirk: words are split at spaces and hyphens only. So a minus sign is lost, and words on both sides of a line break
    lose their punctuation as one word.
    """
    return frozenset(word for token in re.split("[ -]", text) for word in ARTICLE.sub(" ", bare(token.lower())).split())


def bare(token: str) -> str:
    if is_number(token):
        return str(float(token))
    plain = token.translate(PUNCTUATION)
    return str(float(plain)) if is_number(plain) else plain


def is_number(word: str) -> bool:
    """Quirk: "inf", "infinity" and "nan" are numbers, too."""
    try:
        float(word)
    except ValueError:
        return False
    return True


def bag_score(predicted: frozenset[str], right: frozenset[str]) -> float:
    """F1 of two bags. If the right answer has numbers, the prediction needs at least one of them, else it scores 0.

    Quirk: an empty bag has a precision (or recall) of 1; the F1 is 0 all the same unless both are empty.
    """
    numbers = {word for word in right if is_number(word)}
    if numbers and not numbers & predicted:
        return 0.0
    shared = len(predicted & right)
    return f1(shared / len(predicted) if predicted else 1.0, shared / len(right) if right else 1.0)


def objects_score(prediction: Sequence[Any], gold: Sequence[Any]) -> float:
    """Score of lists of objects, aligned one to one. Raises ValueError, TypeError, AttributeError as the official one.

    Quirk: only the first predicted item is checked for being an object.
    """
    if prediction and not isinstance(prediction[0], dict):
        return 0.0
    return aligned(prediction, gold, object_score)


def object_score(predicted: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    """F1 of two objects' keys, each weighted by how well its values agree."""
    recall = _agreement(
        right, predicted, lambda key: value_score(predicted[key], right[key], predicted[key], right[key])
    )
    # Quirk: for the precision the sides are swapped, so that for strings the prediction's numbers have to be shared.
    precision = _agreement(
        predicted, right, lambda key: value_score(right[key], predicted[key], predicted[key], right[key])
    )
    return f1(precision, recall)


def _agreement(asked: Mapping[str, Any], there: Mapping[str, Any], score: Callable[[str], float]) -> float:
    """Mean score over the keys of `asked`. Raises ValueError if there are none, TypeError if a side is no object."""
    if not isinstance(asked, Mapping) or not isinstance(there, Mapping):
        raise TypeError("only objects can be compared with objects")
    scores = [score(key) if key in there else 0.0 for key in asked]
    if not scores:
        raise ValueError("an object without keys cannot be scored")
    return sum(scores) / len(scores)


def value_score(one: Any, other: Any, predicted: Any, right: Any) -> float:
    """Agreement of two values, by the rule for the right value's kind; a prediction of another kind scores 0.

    Raises TypeError if the right value is null or an object.
    """
    (one, _), (other, _), (predicted, _), (right, _) = (
        number_of(value, area="") for value in (one, other, predicted, right)
    )
    if not isinstance(right, str | float | bool | list):
        raise TypeError(f"a value that is {right!r} cannot be scored")
    if type(predicted) is not type(right):
        return 0.0
    return number_score(one, other) if isinstance(right, float) else string_score(one, other)


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def aligned(predicted: Sequence[Any], right: Sequence[Any], score: Callable[[Any, Any], float]) -> float:
    """The best sum of scores over one-to-one pairs, divided by the length of the longer side.

    Raises ValueError if both are empty or a score is NaN.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    scores = np.array([[score(item, gold_item) for item in predicted] for gold_item in right], float).reshape(
        len(right), len(predicted)
    )
    rows, columns = linear_sum_assignment(scores, maximize=True)
    if not scores.shape[0] and not scores.shape[1]:
        raise ValueError("nothing to compare")
    return float(scores[rows, columns].sum() / max(scores.shape))
