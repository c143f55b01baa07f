"""WebShop's official small catalogue: download, conversion and reader.

The benchmark's files are on Google Drive, at the addresses in its setup script. Two of them make the shop of 1,000
products: the products, and 415 template instructions with the attributes that they request. The third has the
instructions written by people; 13 of them are about these products.

The 12,087 instructions of the whole benchmark (`human_goals`) are texts only. They are for a shop of 1.18 million
products, nearly all absent here, so they cannot be scored and are only examples of how people ask.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from lab.machine.datasets import Dataset, UnexpectedData
from lab.machine.download import Report, fetch_once
from lab.machine.faults import MissingData
from worlds.webshop.catalogue import NO_PRICE, Catalogue, Instruction, product_from_record

LONGEST_ID = 10  # characters of an ASIN; the engine drops products with a longer id
NEEDED_FIELDS = ("asin", "name", "query", "category", "product_category", "full_description", "small_description")
NO_ATTRIBUTES = "DUMMY_ATTR"  # the engine's placeholder if no attributes were mined
NOT_OF_A_NUMBER = re.compile(r"[^\d.]")
# Fields of an instruction by a person; the writer's id is dropped.
KEPT = ("asin", "instruction", "attributes", "options", "instruction_attributes", "instruction_options")

Record = dict[str, Any]
PRODUCTS, ATTRIBUTES, PEOPLE = "items_shuffle_1000.json", "items_ins_v2_1000.json", "items_human_ins.json"
# confirm=t skips the page on which Google Drive asks whether to download a large file.
ADDRESS = "https://drive.usercontent.google.com/download?id={id}&export=download&confirm=t"
FILES = {
    PRODUCTS: "1EgHdxQ_YxqIQlvvq5iKlCrkEKR6-j0Ib",
    ATTRIBUTES: "1IduG0xl544V_A_jv3tHXC0kyFi7PnyBu",
    PEOPLE: "14Kb5SPBk_jfdLZ_CDBNitW98QLDlKR5O",
}
CATALOGUE = "products_1000.jsonl.gz"
NEEDED = (CATALOGUE, ATTRIBUTES)
OFFICIAL_COUNTS = {"products": 1000, "templates": 415, "by people": 13}
TRAIN = 100  # instructions; the other 328 are the test split


def convert(
    products: Sequence[Record], attributes: Mapping[str, Record], people: Mapping[str, Sequence[Record]], target: Path
) -> dict[str, int]:
    """Write the compact catalogue as JSON lines; returns the numbers of products and instructions.

    products, attributes, people: the contents of items_shuffle_1000, items_ins_v2_1000 and items_human_ins. Raises
    UnexpectedData if a product lacks fields, naming them.
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
    """The first product of each id, without products that have no proper id. raw: folder of the official files."""
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
        "asin": product["asin"], "Title": product["name"], "Description": product["full_description"] or "",
        "BulletPoints": features if isinstance(features, list) else [features or ""],
        "query": product["query"].lower().strip(), "category": product["category"],
        "product_category": product["product_category"], "pricing": prices(product.get("pricing")),
        "options": options(product.get("customization_options")),
        "Attributes": attributes.get(product["asin"], {}).get("attributes", [NO_ATTRIBUTES]),
        "Rating": "N.A.", "Reviews": [],
    }  # fmt: skip
    instructions = people.get(product["asin"])
    if instructions:
        record["instructions"] = [
            {name: instruction[name] for name in KEPT if name in instruction} for instruction in instructions
        ]
    return record


def prices(text: str | None) -> list[float]:
    """The price, or the two bounds of a range, in a text such as "$4.50 - $1,200.00"; $100 if there is none."""
    numbers = [float(NOT_OF_A_NUMBER.sub("", part)) for part in (text or "").split("$")[1:]]
    return numbers[:2] or [NO_PRICE]  # a few texts have more than two prices; the engine reads a range from two


def options(offered: Mapping[str, Sequence[Record] | None] | None) -> dict[str, list[str]]:
    """Option name -> values, in lower case; a slash in a value becomes a vertical bar."""
    return {
        name.lower(): [content["value"].strip().replace("/", " | ").lower() for content in contents]
        for name, contents in (offered or {}).items()
        if contents is not None
    }


def present(folder: Path) -> bool:
    """Whether the folder has every file that the loaders read."""
    return all((folder / name).exists() for name in NEEDED)


def load_catalogue(folder: Path) -> Catalogue:
    """The products in the official order. Raises MissingData if the file is absent."""
    return Catalogue([product_from_record(record) for record in catalogue_records(folder)])


def load_instructions(folder: Path) -> dict[str, list[Instruction]]:
    """All instructions that can be scored, by split: 100 for "train", 328 for "test".

    The official small shop has no splits. Here all instructions are shuffled once, independent of the shop's seed; both
    splits have instructions from templates and from people. Raises MissingData if a file is absent.
    """
    # Sorted before shuffling, so that the splits do not depend on the order of the files.
    mixed = sorted(templates(folder) + by_people(folder), key=lambda instruction: (instruction.asin, instruction.text))
    Random("webshop splits").shuffle(mixed)
    return {"train": mixed[:TRAIN], "test": mixed[TRAIN:]}


def templates(folder: Path) -> list[Instruction]:
    """The instructions that name a kind of product and attributes; the shop adds options and a price cap."""
    entries = json.loads(needed(folder, ATTRIBUTES).read_text(encoding="utf-8"))
    return [
        Instruction(asin, entry["instruction"], tuple(entry["instruction_attributes"]))
        for asin, entry in entries.items()
        if entry.get("instruction")
    ]


def by_people(folder: Path) -> list[Instruction]:
    """The instructions that people wrote; as in the official shop, only those with attributes."""
    return [
        Instruction(
            record["asin"],
            instruction["instruction"],
            tuple(instruction["instruction_attributes"]),
            tuple(instruction["instruction_options"]),
        )
        for record in catalogue_records(folder)
        for instruction in record.get("instructions", ())
        if instruction["instruction_attributes"]
    ]


def catalogue_records(folder: Path) -> list[dict[str, Any]]:
    with gzip.open(needed(folder, CATALOGUE), "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def needed(folder: Path, name: str) -> Path:
    path = Path(folder) / name
    if not path.exists():
        raise MissingData(f"WebShop's {name} is not in {folder}. Fetch it with: python -m lab data fetch webshop")
    return path


def fetch(folder: Path, report: Report) -> None:
    """Download the three official files, clean them as the engine does and write the compact ones into `folder`.

    It can be stopped and called again. Files put into `folder/raw` by hand are used instead of downloading them.
    Raises DownloadFailed, or UnexpectedData if a file is not the official one.
    """
    raw = folder / "raw"
    for name, drive_id in FILES.items():
        fetch_once(ADDRESS.format(id=drive_id), raw / name, report)
    contents = {name: read_json(raw / name) for name in FILES}
    # Converted in a separate folder and moved once checked, so that `present` never sees partial or other data.
    check_counts(convert(contents[PRODUCTS], contents[ATTRIBUTES], contents[PEOPLE], raw / CATALOGUE), raw)
    (raw / CATALOGUE).replace(folder / CATALOGUE)
    (raw / ATTRIBUTES).replace(folder / ATTRIBUTES)
    shutil.rmtree(raw)


def read_json(path: Path) -> Any:
    """The content of a raw file, which is removed if it is no JSON (such as a host's error page)."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        path.unlink()
        raise UnexpectedData(
            f"{ADDRESS.format(id=FILES[path.name])} gave no JSON (its host may limit downloads); try again later, "
            f"or download it in a browser and save it as {path}"
        ) from error


def check_counts(counts: dict[str, int], raw: Path) -> None:
    """Raise UnexpectedData unless the numbers of products and instructions are the published ones."""
    differences = [
        f"{counts[name]:,} {name}, not {number:,}" for name, number in OFFICIAL_COUNTS.items() if counts[name] != number
    ]
    if differences:
        raise UnexpectedData(
            f"the official files are not those this suite was made for: {'; '.join(differences)}; "
            f"remove {raw} and fetch them again with: python -m lab data fetch webshop"
        )


DATASET = Dataset(
    name="webshop",
    about="WebShop's small catalogue of 1,000 products and its 428 instructions",
    present=present,
    fetch=fetch,
)
