"""Sentence embeddings: texts as vectors of length 1, whose dot product is the cosine similarity.

    all-MiniLM-L6-v2             from an installed package, offline; the paper's choice
    all-mpnet-base-v2            python -m lab model get mpnet
    nli-distilroberta-base-v2, bge-base-en-v1.5, embeddinggemma-300m
                                 from the Hugging Face hub, or its files on this machine
    a folder, or an address on the hub such as "org/model"
                                 any sentence-transformers model
    endpoint:MODEL               any OpenAI-compatible server, at OPENAI_BASE_URL

Vectors are cached on disk under a hash of the model's files and the text. If all texts are cache hits, no model is
loaded. Failures raise; no text ever gets a placeholder vector.
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
    """Embeds texts. name: reported with every number that depends on it.

    An embedder may have an attribute `cut`, the texts that it truncated so far. Rewards that use them are flagged.
    """

    name: str

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, float32, shape (len(texts), dimension); row i belongs to texts[i]. Texts may repeat."""
        ...


def open_embedder(name: str = DEFAULT, cache: VectorFile | None = None) -> Embedder:
    """Open an embedder by name, as listed above. Its model is loaded at the first cache miss.

    cache: file of cached vectors; None for `embeddings.sqlite` next to the cache of answers.
    Raises MissingKey or ValueError if the environment does not define the endpoint. Anything else that is missing
    raises MissingEmbedder when the first text is embedded.
    """
    if name.startswith("endpoint:"):
        from statefactory.embeddings.endpoint import EndpointModel

        return Cached(EndpointModel(name.removeprefix("endpoint:")), cache)
    from statefactory.embeddings.sentence_transformer import SentenceTransformerModel

    return Cached(SentenceTransformerModel(name), cache)


def known() -> Mapping[str, bool]:
    """The named models, and whether their files are on this machine."""
    return {name: weights.present(entry) for name, entry in weights.KNOWN.items()}
