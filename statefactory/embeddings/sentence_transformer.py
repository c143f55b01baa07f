"""Any sentence-transformers model, loaded when the first text is embedded."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lab.machine.doctor import INSTALL
from statefactory.embeddings import weights
from statefactory.embeddings.cache import sendable, unit
from statefactory.embeddings.weights import MissingEmbedder

BATCH = 16  # texts that go through the network at once: more of them are padded to the longest
ADDED = 8  # tokens that a tokenizer adds to a text, at most


class SentenceTransformerModel:
    """A model by its name in `weights.KNOWN`, its folder, or its address on the hub. device: as PyTorch calls it."""

    def __init__(self, name: str, device: str = "cpu") -> None:
        self.name = name
        self.device = device
        self._entry = weights.entry(name)

    def identity(self) -> str:
        """What the vectors depend on: the files, and what is done with a text before and after."""
        known = self._entry
        # Part of the key of every cached vector: another wording here would void all caches.
        return f"{weights.fingerprint(known)} {known.prefix!r} {known.modules}"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, shape (len(texts), dimension). Raises MissingEmbedder, WrongHash, ValueError."""
        model = _loaded(str(weights.checked(self._entry)), self._entry.modules, self.device)
        vectors = model.encode(
            [self._prepared(text) for text in texts], batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False
        )
        return unit(vectors, texts, self.name)

    def cut(self, texts: Sequence[str]) -> list[str]:
        """Those of the texts that have more tokens than the model reads: the rest of such a text changes no vector.

        The model is not loaded. None where its files state no limit, or have no tokenizer.json.
        """
        folder = weights.located(self._entry)
        limit = _limit(str(folder))
        # A token is a byte or more, but for a few that are added: most texts need no look at their tokens.
        long = [text for text in texts if len(self._prepared(text).encode()) > limit - ADDED]
        if not long or not limit or not (folder / "tokenizer.json").exists():
            return []
        every = _tokenizer(str(folder))([self._prepared(text) for text in long])["input_ids"]
        return [text for text, tokens in zip(long, every, strict=True) if len(tokens) > limit]

    def _prepared(self, text: str) -> str:
        return self._entry.prefix + sendable(text).strip() if self._entry.prefix else sendable(text)


@cache
def _limit(folder: str) -> int:
    """The tokens that a model reads of a text, 0 where its files do not say."""
    for name, field in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if (path := Path(folder) / name).exists() and (limit := json.loads(path.read_bytes()).get(field)):
            return int(limit)
    return 0


@cache
def _tokenizer(folder: str) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(tokenizer_file=str(Path(folder) / "tokenizer.json"))


@cache
def _loaded(folder: str, modules: int | None, device: str) -> Any:
    """The model; one of a kind in a process. modules: how many of its modules are used, None for all."""
    # PyTorch's threads spin while they wait for each other, which on busy cores made a batch several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingEmbedder(f"Embedding needs sentence-transformers ({error}). Install it: {INSTALL}") from error
    try:
        with quiet():
            model = SentenceTransformer(folder, device=device, local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise MissingEmbedder(
            f"{folder} cannot be loaded as a sentence-transformers model: {error}. Its files may be incomplete: fetch "
            "the folder anew"
        ) from error
    return model if modules is None else SentenceTransformer(modules=list(model)[:modules], device=device)


@contextmanager
def quiet() -> Iterator[None]:
    """No bars of transformers and only errors meanwhile; trl uses names that it deprecates."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
