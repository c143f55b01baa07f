"""Beyond the paper: a Replan that may undo earlier decisions, and decides the rest of the trip at the least cost.

Off by default and reported apart. Undoing is a predicate like any other ("… are open again"), so the trajectory shows
it, and the predicates after it carry `frugal`, which leaves Realize only the choices of a cheapest trip. Where another
spread of the nights over the same cities costs less, or is the only one that can be had, the route changes with it.
One undoing is enough for every query that some honest plan through these cities can meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from sdp.adapters.travelplanner.meals import cheapest_meals
from sdp.adapters.travelplanner.options import Catalogue, Options, allowed, stay_options, ways
from sdp.adapters.travelplanner.trip import (
    MEALS_OF_DAY,
    OUTBOUND,
    STAY,
    TRANSPORT,
    Leg,
    Route,
    Stop,
    TripState,
    legs,
    route_of,
    slots_of,
    state_plan,
)
from sdp.adapters.travelplanner.validators import REOPEN
from sdp.trajectory import Predicate
from worlds.travelplanner.listings import SELF_DRIVING

NEVER = float("inf")


def undoing_tail(
    catalogue: Catalogue, state: TripState, tail: Sequence[Predicate], every_meal: bool
) -> tuple[Predicate, ...] | None:
    """A frugal plan tail that first opens again what costs more than it must; None if no other tail can help.

    tail: what is left of the plan, the stuck predicate at its head.
    """
    if tail[0].kind == OUTBOUND:
        state = replace(state, route=route_of(tail[0]))
    route = _cheapest_route(catalogue, state, every_meal)
    if route is None:
        return None
    done = [p for p in state_plan(state.task, state.route, every_meal) if slots_of(p) and _decided(state, p)]
    again = done if route != state.route else [p for p in done if _may_save(catalogue, state, p)]
    kept = [p for p in done if p not in again]
    ahead = tuple(_frugal(p) for p in state_plan(state.task, route, every_meal) if p not in kept)
    if again:
        kinds = ", ".join(dict.fromkeys(predicate.kind for predicate in again))
        slots = [list(slot) for predicate in again for slot in slots_of(predicate)]
        return (Predicate(f"The decisions on {kinds} are open again.", REOPEN, {"slots": slots}), *ahead)
    return None if ahead == tuple(tail) else ahead


def frugal(catalogue: Catalogue, state: TripState, target: Predicate, options: Options, every_meal: bool) -> Options:
    """Of the options for a frugal predicate, those of a cheapest trip; for transport, in the trip's cheapest mode."""
    left = list(options.options)
    if target.kind in TRANSPORT:
        by_car = cheapest_by_car(catalogue, state, route_of(target))
        left = [option for option in left if (option.mode == SELF_DRIVING) == by_car] or left
    if target.kind == MEALS_OF_DAY:
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
    return sum(min(_costs(catalogue, state, leg, by_car), default=NEVER) for leg in legs(state.task, route))


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
    stays = (p for p in state_plan(state.task, route, every_meal) if p.kind == STAY)
    cost = min(_transport_cost(catalogue, empty, route, by_car) for by_car in (True, False))
    cost += sum(min((o.cost for o in stay_options(catalogue, empty, p).options), default=NEVER) for p in stays)
    if cost == NEVER or any(len(catalogue.attractions(stop.city)) < stop.nights - 1 for stop in route):
        return NEVER
    menu = cheapest_meals(catalogue, empty, every_meal)
    return cost + menu.cost if menu else NEVER


def _may_save(catalogue: Catalogue, state: TripState, target: Predicate) -> bool:
    if target.kind == MEALS_OF_DAY:
        return True  # which meals are cheapest depends on all of them, so they are decided again together
    spent = sum(d.cost for d in state.decisions if (d.day, d.slot) in set(slots_of(target)))
    if target.kind == STAY:
        return spent > min((option.cost for option in stay_options(catalogue, state, target).options), default=spent)
    if target.kind in TRANSPORT:
        by_car = cheapest_by_car(catalogue, state, route_of(target))
        leg = next(leg for leg in legs(state.task, route_of(target)) if leg.day == target.about["day"])
        return (SELF_DRIVING in state.modes) != by_car or spent > min(
            _costs(catalogue, state, leg, by_car), default=spent
        )
    return False


def _decided(state: TripState, target: Predicate) -> bool:
    decided = {(decision.day, decision.slot) for decision in state.decisions}
    return all(slot in decided for slot in slots_of(target))


def _frugal(target: Predicate) -> Predicate:
    if not slots_of(target):
        return target
    return Predicate(f"{target.text[:-1]}, at the least cost.", target.kind, {**target.about, "frugal": True})
