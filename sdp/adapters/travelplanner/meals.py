"""The cheapest way to eat on the rest of a trip: a lookahead over the meals that are still to be chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import inf
from typing import NamedTuple

from sdp.adapters.travelplanner.options import Catalogue, KeptBack, Option, place_text
from sdp.adapters.travelplanner.trip import EMPTY, MEALS_OF_DAY, Decision, TripState, slots_of, state_plan
from worlds.travelplanner.expert import Menu, cheapest_menus
from worlds.travelplanner.itinerary import MEALS

Counts = tuple[int, ...]  # meals in each city of the route


class Meals(NamedTuple):
    """texts: city -> the restaurants to eat at there, as the itinerary writes them. cost: dollars for the party."""

    cost: int
    texts: Mapping[str, frozenset[str]]


def cheapest_meals(catalogue: Catalogue, state: TripState, every_meal: bool) -> Meals | None:
    """The cheapest restaurants for all meals that must still be chosen and all cuisines not yet had; None if none do.

    Exact: optional meals are only eaten for a cuisine, so the ways to share the meals out between the cities are few.
    """
    wanted, used = state.cuisines_missing, state.used(MEALS)
    shares = meals_by_city(state, every_meal)
    menus = []
    for position, stop in enumerate(state.route):
        rows = [row for row in catalogue.restaurants(stop.city) if place_text(row) not in used]
        menus.append(cheapest_menus(rows, wanted, max(share[position] for share in shares)))
    combined = [menu for share in shares if (menu := _combined(share, menus, len(wanted)))]
    if not combined:
        return None
    _, best = min(combined, key=lambda menu: menu[0])
    texts = {
        stop.city: frozenset(place_text(row) for row in menu.rows) for stop, menu in zip(state.route, best, strict=True)
    }
    return Meals(sum(menu.cost for menu in best) * state.task.people, texts)


def least_for_meals(catalogue: Catalogue, state: TripState, slot: tuple[int, str] | None, every_meal: bool) -> KeptBack:
    """What the meals still to come cost at least, in dollars for the party, once an option for `slot` is taken.

    slot: that of a meal, which is then no longer to come; None for a decision that is no meal. Infinite for an option
    after which they cannot be had; 0 where they cannot be had anyway, since keeping money back would not help.
    """

    @cache
    def menu_after(text: str, cuisines: tuple[str, ...]) -> Meals | None:
        eaten = state.decide([Decision(*slot, text, cuisines=cuisines)] if slot else [])
        return cheapest_meals(catalogue, eaten, every_meal)

    in_reach = cheapest_meals(catalogue, state, every_meal) is not None

    def kept_back(option: Option) -> float:
        menu = menu_after(EMPTY, option.cuisines)
        # Only a place that is on the menu itself makes the rest dearer: no place is visited twice.
        if menu and slot and any(option.label in texts for texts in menu.texts.values()):
            menu = menu_after(option.label, option.cuisines)
        return menu.cost if menu else inf if in_reach else 0.0

    return kept_back


def meals_by_city(state: TripState, every_meal: bool) -> set[Counts]:
    """Every way to share the open meals out: all required ones, and at most one optional meal a missing cuisine."""
    cities = [stop.city for stop in state.route]
    decided = {(decision.day, decision.slot) for decision in state.decisions}
    shares = {((0,) * len(cities), 0)}
    for day in (p for p in state_plan(state.task, state.route, every_meal) if p.kind == MEALS_OF_DAY):
        open_meals = sum(slot not in decided for slot in slots_of(day))
        here = [cities.index(city) for city in day.about["cities"]]
        eaten = [open_meals] if day.about["required"] else range(open_meals + 1)
        shares = {
            (_added(counts, here, first, meals), extra)
            for counts, before in shares
            for meals in eaten
            for first in (range(meals + 1) if len(here) == 2 else [meals])
            if (extra := before + (0 if day.about["required"] else meals)) <= len(state.cuisines_missing)
        }
    return {counts for counts, _ in shares}


def _added(counts: Counts, cities: Sequence[int], first: int, meals: int) -> Counts:
    """`first` meals more in the first of the day's cities, the rest in the last."""
    more = list(counts)
    more[cities[0]] += first
    more[cities[-1]] += meals - first
    return tuple(more)


def _combined(
    share: Counts, menus: Sequence[Mapping[int, Mapping[int, Menu]]], wanted: int
) -> tuple[int, tuple[Menu, ...]] | None:
    """The cheapest menus of the given sizes, one a city, that together offer every wanted cuisine."""
    best: dict[int, tuple[int, tuple[Menu, ...]]] = {0: (0, ())}
    for count, of_city in zip(share, menus, strict=True):
        reached: dict[int, tuple[int, tuple[Menu, ...]]] = {}
        for mask, (cost, chosen) in best.items():
            for covered, menu in of_city[count].items():
                total = cost + menu.cost
                if mask | covered not in reached or total < reached[mask | covered][0]:
                    reached[mask | covered] = total, (*chosen, menu)
        best = reached
    return best.get((1 << wanted) - 1)
