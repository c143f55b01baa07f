"""Embeds with any sentence-transformers model, which is loaded when the first text is embedded."""

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

BATCH = 16  # texts per forward pass: in larger batches more texts are padded to the longest
ADDED = 8  # most tokens that a tokenizer adds to a text


class SentenceTransformerModel:
    """A model by its name in `weights.KNOWN`, its folder, or its hub address."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._entry = weights.entry(name)

    def identity(self) -> str:
        """What the vectors depend on: files, prefix and number of modules."""
        entry = self._entry
        # Part of the key of every cached vector: any change of this format would void all caches.
        return f"{weights.fingerprint(entry)} {entry.prefix!r} {entry.modules}"

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, shape (len(texts), dimension).

        Raises MissingEmbedder if files or packages are missing, WrongHash if files are damaged, ValueError if vectors
        are invalid.
        """
        model = _loaded(str(weights.checked(self._entry)), self._entry.modules)
        vectors = model.encode(
            [self._prepared(text) for text in texts], batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False
        )
        return unit(vectors, texts, self.name)

    def cut(self, texts: Sequence[str]) -> list[str]:
        """The texts with more tokens than the model reads, whose ends have no influence. Does not load the model.

        Empty if the model's files state no limit, or have no tokenizer.json.
        """
        folder = weights.located(self._entry)
        limit = _limit(str(folder))
        # A token has at least one byte, except a few added ones, so most texts need not be tokenised.
        long_texts = [text for text in texts if len(self._prepared(text).encode()) > limit - ADDED]
        if not long_texts or not limit or not (folder / "tokenizer.json").exists():
            return []
        encoded = _tokenizer(str(folder)).encode_batch([self._prepared(text) for text in long_texts])
        return [text for text, tokens in zip(long_texts, encoded, strict=True) if len(tokens) > limit]

    def _prepared(self, text: str) -> str:
        return self._entry.prefix + sendable(text).strip() if self._entry.prefix else sendable(text)


@cache
def _limit(folder: str) -> int:
    """The maximum number of tokens that a model reads of a text; 0 if its files do not state it."""
    for name, field in (("sentence_bert_config.json", "max_seq_length"), ("tokenizer_config.json", "model_max_length")):
        if (path := Path(folder) / name).exists() and (limit := json.loads(path.read_bytes()).get(field)):
            return int(limit)
    return 0


@cache
def _tokenizer(folder: str) -> Any:
    from tokenizers import Tokenizer  # transformers, which has it, too, takes seconds to import

    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    tokenizer.no_truncation()
    return tokenizer


@cache
def _loaded(folder: str, modules: int | None) -> Any:
    """Load a model on the CPU, once per process. modules: number of its first modules to use; None for all."""
    # By default PyTorch's threads wait actively for each other, which made batches several times slower on busy cores.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise MissingEmbedder(f"Embedding needs sentence-transformers ({error}). Install it: {INSTALL}") from error
    try:
        with quiet():
            model = SentenceTransformer(folder, device="cpu", local_files_only=True)
    except (OSError, ValueError, KeyError) as error:
        raise MissingEmbedder(
            f"{folder} cannot be loaded as a sentence-transformers model: {error}. Its files may be incomplete: fetch "
            "the folder again"
        ) from error
    return model if modules is None else SentenceTransformer(modules=list(model)[:modules], device="cpu")


@contextmanager
def quiet() -> Iterator[None]:
    """Context without transformers' progress bars and warnings, and without FutureWarnings, which trl raises."""
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
