"""Pages of the synthetic web as HTML, with the navigation, scripts and footers that a reader has to see through."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><meta name="description" content="{about}">
<style>body {{ font-family: serif }}</style><script>window.visits = (window.visits || 0) + 1</script></head>
<body><nav><a href="/">Home</a> <a href="/about">About</a> <a href="/contact">Contact</a></nav>
<main><article><h1>{title}</h1>
<p>Last updated: {updated}</p>
{body}
</article></main>
<footer>© {host}. All rights reserved. <a href="/terms">Terms</a></footer></body></html>
"""


def document(host: str, title: str, updated: str, body: str, about: str = "") -> str:
    """A whole page. updated: a date as the reader sees it. body: HTML; all else is text."""
    return FRAME.format(title=escape(title), about=escape(about), updated=escape(updated), body=body, host=escape(host))


def paragraphs(*texts: str) -> str:
    return "\n".join(f"<p>{escape(text)}</p>" for text in texts if text)


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in headings)
    body = "".join(f"<tr>{''.join(f'<td>{escape(one)}</td>' for one in row)}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"


def plain(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as a search engine keeps it."""
    return ". ".join([", ".join(headings), *(", ".join(row) for row in rows)])
