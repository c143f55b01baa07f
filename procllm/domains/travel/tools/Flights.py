"""The flights of the travel sandbox. Runs inside the agent's sandbox: standard library only."""

from __future__ import annotations

import csv
import os

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "flights.csv")


class Flights:
    """Flights by route and day."""

    def run(self, departure_city: str, destination_city: str, date: str) -> list[dict[str, object]] | str:
        """The flights of a route on an ISO date, in the table's order; a message where there is none."""
        with open(TABLE, encoding="utf-8", newline="") as table:
            rows = csv.reader(table)
            columns = next(rows)
            day, org, dest = map(columns.index, ("FlightDate", "OriginCityName", "DestCityName"))
            found: list[dict] = [
                dict(zip(columns, row, strict=True))
                for row in rows
                if row[day] == date and row[org] == departure_city and row[dest] == destination_city
            ]
        for row in found:
            row["Price"] = int(row["Price"])
            row["Distance"] = float(row["Distance"]) if row["Distance"] else None
        return found or f"There is no flight from {departure_city} to {destination_city} on {date}."
