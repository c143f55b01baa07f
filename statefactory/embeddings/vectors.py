"""Validation of embeddings: one finite vector of length 1 for each text, or an error that names the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.machine.faults import Unavailable

if TYPE_CHECKING:
    import numpy as np

SHOWN = 80  # characters of a text in an error


class MissingEmbedder(Unavailable):
    """An embedding model, or what runs it, is not here; the message says what to do."""


def sendable(text: str) -> str:
    """The text without lone surrogates, which no tokenizer and no server takes."""
    return text.encode("utf-8", "replace").decode()


def unit(vectors: Any, texts: Sequence[str], name: str) -> np.ndarray:
    """The vectors at length 1, float32, of shape (len(texts), dimension).

    name: of the model, for errors. Raises ValueError for another number of vectors than of texts, vectors of
    different sizes, and one with a NaN, an infinite value, or length 0.
    """
    import numpy as np

    if len(vectors) != len(texts):
        raise ValueError(f"{name} gave {len(vectors)} vectors for {len(texts)} texts")
    try:
        # Not float32 yet: the square of 1e30 would be infinite, and that of 1e-30 nothing.
        array = np.asarray(vectors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} gave something else than vectors of one size: {error}") from None
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"{name} gave an array of shape {array.shape} for {len(texts)} texts")
    lengths = np.linalg.norm(array, axis=1, keepdims=True)
    usable = np.isfinite(lengths[:, 0]) & (lengths[:, 0] > 0)
    if not usable.all():
        first = int(np.argmin(usable))
        fault = "of length 0" if lengths[first, 0] == 0 else "with a NaN or infinite value"
        raise ValueError(f"{name} gave a vector {fault} for the text {texts[first][:SHOWN]!r}")
    return (array / lengths).astype(np.float32)
