"""The cheapest sets of restaurants that offer given cuisines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from worlds.travelplanner.tables import Restaurant


class Menu(NamedTuple):
    """Restaurants of one city, each once. cost: dollars a person."""

    cost: int
    rows: tuple[Restaurant, ...]


def cheapest_menus(restaurants: Sequence[Restaurant], cuisines: Sequence[str], most: int) -> dict[int, dict[int, Menu]]:
    """The cheapest menu for each number of meals up to `most` and each set of cuisines it offers.

    Result: number of meals to bit mask (bit i stands for `cuisines[i]`) to menu. A dynamic programme over the
    restaurants, so the menus are exact; combinations that cannot be had are absent.
    """
    menus: dict[int, dict[int, Menu]] = {count: {} for count in range(most + 1)}
    menus[0][0] = Menu(0, ())  # no meal, no cuisine
    for row in worth_a_look(restaurants, cuisines, most):
        offered = mask_of(row, cuisines)
        # From many meals to few, so that no restaurant is used twice.
        for count in range(most - 1, -1, -1):
            for mask, menu in menus[count].items():
                longer = Menu(menu.cost + row.average_cost, (*menu.rows, row))
                rival = menus[count + 1].get(mask | offered)
                if rival is None or longer.cost < rival.cost:
                    menus[count + 1][mask | offered] = longer
    return menus


def worth_a_look(restaurants: Sequence[Restaurant], cuisines: Sequence[str], most: int) -> list[Restaurant]:
    """The `most` cheapest restaurants for each set of cuisines offered; a dearer one never betters a menu."""
    taken: dict[int, int] = {}
    kept = []
    for row in sorted(
        # Reversed, so that of two rows with one name the first is left: the one that the evaluator finds.
        {row.name.strip(): row for row in reversed(restaurants)}.values(),
        key=lambda row: (row.average_cost, row.name),
    ):
        offered = mask_of(row, cuisines)
        taken[offered] = taken.get(offered, 0) + 1
        if taken[offered] <= most:
            kept.append(row)
    return kept


def mask_of(row: Restaurant, cuisines: Sequence[str]) -> int:
    return sum(1 << bit for bit, wanted in enumerate(cuisines) if any(wanted in kind for kind in row.cuisines))
