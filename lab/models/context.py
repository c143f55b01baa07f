"""Prompts as they are sent: shuffled where the engine says so, and shortened where they exceed its `context`.

Endpoints and replays both render through `asked`, so changed prompts have the same request hash, and replay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from lab.models.backbone import Answer
from lab.models.engines import Engine
from lab.models.prompts import Fields, Prompt
from lab.models.shuffling import Shown, shown
from lab.models.usage import Call

# Estimates, the same for every model, so that a recording replays without its tokenizer. Measured with Qwen's and
# SmolLM's on the five worlds' texts: 2.7 to 4.1 characters a token, the fewest for shop pages.
CUT_AT = 3.0  # characters a token: a prompt that may be cut is made short enough even for such text
REFUSED_AT = 4.0  # a prompt that is too long even at this many surely does not fit

Messages = list[dict[str, str]]


class PromptTooLong(ValueError):
    """A prompt does not fit the context that the engine string states."""


class Asked(NamedTuple):
    """A rendered prompt, ready to be sent. cut: it was truncated to fit the context. shown: before that."""

    prompt: Prompt
    messages: Messages
    cut: bool
    shown: Shown

    def answer(self, prompt: Prompt, text: str, call: Call, request: str) -> Answer:
        """What was answered to these messages, as an answer to the question that was asked. text: its JSON."""
        return Answer(self.shown.restored(prompt.answer.model_validate_json(text)), call, request, text)


def asked(prompt: Prompt, values: Mapping[str, Any], engine: Engine) -> Asked:
    """The prompt narrowed to these fields, and its messages. Raises ValueError, PromptTooLong."""
    seen = shown(prompt, prompt.fill(**values), engine)
    fields, messages = _fitted(prompt, seen.fields, engine)
    return Asked(prompt.narrowed(fields), messages, fields is not seen.fields, seen)


def fitted(prompt: Prompt, fields: Fields, engine: Engine) -> Fields:
    """The fields, shortened until messages and `max_tokens` fit the engine's `context`. Raises PromptTooLong."""
    return _fitted(prompt, fields, engine)[0]


def _fitted(prompt: Prompt, fields: Fields, engine: Engine) -> tuple[Fields, Messages]:
    messages = prompt.render(fields)
    while prompt.shorten and (over := _characters_over(messages, engine, CUT_AT)) > 0:
        shorter = prompt.shorten(fields, over)
        if shorter is None or shorter == fields:  # a rule that frees nothing would be asked for ever
            break
        fields, messages = shorter, prompt.render(shorter)
    if _characters_over(messages, engine, REFUSED_AT) > 0:
        tokens, options = int(_length(messages) / REFUSED_AT), engine.options
        answer = f", {options['max_tokens']} of it for the answer" if "max_tokens" in options else ""
        cut = ", also when all that may go is left out," if prompt.shorten else ""
        raise PromptTooLong(
            f"Prompt {prompt.name}{cut} takes about {tokens} tokens and the engine states context={options['context']}"
            f"{answer}; raise it, or give the prompt fewer options"
        )
    return fields, messages


def _characters_over(messages: Messages, engine: Engine, characters_a_token: float) -> int:
    """By how many characters the messages exceed the context; 0 or less if they fit, or if none is stated."""
    if "context" not in engine.options:
        return 0
    # Servers count question and answer together against the context.
    tokens = engine.options["context"] - engine.options.get("max_tokens", 0)
    return _length(messages) - int(tokens * characters_a_token)


def _length(messages: Messages) -> int:
    return sum(len(message["content"]) for message in messages)
