"""The recipe book. Runs inside the agent's sandbox: standard library only."""

from __future__ import annotations

import csv
import os

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "book.csv")


def get_ingredient_from_dish(dish: str) -> list[str]:
    """The ingredients of a dish, in the book's order; empty for a dish that the book does not have."""
    return list(_INGREDIENTS.get(_plain(dish), ()))


def get_dish_from_ingredient(ingredient: str) -> list[str]:
    """The dishes with an ingredient, in alphabetical order; empty for one that the book does not have."""
    return list(_DISHES.get(_plain(ingredient), ()))


def _plain(name: str) -> str:
    """Names are found whatever their case and the blanks around them."""
    return name.strip().casefold()


_INGREDIENTS: dict[str, list[str]] = {}
_DISHES: dict[str, list[str]] = {}
with open(TABLE, encoding="utf-8", newline="") as table:
    for row in csv.DictReader(table):
        _INGREDIENTS[_plain(row["dish"])] = row["ingredients"].split("; ")
        for name in row["ingredients"].split("; "):
            _DISHES.setdefault(_plain(name), []).append(row["dish"])
