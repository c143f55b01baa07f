"""Replies of OpenAI-compatible servers: a body to a reply, and a reply to a typed answer, or why it is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.machine.secrets import redact
from lab.models.client import body_json
from lab.models.parsing import CUT, EMPTY, MalformedAnswer, free_text, parse
from lab.models.prompts import AnswerModel, Prompt
from lab.models.retries import LONGEST_QUOTE, BadBody

ENDED_EARLY = ("length", "max_tokens", "model_length")  # finish reasons of an answer that ran into a limit
BROKE_OFF = ("error", "abort", "aborted", "cancelled")  # of one that the server did not finish
MOST_TOKENS = 10**8  # of an answer or its prompt; a count beyond it is none


class RefusedAnswer(MalformedAnswer):
    """The model declined to answer."""


class TruncatedAnswer(MalformedAnswer):
    """The answer was truncated at the token limit; the message names the setting that raises it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One completion. fault: why its text cannot be an answer (empty, truncated, refused), else "".

    counted: the server reported token counts. schema: the request had the JSON schema. truncated: it ended at the token
    limit. called: it was given to the tool that binds it. model, fingerprint: those that it states.
    """

    text: str
    tokens_in: int
    tokens_out: int
    counted: bool
    fault: str = ""
    schema: bool = False
    truncated: bool = False
    called: bool = False
    model: str = ""
    fingerprint: str = ""


def reply_in(body: bytes) -> Reply:
    """The reply in a server's body.

    Raises BadBody if it is no chat completion, or one that the server did not finish.
    """
    match body_json(body):
        case {"choices": [{"message": {**message}, **choice}, *_], **more} if isinstance(
            content := message.get("content"), str | None
        ):
            pass
        case _:
            raise BadBody(f"no chat completion: {body[:LONGEST_QUOTE].decode(errors='replace')}")
    finish = choice.get("finish_reason")
    if finish in BROKE_OFF or not isinstance(finish, str | None):
        raise BadBody(f"the server ended the answer with finish_reason {finish!r}")
    # Without lone surrogates, which could not be shown to the model again.
    text = (called(message) or content or "").encode("utf-8", "replace").decode()
    truncated = finish in ENDED_EARLY
    fault = "" if text.strip() else EMPTY
    if message.get("refusal") or finish == "content_filter":
        fault = "refused"
    elif truncated:
        fault = CUT
    counts = _counts(more.get("usage"))
    return Reply(
        text,
        *(counts or (0, 0)),
        counted=counts is not None,
        fault=fault,
        truncated=truncated,
        **_stated(message, more),
    )


def called(message: Mapping[str, Any]) -> str:
    """What a model gave to the tool that binds its answer, as JSON; "" where it called none."""
    match message:
        case {"tool_calls": [{"function": {"arguments": str() as arguments}}, *_]}:
            return arguments
        case {"tool_calls": [{"function": {"arguments": dict() as arguments}}, *_]}:  # as some servers have it
            return json.dumps(arguments)
    return ""


def _stated(message: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    stated = {"model": more.get("model"), "fingerprint": more.get("system_fingerprint")}
    words = {name: redact(text)[:100] for name, text in stated.items() if isinstance(text, str)}
    return words | {"called": bool(called(message))}


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
    if reply.fault == "refused":
        raise RefusedAnswer(f"The model declined to answer {prompt.name}")
    if prompt.free:
        return _read_free(reply, prompt), "text"
    if reply.fault:
        raise MalformedAnswer(reply.fault)
    value, path = parse(reply.text, prompt.answer)
    return value, "schema" if path == "strict" and reply.schema else path


def _read_free(reply: Reply, prompt: Prompt) -> AnswerModel:
    text, stopped = free_text(reply.text, prompt.stop)
    if reply.fault and not stopped:  # what was cut off behind a stop text is no part of the answer
        raise MalformedAnswer(reply.fault)
    return prompt.answer.model_validate({"text": text})
