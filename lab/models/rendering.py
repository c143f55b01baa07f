"""Rendering: a prompt and its fields become the messages that are sent.

Endpoints, replays and transcripts use it alike, so that what was changed on the way has the same request hash, and
replays. Two things may change the fields first. The engine option `shuffle=SEED` permutes the options that a prompt
lists, and the answer is mapped back: a model that does well only while the best option stands first loses by it. And a
prompt that exceeds the engine's `context` is shortened, or rejected.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from lab.models.backbone import Answer, Call, MalformedAnswer, request_of
from lab.models.cache import key_of
from lab.models.engines import SHUFFLE, Engine
from lab.models.prompts import AnswerModel, Fields, FreeText, Listing, Prompt

# Estimates, the same for every model, so that a recording replays without its tokenizer. Measured with Qwen's and
# SmolLM's on the five worlds' texts: 2.7 to 4.1 characters a token, the fewest for shop pages.
CUT_AT = 3.0  # characters a token: a prompt that may be cut is made short enough even for such text
REFUSED_AT = 4.0  # a prompt that is too long even at this many surely does not fit

Messages = list[dict[str, str]]


class PromptTooLong(ValueError):
    """A prompt does not fit the context that the engine string states."""


@dataclass(frozen=True)
class Shuffled:
    """A prompt's fields as this engine sees them. numbers: number shown -> the option's own, where answers name
    numbers; empty where nothing was permuted.
    """

    fields: Fields
    listing: Listing | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)

    def restored(self, value: AnswerModel) -> AnswerModel:
        """An answer to these fields as one to the question that was asked."""
        if self.listing is None or not self.numbers:
            return value
        if not isinstance(value, FreeText):
            return self._renumbered(value, self.listing.answer)
        if self.listing.form is None:
            return value
        try:
            typed = self.listing.form(self.fields).from_text(value.text)
        except ValueError:  # the caller parses it again and reports the fault
            return value
        return FreeText(text=self._renumbered(typed, self.listing.answer).as_text())

    def as_shown(self, value: AnswerModel) -> str:
        """The JSON of an answer to these fields, for recordings; "" where it is that of the restored answer."""
        return value.model_dump_json() if self.numbers else ""

    def _renumbered(self, value: Any, name: str) -> Any:
        choice = getattr(value, name)
        if isinstance(choice, list):
            return value.model_copy(update={name: [self.numbers.get(number, number) for number in choice]})
        return value.model_copy(update={name: self.numbers.get(choice, choice)})


def shuffled(prompt: Prompt, fields: Fields, engine: Engine) -> Shuffled:
    """Returns the fields as this engine is shown them: shuffled if it says so and the prompt lists options.

    The order follows from the seed and the fields, so a question is shuffled alike in any order and process.
    """
    listing = prompt.listing(fields) if SHUFFLE in engine.options else None
    if listing is None:
        return Shuffled(fields)
    options = listing.options(fields)
    draw = Random(key_of([engine.options[SHUFFLE], prompt.name, fields.model_dump(mode="json")]))
    order = _order([getattr(option, listing.within) if listing.within else None for option in options], draw)
    numbers = listing.names(options) if listing.by == "number" else []
    renumbered = {number: numbers[index] for number, index in zip(numbers, order, strict=False)}
    return Shuffled(listing.reordered(fields, order), listing, renumbered)


def _order(groups: list[Any], draw: Random) -> list[int]:
    """A random order of the indices 0 to n, in which each index is taken from its own group."""
    left = {group: [index for index, other in enumerate(groups) if other == group] for group in dict.fromkeys(groups)}
    for indices in left.values():
        draw.shuffle(indices)
    return [left[group].pop() for group in groups]


class Rendered(NamedTuple):
    """A prompt narrowed to its fields, with the messages to be sent. cut: it was truncated to fit the context.
    shuffled: the fields before that. asked: the prompt that was asked, by this engine.
    """

    prompt: Prompt
    messages: Messages
    cut: bool
    shuffled: Shuffled
    asked: Prompt
    engine: Engine

    def key(self, sample: int, address: str = "rules") -> str:
        """The request hash under which caches and recordings keep the answer."""
        return key_of(request_of(self.prompt, self.messages, self.engine, address, sample))

    def answer(self, text: str, call: Call, request: str, said: str = "") -> Answer:
        """Returns what was answered to these messages as an answer to the prompt that was asked. text: its JSON.

        Raises MalformedAnswer where it is recorded as one; text: the fault then. said: what the model wrote.
        """
        if call.path == "malformed":
            error = MalformedAnswer(text)
            error.call, error.request, error.text = call, request, said
            raise error
        return Answer(self.shuffled.restored(self.asked.answer.model_validate_json(text)), call, request, text)


def rendered(prompt: Prompt, values: Mapping[str, Any], engine: Engine) -> Rendered:
    """Returns the prompt as it is sent. Raises ValueError for wrong fields, PromptTooLong."""
    seen = shuffled(prompt, prompt.fill(**values), engine)
    fields, messages = fitted(prompt, seen.fields, engine)
    return Rendered(prompt.narrowed(fields), messages, fields is not seen.fields, seen, prompt, engine)


def fitted(prompt: Prompt, fields: Fields, engine: Engine) -> tuple[Fields, Messages]:
    """Returns the fields, shortened until messages and `max_tokens` fit the engine's `context`, and the messages.

    Raises PromptTooLong.
    """
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
