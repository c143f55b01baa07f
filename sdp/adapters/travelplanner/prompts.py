"""The two questions that TravelPlanner's operators ask a model."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

from pydantic import Field, create_model

from lab.models.prompts import AnswerModel, Fields, Listing, Prompt


class Listed(Fields):
    """An option as it is shown. cost: dollars for the whole party."""

    number: int
    text: str
    cost: float
    cuisines: list[str] = []


class Rejected(Fields):
    """An earlier choice for the same target, why it was rejected, and how often."""

    choice: str
    reason: str
    times: int


class SelectFields(Fields):
    """What Realize may read: the certified state (trip, decided, left, wanted), the target, and the failures at it."""

    trip: str
    decided: list[str]
    target: str
    slot: str
    left: float = Field(description="dollars of the budget not yet spent")
    wanted: list[str] = Field(description="cuisines the query asks for and no decided meal offers")
    options: list[Listed]
    failures: list[Rejected]


class Selection(AnswerModel):
    """The number of one listed option."""

    choice: int = Field(description="the number of the option you choose")


@cache
def selection_of(count: int) -> type[Selection]:
    """A selection that is one of 1 to `count`."""
    numbers: Any = Literal[tuple(range(1, count + 1))]  # made at run time, which no type checker can follow
    about = Field(description=f"the number of the option you choose, 1 to {count}")
    return create_model("Selection", __base__=Selection, choice=(numbers, about))


SELECT = Prompt(
    name="sdp.travelplanner.select",
    version="1",
    operator="realize",
    system="""
You put a trip together one decision at a time. You are given the trip, what has been decided, the condition that the
next decision must make true, and a numbered list of options. Every option on the list exists, keeps the traveller's
wishes and can be paid. Choose exactly one of them by its number.

- Decisions yet to come must be paid from the same budget: prefer cheap options.
- While cuisines are still wanted, choose a restaurant that offers one of them.
- Do not repeat a choice that was rejected.
""",
    template="""
Trip: {{ trip }}
Decided so far:
{% for line in decided %}
- {{ line }}
{% else %}
- nothing
{% endfor %}
Budget left: ${{ "%.0f" % left }}
{% if wanted %}
Cuisines still wanted: {{ wanted | join(", ") }}
{% endif %}
The next decision must make this true: {{ target }}
To decide now: {{ slot }}
Options:
{% for option in options %}
{{ option.number }}. "{{ option.text }}" for ${{ "%.0f" % option.cost }}
{%- if option.cuisines %}, offers {{ option.cuisines | join(" and ") }}{% endif +%}
{% endfor %}
{% for failure in failures %}
Rejected {{ "%d times" % failure.times if failure.times > 1 else "before" }}: {{ failure.choice }},
  because {{ failure.reason }}
{% endfor %}
""",
    fields=SelectFields,
    answer=Selection,
    narrow=lambda fields: selection_of(len(fields.options)),
    listings=(Listing("options", "choice", by="number", number="number"),),
)


class Candidate(Fields):
    """A city that could be visited. Each cost is the cheapest, in dollars for the party; None where there is no way.

    there: from the origin on the first day; back: to the origin on the last; stay: nights in a place that suits.
    """

    city: str
    there: float | None
    back: float | None
    stay: float | None
    restaurants: int
    attractions: int


class CitiesFields(Fields):
    """What Propose may read before the plan exists: the trip and what the search tools say of each city."""

    trip: str
    count: int
    candidates: list[Candidate]


class Cities(AnswerModel):
    """The cities to visit, in travel order."""

    cities: list[str] = Field(description="names of the cities to visit, in the order of travel")


@cache
def cities_of(names: tuple[str, ...], count: int) -> type[Cities]:
    """`count` cities of these names; any, where there are not as many, and no answer can be right."""
    if len(names) < count:
        return Cities
    name: Any = Literal[names]  # made at run time, which no type checker can follow
    about = Field(description=f"{count} of the listed cities, in order of travel", min_length=count, max_length=count)
    return create_model("Cities", __base__=Cities, cities=(list[name], about))


CITIES = Prompt(
    name="sdp.travelplanner.cities",
    version="1",
    operator="propose",
    system="""
You choose which cities of a state a trip visits. The first city must be reached from the origin on the first day, and
the origin from the last city on the last day. Each city needs a place to stay, restaurants for every meal and at least
one attraction. Prefer what is cheap.
""",
    template="""
{% macro money(cost) %}{{ "$%.0f" % cost if cost is not none else "none" }}{% endmacro %}
Trip: {{ trip }}
Choose {{ count }} different cities, in the order of travel, from:
{% for c in candidates %}
- {{ c.city }}: way there {{ money(c.there) }}, way back {{ money(c.back) }}, stay {{ money(c.stay) }},
  {{ c.restaurants }} restaurants, {{ c.attractions }} attractions
{% endfor %}
""",
    fields=CitiesFields,
    answer=Cities,
    narrow=lambda fields: cities_of(tuple(candidate.city for candidate in fields.candidates), fields.count),
    listings=(Listing("candidates", "cities", text="city"),),
)
