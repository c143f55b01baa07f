"""Normalisation of executed notebooks: removes what depends on the machine, the clock or the process."""

from __future__ import annotations

import base64
import copy
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lab.machine.paths import ROOT, official_data
from lab.machine.progress import PASSING
from lab.notebooks.documents import tags

if TYPE_CHECKING:
    from nbformat import NotebookNode

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# A widget's output names a model in the metadata of one session; without it, there is nothing to draw.
WIDGET = "application/vnd.jupyter.widget-view+json"
KEPT_CELL_METADATA = ("tags", "jupyter")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Chunks that matplotlib and others fill with their version and the time; no pixel depends on them.
PNG_TEXT = (b"tEXt", b"zTXt", b"iTXt", b"tIME")

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
STYLER_ID = re.compile(r"\bT_[0-9a-f]{5}(?=\b|_)")
SVG_DATE = re.compile(r"\s*<dc:date>[^<]*</dc:date>")
# The kernel's process and a hash of the cell are in the file name of a warning or traceback.
CELL_FILE = re.compile(r"/\S*/ipykernel_\d+/\d+\.py(:\d+)?")
PROGRESS = re.compile(r"\r|\d+%\||\d+(it|s)/(s|it)\b")  # bars of libraries, which go to stderr


def normalise(notebook: NotebookNode) -> NotebookNode:
    """A copy whose text is the same after every run of the same code; doing it twice changes nothing more.

    Out: timings, papermill's and widgets' metadata, versions, progress bars, object addresses, folders of this machine,
    texts inside PNG files. Execution counts are 1, 2, 3, …; tags and cell ids stay.
    """
    import nbformat

    clean = nbformat.from_dict(copy.deepcopy(notebook))
    clean.metadata = nbformat.from_dict({"kernelspec": KERNEL, "language_info": {"name": "python"}})
    clean.nbformat, clean.nbformat_minor = 4, 5  # 4.5 is the first to have cell ids
    count = 0
    taken: set[str] = set()
    for index, cell in enumerate(clean.cells):
        _clean_frame(cell, index, taken)
        if cell.cell_type == "code":
            count += bool(cell.source.strip())
            cell.execution_count = count if cell.source.strip() and cell.execution_count else None
            cell.outputs = [output for output in _merged_streams(cell.outputs) if _clean_output(output)]
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = cell.execution_count
    _number_styled_tables(output for cell in clean.cells for output in cell.get("outputs", []))
    return clean


def _clean_frame(cell: NotebookNode, index: int, taken: set[str]) -> None:
    cell.metadata = type(cell.metadata)(
        {key: cell.metadata[key] for key in KEPT_CELL_METADATA if cell.metadata.get(key)}
    )
    if "injected-parameters" in tags(cell):
        cell.id = "injected-parameters"  # papermill draws a new id each time
    elif not cell.get("id") or cell.id in taken:
        cell.id = f"cell-{index}"
    taken.add(cell.id)


def _merged_streams(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Streams between two other outputs joined, stdout first: where a kernel cuts and mixes them is chance."""
    waiting: dict[str, NotebookNode] = {}
    for output in outputs:
        if output.output_type == "stream":
            known = waiting.setdefault(output.name, output)
            if known is not output:
                known.text += output.text
            continue
        yield from (waiting[name] for name in sorted(waiting, reverse=True))
        waiting = {}
        yield output
    yield from (waiting[name] for name in sorted(waiting, reverse=True))


def _clean_output(output: NotebookNode) -> bool:
    """Clean one output in place; False if nothing of it is worth keeping."""
    if output.output_type == "stream":
        if output.name == "stderr":
            output.text = "".join(line for line in output.text.splitlines(keepends=True) if not PROGRESS.search(line))
        output.text = _clean_text(output.text)
        return bool(output.text.strip())
    if output.output_type == "error":
        output.traceback = [_clean_text(line) for line in output.traceback]
        return True
    # What stands in for a widget where no kernel runs stays; the text that names it alone does not.
    if output.get("metadata", {}).get(PASSING) or {*output.data} <= {WIDGET, "text/plain"} and WIDGET in output.data:
        return False
    output.data.pop(WIDGET, None)
    for kind, content in output.data.items():
        output.data[kind] = _clean_content(kind, content)
    return True


def _clean_content(kind: str, content: Any) -> Any:
    if kind == "image/png":
        return base64.b64encode(without_png_text(base64.b64decode(content))).decode("ascii")
    if not isinstance(content, str):
        return content
    if kind == "image/svg+xml":
        return SVG_DATE.sub("", content)
    return _clean_text(content)


def _clean_text(text: str) -> str:
    text = ADDRESS.sub("0x…", CELL_FILE.sub("<cell>", text))
    shown = {
        str(official_data().resolve()): "data/official",
        sys.prefix: ".venv",
        sys.base_prefix: "<python>",
        str(ROOT): ".",
        str(Path.home()): "~",
    }
    for folder in sorted(shown, key=len, reverse=True):  # the longest first, so that no part of it is cut before
        # A repository or home at the root folder would make every slash a match.
        if len(folder) > 1:
            text = text.replace(folder, shown[folder])
    return text


def without_png_text(image: bytes) -> bytes:
    """A PNG without the chunks that name a program or a time; bytes that are no PNG come back as they are."""
    if not image.startswith(PNG_SIGNATURE):
        return image
    kept, at = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while at < len(image):
        (length,) = struct.unpack(">I", image[at : at + 4])
        end = at + 12 + length  # besides its data a chunk has a length, a type and a checksum, of 4 bytes each
        if image[at + 4 : at + 8] not in PNG_TEXT:
            kept.append(image[at:end])
        at = end
    return b"".join(kept)


def _number_styled_tables(outputs: Iterator[NotebookNode]) -> None:
    """Give the tables that pandas styled, which draw random ids for their CSS, T_00000, T_00001, …"""
    ids: dict[str, str] = {}
    for output in outputs:
        page = output.get("data", {}).get("text/html")
        if page:
            output.data["text/html"] = STYLER_ID.sub(lambda id: ids.setdefault(id.group(), f"T_{len(ids):05d}"), page)
