"""Shuffled options: the engine option `shuffle=SEED` permutes what a prompt lists, and maps the answer back.

A model that does well only while the best option stands first loses by it; whoever asks does not notice. The order
follows from the seed and the prompt's fields, so a question is shuffled alike in any order and process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from lab.models.cache import key_of
from lab.models.engines import SHUFFLE, Engine
from lab.models.prompts import AnswerModel, Fields, FreeText, Listing, Prompt


@dataclass(frozen=True)
class Shown:
    """A prompt's fields as they are shown. numbers: number shown -> the option's own, where answers name numbers."""

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
            said = self.listing.form(self.fields).from_text(value.text)
        except ValueError:  # whoever asked reads it, and says what is wrong with it
            return value
        return FreeText(text=self._renumbered(said, self.listing.answer).as_text())

    def noted(self, value: AnswerModel) -> str:
        """The JSON of an answer to these fields, for recordings; "" where it is that of the restored answer."""
        return value.model_dump_json() if self.numbers else ""

    def _renumbered(self, value: Any, name: str) -> Any:
        named = getattr(value, name)
        if isinstance(named, list):
            return value.model_copy(update={name: [self.numbers.get(number, number) for number in named]})
        return value.model_copy(update={name: self.numbers.get(named, named)})


def shown(prompt: Prompt, fields: Fields, engine: Engine) -> Shown:
    """The fields as this engine is shown them: shuffled if it says so and the prompt lists options."""
    listing = prompt.listing(fields) if SHUFFLE in engine.options else None
    if listing is None:
        return Shown(fields)
    options = listing.options(fields)
    draw = Random(key_of([engine.options[SHUFFLE], prompt.name, fields.model_dump(mode="json")]))
    order = _order([getattr(option, listing.within) if listing.within else None for option in options], draw)
    numbers = listing.names(options) if listing.by == "number" else []
    moved = {number: numbers[place] for number, place in zip(numbers, order, strict=False)}
    return Shown(listing.reordered(fields, order), listing, moved)


def _order(groups: list[Any], draw: Random) -> list[int]:
    """A random order of the places 0 to n, in which each place is taken from its own group."""
    left = {group: [place for place, of in enumerate(groups) if of == group] for group in dict.fromkeys(groups)}
    for places in left.values():
        draw.shuffle(places)
    return [left[group].pop() for group in groups]
