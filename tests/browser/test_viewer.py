"""Pages of the viewer in a real browser: hostile text does nothing, and nothing is clipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from browser import CHROMIUM, Browser
from lab.explore import claims, claims_page
from lab.machine.paths import ROOT
from lab.notebooks import register
from lab.viewer.steps import Step
from lab.viewer.timeline import Timeline, side_by_side

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium here")]
WIDTH = 1200
CELL = 1000  # pixels that JupyterLab leaves of it for an output, without its list of files; and its look of a table:
TABLES = (
    "body { font: 13px sans-serif } table { border-collapse: collapse } td, th { padding: .5em; text-align: right }"
)
HOSTILE = (
    "<script>window.hostile = 1</script>",
    "</pre></dd></details><img src=x onerror='window.hostile = 1'><iframe srcdoc='<script>1</script>'></iframe>",
    "javascript:window.hostile=1",
    "x" * 100_000,
    "\u202e\u2066right to left\u2069 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627 \x00 \x1b[2J \ud83d",
    "a\u0300\u0301" * 500,
    "<style>body { display: none }</style>",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(WIDTH) as opened:
        yield opened


@pytest.fixture
def pictures() -> Path:
    folder = ROOT / "build" / "browser"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def look(browser: Browser, page: Path, pictures: Path, name: str) -> None:
    """Take a picture in light and in dark; no text may be clipped, and none unreadable against its ground."""
    for dark in (False, True):
        browser.dark(dark)
        browser.open(page.as_uri())
        browser.ask("document.querySelectorAll('details').forEach((each, n) => { if (n < 9) each.open = true })")
        assert browser.ask("document.documentElement.scrollWidth") <= WIDTH
        clipped = "[...document.querySelectorAll('.lab-view *')].filter(e => e.scrollWidth > e.clientWidth + 1 && \
            e.clientWidth && getComputedStyle(e).display != 'inline').map(e => e.outerHTML.slice(0, 200))"
        assert browser.ask(clipped) == []
        browser.picture(pictures / f"{name}-{'dark' if dark else 'light'}.png", 1400)


def test_hostile_text_does_nothing_and_breaks_nothing(browser: Browser, pictures: Path, tmp_path: Path) -> None:
    steps = tuple(
        Step(title=text, verdict=False, reason=text, action=text, observation={text: [text]}, after={text: text})
        for text in HOSTILE
    )
    episode = Timeline(title=HOSTILE[0], task=HOSTILE[1], outcome=HOSTILE[4], notes=HOSTILE[:1], steps=steps)
    page = episode.html(tmp_path / "hostile.html")
    look(browser, page, pictures, "hostile")
    assert browser.ask("typeof window.hostile") == "undefined"
    assert browser.ask("document.querySelectorAll('script, img, iframe').length") == 0
    assert browser.ask("document.querySelectorAll('details').length") == len(steps) + 1
    assert browser.ask("document.body.innerText.includes('<script>window.hostile = 1</script>')")
    # As a notebook has it, where no header of ours forbids scripts.
    bare = tmp_path / "bare.html"
    bare.write_text(f"<!doctype html><meta charset=utf-8>{episode._repr_html_()}", encoding="utf-8")
    browser.open(bare.as_uri())
    assert browser.ask("typeof window.hostile") == "undefined"


def test_the_tables_of_the_committed_notebooks_fit_a_page(browser: Browser, tmp_path: Path) -> None:
    parts = []
    for path in sorted((ROOT / "notebooks").rglob("*.ipynb")):
        for cell in nbformat.read(path, 4).cells:
            pages = (output.get("data", {}).get("text/html", "") for output in cell.get("outputs", []))
            ours = (page for page in pages if page.startswith('<div style="overflow-x:auto">'))
            parts += [f'<div title="{path.stem}" style="width:{CELL}px">{page}</div>' for page in ours]
    (tmp_path / "tables.html").write_text(f"<!doctype html><meta charset=utf-8><style>{TABLES}</style>{''.join(parts)}")
    browser.open((tmp_path / "tables.html").as_uri())
    wide = f"[...document.querySelectorAll('table')].filter(table => table.offsetWidth > {CELL})"
    assert (
        browser.ask(f"{wide}.map(table => table.closest('[title]').title + ': ' + table.innerText.slice(0, 200))") == []
    )
    assert browser.ask("document.querySelectorAll('table').length") >= len(parts) > 0


def test_two_episodes_stand_side_by_side(browser: Browser, pictures: Path, tmp_path: Path) -> None:
    def told(*verdicts: bool) -> Timeline:
        steps = [
            Step(title="In the morning: " + "a long predicate, " * 8, verdict=v, reason="why " * 9) for v in verdicts
        ]
        return Timeline(title="one task", outcome="it ended", steps=tuple(steps))

    page = side_by_side(told(True, False, True), told(True, True)).html(tmp_path / "both.html")
    look(browser, page, pictures, "side-by-side")
    assert browser.ask("document.querySelectorAll('tr.diverged').length") == 1


def test_the_claims_page_filters_by_its_boxes_and_by_its_address(
    browser: Browser, pictures: Path, tmp_path: Path
) -> None:
    page = claims_page.write(tmp_path / "claims.html")
    look(browser, page, pictures, "claims")
    visible = "[...document.querySelectorAll('tr[data-claim]')].filter(row => row.offsetHeight).map(row => row.id)"
    every = browser.ask(visible)
    assert len(every) == browser.ask("JSON.parse(document.getElementById('claims').textContent).length") > 50
    browser.ask("boxes.paper.value = 'ProcLLM'; boxes.paper.dispatchEvent(new Event('change'))")
    papers = {row["claim"]: row["paper"] for row in claims.rows(register.committed())}
    assert browser.ask(visible) == [claim for claim in every if papers[claim] == "ProcLLM"]
    browser.open(f"{page.as_uri()}#{every[0]}")
    assert browser.ask(visible) == every[:1]
    browser.ask("boxes.claim.value = ''; boxes.claim.dispatchEvent(new Event('change'))")
    assert browser.ask(visible) == every
    browser.ask(f"document.getElementById('{every[0]}').querySelector('a[href^=\"#\"]').click()")
    browser.ask("new Promise(done => setTimeout(done, 100))")
    assert browser.ask(visible) == every[:1]
