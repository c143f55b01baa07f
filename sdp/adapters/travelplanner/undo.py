"""Beyond the paper: the least that the rest of a trip costs, and a Replan that may undo what costs more.

Off by default and reported apart. Undoing is a predicate like any other ("… are open again"), so the trajectory shows
it, and the predicates after it carry `frugal`, which leaves Realize only the choices of a cheapest trip. Where another
spread of the nights over the same cities costs less, or is the only one that can be had, the route changes with it.
One undoing is enough for every query that some honest plan through these cities can meet.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from math import inf
from typing import NamedTuple

from sdp.adapters.travelplanner import trip
from sdp.adapters.travelplanner.options import (
    Catalogue,
    KeptBack,
    Option,
    Options,
    allowed,
    place_text,
    stay_options,
    ways,
)
from sdp.adapters.travelplanner.trip import Decision, Leg, Route, Stop, TripState
from sdp.adapters.travelplanner.validators import REOPEN
from sdp.trajectory import Predicate
from worlds.travelplanner.expert import Menu, cheapest_menus
from worlds.travelplanner.itinerary import MEALS
from worlds.travelplanner.listings import SELF_DRIVING

NEVER = float("inf")
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
        menu = menu_after(trip.EMPTY, option.cuisines)
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
    for day in (p for p in trip.state_plan(state.task, state.route, every_meal) if p.kind == trip.MEALS_OF_DAY):
        open_meals = sum(slot not in decided for slot in trip.slots_of(day))
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


def undoing_tail(
    catalogue: Catalogue, state: TripState, tail: Sequence[Predicate], every_meal: bool
) -> tuple[Predicate, ...] | None:
    """A frugal plan tail that first opens again what costs more than it must; None if no other tail can help.

    tail: what is left of the plan, the stuck predicate at its head.
    """
    if tail[0].kind == trip.OUTBOUND:
        state = replace(state, route=trip.route_of(tail[0]))
    route = _cheapest_route(catalogue, state, every_meal)
    if route is None:
        return None
    done = [p for p in trip.state_plan(state.task, state.route, every_meal) if trip.slots_of(p) and _decided(state, p)]
    again = done if route != state.route else [p for p in done if _may_save(catalogue, state, p)]
    kept = [p for p in done if p not in again]
    ahead = tuple(_frugal(p) for p in trip.state_plan(state.task, route, every_meal) if p not in kept)
    if again:
        kinds = ", ".join(dict.fromkeys(predicate.kind for predicate in again))
        slots = [list(slot) for predicate in again for slot in trip.slots_of(predicate)]
        return (Predicate(f"The decisions on {kinds} are open again.", REOPEN, {"slots": slots}), *ahead)
    return None if ahead == tuple(tail) else ahead


def frugal(catalogue: Catalogue, state: TripState, target: Predicate, options: Options, every_meal: bool) -> Options:
    """Of the options for a frugal predicate, those of a cheapest trip; for transport, in the trip's cheapest mode."""
    left = list(options.options)
    if target.kind in trip.TRANSPORT:
        by_car = cheapest_by_car(catalogue, state, trip.route_of(target))
        left = [option for option in left if (option.mode == SELF_DRIVING) == by_car] or left
    if target.kind == trip.MEALS_OF_DAY:
        menu = cheapest_meals(catalogue, state, every_meal)
        here = (menu.texts.get(city, ()) for city in target.about["cities"]) if menu else ()
        # The city that is left today comes first: what the menu has there cannot be eaten later.
        texts = next(filter(None, here), ())
        on_menu = tuple(option for option in left if option.label in texts)
        if on_menu or not target.about["required"]:
            return Options(on_menu, options.diagnostic)
    least = min((option.cost for option in left), default=0.0)
    return Options(tuple(option for option in left if option.cost == least), options.diagnostic)


def cheapest_by_car(catalogue: Catalogue, state: TripState, route: Route) -> bool:
    """Whether driving oneself all the way costs less than flights and taxis, or is the only way."""
    return _transport_cost(catalogue, state, route, True) < _transport_cost(catalogue, state, route, False)


def _transport_cost(catalogue: Catalogue, state: TripState, route: Route, by_car: bool) -> float:
    return sum(min(_costs(catalogue, state, leg, by_car), default=NEVER) for leg in trip.legs(state.task, route))


def _costs(catalogue: Catalogue, state: TripState, leg: Leg, by_car: bool) -> list[float]:
    """Costs of the ways that the query allows, by car or not."""
    options = ways(catalogue, leg, state)
    return [way.cost for way in options if allowed(way, state) and (way.mode == SELF_DRIVING) == by_car]


def _cheapest_route(catalogue: Catalogue, state: TripState, every_meal: bool) -> Route | None:
    """The same cities with the nights spread so that the trip costs least, as they are if nothing costs less.

    None if no spread can be had at any price.
    """
    cost: dict[Route, float] = {}
    total = state.task.days - 1
    for cuts in combinations(range(1, total), len(state.route) - 1):  # at least one night in each city
        nights = (b - a for a, b in pairwise((0, *cuts, total)))
        route = tuple(Stop(stop.city, number) for stop, number in zip(state.route, nights, strict=True))
        cost[route] = _route_cost(catalogue, state, route, every_meal)
    best = min(cost, key=lambda route: (cost[route], route != state.route))
    return best if cost[best] < NEVER else None


def _route_cost(catalogue: Catalogue, state: TripState, route: Route, every_meal: bool) -> float:
    """The least that a trip on a route can cost, in dollars; infinite if a part of it cannot be had."""
    # Infinity is no int, and compares like one.
    empty = TripState(replace(state.task, budget=NEVER), route)  # type: ignore[arg-type]
    stays = (p for p in trip.state_plan(state.task, route, every_meal) if p.kind == trip.STAY)
    cost = min(_transport_cost(catalogue, empty, route, by_car) for by_car in (True, False))
    cost += sum(min((o.cost for o in stay_options(catalogue, empty, p).options), default=NEVER) for p in stays)
    if cost == NEVER or any(len(catalogue.attractions(stop.city)) < stop.nights - 1 for stop in route):
        return NEVER
    menu = cheapest_meals(catalogue, empty, every_meal)
    return cost + menu.cost if menu else NEVER


def _may_save(catalogue: Catalogue, state: TripState, target: Predicate) -> bool:
    if target.kind == trip.MEALS_OF_DAY:
        return True  # which meals are cheapest depends on all of them, so they are decided again together
    spent = sum(d.cost for d in state.decisions if (d.day, d.slot) in set(trip.slots_of(target)))
    if target.kind == trip.STAY:
        return spent > min((option.cost for option in stay_options(catalogue, state, target).options), default=spent)
    if target.kind in trip.TRANSPORT:
        by_car = cheapest_by_car(catalogue, state, trip.route_of(target))
        leg = next(leg for leg in trip.legs(state.task, trip.route_of(target)) if leg.day == target.about["day"])
        return (SELF_DRIVING in state.modes) != by_car or spent > min(
            _costs(catalogue, state, leg, by_car), default=spent
        )
    return False


def _decided(state: TripState, target: Predicate) -> bool:
    decided = {(decision.day, decision.slot) for decision in state.decisions}
    return all(slot in decided for slot in trip.slots_of(target))


def _frugal(target: Predicate) -> Predicate:
    if not trip.slots_of(target):
        return target
    return Predicate(f"{target.text[:-1]}, at the least cost.", target.kind, {**target.about, "frugal": True})
