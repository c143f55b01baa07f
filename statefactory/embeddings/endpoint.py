"""Embeddings from any OpenAI-compatible address."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from lab.machine.secrets import clean_address
from lab.models.client import Client, EndpointError, NotThisApi, body_json, gets_through, refused, with_retries
from lab.models.endpoint import PATIENCE, TIMEOUT
from lab.models.parsing import error_in
from lab.models.servers import client_settings, stated_address
from statefactory.embeddings.cache import sendable, unit

BATCH = 256  # texts per request


class EndpointModel:
    """An embedding model at OPENAI_BASE_URL. The key is read from the environment at each call and not stored."""

    def __init__(self, model: str) -> None:
        """Raises MissingKey if neither an address nor a key is set, ValueError for an invalid address."""
        self.model = model
        self.name = f"endpoint:{model}"
        address = stated_address(f"The embedding model {self.name} is asked at an endpoint", "all-MiniLM-L6-v2")
        self.address = clean_address(address)

    def identity(self) -> str:
        """The address and the model's name: all that is known of what the vectors depend on."""
        return f"{self.address} {self.model}"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, shape (len(texts), dimension).

        Raises EndpointError if the server fails, ValueError if its vectors are invalid.
        """
        vectors: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            # In batches: servers limit the texts per request (OpenAI to 2,048).
            vectors += self._asked([sendable(text) for text in texts[start : start + BATCH]])
        return unit(vectors, texts, self.name)

    def cut(self, texts: Sequence[str]) -> list[str]:
        """Always empty: servers do not report what they truncate."""
        return []

    def _asked(self, texts: list[str]) -> list[list[float]]:
        import openai

        try:
            return with_retries(lambda: self._once(texts), self.address, PATIENCE, self._others)
        except openai.APIStatusError as error:
            refusal: EndpointError = refused(error, self.address, self._others)
        raise refusal  # outside the handler: its context would hold the request, and so the key

    def _others(self) -> bool:
        return gets_through(lambda: self._once(["OK"]), self.address, PATIENCE)

    def _once(self, texts: list[str]) -> list[list[float]]:
        def send(sdk: Any) -> Any:
            # Floats instead of the SDK's default, base64, which some servers do not support.
            create = sdk.embeddings.with_streaming_response.create
            return create(model=self.model, input=texts, encoding_format="float")

        return _vectors(Client(**client_settings(self.address)).body(send, TIMEOUT, times=8))


def _vectors(body: bytes) -> list[list[float]]:
    """Parse a response into vectors in the order of the texts: by index, or as listed if no vector has an index.

    Raises BadBody or NotThisApi if it is no list of embeddings, and the SDK's error if it reports one.
    """
    match answer := body_json(body):
        case {"data": [*items]} if all(
            isinstance(item, dict) and isinstance(item.get("embedding"), list) for item in items
        ):
            pass
        case _:
            raise error_in(answer, body)
    if all(item.get("index") is None for item in items):
        return [item["embedding"] for item in items]
    indices = [item.get("index", 0) for item in items]  # servers that omit zeros omit the first index
    if not all(isinstance(index, int) for index in indices) or len(set(indices)) < len(indices):
        raise NotThisApi(f"embeddings whose indices do not define their order: {indices[:8]}")
    return [item["embedding"] for _, item in sorted(zip(indices, items, strict=True), key=itemgetter(0))]
