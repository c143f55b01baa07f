"""Notebook files: finding, naming, reading and writing them, and their cells as a module."""

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
LAST = "0_scoreboard"  # reads what the others have written
TRIALS = ROOT / "runs" / "notebooks"  # where executed copies go unless told otherwise


class NotebookError(ValueError):
    """A notebook, or what was asked of it, is wrong; the message says which and what to do."""


def committed() -> list[Path]:
    """The notebooks of the repository, the scoreboard last; failed copies and checkpoints are none."""
    names = (path.relative_to(FOLDER) for path in FOLDER.rglob("*.ipynb") if path.suffixes != [".failed", ".ipynb"])
    paths = (FOLDER / path for path in names if not any(part.startswith(".") for part in path.parts))
    return sorted(paths, key=lambda path: (name_of(path) == LAST, path))


def locate(names: Iterable[str]) -> list[Path]:
    """Returns the paths that a user named: a file, or a notebook's name ("1_sdp/table2", or "table2" where no other
    folder has one), without repeats.

    Raises NotebookError for a name that is neither or stands for several, with the names there are.
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
            near = hint(name, {path.stem: "" for path in committed()})
            raise NotebookError(f"no notebook {name!r}{near}; give a file, or one of: {known}")
        paths[(named or stems)[0].resolve()] = None
    return list(paths)


def name_of(path: Path) -> str:
    """A notebook's name: its path inside `notebooks/` without the suffix; outside the folder, its stem."""
    path = path.resolve()
    inside = path.is_relative_to(FOLDER.resolve())
    return (path.relative_to(FOLDER.resolve()) if inside else Path(path.name)).with_suffix("").as_posix()


def load() -> ModuleType:
    """The package nbformat; to be called before anything imports it.

    Its jsonschema builds a grammar of IRIs when it is imported, for two seconds of each process, and no notebook's
    schema speaks of IRIs. It goes without where that package seems to be missing.
    """
    grammar = "rfc3987_syntax"
    hidden = grammar not in sys.modules
    if hidden:
        sys.modules[grammar] = None  # type: ignore[assignment]  # what Python itself takes for "cannot be imported"
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
        why = " ".join(str(error).split())[:300]  # nbformat quotes all of what it could not read
        raise NotebookError(f"{path} is no notebook that can be read: {why}. Restore it, or name another") from error


def write(notebook: NotebookNode, path: Path) -> None:
    """Write a notebook whole, with sorted keys and a closing newline. Raises nbformat.ValidationError if invalid."""
    write_atomically(path, text_of(notebook).encode("utf-8"))


def text_of(notebook: NotebookNode) -> str:
    """The one text of a valid notebook."""
    nbformat = load()
    nbformat.validate(notebook)  # nbformat.writes only logs what is invalid, and writes it all the same
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


def tags(cell: NotebookNode) -> list[str]:
    """A cell's tags."""
    return cell.metadata.get("tags", [])


def module_of(notebook: str, tag: str) -> ModuleType:
    """The cells with a tag, imported from a file `modules/NAME_HASH.py` beside the cache of answers.

    A file, so that their text makes a part of the runs that rest on it (`lab.runs.manifest`); named by their hash, too,
    so that no two texts share one, and none takes the name of another module. To worker processes its classes go by
    value, as those of a notebook do. Each call runs the cells anew. Raises NotebookError for a notebook that there is
    not and for a tag that no cell has, and what the cells raise.
    """
    import cloudpickle

    (path,) = locate([notebook])
    texts = [cell.source for cell in read(path).cells if tag in tags(cell)]
    if not texts:
        raise NotebookError(f"no cell of {notebook} has the tag {tag!r}")
    code = ("\n\n\n".join(texts) + "\n").encode()
    # Without a dot, of which what stands before is a package.
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
        del sys.modules[name]  # half of it is no module
        sys.modules |= {name: before} if before else {}
        raise
    cloudpickle.register_pickle_by_value(module)
    return module
