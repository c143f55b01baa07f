"""How answers to TravelPlanner's prompts go wrong under `rules@p`: within what the prompts offer, as a model has to."""

from __future__ import annotations

from random import Random

from lab.models.rules import corruption
from sdp.adapters.travelplanner.prompts import CITIES, SELECT, Cities, CitiesFields, SelectFields, Selection


@corruption(SELECT)
def noisy_selection(fields: SelectFields, answer: Selection, random: Random) -> Selection:
    """Another option of the list, each as likely; a list of one option leaves nothing to get wrong."""
    others = [option.number for option in fields.options if option.number != answer.choice]
    return Selection(choice=random.choice(others)) if others else answer


@corruption(CITIES)
def noisy_cities(fields: CitiesFields, answer: Cities, random: Random) -> Cities:
    """Other cities of the same list."""
    names = [candidate.city for candidate in fields.candidates]
    return Cities(cities=random.sample(names, min(fields.count, len(names))))
