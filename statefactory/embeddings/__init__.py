"""Sentence embeddings: texts as vectors of length 1, whose product is the cosine similarity.

    all-MiniLM-L6-v2             from an installed package, offline; the paper's choice
    all-mpnet-base-v2            python -m lab model get mpnet
    nli-distilroberta-base-v2, bge-base-en-v1.5, embeddinggemma-300m
                                 from the Hugging Face hub, or its files on this machine
    a folder, or an address on the hub such as "org/model"
                                 any sentence-transformers model
    endpoint:MODEL               any OpenAI-compatible server, at OPENAI_BASE_URL

Vectors are cached on disk under a hash of the model's files and the text. Where all texts are cache hits, no model is
loaded. A failure raises; no text ever gets a placeholder vector.
Source: Shen et al. 2026, Appendices C.4 and C.5.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from statefactory.embeddings import weights
from statefactory.embeddings.cache import Cached, VectorFile
from statefactory.embeddings.weights import MissingEmbedder

__all__ = ["DEFAULT", "Embedder", "MissingEmbedder", "known", "open_embedder"]

DEFAULT = "all-MiniLM-L6-v2"


class Embedder(Protocol):
    """Texts to vectors. name: stands beside a number that was got with it.

    One with an attribute `cut`, the texts so far that it did not read to their ends, has their rewards flagged.
    """

    name: str

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """float32, shape (len(texts), dimension), length 1 each; row i belongs to texts[i], and texts may recur."""
        ...


def open_embedder(name: str = DEFAULT, cache: VectorFile | None = None, device: str = "cpu") -> Embedder:
    """An embedder by its name, as above; its model is loaded when the first unknown text is embedded.

    cache: where vectors are kept; None for `embeddings.sqlite` beside the cache of answers. device: as PyTorch calls
    it. Raises MissingKey or ValueError for an endpoint that the environment does not name; whatever else
    is missing raises MissingEmbedder at the first text.
    """
    if name.startswith("endpoint:"):
        from statefactory.embeddings.endpoint import EndpointModel

        return Cached(EndpointModel(name.removeprefix("endpoint:")), cache)
    from statefactory.embeddings.sentence_transformer import SentenceTransformerModel

    return Cached(SentenceTransformerModel(name, device), cache)


def known() -> Mapping[str, bool]:
    """The models that have a name here, and whether their files are on this machine."""
    return {name: weights.present(entry) for name, entry in weights.KNOWN.items()}
