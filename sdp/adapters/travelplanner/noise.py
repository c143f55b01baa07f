"""How answers to TravelPlanner's prompts go wrong under `rules@p`."""

from __future__ import annotations

from random import Random

from lab.models.noise import corruption
from sdp.adapters.travelplanner.prompts import CITIES, SELECT, Cities, CitiesFields, SelectFields, Selection


@corruption(SELECT)
def noisy_selection(fields: SelectFields, answer: Selection, random: Random) -> Selection:
    """As small models go wrong: another option of the list, or as often a number that is not on it."""
    others = [option.number for option in fields.options if option.number != answer.choice]
    if others and random.random() < 0.5:
        return Selection(choice=random.choice(others))
    return Selection(choice=len(fields.options) + random.randint(1, 9))


@corruption(CITIES)
def noisy_cities(fields: CitiesFields, answer: Cities, random: Random) -> Cities:
    """Other cities of the same list."""
    names = [candidate.city for candidate in fields.candidates]
    return Cities(cities=random.sample(names, min(fields.count, len(names))))
