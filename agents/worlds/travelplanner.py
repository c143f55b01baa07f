"""TravelPlanner for acting agents: its search tools and its check of drafts, then the plan in the official format."""

from __future__ import annotations

import json
from typing import Any

from agents.environment import Environment, Observation
from worlds.travelplanner import TravelPlanner, TripTask

NAME = "travelplanner"
TOOLS = """
You plan a trip. What a plan names has to stand in the listings, which these actions search:
FlightSearch[CITY, CITY, DATE]; GoogleDistanceMatrix[CITY, CITY, self-driving] or the same with taxi;
AccommodationSearch[CITY]; RestaurantSearch[CITY]; AttractionSearch[CITY]; CitySearch[STATE].
Check[{"slots": [[DAY, SLOT], ...], "draft": PLAN}] tells what is listed for these slots, and what the draft costs.
Submit[PLAN] hands in the plan, and ends the task.
DATE is like 2022-03-16. PLAN is a JSON list of an object for each day. Its keys, each "-" where it holds nothing:
"days": the number of the day, from 1.
"current_city": "CITY", or "from CITY to CITY" on a day with travel.
"transportation": "Flight Number: NUMBER, from CITY to CITY, Departure Time: TIME, Arrival Time: TIME", or
"Self-driving, from CITY to CITY, duration: TEXT, distance: TEXT, cost: DOLLARS", or the same with Taxi.
"breakfast", "lunch", "dinner": "NAME, CITY". "attraction": "NAME, CITY;", several one behind the other.
"accommodation": "NAME, CITY", for the night that follows.
The trip begins and ends in the city of departure. Keep to the budget, and to what the query asks for. No restaurant and
no attraction comes twice. A place is stayed at for its minimum nights at least. Self-driving goes with no other way of
travel.
""".strip()
SUBMIT = "Submit["


class Planning(Environment):
    """One query as an episode. cities: those to visit, in order, which the agent gets; () if it has to choose."""

    name, tools, form = NAME, TOOLS, ""

    def __init__(self, world: TravelPlanner, task: TripTask, cities: tuple[str, ...] = ()) -> None:
        self.world, self.task, self.cities = world, task, cities
        self._plan, self._score = "", 0.0

    def begin(self) -> str:
        """The query, and the cities if they are given."""
        self._plan, self._score = "", 0.0
        query = self.world.reset(self.task).text
        return f"{query}\nCities to visit, in this order: {', '.join(self.cities)}" if self.cities else query

    def act(self, action: str) -> Observation:
        """Take a step of the world. A plan that is not JSON is refused, and can be submitted again."""
        action = action.strip()
        step = self.world.step(action)
        if step.done:
            self._plan, self._score = action.removeprefix(SUBMIT).removesuffix("]"), step.score
        no_plan = "\nThe plan is no JSON." if action.startswith(SUBMIT) and not step.done else ""
        return Observation(f"{step.text}{no_plan}", step.done, valid="refused" not in step.facts)

    def result(self) -> dict[str, Any]:
        """Whether the plan passes, and the submitted plan as JSON text, "" if there is none."""
        return {"score": self._score, "plan": self._plan}


def delivered(result: dict[str, Any]) -> Any:
    """The plan of a result, parsed; None if none was submitted."""
    return json.loads(result["plan"]) if result["plan"] else None
