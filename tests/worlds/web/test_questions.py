"""Questions over the synthetic web: their answers follow from the pages of their evidence, read by an agent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from worlds.assistantbench.synthetic import synthetic_site
from worlds.encyclopedia.templates import SPLITS, Split
from worlds.web.questions import MOST_PAGES, WebQuestion, question, questions
from worlds.web.reading import read
from worlds.web.rows import MOST_NAMES, TESTS
from worlds.web.site import FAULTY, Site
from worlds.web.templates import Template, templates

SITE = synthetic_site(0, FAULTY)
# How articles write what tables leave out.
WRITTEN = {
    "walk": r"([\d,]+) metres", "visitors": r"([\d,]+) visitors", "founded": r"\b(1\d{3}|20\d\d)\b",
    "students": r"([\d,]+) students", "runtime": r"(\d+) minutes", "tracks": r"(\d+) tracks", "pages": r"(\d+) pages",
    "closed": r"\b(\w+day)\b",
}  # fmt: skip


def made(template: Template) -> WebQuestion:
    """A question of a template."""
    pages = [url for url, page in SITE.lists.items() if page.table is template.table]
    tries = (question(SITE, Random(turn), template, pages, "id") for turn in range(50))
    return next(one for one in tries if one is not None)


def number(text: str) -> Any:
    return int(text.replace(",", "")) if re.fullmatch(r"[\d,]+", text) else text


def table(url: str, template: Template) -> list[dict[str, Any]]:
    """The rows of a list page as an agent gets it: its name and the table's columns."""
    lines = [line for line in read(SITE.resources[url].html).text.splitlines() if line.startswith("|")][2:]
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]
    return [dict(zip(("name", *template.table.columns), map(number, row), strict=True)) for row in cells]


def computed(rows: list[dict[str, Any]], whole: int, template: Template) -> Sequence[Any]:
    """The answer, by other code than that which made it."""
    if template.verb in ("least", "most"):
        ordered = sorted(rows, key=lambda row: row[template.measure], reverse=template.verb == "most")
        rows, names = ordered[:1], not template.keys
    else:
        names = template.verb == "names"
    if names:
        return [row["name"] for row in rows]
    if template.keys:
        return [{key: row[relation] for key, relation in template.keys.items()} for row in rows]
    values = [row[template.measure] for row in rows] if template.measure else []
    return [
        {
            "count": lambda: len(rows),
            "share": lambda: pytest.approx(100 * len(rows) / whole, abs=0.01),
            "sum": lambda: sum(values),
            "mean": lambda: pytest.approx(sum(values) / len(values), abs=0.01),
            "gap": lambda: max(values) - min(values),
        }[template.verb]()
    ]


@pytest.mark.parametrize("template", [one for split in SPLITS for one in templates(split)], ids=lambda one: one.name)
def test_the_answer_follows_from_the_pages_of_the_evidence(template: Template) -> None:
    asked = made(template)
    first, *articles = asked.evidence
    rows = table(first, template)
    # The limits as the question states them.
    values = {"place": SITE.lists[first].place, **{relation: f"(?P<{relation}>.+?)" for relation in template.where}}
    form = re.escape(template.question)
    form = re.sub(
        r"\\{(\w+)\\}", lambda field: re.escape(values["place"]) if field[1] == "place" else values[field[1]], form
    )
    match = re.fullmatch(form, asked.question)
    assert match is not None
    limits = {relation: number(match[relation]) for relation in template.where}
    for relation in template.by_columns:
        rows = [row for row in rows if TESTS[template.where[relation]](row[relation], limits[relation])]
    if template.details:
        assert 1 <= len(articles) == len(rows) <= MOST_PAGES
        for row, url in zip(rows, articles, strict=True):
            text = read(SITE.resources[url].html).text.partition("Last updated")[2].partition("\n")[2]
            assert row["name"].removesuffix(" film)") in SITE.resources[url].title + text
            for relation in template.details:
                found = re.search(WRITTEN[relation], text)
                assert found is not None, (relation, text)
                row[relation] = number(found[1])
    for relation in template.by_details:
        rows = [row for row in rows if TESTS[template.where[relation]](row[relation], limits[relation])]
    assert computed(rows, len(table(first, template)), template) == list(asked.items)


@pytest.mark.parametrize("split", SPLITS)
def test_questions_are_made_again_and_a_longer_list_begins_with_the_shorter_one(split: Split) -> None:
    some = questions(SITE, 60, split)
    assert some[:20] == questions(SITE, 20, split)
    assert len({one.question for one in some}) == len({one.id for one in some}) == 60
    assert len({one.template for one in some}) > 8 and all(one.template.startswith(split) for one in some)


@pytest.mark.parametrize("split", SPLITS)
def test_every_step_has_a_finding_and_every_page_of_the_evidence_is_sound(split: Split) -> None:
    for one in questions(SITE, 60, split):
        assert one.steps[0].kind == "collect" and all(step.finding for step in one.steps)
        assert len(one.steps) <= 5 and 1 <= len(one.items) <= MOST_NAMES
        assert all(SITE.resources[url].fault is None for url in one.evidence)
        assert SITE.fell_for(one.question + one.answer) is None
        names = [item for item in one.items if isinstance(item, str)]
        assert not any(name in one.question for name in names)


def test_the_two_sets_share_no_form_and_no_wording() -> None:
    writing, reporting = templates("writing"), templates("reporting")
    forms = [{(one.table_name, *one.where.items(), one.take) for one in some} for some in (writing, reporting)]
    assert not forms[0] & forms[1]
    said = [[one.question.split() for one in some] for some in (writing, reporting)]
    runs = [{tuple(words[at : at + 4]) for words in some for at in range(len(words) - 3)} for some in said]
    assert not {run for run in runs[0] & runs[1] if "{place}" not in run}


def test_too_many_questions_and_unknown_sets_are_rejected() -> None:
    with pytest.raises(ValueError, match="none for 'writting'; did you mean 'writing'"):
        questions(SITE, 1, "writting")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has 0 writing questions, and not 1"):
        questions(Site(0, articles=20), 1)
