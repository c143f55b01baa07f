"""python -m statefactory.embeddings CACHE: stores all vectors of a cache as those that come with the suite."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from statefactory.embeddings.cache import VectorFile
from statefactory.embeddings.stored import FILE


def store(path: Path) -> None:
    """Write FILE from all vectors of a cache."""
    vectors = VectorFile(path).everything()
    keys = np.array([[*key] for key in vectors], np.uint8)
    np.savez_compressed(FILE, keys=keys, vectors=np.stack([*vectors.values()]))
    print(f"{FILE}: {len(vectors)} vectors")


if __name__ == "__main__":
    store(Path(sys.argv[1]))
