"""Parsing a model's text into a typed answer: strict JSON, else repaired JSON; values are never guessed.

Repair mends syntax: quotes, commas, fences, words around the object. A text whose end is missing is malformed, whatever
the server says of it: half a file or the 5 of a 50 would pass for what the model meant.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.models.prompts import AnswerModel, faults
from lab.models.usage import Call

T = TypeVar("T", bound=AnswerModel)
CUT = "the answer was cut off before its end"
EMPTY = "the answer was empty"
LONGEST_REPAIR = 20_000  # characters; beyond it the repairer can take minutes over a model that repeats itself


class MalformedAnswer(ValueError):
    """A model's text that is no answer to the prompt. A backbone that gives up adds the booked call and the request.

    text: what the model wrote, for agents that are shown their own malformed answers.
    """

    call: Call = Call("unknown", "unknown", "malformed")
    request: str = ""
    text: str = ""


def parse(text: str, answer: type[T]) -> tuple[T, str]:
    """Read `text` as an `answer`; returns it and the path taken, "strict" or "repaired".

    The value survives a round trip through JSON, which caches and recordings rely on.
    Raises MalformedAnswer, which says what is wrong in words that can be shown to the model.
    """
    try:
        return _read(text, answer), "strict"
    except ValueError:  # a ValidationError is one, and so is what lone surrogates raise
        value = _repair(text)
    try:
        return _read(json.dumps(value), answer), "repaired"
    except ValidationError as error:
        raise MalformedAnswer(faults(error)) from None
    except (ValueError, RecursionError) as error:
        raise MalformedAnswer(f"not JSON ({error})") from None


def free_text(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """What a model wrote up to the first of these texts, without what it thought aloud; and whether one was there.

    Servers that know no stop texts send what follows them as well. Raises MalformedAnswer if nothing is left.
    """
    said = text.rpartition("</think>")[2]
    if "<think>" in said:
        raise MalformedAnswer(CUT)
    end = min((place for one in stop if (place := said.find(one)) >= 0), default=len(said))
    if not said[:end].strip():
        raise MalformedAnswer(EMPTY)
    return said[:end].strip(), end < len(said)


def _read(text: str, answer: type[T]) -> T:
    value = answer.model_validate_json(text)
    if answer.model_validate_json(value.model_dump_json()) != value:
        raise ValueError("the answer changes when it is written as JSON")
    return value


def _repair(text: str) -> dict[str, Any]:
    from json_repair import loads

    if len(text) > LONGEST_REPAIR:
        raise MalformedAnswer("not JSON, and too long to repair")
    # Prose before and after the object confuses the repairer more than it helps, and so do the drafts of a model that
    # thinks aloud.
    text = text.rpartition("</think>")[2]
    if not _whole(text):
        raise MalformedAnswer(CUT)
    start, end = text.find("{"), text.rfind("}")
    try:
        value = loads(text[start : end + 1] if 0 <= start < end else text)
    except (ValueError, RecursionError, IndexError, TypeError, KeyError) as error:
        raise MalformedAnswer(f"not JSON ({type(error).__name__})") from None
    if isinstance(value, list) and len(value) == 1:  # a common slip: the object inside a list
        value = value[0]
    if not isinstance(value, dict):
        raise MalformedAnswer("no JSON object in the answer")
    return value


def _whole(text: str) -> bool:
    """Whether the text closes each bracket and string that it opens, and a model that thinks aloud has finished."""
    depth, quote, escaped, before = 0, "", False, ""
    for character in text:
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif depth and character in "\"'" and before in "{[,:":  # elsewhere it is an apostrophe, or inches
            quote = character
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth = max(0, depth - 1)
        before = before if character.isspace() else character
    return not depth and not quote and "<think>" not in text
