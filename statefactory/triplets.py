"""Triplets: can an embedding tell a paraphrase of a fact from another fact of the same episode?

A triplet has an anchor (a fact that was extracted, as a sentence), a paraphrase of it by a model, and a distractor from
the same episode's history, which speaks of another object or says something else of the same one. An embedding is right
where the anchor is nearer to the paraphrase than to the distractor (Eq. 14). Source: Shen et al. 2026, Appendix C.5.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from pydantic import Field, field_validator

from lab.models.backbone import Backbone
from lab.models.prompt_files import read_prompt
from lab.models.prompts import AnswerModel, Fields
from statefactory.embeddings import Embedder
from statefactory.extraction import Trace
from statefactory.state import Attribute, Values, entities, sentence

if TYPE_CHECKING:
    import numpy as np

OTHER_OBJECT, CONTRADICTION = "another object", "another value"


class Probe(NamedTuple):
    """An anchor and its distractor. kind: how the distractor differs."""

    anchor: str
    negative: str
    kind: str


class Triplet(NamedTuple):
    """A probe with its paraphrase."""

    anchor: str
    positive: str
    negative: str


class ParaphraseFields(Fields):
    """The sentence to say in other words."""

    sentence: str


class Paraphrase(AnswerModel):
    """The same in other words."""

    paraphrase: str = Field(description="the same fact in one sentence of other words")


@cache
def _in_other_words(text: str) -> type[Paraphrase]:
    """A paraphrase that is not the sentence itself."""

    class OtherWords(Paraphrase):
        @field_validator("paraphrase")
        @classmethod
        def differs(cls, value: str) -> str:
            # An echo has similarity 1 to its anchor: the triplet would be right whatever the embedding.
            if not _plain(value) or _plain(value) == _plain(text):
                raise ValueError("the paraphrase repeats the sentence; use other words")
            return value

    return OtherWords


PARAPHRASE = read_prompt(
    "statefactory/paraphrase.md", ParaphraseFields, Paraphrase, narrow=lambda fields: _in_other_words(fields.sentence)
)


def probes(trace: Trace, random: Random, most: int = 1, values: Values = "sentences") -> list[Probe]:
    """Up to so many anchors of an episode, each with a distractor; an episode of a single fact has none.

    values: whether the trace's values are sentences, which say a fact themselves, or fragments.
    """
    known = _history(trace)
    # Sorted: the order of a set of texts differs from process to process.
    chosen = random.sample(sorted(known), min(most, len(known)))
    drawn = (_probe(fact, known, random, values) for fact in chosen)
    return [probe for probe in drawn if probe]


def paraphrased(backbone: Backbone, probe: Probe) -> Triplet:
    """The probe with a paraphrase. Raises MalformedAnswer where the model only repeats the sentence."""
    answer = backbone.ask(PARAPHRASE, sentence=probe.anchor).value
    return Triplet(probe.anchor, answer.paraphrase, probe.negative)


def hits(triplets: Sequence[Triplet], embedder: Embedder) -> np.ndarray:
    """Of each triplet, whether the paraphrase is nearer to the anchor than the distractor (Eq. 14); shape (n,)."""
    near, far = similarities(triplets, embedder).T
    # Eq. 14 is strict: a tie is a miss.
    return near > far


def similarities(triplets: Sequence[Triplet], embedder: Embedder) -> np.ndarray:
    """Cosines of the anchor with paraphrase and distractor, shape (n, 2)."""
    import numpy as np

    if not triplets:
        return np.zeros((0, 2))
    vectors = embedder.embed([text for triplet in triplets for text in triplet])
    anchors, positives, negatives = vectors.reshape(len(triplets), 3, -1).transpose(1, 0, 2)
    return np.stack([(anchors * positives).sum(axis=1), (anchors * negatives).sum(axis=1)], axis=1)


Fact = tuple[str, str, str]  # identity, name of the attribute, value


def _history(trace: Trace) -> set[Fact]:
    """Every fact that held at some step."""
    return {
        (entity.identity, attribute.name, attribute.value)
        for state in dict.fromkeys(trace.states)
        for entity in entities(state)
        for attribute in entity.attributes
    }


def _probe(anchor: Fact, known: Iterable[Fact], random: Random, values: Values) -> Probe | None:
    """With a contradiction or with a fact of another object, by a coin's toss where there are both."""
    (identity, name, value), anchor_text = anchor, _said(anchor, values)
    against = sorted(fact for fact in known if fact[:2] == (identity, name) and fact[2] != value)
    # Two objects may share a sentence ("Both doors are shut."), which is no distractor of itself.
    others = sorted(fact for fact in known if fact[0] != identity and _said(fact, values) != anchor_text)
    kinds = [(kind, facts) for kind, facts in ((CONTRADICTION, against), (OTHER_OBJECT, others)) if facts]
    if not kinds:
        return None
    kind, facts = random.choice(kinds)
    return Probe(anchor_text, _said(random.choice(facts), values), kind)


def _said(fact: Fact, values: Values) -> str:
    identity, name, value = fact
    return value if values == "sentences" else sentence(identity, Attribute(name, value))


def _plain(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())
