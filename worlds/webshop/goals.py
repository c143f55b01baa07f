"""Tasks and their hidden goals, sampled from instructions. No agent sees the goals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from worlds.webshop.catalogue import Catalogue, Instruction, Product, price_of

SPLITS = ("train", "test")
CAPS = tuple(10.0 * tens for tens in range(1, 100))  # dollars
CAPS_ABOVE = 4  # a cap is one of the next four above the price
NO_CAP = 1_000_000.0  # dollars; no product costs as much, so the price always counts as met


@dataclass(frozen=True, slots=True)
class ShopTask:
    """One task. goal: the instruction. The shop hides the product, attributes and options that would fulfil it."""

    id: str
    goal: str


@dataclass(frozen=True, slots=True)
class Goal:
    """A hidden goal. product: the intended one. options: requested values. price_cap: in dollars; NO_CAP for none."""

    product: Product
    attributes: tuple[str, ...]
    options: tuple[str, ...]
    price_cap: float


@dataclass(frozen=True, slots=True)
class GoalSet:
    """Tasks by split, and their hidden goals by task id."""

    tasks: Mapping[str, tuple[ShopTask, ...]]
    goals: Mapping[str, Goal]


def draw_goals(splits: Mapping[str, Iterable[Instruction]], catalogue: Catalogue, seed: int) -> GoalSet:
    """Sample the goals of each split's instructions, with options and price caps as in the official engine.

    The engine makes a goal of every combination of a product's options. Here one combination is sampled, so that
    products with many options do not dominate.
    """
    tasks: dict[str, tuple[ShopTask, ...]] = {}
    goals: dict[str, Goal] = {}
    for split, instructions in splits.items():
        pairs = [draw_goal(instruction, catalogue, seed) for instruction in instructions]
        tasks[split] = tuple(ShopTask(f"webshop-{split}-{number:04d}", text) for number, (text, _) in enumerate(pairs))
        goals.update({task.id: goal for task, (_, goal) in zip(tasks[split], pairs, strict=True)})
    return GoalSet(tasks, goals)


def draw_goal(instruction: Instruction, catalogue: Catalogue, seed: int) -> tuple[str, Goal]:
    """The instruction text for the agent, and its hidden goal."""
    rng = Random(f"webshop goal {seed} {instruction.asin} {instruction.text}")
    product = catalogue.by_asin[instruction.asin]
    cap = price_cap(price_of(product, seed), rng)
    text, options = instruction.text.strip("."), instruction.options
    if options is None:
        chosen = {name: rng.choice(product.options[name]) for name in sorted(product.options)}
        text += " with " + ", and ".join(f"{name}: {value}" for name, value in chosen.items()) if chosen else ""
        options = tuple(chosen.values())
    # The wording is the official engine's; the expert removes it by `expert.PRICE`.
    if cap != NO_CAP:
        text += f", and price lower than {cap:.2f} dollars"
    return text, Goal(product, instruction.attributes, options, cap)


def price_cap(price: float, rng: Random) -> float:
    """The larger of two of the next four multiples of $10 above a price; NO_CAP if fewer than two are left."""
    above = [cap for cap in CAPS if cap > price][:CAPS_ABOVE]
    return max(rng.sample(above, 2)) if len(above) >= 2 else NO_CAP
