"""Embeddings from any OpenAI-compatible address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lab.machine.secrets import clean_address
from lab.models.endpoint import LONGEST_WAIT, PATIENCE, TIMEOUT, place_of, stated_address
from lab.models.retries import BadBody, EndpointError, refused, with_retries
from statefactory.embeddings.vectors import sendable, unit

if TYPE_CHECKING:
    import numpy as np

BATCH = 256  # texts a request


class EndpointModel:
    """A model at OPENAI_BASE_URL; the key is read from the environment where the call is made and kept nowhere."""

    def __init__(self, model: str) -> None:
        """Raises MissingKey if neither an address nor a key is set, BadAddress."""
        self.model = model
        self.name = f"endpoint:{model}"
        address = stated_address(f"The embedding model {self.name} is asked at an endpoint", "all-MiniLM-L6-v2")
        self.address = clean_address(address)

    def identity(self) -> str:
        """What the vectors depend on, as far as it can be known: the address and the model's name there."""
        return f"{self.address} {self.model}"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, shape (len(texts), dimension). Raises EndpointError, UnusableEmbedding."""
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            # In batches: servers bound the texts of a request (OpenAI at 2,048).
            vectors += self._asked([sendable(text) for text in texts[start : start + BATCH]])
        return unit(vectors, texts, self.name)

    def _asked(self, texts: list[str]) -> list[list[float]]:
        import openai

        try:
            return with_retries(lambda: self._once(texts), self.address, PATIENCE, LONGEST_WAIT)
        except openai.APIStatusError as error:
            refusal: EndpointError = refused(error, self.address)
        raise refusal  # outside the handler: no context that holds the request, and with it the key

    def _once(self, texts: list[str]) -> list[list[float]]:
        import openai

        with openai.OpenAI(**place_of(self.address), max_retries=0, timeout=TIMEOUT) as client:
            # Numbers, not base64, which the SDK would ask for and not every server knows.
            return _vectors(client.embeddings.create(model=self.model, input=texts, encoding_format="float"))


def _vectors(reply: Any) -> list[list[float]]:
    """In the order of the texts. Raises BadBody if the body was no list of embeddings; the SDK does not check."""
    try:
        return [list(item.embedding) for item in sorted(reply.data, key=lambda item: item.index)]
    except (AttributeError, TypeError):
        raise BadBody("the body is no list of embeddings") from None
