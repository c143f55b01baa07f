"""Beyond the paper: the least that the rest of a trip costs, and a Replan that may undo more expensive decisions.

Off by default, and reported separately. Undoing is a predicate like any other ("… are open again"), so the trajectory
shows it. The predicates after it carry `frugal`, which leaves Realize only the choices of a cheapest trip. If another
distribution of the nights over the same cities costs less, or is the only possible one, the route changes too.
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
    """texts: city -> restaurants to eat at there, as an itinerary writes them. cost: dollars for the party."""

    cost: int
    texts: Mapping[str, frozenset[str]]


def cheapest_meals(catalogue: Catalogue, state: TripState, every_meal: bool) -> Meals | None:
    """The cheapest restaurants for all required meals that are still open and all missing cuisines; None if impossible.

    Exact: optional meals are only eaten for a cuisine, so there are few ways to distribute the meals over the cities.
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
    """The least that the remaining meals cost, in dollars for the party, after an option for `slot` is taken.

    slot: a meal's slot, which is then decided; None for a decision that is not a meal. Infinite for an option after
    which the meals are impossible; 0 if they are impossible anyway, since keeping money back would not help.
    """

    @cache
    def menu_after(text: str, cuisines: tuple[str, ...]) -> Meals | None:
        later_state = state.decide([Decision(*slot, text, cuisines=cuisines)] if slot else [])
        return cheapest_meals(catalogue, later_state, every_meal)

    possible = cheapest_meals(catalogue, state, every_meal) is not None

    def kept_back(option: Option) -> float:
        menu = menu_after(trip.EMPTY, option.cuisines)
        # Only a place on the menu itself makes the rest more expensive: no place is visited twice.
        if menu and slot and any(option.label in texts for texts in menu.texts.values()):
            menu = menu_after(option.label, option.cuisines)
        return menu.cost if menu else inf if possible else 0.0

    return kept_back


def meals_by_city(state: TripState, every_meal: bool) -> set[Counts]:
    """Every way to distribute the open meals: all required ones, and at most one optional meal per missing cuisine."""
    cities = [stop.city for stop in state.route]
    decided = {(decision.day, decision.slot) for decision in state.decisions}
    shares = {((0,) * len(cities), 0)}
    for day in (p for p in trip.state_plan(state.task, state.route, every_meal) if p.kind == trip.MEALS_OF_DAY):
        open_meals = sum(slot not in decided for slot in trip.slots_of(day))
        indices = [cities.index(city) for city in day.about["cities"]]
        choices = [open_meals] if day.about["required"] else range(open_meals + 1)
        shares = {
            (_added(counts, indices, first, meals), extra)
            for counts, before in shares
            for meals in choices
            for first in (range(meals + 1) if len(indices) == 2 else [meals])
            if (extra := before + (0 if day.about["required"] else meals)) <= len(state.cuisines_missing)
        }
    return {counts for counts, _ in shares}


def _added(counts: Counts, cities: Sequence[int], first: int, meals: int) -> Counts:
    """Add `first` meals in the first of the day's cities, and the remaining meals in the last."""
    more = list(counts)
    more[cities[0]] += first
    more[cities[-1]] += meals - first
    return tuple(more)


def _combined(
    share: Counts, menus: Sequence[Mapping[int, Mapping[int, Menu]]], wanted: int
) -> tuple[int, tuple[Menu, ...]] | None:
    """The cheapest menus of the given sizes, one per city, that together offer every wanted cuisine."""
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
    """A frugal plan tail that first reopens decisions that cost more than they must; None if no other tail can help.

    tail: the uncertified part of the plan, with the stuck predicate at its head.
    """
    if tail[0].kind == trip.OUTBOUND:
        state = replace(state, route=trip.route_of(tail[0]))
    route = _cheapest_route(catalogue, state, every_meal)
    if route is None:
        return None
    done = [p for p in trip.state_plan(state.task, state.route, every_meal) if trip.slots_of(p) and _decided(state, p)]
    reopened = done if route != state.route else [p for p in done if _may_save(catalogue, state, p)]
    unchanged = [p for p in done if p not in reopened]
    new_tail = tuple(_frugal(p) for p in trip.state_plan(state.task, route, every_meal) if p not in unchanged)
    if reopened:
        kinds = ", ".join(dict.fromkeys(predicate.kind for predicate in reopened))
        slots = [list(slot) for predicate in reopened for slot in trip.slots_of(predicate)]
        return (Predicate(f"The decisions on {kinds} are open again.", REOPEN, {"slots": slots}), *new_tail)
    return None if new_tail == tuple(tail) else new_tail


def frugal(catalogue: Catalogue, state: TripState, target: Predicate, options: Options, every_meal: bool) -> Options:
    """The options for a frugal predicate that belong to a cheapest trip; for transport, in the trip's cheapest mode."""
    remaining = list(options.options)
    if target.kind in trip.TRANSPORT:
        by_car = cheapest_by_car(catalogue, state, trip.route_of(target))
        remaining = [option for option in remaining if (option.mode == SELF_DRIVING) == by_car] or remaining
    if target.kind == trip.MEALS_OF_DAY:
        menu = cheapest_meals(catalogue, state, every_meal)
        menus_by_city = (menu.texts.get(city, ()) for city in target.about["cities"]) if menu else ()
        # The city that the party leaves today comes first: its part of the menu cannot be eaten later.
        texts = next(filter(None, menus_by_city), ())
        on_menu = tuple(option for option in remaining if option.label in texts)
        if on_menu or not target.about["required"]:
            return Options(on_menu, options.diagnostic)
    least = min((option.cost for option in remaining), default=0.0)
    return Options(tuple(option for option in remaining if option.cost == least), options.diagnostic)


def cheapest_by_car(catalogue: Catalogue, state: TripState, route: Route) -> bool:
    """Whether self-driving on all legs costs less than flights and taxis, or is the only way."""
    return _transport_cost(catalogue, state, route, True) < _transport_cost(catalogue, state, route, False)


def _transport_cost(catalogue: Catalogue, state: TripState, route: Route, by_car: bool) -> float:
    return sum(min(_costs(catalogue, state, leg, by_car), default=NEVER) for leg in trip.legs(state.task, route))


def _costs(catalogue: Catalogue, state: TripState, leg: Leg, by_car: bool) -> list[float]:
    """Costs of the ways that the query allows, either all by self-driving or all others."""
    options = ways(catalogue, leg, state)
    return [way.cost for way in options if allowed(way, state) and (way.mode == SELF_DRIVING) == by_car]


def _cheapest_route(catalogue: Catalogue, state: TripState, every_meal: bool) -> Route | None:
    """The same cities, with the nights distributed so that the trip costs least; unchanged if nothing costs less.

    None if no distribution is possible at any price.
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
    """The least that a trip on a route can cost, in dollars; infinite if a part of it is impossible."""
    # The budget is typed as int; infinity is a float, but compares like one.
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
        return True  # the cheapest meals depend on all meals, so all are decided again together
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
