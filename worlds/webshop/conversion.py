"""From the official raw files to the compact catalogue, with the cleaning that the official engine does on loading."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lab.machine.datasets import UnexpectedData
from worlds.webshop.catalogue import NO_PRICE

LONGEST_ID = 10  # characters of an ASIN; the engine drops products with a longer id
NEEDED_FIELDS = ("asin", "name", "query", "category", "product_category", "full_description", "small_description")
NO_ATTRIBUTES = "DUMMY_ATTR"  # the engine's own word where nothing was mined
NOT_OF_A_NUMBER = re.compile(r"[^\d.]")
# Of an instruction by a person; the id of who wrote it stays behind.
KEPT = ("asin", "instruction", "attributes", "options", "instruction_attributes", "instruction_options")

Record = dict[str, Any]


def convert(
    products: Sequence[Record], attributes: Mapping[str, Record], people: Mapping[str, Sequence[Record]], target: Path
) -> dict[str, int]:
    """Write the compact catalogue, one JSON object a line; how many products and instructions there are.

    products, attributes, people: the contents of items_shuffle_1000, items_ins_v2_1000 and items_human_ins. Raises
    UnexpectedData, naming the fields, if a product is of another shape.
    """
    records = [cleaned(product, attributes, people) for product in distinct(products, target.parent)]
    with gzip.open(target, "wt", encoding="utf-8") as lines:
        for record in records:
            lines.write(json.dumps(record, ensure_ascii=False) + "\n")
    return {
        "products": len(records),
        "templates": sum(bool(entry.get("instruction")) for entry in attributes.values()),
        "by people": sum(len(record.get("instructions", ())) for record in records),
    }


def distinct(products: Iterable[Record], raw: Path) -> list[Record]:
    """The first product of each id, without those that have no proper id. raw: the folder of the official files."""
    first: dict[str, Record] = {}
    for product in products:
        missing = [name for name in NEEDED_FIELDS if name not in product]
        if missing:
            raise UnexpectedData(
                f"a product of the official file lacks {', '.join(missing)}; is it another file? "
                f"Remove {raw} and fetch them again with: python -m lab data fetch webshop"
            )
        if product["asin"] != "nan" and len(product["asin"]) <= LONGEST_ID:
            first.setdefault(product["asin"], product)
    return list(first.values())


def cleaned(product: Record, attributes: Mapping[str, Record], people: Mapping[str, Sequence[Record]]) -> Record:
    """One product with the fields that the shop reads."""
    features = product["small_description"]
    record = {
        "asin": product["asin"],
        "Title": product["name"],
        "Description": product["full_description"] or "",
        "BulletPoints": features if isinstance(features, list) else [features or ""],
        "query": product["query"].lower().strip(),
        "category": product["category"],
        "product_category": product["product_category"],
        "pricing": prices(product.get("pricing")),
        "options": options(product.get("customization_options")),
        "Attributes": attributes.get(product["asin"], {}).get("attributes", [NO_ATTRIBUTES]),
        "Rating": "N.A.",
        "Reviews": [],
    }
    written = people.get(product["asin"])
    if written:
        record["instructions"] = [
            {name: instruction[name] for name in KEPT if name in instruction} for instruction in written
        ]
    return record


def prices(text: str | None) -> list[float]:
    """The price, or the two bounds of a range, in a text such as "$4.50 - $1,200.00"; $100 where there is none."""
    numbers = [float(NOT_OF_A_NUMBER.sub("", part)) for part in (text or "").split("$")[1:]]
    return numbers[:2] or [NO_PRICE]  # a few texts have more than two prices; the engine reads a range from two


def options(offered: Mapping[str, Sequence[Record] | None] | None) -> dict[str, list[str]]:
    """Option name -> values, in lower case; a slash within a value is written as an upright bar."""
    return {
        name.lower(): [content["value"].strip().replace("/", " | ").lower() for content in contents]
        for name, contents in (offered or {}).items()
        if contents is not None
    }
