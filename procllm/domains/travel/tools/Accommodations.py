"""The accommodations of the travel sandbox. Runs inside the agent's sandbox: standard library only."""

from __future__ import annotations

import csv
import os

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "accommodations.csv")
NUMBERS = {"price": float, "minimum nights": int, "maximum occupancy": int, "review rate number": float}


class Accommodations:
    """Accommodations by city."""

    def run(self, city: str) -> list[dict[str, object]] | str:
        """The accommodations of a city, in the table's order; a message where there is none."""
        with open(TABLE, encoding="utf-8", newline="") as table:
            rows = csv.reader(table)
            columns = next(rows)
            place = columns.index("city")
            found: list[dict[str, object]] = [
                dict(zip(columns, row, strict=True)) for row in rows if row[place] == city
            ]
        for row in found:
            row.update({name: number(row[name]) for name, number in NUMBERS.items()})
        return found or f"There is no accommodation in {city}."
