"""Rules for TravelPlanner's prompts: cheapest first, and wanted cuisines where they cost least."""

from __future__ import annotations

from itertools import permutations
from random import Random

from lab.models.rules import corruption, rule
from sdp.adapters.travelplanner.prompts import (
    CITIES,
    SELECT,
    Candidate,
    Cities,
    CitiesFields,
    ListedOption,
    SelectFields,
    Selection,
)

MEALS_A_CITY = 6  # distinct restaurants that two days in a city may need


@rule(SELECT)
def cheapest(fields: SelectFields) -> Selection:
    """The cheapest option, wherever it is listed; among equals the first.

    While cuisines are wanted, the option with the least extra cost for each wanted cuisine that it offers.
    """
    least = min(fields.options, key=lambda option: option.cost)
    offering = [option for option in fields.options if _offered(option, fields)]
    # A meal is eaten anyway, so the price of a cuisine is only what exceeds the cheapest option.
    chosen = min(offering, key=lambda o: ((o.cost - least.cost) / _offered(o, fields), o.cost), default=least)
    return Selection(choice=chosen.number)


@rule(CITIES)
def nearest(fields: CitiesFields) -> Cities:
    """The sequence with the cheapest way there, way back and stays, of cities with all that is needed if possible."""
    fit = [c for c in fields.candidates if c.stay is not None and c.restaurants >= MEALS_A_CITY and c.attractions]
    enough = fit if len(fit) >= fields.count else fields.candidates
    sequences = permutations(_shortlist(enough, fields.count), fields.count)

    def price(sequence: tuple[Candidate, ...]) -> float:
        return _or_far(sequence[0].there) + _or_far(sequence[-1].back) + sum(_or_far(c.stay) for c in sequence)

    best = min(sequences, key=price, default=())
    return Cities(cities=[candidate.city for candidate in best])


def _offered(option: ListedOption, fields: SelectFields) -> int:
    return len(set(option.cuisines) & set(fields.wanted))


def _shortlist(candidates: list[Candidate], count: int) -> list[Candidate]:
    """The few cheapest cities in each respect: a large state has too many permutations of all its cities."""
    size = count + 3
    best = [sorted(candidates, key=lambda c: _or_far(getattr(c, name)))[:size] for name in ("there", "back", "stay")]
    names = {candidate.city: candidate for group in best for candidate in group}
    return sorted(names.values(), key=lambda candidate: candidate.city)


def _or_far(cost: float | None) -> float:
    return 1e6 if cost is None else cost


@corruption(SELECT)
def noisy_selection(fields: SelectFields, answer: Selection, random: Random) -> Selection:
    """Another option of the list, all equally likely; the answer stays if there is only one option."""
    others = [option.number for option in fields.options if option.number != answer.choice]
    return Selection(choice=random.choice(others)) if others else answer


@corruption(CITIES)
def noisy_cities(fields: CitiesFields, answer: Cities, random: Random) -> Cities:
    """Random cities of the same list."""
    names = [candidate.city for candidate in fields.candidates]
    return Cities(cities=random.sample(names, min(fields.count, len(names))))
