"""Fetching WebShop: cleaning of files in the official shape, and what is said of files of another."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lab.machine.datasets import accept
from lab.machine.download import DownloadFailed
from worlds.webshop import load, official
from worlds.webshop.catalogue import Product
from worlds.webshop.official import UnexpectedData, prices

QUIET = print


def raw_product(asin: str, **changes: Any) -> dict[str, Any]:
    """A product as the official file has it, with fields that the shop drops."""
    return {
        "asin": asin, "name": f"Lamp {asin}", "query": " Desk Lamps ", "category": "garden",
        "product_category": "Home › Lighting › Desk Lamps", "full_description": "Bright.",
        "small_description": ["Dims", "Folds"], "pricing": "$20.00", "customization_options": "", "images": [""],
        "seller_id": "x", "average_rating": "",
    } | changes  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder, with small raw files put into it by hand."""
    raw = tmp_path / "webshop" / "raw"
    raw.mkdir(parents=True)
    offered = {"Color": [{"value": " Black/White ", "image": "u"}, {"value": "Red"}], "Size": None}
    products = [
        raw_product("B1", pricing="$16.99 - $1,026.99", customization_options=offered, small_description="One text"),
        raw_product("B1", name="again"),
        raw_product("nan"),
        raw_product("TOO-LONG-ID"),
        raw_product("B2", pricing=None),
        raw_product("B3", pricing=""),
    ]
    asked = ["easy install"]
    template = {"attributes": asked, "instruction": "Find me easy install desk lamps", "instruction_attributes": asked}
    attributes = {"B1": template, "B2": {"attributes": []}}
    written = {"asin": "B2", "worker_id": "SECRET", "instruction_options": []}
    people = {
        "B2": [
            written | {"instruction": "a lamp that dims.", "attributes": ["a"], "options": [""],
                       "instruction_attributes": ["dims"]},
            written | {"instruction": "a lamp", "instruction_attributes": []},
        ],
        "ELSEWHERE": [{"asin": "ELSEWHERE"}],
    }  # fmt: skip
    for name, content in ((official.PRODUCTS, products), (official.ATTRIBUTES, attributes), (official.PEOPLE, people)):
        (raw / name).write_text(json.dumps(content), encoding="utf-8")
    monkeypatch.setattr(official, "OFFICIAL_COUNTS", {"products": 3, "templates": 1, "by people": 2})
    monkeypatch.setenv("LAB_DATA", str(tmp_path))
    return tmp_path / "webshop"


def test_fetched_files_are_cleaned_and_make_a_shop(folder: Path) -> None:
    official.fetch(folder, QUIET)
    assert official.present(folder) and not (folder / "raw").exists()
    assert all("SECRET" not in str(record) for record in official.catalogue_records(folder))  # who wrote a text
    catalogue = official.load_catalogue(folder)
    assert [product.asin for product in catalogue.products] == ["B1", "B2", "B3"]
    assert catalogue.by_asin["B1"] == Product(
        "B1", "Lamp B1", "desk lamps", ("Home", "Lighting", "Desk Lamps"), (16.99, 1026.99), "Bright.",
        ("One text",), {"color": ("black | white", "red")}, ("easy install",),
    )  # fmt: skip
    assert [product.price_tag for product in catalogue.products] == ["$16.99 to $1026.99", "$100.0", "$100.0"]
    assert catalogue.by_asin["B3"].attributes == ("DUMMY_ATTR",)
    accept("webshop")
    shop = load("official")
    texts = {task.goal.split(",")[0].split(" with ")[0] for task in shop.tasks("train")}
    assert texts == {"Find me easy install desk lamps", "a lamp that dims"}


def test_an_error_page_in_place_of_a_file_is_named_and_removed(folder: Path) -> None:
    page = folder / "raw" / official.PEOPLE
    page.write_text("<html>too many downloads</html>")
    with pytest.raises(UnexpectedData, match="in a browser and save it as .*items_human_ins.json"):
        official.fetch(folder, QUIET)
    assert not page.exists() and not official.present(folder)


def test_data_of_another_size_or_shape_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official, "OFFICIAL_COUNTS", {"products": 1000, "templates": 1})
    with pytest.raises(UnexpectedData, match="3 products, not 1,000.*remove .*raw and fetch them again"):
        official.fetch(folder, QUIET)
    assert not official.present(folder)
    (folder / "raw" / official.PRODUCTS).write_text('[{"asin": "B1", "name": "x"}]')
    with pytest.raises(UnexpectedData, match="lacks query, category.*Remove .* and fetch them again"):
        official.fetch(folder, QUIET)


def test_a_failed_download_says_where_to_put_the_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str, target: Path, report: Any) -> None:
        raise DownloadFailed(f"{url} answers 404")

    (folder / "raw" / official.ATTRIBUTES).unlink()
    monkeypatch.setattr("lab.machine.download.download", refuse)
    with pytest.raises(DownloadFailed, match=r"answers 404; or download .* save it as .*items_ins_v2_1000.json"):
        official.fetch(folder, QUIET)


@pytest.mark.parametrize(("text", "expected"), [
    ("$4.50", [4.5]), ("$4.50 - $1,200.00", [4.5, 1200.0]), ("$1.00$2.00$3.00", [1.0, 2.0]), ("", [100.0]),
    (None, [100.0]), ("not for sale", [100.0]),
])  # fmt: skip
def test_prices_are_read_from_text(text: str | None, expected: list[float]) -> None:
    assert prices(text) == expected
