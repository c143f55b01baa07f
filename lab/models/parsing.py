"""Parsing: a server's response body becomes a reply, and the reply's text a typed answer or an error.

Servers differ in where they put an answer and in how they report that there is none; all are first converted to one
form. The text is parsed as strict JSON, else as JSON in another layout: fences, prose and thoughts around the object,
other quotes, a trailing comma, Python's literals. The bracketed text is split into tokens, each token is rewritten as
JSON, and a strict parser reads the result. So every string and number of an answer occurs in full in what the model
wrote; values are never guessed.
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
from lab.models.answers import AnswerModel, faults
from lab.models.backbone import MalformedAnswer
from lab.models.client import LONGEST_QUOTE, BadBody, Kind, NotThisApi, body_json
from lab.models.prompts import Prompt

# By finish reason, in lower case; any other reason means a complete answer.
KINDS = dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), Kind.TRUNCATED) | dict.fromkeys(
    ("content_filter", "refusal", "safety", "recitation", "prohibited_content", "blocklist", "spii", "sensitive"),
    Kind.REFUSAL,
)
BROKE_OFF = ("error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource")
TEXTS = ("text", "output_text")  # types of the parts of a message that hold its text
PARTS = (*TEXTS, "thinking", "reasoning", "redacted_thinking", "refusal")
OVERLOADED = re.compile(
    r"overload|rate.?limit|too many requests|exhausted|capacity|busy|unavailable|loading|timed? ?out|try again"
    r"|server.?error|internal.?error",
    re.IGNORECASE,
)
LONGEST_NAME = 100  # characters of a model's name or fingerprint that are stored
MOST_TOKENS = 10**8  # of an answer or its prompt; a larger count is not believed


class RefusedAnswer(MalformedAnswer):
    """The model declined to answer."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One completion. form: JSON outside its text, such as tool arguments. schema: the request had the JSON schema.

    counted: the server reported token counts. kind: ANSWER, REFUSAL or TRUNCATED. called: the model answered by a tool
    call. model, fingerprint: as the body states them.
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
    """Parse the reply in a server's body.

    Raises BadBody if the server did not finish it.
    Raises NotThisApi if it is no chat completion, the SDK's error if it is an error that came with status 200.
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
    # Lone surrogates are replaced, since they could not be sent back to the model.
    text, form = (part.encode("utf-8", "replace").decode() for part in (text, form))
    kind = Kind.REFUSAL if refused else kind
    counts = _counts(more.get("usage"))
    names = [more.get(name) for name in ("model", "system_fingerprint")]
    model, fingerprint = (redact(name)[:LONGEST_NAME] if isinstance(name, str) else "" for name in names)
    return Reply(
        text or form, *(counts or (0, 0)), counted=counts is not None, kind=kind, form=form if text else "",
        called=bool(form and (message.get("tool_calls") or message.get("function_call"))), model=model,
        fingerprint=fingerprint,
    )  # fmt: skip


def error_in(whole: Any, body: bytes) -> Exception:
    """The error for a body without an answer: the SDK's for a status that it states or implies, else NotThisApi.

    whole: the parsed body. A 429 or 503 in a body with status 200 is as temporary as any other.
    """
    import openai

    match whole:
        case {"error": error} | {"choices": [{"error": error}, *_]} if error:
            default_status = 400
        case _:
            error, default_status = whole, 0
    fields = error if isinstance(error, dict) else {"message": error}
    values = [fields.get(name) for name in ("code", "status", "status_code", "type", "message", "detail")]
    texts = [str(value) if isinstance(value, str | int) else "" for value in values]
    quote = body[: 4 * LONGEST_QUOTE].decode(errors="replace")  # redacted and truncated where it is displayed
    status = next((int(code) for code in texts[:3] if re.fullmatch("[45][0-9][0-9]", code)), 0)
    status = status or (503 if OVERLOADED.search(" ".join(texts)) else default_status)
    if not status:
        return NotThisApi(f"no answer of a model: {quote}")
    response: Any = SimpleNamespace(status_code=status, request=None, headers={})
    return openai.APIStatusError(f"Error code: {status} - {quote}", response=response, body=error)


def _completion(body: bytes) -> Any:
    """Parse a body, also an event stream, which some servers send unasked. Raises BadBody."""
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
            case {"choices": [_, *_]} | {"error": _}:  # a complete answer or an error, instead of chunks
                return event
        usage = event.get("usage") or usage
    if finish is None and not text.endswith(b"[DONE]"):
        raise BadBody("a stream of events that breaks off")
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": usage}


def _text(message: Any) -> tuple[str | None, bool]:
    """The text of a message without thoughts ("" if blank, None if it is no message), and whether it is a refusal."""
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
    """JSON outside the text: tool arguments; else, if `thoughts`, thoughts that are one JSON object and nothing else.

    Servers that separate thoughts from answers mistake an answer for thoughts if a schema kept the model from thinking.
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
    """(tokens in, tokens out); None if the server does not count them, or reports an impossible count."""
    match usage:
        case {"prompt_tokens": int(tokens_in), "completion_tokens": int(tokens_out)}:
            counts = tokens_in, tokens_out
            plausible = all(0 <= count <= MOST_TOKENS and not isinstance(count, bool) for count in counts)
            return counts if plausible else None
    return None


def read(reply: Reply, prompt: Prompt) -> tuple[AnswerModel, str]:
    """The typed answer, and how it was parsed: "text", "schema" or a path of `parse`.

    Raises RefusedAnswer for a refusal, MalformedAnswer for a text that is no answer.
    """
    if reply.kind is Kind.REFUSAL:
        raise RefusedAnswer(f"The model declined to answer {prompt.name}")
    if prompt.free:
        text, stopped = free_text(reply.text, prompt.stop)
        if reply.truncated and not stopped:  # what follows a stop text is not part of the answer
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
# that drop harmony's marks leave its words. What looks like a mark inside a JSON string is text.
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
    """Parse `text` as an `answer`. Returns it and the path taken, "strict" or "repaired".

    If the text has several JSON objects, the one that is a valid answer counts; several valid answers must be equal.
    The value survives a round trip through JSON, which caches and recordings rely on.
    Raises MalformedAnswer; its message says what is wrong and can be shown to the model.
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
                raise fault from None  # this one was meant as the answer, so no other object counts
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
    """The model's text up to the first stop text, without its thoughts, and whether a stop text occurred.

    Servers without support for stop texts also send what follows. Raises MalformedAnswer if no text remains.
    """
    visible = _spoken(text)
    end = re.search("|".join([END, *map(re.escape, stop)]), visible)
    answer = visible[: end.start() if end else None].strip()
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
    if answer.stored_as().model_validate_json(value.model_dump_json()) != value:
        raise MalformedAnswer("the answer changes when it is written as JSON")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"more than one key {next(key for key in keys if keys.count(key) > 1)!r}")
    return value


def _no_bool_as_number(text: str, answer: type[AnswerModel]) -> None:
    """Raises ValidationError if pydantic would accept true as the number 1."""
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
    """Yield every outermost bracketed text, rewritten as JSON. Raises MalformedAnswer for an unclosed bracket."""
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
