"""Notebook files: find, name, read and write them, and import their cells as a module."""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT, answer_cache
from lab.machine.printing import hint

if TYPE_CHECKING:
    from nbformat import NotebookNode

FOLDER = ROOT / "notebooks"
LAST = "0_scoreboard"  # runs last, since it reads the results of the others
YOURS = "yours"  # tag of the cells with code that a user writes, such as a new world
TRIALS = ROOT / "runs" / "notebooks"  # default folder for executed copies


class NotebookError(ValueError):
    """A notebook, or a request on one, is invalid; the message names it and the fix."""


def committed() -> list[Path]:
    """The notebooks of the repository, the scoreboard last, without failed copies and checkpoints."""
    names = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.ipynb") if path.suffixes != [".failed", ".ipynb"])
    paths = (FOLDER / path for path in names if not any(part.startswith(".") for part in path.parts))
    return sorted(paths, key=lambda path: (name_of(path) == LAST, path))


def locate(names: Iterable[str]) -> list[Path]:
    """The paths for names from the user, without repeats. A name is a file, or a notebook's name ("1_sdp/table2", or
    "table2" if it is unique).

    Raises NotebookError for an unknown or ambiguous name; the message lists the candidates.
    """
    paths: dict[Path, None] = {}
    for name in names:
        named = [path for path in (Path(name), FOLDER / name, FOLDER / f"{name}.ipynb") if path.is_file()]
        stems = [path for path in committed() if path.stem == name.removesuffix(".ipynb")]
        if not named and len(stems) != 1:
            if several := stems or [path for path in committed() if name in name_of(path)]:
                head = f"{name!r} may be any of several notebooks" if stems else f"no notebook {name!r}"
                raise NotebookError("\n  ".join([f"{head}; say which:", *map(name_of, several)]))
            known = ", ".join(name_of(path) for path in committed()) or "none yet"
            alike = hint(name, {path.stem: "" for path in committed()})
            raise NotebookError(f"no notebook {name!r}{alike}; give a file, or one of: {known}")
        paths[(named or stems)[0].resolve()] = None
    return list(paths)


def name_of(path: Path) -> str:
    """A notebook's name: its path inside `notebooks/` without the suffix, or its stem if it is outside."""
    path = path.resolve()
    inside = path.is_relative_to(FOLDER.resolve())
    return (path.relative_to(FOLDER.resolve()) if inside else Path(path.name)).with_suffix("").as_posix()


def load() -> ModuleType:
    """Import nbformat quickly. Call it before anything else imports nbformat.

    At import its dependency jsonschema builds a grammar of IRIs, which takes two seconds and which no notebook's schema
    needs. Hiding the grammar's package makes jsonschema skip it.
    """
    grammar = "rfc3987_syntax"
    hidden = grammar not in sys.modules
    if hidden:
        sys.modules[grammar] = None  # type: ignore[assignment]  # None makes Python's import fail
    try:
        import nbformat
    finally:
        if hidden:
            del sys.modules[grammar]
    return nbformat


def read(path: Path) -> NotebookNode:
    """Parse a notebook as version 4. Raises NotebookError if the file is no notebook."""
    nbformat = load()
    try:
        return nbformat.read(path, as_version=4)
    except (nbformat.ValidationError, AttributeError, KeyError, TypeError, ValueError, OSError) as error:
        why = " ".join(str(error).split())[:300]  # nbformat's message quotes the whole input
        raise NotebookError(f"{path} is no notebook that can be read: {why}. Restore it, or name another") from error


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook atomically, with sorted keys and a final newline. Raises nbformat.ValidationError if invalid."""
    write_atomically(path, text_of(notebook).encode("utf-8"))


def text_of(notebook: NotebookNode) -> str:
    """The canonical text of a notebook. Raises nbformat.ValidationError if it is invalid."""
    nbformat = load()
    nbformat.validate(notebook)  # nbformat.writes would log faults, but write the notebook anyway
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def tags(cell: NotebookNode) -> list[str]:
    """A cell's tags."""
    return cell.metadata.get("tags", [])


def module_of(notebook: str, tag: str) -> ModuleType:
    """The cells with a tag as a module, imported from a file `modules/NAME_HASH.py` next to the cache of answers.

    It is a file so that runs can hash its text (`lab.runs.manifest`). The hash of the text in its name avoids clashes
    with other texts and modules. Its classes are pickled by value for worker processes, like those of a notebook. Each
    call executes the cells again.
    Raises NotebookError for an unknown notebook, or a tag that no cell has, and what the cells raise.
    """
    import cloudpickle

    (path,) = locate([notebook])
    texts = [cell.source for cell in read(path).cells if tag in tags(cell)]
    if not texts:
        raise NotebookError(f"no cell of {notebook} has the tag {tag!r}")
    code = ("\n\n\n".join(texts) + "\n").encode()
    # Replace dots: the part before a dot would be a package.
    name = re.sub(r"\W", "_", path.stem) + f"_{hashlib.sha256(code).hexdigest()[:8]}"
    file = answer_cache().parent / "modules" / f"{name}.py"
    write_atomically(file, code)
    spec = spec_from_file_location(name, file)
    assert spec and spec.loader, "a file that ends in .py has a loader"
    before = sys.modules.get(name)
    sys.modules[name] = module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # remove the incomplete module
        sys.modules |= {name: before} if before else {}
        raise
    cloudpickle.register_pickle_by_value(module)
    return module
