"""Parsing: a server's body becomes a reply, and its text a typed answer, or why it is none.

Servers differ in where they put an answer and in how they say that there is none: all become one form first. The text
is read as strict JSON, else as JSON in another layout: fences, prose and thoughts around the object, the kind of its
quotes, a last comma, Python's words. The text in brackets is split into tokens, each token is written as JSON has it,
and a strict parser reads the result. So every text and number of an answer stands whole in what the model wrote; values
are never guessed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

from pydantic import ValidationError

from lab.machine.secrets import redact
from lab.models.backbone import MalformedAnswer
from lab.models.client import LONGEST_QUOTE, BadBody, Kind, NotThisApi, body_json
from lab.models.prompts import AnswerModel, Prompt, faults

# By finish reason, in lower case; any other one ends an answer.
KINDS = dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), Kind.TRUNCATED) | dict.fromkeys(
    ("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist", "spii", "sensitive"),
    Kind.REFUSAL,
)
BROKE_OFF = ("error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource")
TEXTS = ("text", "output_text")  # types of a message's parts
PARTS = (*TEXTS, "thinking", "reasoning", "redacted_thinking", "refusal")
OVERLOADED = re.compile(
    r"overload|rate.?limit|too many requests|exhausted|capacity|busy|unavailable|loading|timed? ?out|try again"
    r"|server.?error|internal.?error",
    re.IGNORECASE,
)
LONGEST_NAME = 100  # characters of a model's name, or of a fingerprint
MOST_TOKENS = 10**8  # of an answer or its prompt; a count beyond it is none


class RefusedAnswer(MalformedAnswer):
    """The model declined to answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One completion. form: JSON beside its text, as arguments of tools. schema: the request had the JSON schema.

    counted: the server reported token counts. kind: ANSWER, REFUSAL or TRUNCATED. called: the model gave the answer to
    a tool. model, fingerprint: those that it states.
    """

    text: str
    tokens_in: int
    tokens_out: int
    counted: bool
    kind: Kind = Kind.ANSWER
    form: str = ""
    schema: bool = False
    called: bool = False
    model: str = ""
    fingerprint: str = ""

    @property
    def truncated(self) -> bool:
        return self.kind is Kind.TRUNCATED


def reply_in(body: bytes) -> Reply:
    """The reply in a server's body.

    Raises BadBody if the server did not finish it, NotThisApi if it is no chat completion, and the SDK's error for one
    that came with status 200.
    """
    match completion := _completion(body):
        case {"choices": [{**choice}, *_], **more} if not (more.get("error") or choice.get("error")):
            pass
        case _:
            raise error_in(completion, body)
    finish = choice.get("finish_reason") or ""
    if not isinstance(finish, str):
        raise error_in(completion, body)
    if finish.lower() in BROKE_OFF:
        raise BadBody(f"the server ended the answer with finish_reason {finish!r}")
    kind = KINDS.get(finish.lower(), Kind.ANSWER)
    message: Any = choice.get("message") or ({} if kind is not Kind.ANSWER else None)
    text, refused = _text(message)
    if text is None:
        raise error_in(completion, body)
    form = _form(message, thoughts=not text)
    # Without lone surrogates, which could not be shown to the model again.
    text, form = (part.encode("utf-8", "replace").decode() for part in (text, form))
    kind = Kind.REFUSAL if refused else kind
    counts = _counts(more.get("usage"))
    stated = [more.get(name) for name in ("model", "system_fingerprint")]
    model, fingerprint = (redact(name)[:LONGEST_NAME] if isinstance(name, str) else "" for name in stated)
    return Reply(
        text or form, *(counts or (0, 0)), counted=counts is not None, kind=kind, form=form if text else "",
        called=bool(form and (message.get("tool_calls") or message.get("function_call"))), model=model,
        fingerprint=fingerprint,
    )  # fmt: skip


def error_in(whole: Any, body: bytes) -> Exception:
    """What to raise for a body that has no answer: the SDK's error for the status that it states or means, NotThisApi.

    whole: what the body holds. A 429 or 503 that came with status 200 is as passing as any other.
    """
    import openai

    match whole:
        case {"error": error} | {"choices": [{"error": error}, *_]} if error:
            unknown = 400
        case _:
            error, unknown = whole, 0
    fields = error if isinstance(error, dict) else {"message": error}
    values = [fields.get(name) for name in ("code", "status", "status_code", "type", "message", "detail")]
    stated = [str(value) if isinstance(value, str | int) else "" for value in values]
    quote = body[: 4 * LONGEST_QUOTE].decode(errors="replace")  # redacted, and cut, where it is shown
    status = next((int(code) for code in stated[:3] if re.fullmatch("[45][0-9][0-9]", code)), 0)
    status = status or (503 if OVERLOADED.search(" ".join(stated)) else unknown)
    if not status:
        return NotThisApi(f"no answer of a model: {quote}")
    response: Any = SimpleNamespace(status_code=status, request=None, headers={})
    return openai.APIStatusError(f"Error code: {status} - {quote}", response=response, body=error)


def _completion(body: bytes) -> Any:
    """What a body holds, also where it came as a stream of events that nobody asked for. Raises BadBody."""
    text = body.strip()
    if not re.match(rb"(?:data|event|id|retry)?:", text):
        return body_json(text.removesuffix(b"[DONE]").rstrip().removesuffix(b"data:"))
    message, finish, usage = dict[str, Any](content="", reasoning_content=""), None, None
    for line in re.findall(rb"^(?:data:)?[ \t]*(\{.*)", text, re.MULTILINE):
        match event := body_json(line):
            case {"choices": [{"delta": {**delta}, **choice}, *_]}:
                parts = {name: part for name, part in delta.items() if name in message and isinstance(part, str)}
                message |= {name: message[name] + part for name, part in parts.items()}
                finish = choice.get("finish_reason") or finish
            case {"choices": [_, *_]} | {"error": _}:  # a whole completion, and not its chunks
                return event
        usage = event.get("usage") or usage
    if finish is None and not text.endswith(b"[DONE]"):
        raise BadBody("a stream of events that breaks off")
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _text(message: Any) -> tuple[str | None, bool]:
    """The text of a message without thoughts, "" for blanks, None if it is no message; and whether it is a refusal."""
    match message:
        case {"content": [*parts]} if all(
            isinstance(part, dict) and part.get("type") in PARTS and isinstance(part.get("text", ""), str)
            for part in parts
        ):
            texts = [part.get("text", "") for part in parts if part["type"] in TEXTS]
            return "".join(texts), any(part["type"] == "refusal" for part in parts)
        case {**fields} if isinstance(content := fields.get("content"), str | None):
            return content if content and content.strip() else "", bool(fields.get("refusal"))
    return None, False


def _form(message: Mapping[str, Any], thoughts: bool) -> str:
    """JSON beside the text: arguments of tools, else thoughts that are one JSON object and no more, where these count.

    Servers that part thoughts from answers take an answer for thoughts where a schema kept the model from thinking.
    """
    calls = message.get("tool_calls")
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions.append(message.get("function_call"))
    forms = [
        function["arguments"] for function in functions if isinstance(function, dict) and function.get("arguments")
    ]
    if thoughts and not forms:
        forms = [message.get(name) for name in ("reasoning_content", "reasoning")]
        forms = [form for form in forms if _is_object(form)]
    return "\n".join(form if isinstance(form, str) else json.dumps(form) for form in forms)


def _is_object(text: Any) -> bool:
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _counts(usage: Any) -> tuple[int, int] | None:
    """Tokens in and out; None where the server does not count them, or writes what is no count."""
    match usage:
        case {"prompt_tokens": int(tokens_in), "completion_tokens": int(tokens_out)}:
            counts = tokens_in, tokens_out
            plausible = all(0 <= count <= MOST_TOKENS and not isinstance(count, bool) for count in counts)
            return counts if plausible else None
    return None


def read(reply: Reply, prompt: Prompt) -> tuple[AnswerModel, str]:
    """The typed answer, and how it was read: "text", "schema" or a path of `parse`.

    Raises RefusedAnswer, and MalformedAnswer for a text that is no answer.
    """
    if reply.kind is Kind.REFUSAL:
        raise RefusedAnswer(f"The model declined to answer {prompt.name}")
    if prompt.free:
        text, stopped = free_text(reply.text, prompt.stop)
        if reply.truncated and not stopped:  # what was cut off behind a stop text is no part of the answer
            raise MalformedAnswer(CUT)
        return prompt.answer.model_validate({"text": text}), "text"
    if reply.truncated:
        raise MalformedAnswer(CUT)
    if not reply.text.strip():
        raise MalformedAnswer(EMPTY)
    value, path = parse(f"{reply.text}\n{reply.form}", prompt.answer)
    return value, "schema" if path == "strict" and reply.schema else path


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
    if answer.kept_as().model_validate_json(value.model_dump_json()) != value:
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
