"""Constraint-upfront option filtering (A.2): the options left for a slot, or the filter that left none.

The five filters come in the paper's order. Other checks of the official evaluator belong to the most similar filter:
minimum nights to the local constraints, a way to travel on in the same mode to mode consistency.

If the plan says nothing (`sdp.placebo`), Realize is offered `anything`: what a slot of such a trip could hold. It is
sampled from the query's days and destination alone; if the destination is a state, from every city that the search
lists. Nothing is filtered or sorted, so the list reveals neither the plan nor the wishes or the budget of the trip.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, NamedTuple

from sdp.adapters.travelplanner.trip import Decision, Leg, TripState, legs, route_of
from sdp.trajectory import Predicate
from worlds.travelplanner.hard import FORBIDDEN_WORDS, forbids, has_room_type
from worlds.travelplanner.itinerary import MEALS, flight_cost, ground_cost, meal_cost, name_and_city, night_cost
from worlds.travelplanner.listings import SELF_DRIVING, TAXI, Accommodation, Attraction, Flight, Restaurant
from worlds.travelplanner.listings import Leg as Drive
from worlds.travelplanner.tasks import TripTask
from worlds.travelplanner.world import TravelPlanner

# A.2's cap on the list.
CAP = 30
LISTINGS, LOCAL, MODE, UNIQUE, AFFORDABLE = (
    "sandbox membership", "local constraints", "transport-mode consistency", "trip-wide uniqueness", "affordability",
)  # fmt: skip
FLIGHT = "flight"
SLOTS = ("transportation", *MEALS, "attraction", "accommodation")
TRIES = 10  # samples per option: a city may have nothing for a slot, and two cities may have no way between them


@dataclass(frozen=True, slots=True)
class Option:
    """One choice. decisions: the slots that it fills, and with what; cost: dollars for all of them together."""

    label: str
    decisions: tuple[Decision, ...]
    cost: float
    mode: str = ""
    cuisines: tuple[str, ...] = ()


class Options(NamedTuple):
    """The remaining options, cheapest first; if there are none, `diagnostic` names the filter that left none."""

    options: tuple[Option, ...]
    diagnostic: str = ""


Stage = tuple[str, Callable[[Any], bool]]
KeptBack = Callable[[Option], float]  # takes an option; dollars that must remain after it


def nothing(option: Option) -> float:
    """Keep nothing back: affordability as A.2 words it."""
    return 0.0


def sift(candidates: Iterable[Option], stages: Sequence[Stage], what: str) -> Options:
    """Apply the filters in sequence; sort the remaining options by cost."""
    remaining = list(candidates)
    if not remaining:
        return Options((), f"{LISTINGS}: the listings hold no {what}")
    # In sequence, so that the filter that leaves nothing can be named: A.2 gives this diagnostic to Replan.
    for name, passes in stages:
        passing = [option for option in remaining if passes(option)]
        if not passing:
            cheapest = min(option.cost for option in remaining)
            return Options(
                (), f"{name}: none of {len(remaining)} left for {what} passes (the cheapest costs ${cheapest:,.0f})"
            )
        remaining = passing
    # Cheapest first (A.2). The label breaks ties; otherwise prompts, and so recordings, would depend on the order of
    # the tables.
    return Options(tuple(sorted(remaining, key=lambda option: (option.cost, option.label))))


def cap(options: Options, wanted: Sequence[str] = (), size: int = CAP) -> Options:
    """The cheapest `size` options, always with the cheapest offer of each wanted cuisine, in place of the last ones."""
    # The paper does not say how the cap treats cuisines. A plain cut at 30 can hide the only restaurant that the
    # budget check will require, which no Realize could then choose.
    offers = (next((o for o in options.options if cuisine in o.cuisines), None) for cuisine in wanted)
    promoted = list(dict.fromkeys(offer for offer in offers if offer))
    others = [option for option in options.options if option not in promoted]
    selected = {*promoted, *others[: size - len(promoted)]}
    return Options(tuple(option for option in options.options if option in selected), options.diagnostic)


class Search(NamedTuple):
    """A search action and the world's answer."""

    action: str
    text: str


class Catalogue:
    """Cache of what the search tools list in an episode: each city and leg is searched once.

    Options made from its rows have texts that the evaluator reads back as the same rows. Holds nothing of the trip.
    """

    def __init__(self, world: TravelPlanner) -> None:
        """world: with the episode's task open, and before any search."""
        self._world = world
        self._rows: dict[str, tuple[Any, ...]] = {}
        self._new: list[Search] = []

    def stays(self, city: str) -> tuple[Accommodation, ...]:
        return self._places("AccommodationSearch", city, Accommodation)

    def restaurants(self, city: str) -> tuple[Restaurant, ...]:
        return self._places("RestaurantSearch", city, Restaurant)

    def attractions(self, city: str) -> tuple[Attraction, ...]:
        return self._places("AttractionSearch", city, Attraction, "\n;")

    def flights(self, org: str, dest: str, date: str) -> tuple[Flight, ...]:
        search = f"FlightSearch[{org}, {dest}, {date}]"
        return self._searched(search, lambda facts: (Flight(**row) for row in facts["rows"]))

    def drive(self, org: str, dest: str, mode: str) -> Drive | None:
        search = f"GoogleDistanceMatrix[{org}, {dest}, {mode}]"
        return next(iter(self._searched(search, lambda facts: (Drive(**row) for row in facts["rows"]))), None)

    def cities(self, state: str) -> tuple[str, ...]:
        return self._searched(f"CitySearch[{state}]", lambda facts: facts["cities"])

    def new_searches(self) -> tuple[Search, ...]:
        """The searches made since the last call of this method."""
        new, self._new = tuple(self._new), []
        return new

    def _places(self, tool: str, city: str, row: Callable[..., Any], unwritable: str = "\n") -> tuple[Any, ...]:
        return self._searched(
            f"{tool}[{city}]", lambda facts: _readable([row(**values) for values in facts["rows"]], unwritable)
        )

    def _searched(self, action: str, read: Callable[[Mapping[str, Any]], Iterable[Any]]) -> tuple[Any, ...]:
        if action not in self._rows:
            step = self._world.step(action)
            self._new.append(Search(action, step.text))
            self._rows[action] = tuple(read(step.facts))
        return self._rows[action]


def _readable(rows: Sequence[Any], unwritable: str) -> Iterator[Any]:
    """The rows of a city that the evaluator would find by the text that an itinerary has for them.

    This is the evaluator's rule for names, which no search reveals: it takes the first row of the city whose name
    contains the written one. So a name that is part of another name would be priced and judged as that other one. On
    official data this removes 0.4 % of the accommodations, 0.7 % of the restaurants and 0.8 % of the attractions.
    """
    for row in dict.fromkeys(rows):
        name, city = name_and_city(place_text(row))
        first = next((other for other in rows if name in other.name), None)
        if not set(unwritable) & set(row.name) and city == row.city and first == row:
            yield row


def place_text(row: Any) -> str:
    """A place as an itinerary in the benchmark's format names it."""
    return f"{row.name.strip()}, {row.city}"


def transport_options(
    catalogue: Catalogue, state: TripState, target: Predicate, kept_back: KeptBack = nothing
) -> Options:
    """Flights of the day and drives for one leg."""
    leg = Leg(*(target.about[name] for name in ("day", "date", "org", "dest")))
    # One leg by car rules out flights on the others: the mode is fixed for the whole trip (A.2, filter 3).
    decided = {d.day for d in state.decisions if d.slot == "transportation"} | {leg.day}
    undecided = [other for other in legs(state.task, route_of(target)) if other.day not in decided]
    others = {d.mode for d in state.decisions if d.mode and d.day != leg.day}
    stages = (
        (LOCAL, lambda option: allowed(option, state)),
        (MODE, lambda option: _consistent(option.mode, others) and _goes_on(catalogue, state, option.mode, undecided)),
        (AFFORDABLE, _affordable(state, [(leg.day, "transportation")], kept_back)),
    )
    return sift(ways(catalogue, leg, state), stages, f"transport from {leg.org} to {leg.dest} on {leg.date}")


def stay_options(catalogue: Catalogue, state: TripState, target: Predicate, kept_back: KeptBack = nothing) -> Options:
    """One place for all nights in a city."""
    days, task = target.about["days"], state.task
    rows = {place_text(row): row for row in catalogue.stays(target.about["city"])}
    candidates = [night(row, days, task.people) for row in rows.values()]
    stages = (
        (LOCAL, lambda option: _suits(rows[option.decisions[0].text], state, len(days))),
        (AFFORDABLE, _affordable(state, [(day, "accommodation") for day in days], kept_back)),
    )
    return sift(candidates, stages, f"{len(days)} nights in {target.about['city']}")


def meal_options(
    catalogue: Catalogue, state: TripState, target: Predicate, slot: str, kept_back: KeptBack = nothing
) -> Options:
    """Restaurants for one meal."""
    day = target.about["day"]
    # The evaluator compares the full texts of all meals of the trip, so another branch of a chain is no repetition.
    used = state.reopen([(day, slot)]).used(MEALS)
    rows = [row for city in target.about["cities"] for row in catalogue.restaurants(city)]
    candidates = [meal(row, day, slot, state.task) for row in rows]
    stages = (
        (UNIQUE, lambda option: option.decisions[0].text not in used),
        (AFFORDABLE, _affordable(state, [(day, slot)], kept_back)),
    )
    return sift(candidates, stages, f"{slot} on day {day}")


def attraction_options(catalogue: Catalogue, state: TripState, target: Predicate) -> Options:
    """Attractions for a day; they cost nothing."""
    day = target.about["day"]
    used = {d.text.rstrip(";") for d in state.decisions if d.slot == "attraction" and d.day != day}
    rows = [row for city in target.about["cities"] for row in catalogue.attractions(city)]
    candidates = [sight(row, day) for row in rows]
    stages = ((UNIQUE, lambda option: option.label not in used),)
    return sift(candidates, stages, f"an attraction on day {day}")


def ways(catalogue: Catalogue, leg: Leg, state: TripState) -> list[Option]:
    """Every way to travel a leg, before any filter but the first."""
    people, options = state.task.people, []
    for flight in catalogue.flights(leg.org, leg.dest, leg.date):
        text = (f"Flight Number: {flight.number}, from {leg.org} to {leg.dest}, "
                f"Departure Time: {flight.departs}, Arrival Time: {flight.arrives}")  # fmt: skip
        options.append(_way(leg, text, flight_cost(flight, people), FLIGHT))
    for mode, word in ((SELF_DRIVING, "Self-driving"), (TAXI, "Taxi")):
        drive = catalogue.drive(leg.org, leg.dest, mode)
        if drive is not None:
            text = f"{word}, from {leg.org} to {leg.dest}, Duration: {drive.duration}, Distance: {drive.distance}"
            options.append(_way(leg, text, ground_cost(drive, people), mode))
    return options


def _way(leg: Leg, text: str, cost: float, mode: str) -> Option:
    return Option(text, (Decision(leg.day, "transportation", text, cost, mode),), cost, mode)


def night(row: Any, days: Sequence[int], people: int) -> Option:
    """A place for the nights of these days."""
    cost = night_cost(row, people)
    # One place for all nights: the evaluator counts minimum nights over consecutive equal texts.
    decisions = tuple(Decision(day, "accommodation", place_text(row), cost) for day in days)
    rules = f"{row.room_type}, {row.house_rules or 'no house rules'}, at least {row.minimum_nights} nights"
    return Option(f"{place_text(row)} ({rules})", decisions, cost * len(days))


def meal(row: Any, day: int, slot: str, task: TripTask) -> Option:
    """A restaurant for a meal, with those of the query's cuisines that it offers."""
    cuisines = tuple(cuisine for cuisine in task.cuisines if any(cuisine in kind for kind in row.cuisines))
    eaten = Decision(day, slot, place_text(row), meal_cost(row, task.people), "", cuisines)
    return Option(eaten.text, (eaten,), eaten.cost, cuisines=cuisines)


def sight(row: Any, day: int) -> Option:
    """An attraction of a day."""
    # The final semicolon matters: the evaluator does not read an attraction without it.
    return Option(place_text(row), (Decision(day, "attraction", f"{place_text(row)};"),), 0.0)


def allowed(option: Option, state: TripState) -> bool:
    """Whether the query allows this way of travelling, by the benchmark's own spelling."""
    word = FORBIDDEN_WORDS.get(state.task.transportation or "")
    return word is None or word not in option.label


def _consistent(mode: str, others: set[str]) -> bool:
    """Whether a mode fits the others: self-driving excludes both flights and taxis."""
    return not others or (mode == SELF_DRIVING) == (SELF_DRIVING in others)


def _goes_on(catalogue: Catalogue, state: TripState, mode: str, rest: Iterable[Leg]) -> bool:
    """Whether each undecided leg can be travelled in a way that fits `mode`."""
    return all(
        any(allowed(way, state) and _consistent(way.mode, {mode}) for way in ways(catalogue, leg, state))
        for leg in rest
    )


def _suits(row: Any, state: TripState, nights: int) -> bool:
    rule, kind = state.task.house_rule, state.task.room_type
    return row.minimum_nights <= nights and not (rule and forbids(row, rule)) and (not kind or has_room_type(row, kind))


def _affordable(state: TripState, slots: Sequence[tuple[int, str]], kept_back: KeptBack) -> Callable[[Option], bool]:
    """Whether the cost without these slots, plus the option and the reserve, is within the budget."""
    elsewhere = sum(d.cost for d in state.decisions if (d.day, d.slot) not in set(slots))
    return lambda option: elsewhere + option.cost + kept_back(option) <= state.task.budget


def anything(catalogue: Catalogue, task: TripTask, random: Random) -> tuple[Option, ...]:
    """At most CAP options; each is a random entry of the listings for a random slot and day."""
    cities = destinations(catalogue, task)
    options: dict[str, Option] = {}
    for _ in range(TRIES * CAP):
        day, slot = random.randint(1, task.days), random.choice(SLOTS)
        if entries := _entries(catalogue, task, day, slot, cities, random):
            option = random.choice(entries)
            label = f"day {day} {slot}: {option.label}"
            options[label] = replace(option, label=label, cuisines=())
        if len(options) == CAP:
            break
    return tuple(options.values())


def destinations(catalogue: Catalogue, task: TripTask) -> list[str]:
    """The cities that the query may mean, without the origin."""
    # Some cities share their name with a state; only 3-day trips name a city.
    cities = (task.dest,) if task.days == 3 else catalogue.cities(task.dest)
    return [city for city in cities if city != task.org]


def _entries(
    catalogue: Catalogue, task: TripTask, day: int, slot: str, cities: Sequence[str], random: Random
) -> Sequence[Option]:
    """The listings' entries for a slot in a random city, or for a way between two random places."""
    city = random.choice(cities)
    if slot == "transportation":
        org, dest = random.sample([task.org, *cities], 2)
        return ways(catalogue, Leg(day, task.dates[day - 1], org, dest), TripState(task))
    if slot == "accommodation":
        return [night(row, (day,), task.people) for row in catalogue.stays(city)]
    if slot == "attraction":
        return [sight(row, day) for row in catalogue.attractions(city)]
    return [meal(row, day, slot, task) for row in catalogue.restaurants(city)]
