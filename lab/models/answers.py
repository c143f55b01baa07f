"""Typed answers of prompts: free text, one of the listed options, or fields of one's own.

A prompt declares its answer as a pydantic class, whose JSON schema binds the model. `Listing` says where the prompt
lists the options that an answer names, so that null models can choose among them and `shuffle` can permute them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

MOST_FAULTS = 8  # listed in a message: 500 wrong items need no 500 lines
A = TypeVar("A", bound="AnswerModel")


class AnswerModel(BaseModel):
    """Base of a prompt's answer. Every field is required, which is what strict JSON-schema servers ask for."""

    # JSON has no NaN or infinity: an answer that holds one could not be read back from a cache.
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def stored_as(cls) -> type[AnswerModel]:
        """The class whose JSON is stored in caches and recordings."""
        return cls


class FreeText(AnswerModel):
    """The answer of a prompt that asks for no form: what the model wrote, to be read by whoever asked.

    Such a prompt is sent without a schema, and its answer is never repaired or asked again.
    """

    text: str


class Choice(AnswerModel):
    """One of the listed options."""

    choice: str = Field(description="the option that you choose, as it is listed")


@dataclass(frozen=True)
class OneOf:
    """The `narrow` of a prompt that is answered by a `Choice`. options: the prompt's field that lists the options.

    Such a prompt needs no registered noise: under `rules@p` a wrong answer is another option.
    """

    options: str

    def __call__(self, fields: BaseModel) -> type[Choice]:
        """The `Choice` narrowed to these fields' options. Raises ValueError if there are none."""
        options = tuple(getattr(fields, self.options))
        if not options:
            raise ValueError(f"{self.options} is empty, and the answer has to be one of them")
        return _of_options(options)

    @property
    def listing(self) -> Listing:
        """Where the prompt lists these options."""
        return Listing(self.options, "choice")


@lru_cache(maxsize=4096)  # by the tuple, since Literals in another order are equal and the schema's order is not
def _of_options(options: tuple[str, ...]) -> type[Choice]:
    literal: Any = Literal[options]  # built at run time, which type checkers cannot follow
    return create_model("Choice", __base__=Choice, choice=(literal, Choice.model_fields["choice"]))


def limited(answer: type[A], field: str, kind: Any, words: str = "", **limits: Any) -> type[A]:
    """An answer class with another type and limits for `field`, for `narrow`. Equal arguments give the same class.

    kind: the type, hashable, such as list[str]. words: the description, by default unchanged. limits: as for pydantic's
    Field.
    """
    return _limited(answer, field, kind, repr(kind), words, **limits)


@cache
def _limited(answer: type[A], field: str, kind: Any, order: str, words: str, **limits: Any) -> type[A]:
    # order: Literals of the same options in another order are equal, but their schemas are not.
    info = Field(description=words or answer.model_fields[field].description, **limits)
    typed: Any = {field: (kind, info)}
    return create_model(answer.__name__, __base__=answer, **typed)


@dataclass(frozen=True)
class Listing:
    """Where a prompt lists options, and how its answer names them. Null models choose from it; `shuffle` permutes it.

    field: the prompt's field that lists the options: a list, or a text that ends with one. parted: for a text, the
    words before the list and the separator of the options. answer: the answer's field that names one option or several,
    by="text" or by="number". text, number: attributes of an option with its text and its displayed number; "" for the
    option itself, and for its position from 1. within: an attribute; only options with the same value are permuted,
    since they are displayed in groups. form(fields): the class that parses an answer in free text (`from_text`,
    `as_text`).
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
        """The options in the order in which they are displayed; [] if the prompt lists none."""
        value = getattr(fields, self.field)
        if self.parted is None:
            return list(value)
        _, separator, listed = value.rpartition(self.parted[0])
        return listed.split(self.parted[1]) if separator else []

    def names(self, options: Sequence[Any]) -> list[Any]:
        """The names by which an answer refers to the options."""
        attribute = self.number if self.by == "number" else self.text
        if attribute:
            return [getattr(option, attribute) for option in options]
        return list(range(1, len(options) + 1)) if self.by == "number" else list(options)

    def reordered(self, fields: Any, order: Sequence[int]) -> Any:
        """The fields with the options permuted; displayed numbers stay. order: old position of each, from 0."""
        options = self.options(fields)
        permuted = [options[index] for index in order]
        if self.number:
            numbers = [getattr(option, self.number) for option in options]
            permuted = [
                option.model_copy(update={self.number: number})
                for option, number in zip(permuted, numbers, strict=True)
            ]
        if self.parted is None:
            return fields.model_copy(update={self.field: type(getattr(fields, self.field))(permuted)})
        head, separator, _ = getattr(fields, self.field).rpartition(self.parted[0])
        return fields.model_copy(update={self.field: f"{head}{separator}{self.parted[1].join(permuted)}"})


def faults(error: ValidationError) -> str:
    """A validation error in one line: the fields, and what is wrong with each; only the first MOST_FAULTS."""
    messages = [f"{'.'.join(map(str, fault['loc'])) or 'answer'}: {fault['msg']}" for fault in error.errors()]
    if (omitted := len(messages) - MOST_FAULTS) > 0:
        messages[MOST_FAULTS:] = [f"and {omitted} more"]
    return "; ".join(messages)
