"""The two prompts of TravelPlanner's operators; the wording is in `sdp/prompt_texts`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from lab.models.answers import AnswerModel, Listing, limited
from lab.models.prompt_files import read_prompt
from lab.models.prompts import Fields


class ListedOption(Fields):
    """An option as it is shown. cost: dollars for the whole party."""

    number: int
    text: str
    cost: float
    cuisines: list[str] = []


class RejectedChoice(Fields):
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
    options: list[ListedOption]
    failures: list[RejectedChoice]


class Selection(AnswerModel):
    """The number of one listed option."""

    choice: int = Field(description="the number of the option you choose")


def of_listed(fields: SelectFields) -> type[Selection]:
    """An answer type limited to the numbers of the listed options."""
    numbers: Any = Literal[tuple(range(1, len(fields.options) + 1))]  # made at run time: no type checker follows
    return limited(Selection, "choice", numbers, f"the number of the option you choose, 1 to {len(fields.options)}")


SELECT = read_prompt(
    "sdp/travelplanner/select.md",
    SelectFields,
    Selection,
    narrow=of_listed,
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


def of_candidates(fields: CitiesFields) -> type[Cities]:
    """An answer type for `count` of the candidates; any cities if there are fewer, since no answer can be right."""
    count, names = fields.count, tuple(candidate.city for candidate in fields.candidates)
    if len(names) < count:
        return Cities
    kind: Any = list[Literal[names]]  # type: ignore[valid-type]  # made at run time
    words = f"{count} of the listed cities, in order of travel"
    return limited(Cities, "cities", kind, words, min_length=count, max_length=count)


CITIES = read_prompt(
    "sdp/travelplanner/cities.md",
    CitiesFields,
    Cities,
    narrow=of_candidates,
    listings=(Listing("candidates", "cities", text="city"),),
)
