"""Vectors that come with the suite: of the texts that notebooks embed with their defaults, so that they load no model.

    make vectors     rewrites the file; needed after such a text or default has changed

Other texts are embedded as always. A key is a hash of the model's files and of the text, so no vector can be outdated.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

import numpy as np

from lab.machine.paths import ROOT
from lab.machine.reading import damaged

FILE = ROOT / "data" / "vectors.npz"  # keys: uint8, shape (n, 32); vectors: float32, shape (n, 384)


def among(keys: Iterable[bytes]) -> dict[bytes, np.ndarray]:
    """The stored vectors of those keys that have one. Raises DamagedFile."""
    vectors = _stored()
    return {key: vectors[key] for key in keys if key in vectors}


@cache
def _stored() -> Mapping[bytes, np.ndarray]:
    if not FILE.exists():
        return {}
    try:
        with np.load(FILE) as arrays:
            return dict(zip(map(bytes, arrays["keys"]), arrays["vectors"], strict=True))
    except Exception as error:  # numpy, zipfile and tokenize each raise several kinds for damaged bytes
        raise damaged(FILE, error) from None
