"""How AssistantBench's official scorer compares numbers, strings, objects and lists of them.

Rules that surprise are kept, since published scores have them, and each is marked as a quirk.
Source: Yoran et al. 2024, §3.3; the evaluator of the package browsergym-assistantbench 0.14.3. Strings are compared as
in DROP (Dua et al. 2019).
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

ZERO = 1e-4  # what stands for a zero in a ratio
UNITS = ("$", "%", "sqft")
AREA = " square kilometers"
ARTICLE = re.compile(r"\b(a|an|the)\b")
PUNCTUATION = str.maketrans("", "", string.punctuation)


def number_of(value: Any, area: str = AREA) -> tuple[Any, bool]:
    """A value as a float where it is or says a number, else as it is; and whether it may be used as a number.

    area: a unit that is dropped, too; inside objects there is none. Quirk: every comma becomes a decimal point, so
    "1,010" is 1.01 and "1,010,000" no number at all. Quirk: what is no string and no whole number, such as a list,
    passes as a number.
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
    """1 - ln(larger / smaller), at least 0: nothing from a factor e on, where the paper says an order of magnitude.

    Raises TypeError where the prediction is a list or an object.
    Quirk: of two negative numbers the ratio is turned round, and a wrong one scores above 1. One slip is not followed:
    the official program gives minus infinity infinite credit against any positive number, here it has none.
    """
    try:
        value = float(prediction)
    except ValueError:  # of a string; a list raises TypeError
        return 0.0
    value, gold = value or (ZERO if gold else 0.0), gold or (ZERO if value else 0.0)
    if value == gold == 0:
        return 1.0
    ratio = value / gold if value > gold else gold / value
    if not ratio > 0:  # signs that differ, or NaN
        return 0.0
    return max(0.0, 1 - math.log(ratio))


def string_score(prediction: Any, gold: Any) -> float:
    """DROP's F1 of bags of words, of the best one-to-one alignment where one side or both are lists.

    Quirk: a list with an item that is no string scores 0.
    """
    predicted, right = (one if isinstance(one, list) else [str(one)] for one in (prediction, gold))
    if not all(isinstance(item, str) for item in (*predicted, *right)):
        return 0.0
    return aligned([bag(item) for item in predicted], [bag(item) for item in right], bag_score)


def bag(text: str) -> frozenset[str]:
    """The set of a text's words: without articles and punctuation, numbers as Python writes floats.

    Quirk: words are cut at spaces and hyphens alone, so what a line break parts loses its punctuation as one word, and
    a minus is lost.
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
    """F1 of two bags. A right answer with numbers needs one of them, and no credit is given without.

    Quirk: an empty bag has a precision (or recall) of 1; the F1 is 0 all the same unless both are empty.
    """
    numbers = {word for word in right if is_number(word)}
    if numbers and not numbers & predicted:
        return 0.0
    shared = len(predicted & right)
    return f1(shared / len(predicted) if predicted else 1.0, shared / len(right) if right else 1.0)


def objects_score(prediction: Sequence[Any], gold: Sequence[Any]) -> float:
    """Objects against objects, aligned one to one. Raises ValueError, TypeError, AttributeError as the official one.

    Quirk: only the first predicted item is looked at to see whether these are objects.
    """
    if prediction and not isinstance(prediction[0], dict):
        return 0.0
    return aligned(prediction, gold, object_score)


def object_score(predicted: Mapping[str, Any], right: Mapping[str, Any]) -> float:
    """F1 of two objects' keys, each counting as much as its values agree."""
    recall = _agreement(
        right, predicted, lambda key: value_score(predicted[key], right[key], predicted[key], right[key])
    )
    # Quirk: for the precision the sides change, so that of strings the prediction's numbers have to be shared.
    precision = _agreement(
        predicted, right, lambda key: value_score(right[key], predicted[key], predicted[key], right[key])
    )
    return f1(precision, recall)


def _agreement(asked: Mapping[str, Any], there: Mapping[str, Any], score: Callable[[str], float]) -> float:
    """The mean over the keys that are asked for. Raises ValueError for an object without keys, TypeError for none."""
    if not isinstance(asked, Mapping) or not isinstance(there, Mapping):
        raise TypeError("only objects can be compared with objects")
    scores = [score(key) if key in there else 0.0 for key in asked]
    if not scores:
        raise ValueError("an object without keys cannot be scored")
    return sum(scores) / len(scores)


def value_score(one: Any, other: Any, predicted: Any, right: Any) -> float:
    """How much two values agree; the kind of the right one says by which rule, and another kind scores 0.

    Raises TypeError for a right value that is null or an object.
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

    Raises ValueError where both are empty or a score is NaN.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    scores = np.array([[score(one, other) for one in predicted] for other in right], float).reshape(
        len(right), len(predicted)
    )
    rows, columns = linear_sum_assignment(scores, maximize=True)
    if not scores.shape[0] and not scores.shape[1]:
        raise ValueError("nothing to compare")
    return float(scores[rows, columns].sum() / max(scores.shape))
