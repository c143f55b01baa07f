"""Parsing a model's text into a typed answer: strict JSON, else JSON in another layout; values are never guessed.

Layout: fences, prose and thoughts around the object, the kind of its quotes, a last comma, Python's words. The text in
brackets is split into tokens, each token is written as JSON has it, and a strict parser reads the result. So every text
and number of an answer stands whole in what the model wrote, and nothing but layout stands between them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.models.prompts import AnswerModel, faults
from lab.models.usage import Call

T = TypeVar("T", bound=AnswerModel)
CUT = "the answer was cut off before its end"
EMPTY = "the answer was empty"
NO_OBJECT = "no JSON object in the answer"

STRING = (
    r'"[^"\\]*+(?:\\.[^"\\]*+)*+"' r"|'[^'\\]*+(?:\\.[^'\\]*+)*+'" "|[“”„][^“”„]*+[“”„]|[‘’‚][^‘’‚]*+[‘’‚]"
)  # fmt: skip
# A quote begins a string where JSON can have one; elsewhere it is an apostrophe, or inches.
TOKEN = re.compile(
    rf"(?P<spare>(?<=[^\s{{\[,:]),(?=\s*[}}\]]))|(?P<mark>[{{\[,:])(?:\s*(?P<string>{STRING}))?|(?P<close>[}}\]])"
    r"|(?P<key>[^\W\d][\w-]*(?=\s*:))|[^\s{}\[\],:]+",
    re.DOTALL,
)
ESCAPED = re.compile(r'\\x([0-9A-Fa-f]{2})|\\.|"', re.DOTALL)
AS_JSON = {"True": "true", "False": "false", "None": "null", '"': '\\"', "\\'": "'"}
# Where a model's thoughts begin and end: tags, and the channels of OpenAI's (harmony) and Google's open models. Servers
# that drop harmony's marks leave its words. What looks like a mark inside of a JSON string is text.
TAG = r"(?:\w+:)?think|thinking|thought|reasoning"
HEADER = r"[^<]*(?:<\|constrain\|>[^<]*)?<\|message\|>"
THOUGHTS = re.compile(
    rf"[:,\[]\s*(?:{STRING})(?=\s*[,}}\]])"
    rf"|(?P<opens><(?:{TAG})>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|channel\|>(?!final){HEADER}|<\|channel>thought)"
    rf"|(?P<closes></(?:{TAG})>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|channel\|>final{HEADER}|<channel\|>"
    r"|\A\s*analysis.*?assistantfinal)",
    re.DOTALL,
)
# Tokens that end a model's turn, where the server does not drop them.
END = (
    r"<\|(?:end|return|call|im_end|eot_id|eom_id|endoftext|end_of_text|END_OF_TURN_TOKEN)\|>"
    r"|<(?:end_of_turn|turn\||eos|｜end▁of▁sentence｜)>|</s>(?=\s*\Z)"
)


class MalformedAnswer(ValueError):
    """A model's text that is no answer to the prompt. A backbone that gives up adds the booked call and the request.

    text: what the model wrote, for agents that are shown their own malformed answers.
    """

    call: Call = Call("unknown", "unknown", "malformed")
    request: str = ""
    text: str = ""


def parse(text: str, answer: type[T]) -> tuple[T, str]:
    """Read `text` as an `answer`; returns it and the path taken, "strict" or "repaired".

    Of several JSON objects the one that is an answer counts; of several answers none does, unless they are the same.
    The value survives a round trip through JSON, which caches and recordings rely on.
    Raises MalformedAnswer, which says what is wrong in words that can be shown to the model.
    """
    try:
        return _read(json.loads(text, object_pairs_hook=_unique), answer), "strict"
    except (ValueError, RecursionError):  # MalformedAnswer is a ValueError, too
        pass
    values: list[T] = []
    fault = MalformedAnswer(NO_OBJECT)
    for group in _groups(_spoken(text)):
        try:
            value = json.loads(group, object_pairs_hook=_unique, strict=False)
        except (ValueError, RecursionError) as error:
            fault = MalformedAnswer(f"not JSON ({getattr(error, 'msg', error)})")
            if any(f'"{key}" :' in group for key in answer.model_fields):
                raise fault from None  # it was meant as the answer: no other object is
            continue
        try:
            # A common slip: the object inside a list.
            values.append(_read(value[0] if isinstance(value, list) and len(value) == 1 else value, answer))
        except MalformedAnswer as error:
            fault = error
    if not values:
        raise fault
    if any(value != values[0] for value in values):
        raise MalformedAnswer("it has several JSON objects, and they differ")
    return values[0], "repaired"


def free_text(text: str, stop: Sequence[str]) -> tuple[str, bool]:
    """What a model wrote up to the first of these texts, without its thoughts; and whether such a text was there.

    Servers that know no stop texts send what follows them as well. Raises MalformedAnswer if nothing is left.
    """
    spoken = _spoken(text)
    end = re.search("|".join([END, *map(re.escape, stop)]), spoken)
    answer = spoken[: end.start() if end else None].strip()
    if not answer:
        raise MalformedAnswer(EMPTY)
    return answer, end is not None


def _read(written: Any, answer: type[T]) -> T:
    if not isinstance(written, dict):
        raise MalformedAnswer(NO_OBJECT)
    text = json.dumps(written)
    try:
        value = answer.model_validate_json(text)
        _no_bool_as_number(text, answer)
    except ValidationError as error:
        raise MalformedAnswer(faults(error)) from None
    if answer.model_validate_json(value.model_dump_json()) != value:
        raise MalformedAnswer("the answer changes when it is written as JSON")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"more than one key {next(key for key in keys if keys.count(key) > 1)!r}")
    return value


def _no_bool_as_number(text: str, answer: type[AnswerModel]) -> None:
    """Raises ValidationError where pydantic would take true for 1."""
    try:
        answer.model_validate_json(text, strict=True)
    except ValidationError as error:
        if any(isinstance(fault["input"], bool) for fault in error.errors()):
            raise


def _spoken(text: str) -> str:
    """The text after the last thought. Raises MalformedAnswer if the thoughts do not end."""
    start, thinking = 0, False
    for mark in THOUGHTS.finditer(text):
        if mark["closes"]:
            start, thinking = mark.end(), False
        elif mark["opens"]:
            thinking = True
    if thinking:
        raise MalformedAnswer(CUT)
    return text[start:]


def _groups(text: str) -> Iterator[str]:
    """Each outermost pair of brackets with what is in it, written as JSON. Raises MalformedAnswer if one is open."""
    end = 0
    while (start := re.compile(r"[{\[]").search(text, end)) is not None:
        tokens, depth = list[str](), 0
        for token in TOKEN.finditer(text, start.start()):
            tokens.append(_as_json(token))
            depth += (token["mark"] in ("{", "[")) - bool(token["close"])
            if not depth:
                break
        else:
            raise MalformedAnswer(CUT)
        yield " ".join(tokens)
        end = token.end()


def _as_json(token: re.Match[str]) -> str:
    if token["spare"]:
        return ""
    if token["key"]:
        return f'"{token["key"]}"'
    if token["string"]:
        return f'{token["mark"]}"{ESCAPED.sub(_escaped, token["string"][1:-1])}"'
    return AS_JSON.get(token[0], token[0])


def _escaped(match: re.Match[str]) -> str:
    return f"\\u00{match[1]}" if match[1] else AS_JSON.get(match[0], match[0])
