"""Beyond the paper: a Replan that may undo earlier decisions, and decides them again at the least cost.

Off by default and reported apart. Undoing is a predicate like any other ("… are open again"), so the trajectory shows
it, and the predicates after it carry `frugal`, which leaves Realize only the choices that cost least.
"""

from __future__ import annotations

from collections.abc import Sequence

from sdp.adapters.travelplanner.options import Listings, Option, Options, allowed, stay_options, ways
from sdp.adapters.travelplanner.trip import MEALS_OF_DAY, STAY, TRANSPORT, Leg, TripState, legs, slots_of
from sdp.adapters.travelplanner.validators import REOPEN
from sdp.operators import Predicate
from worlds.travelplanner.sandbox import SELF_DRIVING


def undoing_tail(
    listings: Listings, state: TripState, plan: Sequence[Predicate], certified: int
) -> tuple[Predicate, ...] | None:
    """Open again what costs more than it must, decide it anew, then go on; None if nothing could be saved."""
    done = [p for p in _latest(plan[:certified]) if _decided(state, p)]
    again = [p for p in done if _may_save(listings, state, p)]
    if not again:
        return None
    slots = [slot for predicate in again for slot in slots_of(predicate)]
    text = f"The decisions on {_listed(again)} are open again."
    reopen = Predicate(text, REOPEN, {"slots": [list(slot) for slot in slots]})
    return (reopen, *map(_frugal, again), *plan[certified:])


def frugal(listings: Listings, state: TripState, target: Predicate, options: Options) -> Options:
    """Of the options for a frugal predicate, those that cost least; for transport, in the trip's cheapest mode."""
    left = list(options.options)
    if target.kind in TRANSPORT:
        drives = cheapest_by_car(listings, state, target.about["route"])
        left = [option for option in left if (option.mode == SELF_DRIVING) == drives] or left
    if target.kind == MEALS_OF_DAY and state.cuisines_missing:
        return Options(tuple(_cheapest_offers(left, state)), options.diagnostic)
    least = min((option.cost for option in left), default=0.0)
    return Options(tuple(option for option in left if option.cost == least), options.diagnostic)


def cheapest_by_car(listings: Listings, state: TripState, route: Sequence[str]) -> bool:
    """Whether driving oneself all the way costs less than flights and taxis, or is the only way."""

    def total(by_car: bool) -> float:
        return sum(min(_costs(listings, state, leg, by_car), default=float("inf")) for leg in legs(state.task, route))

    return total(True) < total(False)


def _costs(listings: Listings, state: TripState, leg: Leg, by_car: bool) -> list[float]:
    """Costs of the ways that the query allows, by car or not."""
    found = ways(listings, leg, state)
    return [way.cost for way in found if allowed(way, state) and (way.mode == SELF_DRIVING) == by_car]


def _cheapest_offers(options: Sequence[Option], state: TripState) -> list[Option]:
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
        drives = cheapest_by_car(listings, state, target.about["route"])
        leg = next(leg for leg in legs(state.task, target.about["route"]) if leg.day == target.about["day"])
        return (SELF_DRIVING in state.modes) != drives or spent > min(
            _costs(listings, state, leg, drives), default=spent
        )
    return False


def _latest(plan: Sequence[Predicate]) -> list[Predicate]:
    """Each predicate once, where a plan has been undone before."""
    return list({tuple(slots_of(p)): p for p in plan if slots_of(p)}.values())


def _decided(state: TripState, target: Predicate) -> bool:
    decided = {(decision.day, decision.slot) for decision in state.decisions}
    return all(slot in decided for slot in slots_of(target))


def _frugal(target: Predicate) -> Predicate:
    if target.about.get("frugal"):
        return target
    return Predicate(f"{target.text[:-1]}, at the least cost.", target.kind, {**target.about, "frugal": True})


def _listed(predicates: Sequence[Predicate]) -> str:
    return ", ".join(dict.fromkeys(predicate.kind for predicate in predicates))
