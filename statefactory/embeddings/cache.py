"""Cache of embeddings: in the memory of this process, and in one SQLite file that all processes share.

A model's output is validated: each text gets one finite vector of length 1, or an error that names the text.
"""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from lab.machine import progress
from lab.machine.paths import answer_cache
from lab.machine.reading import checksum
from lab.models.cache import Database, note_damaged, tell_damaged
from statefactory.embeddings import stored

KEYS_A_QUERY = 500  # SQLite before 3.32 allows 999 parameters per statement
IN_MEMORY = 200_000  # vectors; 300 MB at 384 numbers each
SELECT = "SELECT key, CAST(vector AS BLOB), checksum FROM vectors"
SHOWN = 80  # characters of a text in an error


class Model(Protocol):
    """An embedding model. identity: everything except the text that its vectors depend on; does not load the model."""

    name: str

    def identity(self) -> str: ...

    def embed(self, texts: Sequence[str]) -> np.ndarray: ...

    def cut(self, texts: Sequence[str]) -> list[str]:
        """The texts that exceed the model's maximum length; none if that is unknown."""
        ...


class VectorFile(Database):
    """Key -> float32 vector in the SQLite file `embeddings.sqlite`, next to the cache of answers and as robust.

    A vector with a wrong checksum counts as a cache miss, and a warning reports it.
    """

    SCHEMA = """CREATE TABLE IF NOT EXISTS vectors
        (key BLOB PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL)"""

    def __init__(self, path: Path | str | None = None) -> None:
        super().__init__(path if path is not None else answer_cache().with_name("embeddings.sqlite"))

    def read(self, keys: Sequence[bytes]) -> dict[bytes, np.ndarray]:
        """The vectors of the cache hits. Raises Unavailable."""
        rows: list[tuple[bytes, bytes, int]] = []
        try:
            for start in range(0, len(keys), KEYS_A_QUERY):
                batch = keys[start : start + KEYS_A_QUERY]
                marks = ",".join("?" * len(batch))
                rows += self._rows(f"{SELECT} WHERE key IN ({marks})", *batch)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error
        return self._intact(rows)

    def everything(self) -> dict[bytes, np.ndarray]:
        """All vectors, by key in ascending order. Raises sqlite3.Error if the file cannot be read."""
        return self._intact(self._rows(f"{SELECT} ORDER BY key"))

    def _intact(self, rows: Iterable[tuple[bytes, bytes, int]]) -> dict[bytes, np.ndarray]:
        rows = list(rows)
        intact = {key: blob for key, blob, stored_sum in rows if checksum(key, blob) == stored_sum}
        note_damaged(self.path, [key.hex() for key, *_ in rows if key not in intact])
        tell_damaged()
        return {key: np.frombuffer(blob, np.float32) for key, blob in intact.items()}

    def write(self, vectors: Mapping[bytes, np.ndarray]) -> None:
        """Store vectors in one transaction. If the disk is full, they are not stored and the progress line says so."""
        if not vectors:
            return
        blobs = ((key, vector.tobytes()) for key, vector in vectors.items())
        rows = [(key, blob, checksum(key, blob)) for key, blob in blobs]
        try:
            with self._connection() as connection:
                # A write lock from the start waits for other writers; two connections that upgrade later would fail.
                connection.execute("BEGIN IMMEDIATE")
                try:
                    # REPLACE: a vector that failed its checksum still occupies the key.
                    connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                    connection.execute("COMMIT")
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
        except (sqlite3.Error, OSError) as error:
            self._not_kept("embeddings", error)


class Cached:
    """An embedder that calls its model only for cache misses. Thread-safe; picklable.

    cut: texts that the model truncated so far in this process. Only the first batch of them is reported.
    """

    def __init__(self, model: Model, file: VectorFile | None = None) -> None:
        self.model = model
        self.name = model.name
        self.file = VectorFile() if file is None else file
        self.cut: set[str] = set()
        self._lock = threading.Lock()
        self._memory: dict[str, np.ndarray] = {}
        self._size: int | None = None
        self._known_as: str | None = None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of length 1, float32, shape (len(texts), dimension); row i belongs to texts[i].

        Raises Unavailable if the file cannot be used, ValueError if the model's vectors are invalid or differ in size,
        and what the model raises on cache misses.
        """
        if not len(texts):
            return np.zeros((0, 0), np.float32)
        memory = self._memory
        if any(text not in memory for text in texts):
            memory = self._learn(texts)
        return np.stack([memory[text] for text in texts])

    def _learn(self, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Add the texts to the memory and return it; one thread at a time, so that no text is embedded twice."""
        # The lock is held while the model runs: threads that wait with the same texts then have cache hits.
        with self._lock:
            if len(self._memory) > IN_MEMORY:
                # A new dictionary, not cleared: threads outside the lock may be reading the old one.
                self._memory = {}
            unknown = [text for text in dict.fromkeys(texts) if text not in self._memory]
            keys = {text: self._key(text) for text in unknown}
            self._count_cut(unknown)
            hits = stored.among(keys.values())
            hits |= self.file.read([key for key in keys.values() if key not in hits])
            cached = {text: hits[key] for text, key in keys.items() if key in hits}
            # Sorted by length: texts of a batch are padded to the longest.
            misses = sorted((text for text in unknown if text not in cached), key=lambda text: (len(text), text))
            vectors = unit(self.model.embed(misses), misses, self.name) if misses else ()
            embedded = dict(zip(misses, vectors, strict=True))
            self._one_size(cached | embedded)
            self.file.write({keys[text]: vector for text, vector in embedded.items()})
            self._memory |= cached | embedded
            return self._memory

    def _count_cut(self, texts: Sequence[str]) -> None:
        cut = self.model.cut(texts)
        if cut and not self.cut:
            progress.say(
                f"{len(cut)} of {len(texts)} texts are longer than what {self.name} reads of one: texts that differ "
                "only behind that have the same vector. Further ones are counted, and not reported"
            )
        self.cut.update(cut)

    def _one_size(self, vectors: Mapping[str, np.ndarray]) -> None:
        sizes = {vector.size for vector in vectors.values()} | ({self._size} if self._size else set())
        if len(sizes) > 1:
            raise ValueError(
                f"{self.name} gave vectors of {' and '.join(map(str, sorted(sizes)))} numbers: another model answers "
                f"under this name now. Delete {self.file.path} to start again"
            )
        self._size = next(iter(sizes), None)

    def _key(self, text: str) -> bytes:
        if self._known_as is None:
            self._known_as = self.model.identity()
        return hashlib.sha256(f"{self._known_as}\0{text}".encode("utf-8", "surrogatepass")).digest()

    def __reduce__(self) -> tuple[Any, ...]:
        return Cached, (self.model, self.file)


def sendable(text: str) -> str:
    """The text with lone surrogates replaced, which tokenizers and servers reject."""
    return text.encode("utf-8", "replace").decode()


def unit(vectors: Any, texts: Sequence[str], name: str) -> np.ndarray:
    """Normalise vectors to length 1; float32, shape (len(texts), dimension).

    name: of the model, for errors.
    Raises ValueError if vectors and texts differ in number, or vectors in size, or a vector has a NaN, an infinite
    value, or length 0.
    """
    if len(vectors) != len(texts):
        raise ValueError(f"{name} gave {len(vectors)} vectors for {len(texts)} texts")
    try:
        # Not float32 yet: the square of 1e30 would overflow and that of 1e-30 underflow.
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
