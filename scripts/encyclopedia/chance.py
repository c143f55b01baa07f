"""Counter-based randomness: what is drawn for an entity depends on the seed, its number and the field alone.

No generator is carried along, so any entity can be made alone, in any order and process, and none has to be kept.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import shake_128
from struct import Struct

# One draw for each field; a new field goes to the end, so that all others stay as they are.
FIELDS = {
    name: place
    for place, name in enumerate(
        (
            "sharing", "pattern", "alias", "given", "middle", "gender", "first word", "second word",
            "country", "region", "town", "other town", "year", "month and day", "university", "parent",
            "spouse", "award", "teacher", "death", "person", "second person", "third person", "company",
            "kind", "size", "price", "hours", "closed", "distance", "sentences", "order",
            "mentions",
        )
    )
}  # fmt: skip
WORDS = Struct(f"<{len(FIELDS)}I")


@lru_cache(maxsize=2048)
def draws(seed: int, number: int) -> tuple[int, ...]:
    """32 random bits for each of FIELDS."""
    return WORDS.unpack(shake_128(b"%d %d" % (seed, number)).digest(WORDS.size))


def below(seed: int, number: int, field: str, limit: int) -> int:
    """A whole number from 0 to `limit` - 1."""
    return draws(seed, number)[FIELDS[field]] * limit >> 32
