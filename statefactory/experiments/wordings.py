"""BlocksWorld's positions in other words, as the same facts: how much of a reward rests on the wording."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from statefactory.state import Entity, from_level, in_sentences

# A position in other words, of a block and its position in the observation's own. "searched" names the block again,
# which the fragments of Eq. 5 do not do: it was chosen among about 150, on 119 of PlanBench's tasks outside the
# benchmark, by the distance that it gave.
WORDINGS: Mapping[str, Callable[[str, str], str]] = {
    "observed": lambda block, position: position,
    "short": lambda block, position: position.replace("top of ", "").replace("the ", ""),
    "searched": lambda block, position: f"{_short(block)} {_short(WORDINGS['short'](block, position))}",
}


def reworded(known: Sequence[Entity], wording: str) -> tuple[Entity, ...]:
    """The blocks with their positions in one of WORDINGS, as fragments or sentences, as they were."""
    return tuple(_reworded(entity, WORDINGS[wording]) for entity in known)


def _reworded(entity: Entity, word: Callable[[str, str], str]) -> Entity:
    (plain,) = from_level((entity,))
    attributes = (
        replace(a, value=word(plain.identity, a.value)) if a.name == "position" else a for a in plain.attributes
    )
    reworded_entity = replace(plain, attributes=tuple(attributes))
    # Read back from sentences, it is written as sentences again.
    return reworded_entity if plain == entity else in_sentences(reworded_entity)


def _short(block: str) -> str:
    return block.replace(" block", "", 1)
