"""Converts pages from HTML to Markdown with trafilatura, without navigation, scripts and footers."""

from __future__ import annotations

from typing import Any, NamedTuple

from lab.machine.doctor import INSTALL

LONGEST = 20_000  # characters of a page that an agent gets; more would not fit into a prompt
LONGEST_TITLE = 300
MOST_ELEMENTS = 20_000  # larger pages skip trafilatura, whose time is quadratic: 1 s for a table row of so many cells
LITTLE = 200  # characters; if less is extracted, all text of the page is taken


class Read(NamedTuple):
    """A page's content. text: Markdown with tables, cut at LONGEST characters."""

    title: str
    text: str


def read(html: str) -> Read:
    """Title and text of a page, "" if it has none. Raises ImportError, with the fix, if a package is missing."""
    try:
        import lxml.etree
        import trafilatura
    except ImportError as error:
        raise ImportError(f"Reading pages needs a package: {error}. Install it with: {INSTALL}") from error
    try:
        # Two trees, since trafilatura destroys the one that it gets.
        tree, second_tree = parsed(html), parsed(html)
    except (lxml.etree.LxmlError, ValueError):  # nothing but blanks and comments
        return Read("", "")
    title = " ".join((tree.findtext(".//title") or "").split())
    # fast: without its two fallbacks, which take half a second to load and here find no more than `everything`.
    small = sum(1 for _ in tree.iter()) <= MOST_ELEMENTS
    options: dict[str, Any] = {"output_format": "markdown", "include_tables": True, "favor_recall": True, "fast": True}
    extracted = (trafilatura.extract(tree, **options) if small else "") or ""
    text = extracted if len(extracted) >= LITTLE else everything(second_tree) or extracted
    return Read(title[:LONGEST_TITLE], text[:LONGEST] + ("\n[the page goes on]" if len(text) > LONGEST else ""))


def parsed(html: str) -> Any:
    """Parse a page. Raises LxmlError or ValueError if it has only blanks and comments."""
    import lxml.html

    # Without an encoding, lxml would guess one from the bytes.
    parser = lxml.html.HTMLParser(encoding="utf-8")
    return lxml.html.document_fromstring(html.replace("\0", " ").encode("utf-8", "replace"), parser=parser)


def everything(tree: Any) -> str:
    """All text of the body, one line per piece."""
    for element in tree.xpath("//script | //style | //head | //nav | //footer"):
        element.drop_tree()
    return "\n".join(piece for piece in map(str.strip, tree.itertext()) if piece)
