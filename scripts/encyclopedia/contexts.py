"""The paragraphs beside the gold ones: namesakes, what the gold ones mention, and others of their kinds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain as joined
from itertools import cycle
from random import Random

from scripts.encyclopedia.chains import Found, answers_otherwise, links
from scripts.encyclopedia.drafts import drawn
from scripts.encyclopedia.layout import at, kind_of
from scripts.encyclopedia.names import namesakes


def distractors(
    seed: int, rng: Random, found: Sequence[Found], missing: int | None, count: int, blocks: int
) -> list[int]:
    """Articles that do not answer a hop, the likeliest to be taken for ones that do first.

    missing: an article that the question lacks; none that mentions its entity is among the distractors.
    """
    gold = [one.article for one in found]
    same_name = list(joined.from_iterable(namesakes(seed, one) for one in gold))
    mentioned = [one for one in joined.from_iterable(links(seed, one) for one in gold) if one not in gold]
    rng.shuffle(mentioned)
    named = [*same_name, *mentioned][: count // 2]
    # By turns, for there may be too few of one kind, such as countries.
    others = (drawn(rng, kind_of(one), blocks) for one in cycle(gold))
    chosen: dict[int, None] = {}
    for one in joined(named, others):
        if len(chosen) == count:
            break
        if suits(seed, one, found, missing, blocks):
            chosen[one] = None
    return list(chosen)


def suits(seed: int, number: int, found: Sequence[Found], missing: int | None, blocks: int) -> bool:
    if number >= at(blocks, 0) or any(number == hop.article for hop in found):
        return False
    if missing is not None and missing in links(seed, number):
        return False
    return not any(answers_otherwise(seed, hop, number) for hop in found)
