"""A prompt as it is sent: its options shuffled, its fields shortened, its messages, and the hash of the request.

Two things may change the fields before rendering. The engine option `shuffle=SEED` permutes the options that a prompt
lists, and maps the answer back: a model that does well only because the best option comes first then does worse. And a
prompt that exceeds the engine's `context` is shortened or rejected. Endpoints, replays and transcripts do this with the
same code, so a prompt that was changed has the same request hash everywhere, and replays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

from lab.machine.files import key_of
from lab.models import engines
from lab.models.answers import AnswerModel, FreeText, Listing
from lab.models.engines import SHUFFLE, Engine
from lab.models.prompts import Fields, Messages, Prompt

# Estimated characters per token, the same for every model, so that recordings replay without a tokenizer. Measured on
# the five worlds' texts with the tokenizers of Qwen and SmolLM: 2.7 to 4.1, the fewest for shop pages.
CUT_AT = 3.0  # a prompt that may be truncated is made short enough for such text
REFUSED_AT = 4.0  # a prompt that is too long even for such text surely does not fit


class PromptTooLong(ValueError):
    """A prompt does not fit the context that the engine string states."""


@dataclass(frozen=True)
class Shuffled:
    """A prompt's fields as this engine sees them. numbers: displayed number -> the option's own number, if answers name
    numbers; empty if nothing was permuted.
    """

    fields: Fields
    listing: Listing | None = None
    numbers: Mapping[int, int] = field(default_factory=dict)

    def restored(self, value: AnswerModel) -> AnswerModel:
        """Map an answer to these fields back to the original question."""
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
        """The JSON of an answer to these fields, for recordings; "" if it equals that of the restored answer."""
        return value.model_dump_json() if self.numbers else ""

    def _renumbered(self, value: Any, name: str) -> Any:
        choice = getattr(value, name)
        if isinstance(choice, list):
            return value.model_copy(update={name: [self.numbers.get(number, number) for number in choice]})
        return value.model_copy(update={name: self.numbers.get(choice, choice)})


def shuffled(prompt: Prompt, fields: Fields, engine: Engine) -> Shuffled:
    """The fields as this engine sees them: shuffled if it has the option and the prompt lists options.

    The order follows from the seed and the fields, so a question is shuffled in the same way in any order and process.
    """
    listing = prompt.listing(fields) if SHUFFLE in engine.options else None
    if listing is None:
        return Shuffled(fields)
    options = listing.options(fields)
    random = Random(key_of([engine.options[SHUFFLE], prompt.name, fields.model_dump(mode="json")]))
    order = _order([getattr(option, listing.within) if listing.within else None for option in options], random)
    numbers = listing.names(options) if listing.by == "number" else []
    renumbered = {number: numbers[index] for number, index in zip(numbers, order, strict=False)}
    return Shuffled(listing.reordered(fields, order), listing, renumbered)


def _order(groups: list[Any], random: Random) -> list[int]:
    """A random permutation of the indices of `groups` that permutes only within each group."""
    remaining: dict[Any, list[int]] = {}
    for index, group in enumerate(groups):
        remaining.setdefault(group, []).append(index)
    for indices in remaining.values():
        random.shuffle(indices)
    return [remaining[group].pop() for group in groups]


class Rendered(NamedTuple):
    """A prompt narrowed to its fields, with the messages to send. cut: it was truncated to fit the context.
    shuffled: the fields before truncation. asked: the original prompt. engine: answers it.
    """

    prompt: Prompt
    messages: Messages
    cut: bool
    shuffled: Shuffled
    asked: Prompt
    engine: Engine

    def key(self, sample: int, address: str = "rules") -> str:
        """The request hash under which caches and recordings store the answer."""
        return key_of(request_of(self.prompt, self.messages, self.engine, address, sample))

    def typed(self, text: str) -> AnswerModel:
        """Convert the JSON of an answer to these messages to an answer to `asked`. Raises ValidationError."""
        return self.shuffled.restored(self.asked.answer.stored_as().model_validate_json(text))


def rendered(prompt: Prompt, values: Mapping[str, Any], engine: Engine) -> Rendered:
    """The prompt as it is sent. Raises ValueError for wrong fields, PromptTooLong."""
    view = shuffled(prompt, prompt.fill(**values), engine)
    fields, messages = fitted(prompt, view.fields, engine)
    return Rendered(prompt.narrowed(fields), messages, fields is not view.fields, view, prompt, engine)


def fitted(prompt: Prompt, fields: Fields, engine: Engine) -> tuple[Fields, Messages]:
    """The fields, shortened until messages and `max_tokens` fit the engine's `context`; and the messages.

    Raises PromptTooLong if they still do not fit.
    """
    messages = prompt.render(fields)
    while prompt.shorten and (over := _characters_over(messages, engine, CUT_AT)) > 0:
        shorter = prompt.shorten(fields, over)
        if shorter is None or shorter == fields:  # a `shorten` that removes nothing would loop for ever
            break
        fields, messages = shorter, prompt.render(shorter)
    if _characters_over(messages, engine, REFUSED_AT) > 0:
        tokens, options = int(_length(messages) / REFUSED_AT), engine.options
        reserved = f", {options['max_tokens']} of it for the answer" if "max_tokens" in options else ""
        shortest = ", also when all that may go is left out," if prompt.shorten else ""
        raise PromptTooLong(
            f"Prompt {prompt.name}{shortest} takes about {tokens} tokens and the engine states "
            f"context={options['context']}{reserved}; raise it, or give the prompt fewer options"
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


def request_of(prompt: Prompt, messages: Messages, engine: Engine, address: str, sample: int) -> dict[str, Any]:
    """Everything that an answer depends on; its hash is the key of the cache and of recordings."""
    options = options_of(prompt, engine, sample)
    return {
        "address": address,
        # `rules@0.7` has the same options as `rules`, so the whole string identifies such engines.
        "model": engine.name if engine.kind in ("endpoint", "local") else engine.text,
        "messages": messages,
        # Longer patience or more threads do not change the question, and must not void a recording.
        "sampling": {name: options[name] for name in sorted(options) if name not in engines.OF_THE_MACHINE},
        "schema": prompt.schema,
        "sample": sample,
        "prompt": [prompt.name, prompt.version],
    } | ({"stop": list(prompt.stop)} if prompt.stop else {})


def options_of(prompt: Prompt, engine: Engine, sample: int) -> Mapping[str, Any]:
    """The engine's options for one sample; samples after the first have at least the prompt's retry temperature."""
    if not (sample and prompt.retry_temperatures):
        return engine.options
    minimum = prompt.retry_temperatures[min(sample, len(prompt.retry_temperatures)) - 1]
    return {**engine.options, "temperature": max(minimum, engine.options.get("temperature", 0.0))}
