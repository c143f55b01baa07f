"""Parsing a model's text into a typed answer: strict JSON, else repaired JSON; values are never guessed."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.models.prompts import AnswerModel, faults
from lab.models.usage import Call

T = TypeVar("T", bound=AnswerModel)
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
