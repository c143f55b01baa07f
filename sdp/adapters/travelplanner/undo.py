"""Beyond the paper: a Replan that may undo earlier decisions, and decides them again at the least cost.

Off by default and reported apart. Undoing is a predicate like any other ("… are open again"), so the trajectory shows
it, and the predicates after it carry `frugal`, which leaves Realize only the choices that cost least. Where the route
itself is the trouble (no place takes guests for so few nights), the nights are spread over the cities anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

from sdp.adapters.travelplanner.options import Listings, Option, Options, allowed, stay_options, ways
from sdp.adapters.travelplanner.trip import (
    MEALS_OF_DAY,
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
from sdp.operators import Predicate
from worlds.travelplanner.sandbox import SELF_DRIVING

NEVER = float("inf")


def undoing_tail(
    listings: Listings, state: TripState, tail: Sequence[Predicate], every_meal: bool
) -> tuple[Predicate, ...] | None:
    """A plan tail that first opens decisions again; None if neither saving nor another route can help.

    tail: what is left of the plan, the stuck predicate at its head.
    """
    done = [p for p in state_plan(state.task, state.route, every_meal) if slots_of(p) and _decided(state, p)]
    again = [p for p in done if _may_save(listings, state, p)]
    saving = (_reopen(again), *map(_frugal, again), *tail) if again else None
    if saving and tail[0].kind not in (STAY, *TRANSPORT):
        return saving
    route = _better_route(listings, state)
    if route is None:
        return saving
    return (_reopen(done), *map(_frugal, state_plan(state.task, route, every_meal)))


def frugal(listings: Listings, state: TripState, target: Predicate, options: Options) -> Options:
    """Of the options for a frugal predicate, those that cost least; for transport, in the trip's cheapest mode."""
    left = list(options.options)
    if target.kind in TRANSPORT:
        by_car = cheapest_by_car(listings, state, route_of(target))
        left = [option for option in left if (option.mode == SELF_DRIVING) == by_car] or left
    if target.kind == MEALS_OF_DAY and state.cuisines_missing:
        return Options(tuple(_cheapest_offers(left, state)), options.diagnostic)
    if target.kind == MEALS_OF_DAY and not target.about["required"]:
        return Options((), options.diagnostic)
    least = min((option.cost for option in left), default=0.0)
    return Options(tuple(option for option in left if option.cost == least), options.diagnostic)


def cheapest_by_car(listings: Listings, state: TripState, route: Route) -> bool:
    """Whether driving oneself all the way costs less than flights and taxis, or is the only way."""
    return _transport_cost(listings, state, route, True) < _transport_cost(listings, state, route, False)


def _transport_cost(listings: Listings, state: TripState, route: Route, by_car: bool) -> float:
    return sum(min(_costs(listings, state, leg, by_car), default=NEVER) for leg in legs(state.task, route))


def _costs(listings: Listings, state: TripState, leg: Leg, by_car: bool) -> list[float]:
    """Costs of the ways that the query allows, by car or not."""
    found = ways(listings, leg, state)
    return [way.cost for way in found if allowed(way, state) and (way.mode == SELF_DRIVING) == by_car]


def _better_route(listings: Listings, state: TripState) -> Route | None:
    """The same cities with the nights spread so that transport and stays cost least; None if they do so already."""
    cost = {route: _route_cost(listings, state, route) for route in _spreads(state)}
    best = min(cost, key=lambda route: (cost[route], route != state.route), default=state.route)
    return best if best != state.route and cost[best] < NEVER else None


def _spreads(state: TripState) -> Iterator[Route]:
    """Every way to spread the nights over the cities, at least one in each."""
    total = state.task.days - 1
    for cuts in combinations(range(1, total), len(state.route) - 1):
        yield tuple(
            Stop(stop.city, b - a) for stop, (a, b) in zip(state.route, pairwise((0, *cuts, total)), strict=True)
        )


def _route_cost(listings: Listings, state: TripState, route: Route) -> float:
    """The least that transport and stays of a route can cost, in dollars; infinite if one of them cannot be had."""
    empty = TripState(state.task, route)
    stays = (p for p in state_plan(state.task, route, every_meal=False) if p.kind == STAY)
    least = [min((o.cost for o in stay_options(listings, empty, p).options), default=NEVER) for p in stays]
    return sum(least) + min(_transport_cost(listings, empty, route, by_car) for by_car in (True, False))


def _cheapest_offers(options: Sequence[Option], state: TripState) -> list[Option]:
    """The options with the least to pay, beyond what any meal costs, for each wanted cuisine they offer."""
    wanted = set(state.cuisines_missing)
    base = min((option.cost for option in options), default=0.0)
    offers = [option for option in options if wanted & set(option.cuisines)]
    if not offers:
        return [option for option in options if option.cost == base]
    price = {option: (option.cost - base) / len(wanted & set(option.cuisines)) for option in offers}
    least = min(price.values())
    return [option for option in offers if price[option] == least]


def _may_save(listings: Listings, state: TripState, target: Predicate) -> bool:
    if target.kind == MEALS_OF_DAY:
        return True  # which meals are cheapest depends on all of them, so they are decided anew together
    spent = sum(d.cost for d in state.decisions if (d.day, d.slot) in set(slots_of(target)))
    if target.kind == STAY:
        return spent > min((option.cost for option in stay_options(listings, state, target).options), default=spent)
    if target.kind in TRANSPORT:
        by_car = cheapest_by_car(listings, state, route_of(target))
        leg = next(leg for leg in legs(state.task, route_of(target)) if leg.day == target.about["day"])
        return (SELF_DRIVING in state.modes) != by_car or spent > min(
            _costs(listings, state, leg, by_car), default=spent
        )
    return False


def _decided(state: TripState, target: Predicate) -> bool:
    decided = {(decision.day, decision.slot) for decision in state.decisions}
    return all(slot in decided for slot in slots_of(target))


def _reopen(predicates: Sequence[Predicate]) -> Predicate:
    kinds = ", ".join(dict.fromkeys(predicate.kind for predicate in predicates)) or "nothing"
    slots = [list(slot) for predicate in predicates for slot in slots_of(predicate)]
    return Predicate(f"The decisions on {kinds} are open again.", REOPEN, {"slots": slots})


def _frugal(target: Predicate) -> Predicate:
    if target.about.get("frugal") or not slots_of(target):
        return target
    return Predicate(f"{target.text[:-1]}, at the least cost.", target.kind, {**target.about, "frugal": True})
