"""WebShop's tasks: the instruction, and nothing of the hidden goal behind it."""

from __future__ import annotations

from dataclasses import dataclass

SPLITS = ("train", "test")


@dataclass(frozen=True, slots=True)
class ShopTask:
    """goal: the instruction. Which product, attributes and options would fulfil it, the shop keeps to itself."""

    id: str
    goal: str
