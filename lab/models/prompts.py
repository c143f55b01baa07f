"""Prompts: named, versioned templates with typed fields and a typed answer; and how one becomes messages.

A prompt is the only thing a backbone is ever asked. A model sees its rendered messages; a rule sees its fields, and so
exactly what a model would.

Endpoints, replays and transcripts render alike, so that what was changed on the way has the same request hash, and
replays. Two things may change the fields first. The engine option `shuffle=SEED` permutes the options that a prompt
lists, and the answer is mapped back: a model that does well only while the best option stands first loses by it. And a
prompt that exceeds the engine's `context` is shortened, or rejected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from random import Random
from typing import Any, Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from lab.machine.files import key_of
from lab.models import engines
from lab.models.engines import SHUFFLE, Engine

# Estimates, the same for every model, so that a recording replays without its tokenizer. Measured with Qwen's and
# SmolLM's on the five worlds' texts: 2.7 to 4.1 characters a token, the fewest for shop pages.
CUT_AT = 3.0  # characters a token: a prompt that may be cut is made short enough even for such text
REFUSED_AT = 4.0  # a prompt that is too long even at this many surely does not fit

Messages = list[dict[str, str]]


class Fields(BaseModel):
    """Base of a prompt's fields: immutable, and an unknown name is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class AnswerModel(BaseModel):
    """Base of a prompt's answer. Every field is required, which is what strict JSON-schema servers ask for."""

    # JSON has no NaN or infinity: an answer that holds one could not be read back from a cache.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def kept_as(cls) -> type[AnswerModel]:
        """The class whose JSON caches and recordings keep."""
        return cls


class FreeText(AnswerModel):
    """The answer of a prompt that asks for no form: what the model wrote, to be read by whoever asked.

    Such a prompt is sent without a schema, and its answer is never repaired or asked again.
    """

    text: str


GROUP = "lab.prompts"
A = TypeVar("A", bound=AnswerModel)


@dataclass(frozen=True)
class Listing:
    """Where a prompt lists options, and how its answer names them: what null models choose from and `shuffle` permutes.

    field: of the prompt, a list, or a text that ends with one: `parted` are then the words before the list and what
    stands between options. answer: the answer's field that names one option or several, by="text" or by="number".
    text, number: attributes of an option that hold its text and the number shown; "" for the option itself, and for its
    place from 1 on. within: an attribute; only options that share it change places, as they are shown in groups.
    form(fields): the typed answer, with `from_text` and `as_text`, that an answer in free text is read as.
    """

    field: str
    answer: str
    by: Literal["text", "number"] = "text"
    text: str = ""
    number: str = ""
    within: str = ""
    parted: tuple[str, str] | None = None
    form: Callable[[Any], Any] | None = None

    def options(self, fields: Any) -> list[Any]:
        """The options in the order in which they are shown; none where the prompt lists none."""
        listed = getattr(fields, self.field)
        if self.parted is None:
            return list(listed)
        _, before, shown = listed.rpartition(self.parted[0])
        return shown.split(self.parted[1]) if before else []

    def names(self, options: Sequence[Any]) -> list[Any]:
        """What the answer calls each of them."""
        attribute = self.number if self.by == "number" else self.text
        if attribute:
            return [getattr(option, attribute) for option in options]
        return list(range(1, len(options) + 1)) if self.by == "number" else list(options)

    def reordered(self, fields: Any, order: Sequence[int]) -> Any:
        """The fields with the options in another order. order: the old place of each, from 0; numbers keep theirs."""
        options = self.options(fields)
        moved = [options[index] for index in order]
        if self.number:
            numbers = [getattr(option, self.number) for option in options]
            moved = [
                option.model_copy(update={self.number: number}) for option, number in zip(moved, numbers, strict=True)
            ]
        if self.parted is None:
            return fields.model_copy(update={self.field: type(getattr(fields, self.field))(moved)})
        head, before, _ = getattr(fields, self.field).rpartition(self.parted[0])
        return fields.model_copy(update={self.field: f"{head}{before}{self.parted[1].join(moved)}"})


MOST_FAULTS = 8  # shown to a model or a reader; a list of 500 wrong items needs no 500 lines
Shorten = Callable[[Any, int], Fields | None]


@dataclass(frozen=True)
class Prompt:
    """A question to a model.

    name: dotted, unique (`world.operator`). version: changed whenever the wording or the fields change, since
    recordings are kept under it. operator: whose tokens and seconds these are (`realize`). system, template: Jinja text
    over the fields. fields, answer: pydantic models. narrow(fields) -> a subclass of `answer` for these very fields,
    where what may be answered depends on them (see `OneOf`); the same fields must give the same class.
    shorten(fields, characters_over) -> the fields truncated by a step, or None when nothing more may go, for a prompt
    that exceeds an engine's `context`. The template must show that something was left out.
    retry_temperatures: of the samples after the first, where the engine's own is lower; the last one holds from there
    on. Empty: the engine's for all. stop: texts at which an answer in free text ends; neither they nor what follows are
    part of it. listings: where it lists the options of its answer; of several, the first that has any. unkept: texts of
    the answer that runs and recordings leave empty, where they may quote data that nobody may pass on; of an answer
    that cannot be read, nothing is kept then. file: that holds the wording (`lab.models.prompt_files`), or "".
    parts: what code put into that wording, by name.
    """

    name: str
    version: str
    operator: str
    system: str
    template: str
    fields: type[Fields]
    answer: type[AnswerModel]
    narrow: Callable[[Any], type[AnswerModel]] | None = None
    shorten: Shorten | None = field(default=None, compare=False)  # not compared: it changes no prompt that fits
    retry_temperatures: tuple[float, ...] = ()
    stop: tuple[str, ...] = ()
    unkept: tuple[str, ...] = ()
    listings: tuple[Listing, ...] = field(default=(), compare=False)  # no part of what a model is sent
    file: str = field(default="", compare=False)
    parts: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def __post_init__(self) -> None:
        """Raises ValueError for an unkept text that the answer does not have: under a wrong name it would be kept."""
        if unknown := set(self.unkept) - self.answer.model_fields.keys():
            raise ValueError(
                f"Prompt {self.name}: unkept={sorted(unknown)}; the answer has {[*self.answer.model_fields]}"
            )

    @cached_property
    def digest(self) -> str:
        """Hash of what a model is shown for the same fields: wording, version, the answer's schema before `narrow`."""
        parts = (self.version, self.system, self.template, json.dumps(self.schema, sort_keys=True), *self.stop)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def listing(self, fields: Fields) -> Listing | None:
        """Where the options stand that these fields list; None where there are none."""
        own = (Listing(self.narrow.options, "choice"),) if isinstance(self.narrow, OneOf) else ()
        return next((listing for listing in (*self.listings, *own) if listing.options(fields)), None)

    def fill(self, **values: Any) -> Fields:
        """The typed fields. Raises ValueError, naming each field that does not fit."""
        try:
            return self.fields(**values)
        except ValidationError as error:
            raise ValueError(f"Prompt {self.name} v{self.version}: {faults(error)}") from None

    def narrowed(self, fields: Fields) -> Prompt:
        """The prompt as it is asked with these fields: with the narrow answer, where there is one."""
        return _with_answer(self, self.narrow(fields)) if self.narrow else self

    def render(self, fields: Fields) -> Messages:
        """The chat messages: the standing rules first, so that calls of one operator share a prefix.

        Raises ValueError for a text that is no Jinja template, naming its file and line.
        """
        values = {name: getattr(fields, name) for name in type(fields).model_fields}
        rules = self._written("system", values)
        return [
            {"role": "system", "content": rules if self.free else f"{rules}\n\n{self._shape}"},
            {"role": "user", "content": self._written("user", values)},
        ]

    def _written(self, part: Literal["system", "user"], values: dict[str, Any]) -> str:
        from jinja2 import TemplateSyntaxError

        try:
            template = _compiled(self.system if part == "system" else self.template)
        except TemplateSyntaxError as error:
            where = f"line {error.lineno} of its {part} text{f' in {self.file}' if self.file else ''}"
            raise ValueError(
                f"Prompt {self.name} v{self.version}: {where} is no Jinja template: {error.message}. Correct it there"
            ) from None
        # A lone surrogate, from a badly decoded file say, can be sent to no server.
        return str(template.render(values)).encode("utf-8", "replace").decode()

    @property
    def free(self) -> bool:
        """Whether the answer is free text."""
        return issubclass(self.answer, FreeText)

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the answer."""
        return self.answer.model_json_schema()

    @cached_property
    def _shape(self) -> str:
        # Said in words as well, for servers that do not constrain the answer to the schema.
        properties = {
            name: part.get("description", part.get("type", "value")) for name, part in self.schema["properties"].items()
        }
        return f"Answer with one JSON object and nothing else. Its keys: {json.dumps(properties)}"


class Choice(AnswerModel):
    """One of the listed options."""

    choice: str = Field(description="the option that you choose, as it is listed")


@dataclass(frozen=True)
class OneOf:
    """The `narrow` of a prompt that is answered by a `Choice`. options: the prompt's field that lists them.

    Such a prompt needs no noise of its own: under `rules@p` a wrong answer is another option.
    """

    options: str

    def __call__(self, fields: Fields) -> type[Choice]:
        """Raises ValueError where there is nothing to choose from."""
        return _of_options(self.of(fields))

    def of(self, fields: Fields) -> tuple[str, ...]:
        """The options of these fields. Raises ValueError where there are none."""
        options = tuple(getattr(fields, self.options))
        if not options:
            raise ValueError(f"{self.options} is empty, and the answer has to be one of them")
        return options


def choice(name: str, version: str, operator: str, system: str, template: str, options: str, **fields: Any) -> Prompt:
    """A prompt that is answered by a `Choice`. options: which of the fields lists what there is. fields: their types.

    choice("walk.move", "1", "realize", "You walk.", "Doors: {{ doors }}", "doors", doors=list[str], room=int)
    """
    typed: Any = {field: (kind, ...) for field, kind in fields.items()}
    seen = create_model(f"{name} fields", __base__=Fields, **typed)
    return Prompt(name, version, operator, system, template, seen, Choice, OneOf(options))


@cache
def limited(answer: type[A], field: str, kind: Any, words: str = "", **limits: Any) -> type[A]:
    """An answer whose field has another type and other limits, for `narrow`: the same arguments give the same class.

    kind: hashable, such as list[str]. words: its description, by default as it was. limits: as pydantic's Field has.
    """
    about = Field(description=words or answer.model_fields[field].description, **limits)
    typed: Any = {field: (kind, about)}
    return create_model(answer.__name__, __base__=answer, **typed)


@lru_cache(maxsize=4096)
def _of_options(options: tuple[str, ...]) -> type[Choice]:
    literal: Any = Literal[options]  # made at run time, which no type checker can follow
    return create_model("Choice", __base__=Choice, choice=(literal, Choice.model_fields["choice"]))


@cache
def _with_answer(prompt: Prompt, answer: type[AnswerModel]) -> Prompt:
    # Cached for its schema, which is costly to make.
    return replace(prompt, answer=answer, narrow=None)


@cache
def _compiled(text: str) -> Any:
    return environment().from_string(text.strip())


@cache
def environment() -> Any:
    """Jinja as prompts are written in it, with the filters `json` and `inert`."""
    from jinja2 import Environment, StrictUndefined
    from pydantic_core import to_json

    # Model prompts are plain text, never HTML: escaping would change what the model reads.
    environment = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False)
    # `{{ value | json }}`: compact, also of dataclasses and models.
    environment.filters["json"] = lambda value: to_json(value).decode()
    environment.filters["inert"] = inert
    return environment


def inert(text: str) -> str:
    """A template's `{{ text | inert }}`: foreign text in which no line can pass for a `***` heading of the prompt."""

    def seen(line: str) -> str:
        # Blanks and characters that show nothing, such as a zero-width space, would hide the stars.
        return "".join(character for character in line if character.isprintable() and not character.isspace())

    return "\n".join(f"| {line}" if seen(line).startswith("***") else line for line in text.splitlines())


def faults(error: ValidationError) -> str:
    """A validation error in one line: which field, and what is wrong with it; the first few of many."""
    messages = [f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in error.errors()]
    more = [f"and {len(messages) - MOST_FAULTS} more"] if len(messages) > MOST_FAULTS else []
    return "; ".join(messages[:MOST_FAULTS] + more)


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

    def typed(self, text: str) -> AnswerModel:
        """An answer to these messages, as JSON, as one to the prompt that was asked. Raises ValidationError."""
        return self.shuffled.restored(self.asked.answer.kept_as().model_validate_json(text))


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


def request_of(prompt: Prompt, messages: Messages, engine: Engine, address: str, sample: int) -> dict[str, Any]:
    """Everything that an answer depends on; its hash is the key of the cache and of recordings."""
    options = options_of(prompt, engine, sample)
    return {
        "address": address,
        # `rules@0.7` differs from `rules` in no option: of such engines the whole string counts.
        "model": engine.name if engine.kind in ("endpoint", "local") else engine.text,
        "messages": messages,
        # Longer patience or more threads ask the same question, and must not void a recording.
        "sampling": {name: options[name] for name in sorted(options) if name not in engines.OF_THE_MACHINE},
        "schema": prompt.schema,
        "sample": sample,
        "prompt": [prompt.name, prompt.version],
    } | ({"stop": list(prompt.stop)} if prompt.stop else {})


def options_of(prompt: Prompt, engine: Engine, sample: int) -> Mapping[str, Any]:
    """The engine's options for one sample; a retry is asked at the temperature that the prompt raises it to."""
    if not (sample and prompt.retry_temperatures):
        return engine.options
    raised = prompt.retry_temperatures[min(sample, len(prompt.retry_temperatures)) - 1]
    return {**engine.options, "temperature": max(raised, engine.options.get("temperature", 0.0))}
