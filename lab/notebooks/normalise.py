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
# A widget's output refers to a widget model that only its session's metadata has; without it nothing can be drawn.
WIDGET = "application/vnd.jupyter.widget-view+json"
KEPT_CELL_METADATA = ("tags", "jupyter")
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Chunks with the writing program's version and the time; they do not affect the pixels.
PNG_TEXT = (b"tEXt", b"zTXt", b"iTXt", b"tIME")

ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b")
STYLER_ID = re.compile(r"\bT_[0-9a-f]{5}(?=\b|_)")
SVG_DATE = re.compile(r"\s*<dc:date>[^<]*</dc:date>")
# File name in a warning or traceback, with the kernel's process id and a hash of the cell.
CELL_FILE = re.compile(r"/\S*/ipykernel_\d+/\d+\.py(:\d+)?")
PROGRESS = re.compile(r"\r|\d+%\||\d+(it|s)/(s|it)\b")  # progress bars of libraries, on stderr


def normalise(notebook: NotebookNode) -> NotebookNode:
    """A copy whose text is the same after each run of the same code. Idempotent.

    Removed are timings, papermill's and widgets' metadata, versions, progress bars, object addresses, folders of this
    machine, and texts inside PNG files. Execution counts become 1, 2, 3, …; tags and cell ids are kept.
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
        cell.id = "injected-parameters"  # papermill picks a random id each time
    elif not cell.get("id") or cell.id in taken:
        cell.id = f"cell-{index}"
    taken.add(cell.id)


def _merged_streams(outputs: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Join streams between other outputs, stdout first: how a kernel splits and interleaves them is random."""
    waiting: dict[str, NotebookNode] = {}
    for output in outputs:
        if output.output_type == "stream":
            first = waiting.setdefault(output.name, output)
            if first is not output:
                first.text += output.text
            continue
        yield from (waiting[name] for name in sorted(waiting, reverse=True))
        waiting = {}
        yield output
    yield from (waiting[name] for name in sorted(waiting, reverse=True))


def _clean_output(output: NotebookNode) -> bool:
    """Clean an output in place. Returns False if it should be dropped."""
    if output.output_type == "stream":
        if output.name == "stderr":
            output.text = "".join(line for line in output.text.splitlines(keepends=True) if not PROGRESS.search(line))
        output.text = _clean_text(output.text)
        return bool(output.text.strip())
    if output.output_type == "error":
        output.traceback = [_clean_text(line) for line in output.traceback]
        return True
    # Keep a widget's static replacement, but drop an output with only the widget and its text/plain name.
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
    if "/ipykernel_" in text:  # in a picture's base64 the pattern would try every slash, seconds a picture
        text = CELL_FILE.sub("<cell>", text)
    text = ADDRESS.sub("0x…", text)
    replacements = {
        str(official_data().resolve()): "data/official",
        sys.prefix: ".venv",
        sys.base_prefix: "<python>",
        str(ROOT): ".",
        str(Path.home()): "~",
    }
    for folder in sorted(replacements, key=len, reverse=True):  # longest first: shorter ones may be their prefixes
        # Skip the root folder, which would match every slash.
        if len(folder) > 1:
            text = text.replace(folder, replacements[folder])
    return text


def without_png_text(image: bytes) -> bytes:
    """A PNG without the chunks that contain a program or a time; other bytes are returned unchanged."""
    if not image.startswith(PNG_SIGNATURE):
        return image
    chunks, offset = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while offset < len(image):
        (length,) = struct.unpack(">I", image[offset : offset + 4])
        end = offset + 12 + length  # a chunk has length, type and checksum, 4 bytes each, and its data
        if image[offset + 4 : offset + 8] not in PNG_TEXT:
            chunks.append(image[offset:end])
        offset = end
    return b"".join(chunks)


def _number_styled_tables(outputs: Iterator[NotebookNode]) -> None:
    """Replace the random CSS ids of tables that pandas styled by T_00000, T_00001, …"""
    ids: dict[str, str] = {}
    for output in outputs:
        page = output.get("data", {}).get("text/html")
        if page:
            output.data["text/html"] = STYLER_ID.sub(lambda id: ids.setdefault(id.group(), f"T_{len(ids):05d}"), page)
