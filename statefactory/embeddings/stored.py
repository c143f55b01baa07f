"""Vectors that come with the suite: of the texts that notebooks embed with their defaults, so that they load no model.

    make vectors     writes the file anew, after such a text or default has changed

Other texts are embedded as always. A key is a hash of the model's files and of the text, so no vector can be outdated.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

import numpy as np

from lab.machine.paths import ROOT

FILE = ROOT / "data" / "vectors.npz"  # keys: uint8, shape (n, 32); vectors: float32, shape (n, 384)


def among(keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
    """The stored vectors of those keys that have one."""
    vectors = _stored()
    return {key: vectors[key] for key in keys if key in vectors}


@cache
def _stored() -> Mapping[bytes, np.ndarray]:
    if not FILE.exists():
        return {}
    with np.load(FILE) as arrays:
        return dict(zip(map(bytes, arrays["keys"]), arrays["vectors"], strict=True))


def store(path: Path) -> None:
    """Write FILE from all vectors of a cache."""
    from statefactory.embeddings.cache import VectorFile

    vectors = VectorFile(path).everything()
    keys = np.array([[*key] for key in vectors], np.uint8)
    np.savez_compressed(FILE, keys=keys, vectors=np.stack([*vectors.values()]))
    print(f"{FILE}: {len(vectors)} vectors")


if __name__ == "__main__":
    store(Path(sys.argv[1]))
