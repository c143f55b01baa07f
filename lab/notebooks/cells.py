"""What the cells of a notebook define, as a module: another notebook, a script or a test goes on from there."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from lab.machine.files import write_atomically
from lab.machine.paths import ROOT
from lab.notebooks.documents import NotebookError, locate, read, tags

MODULES = ROOT / "data" / "cache" / "modules"


def module_of(notebook: str, tag: str) -> ModuleType:
    """The cells with a tag, imported from a file below MODULES under the notebook's name.

    A file, so that their text makes a part of the runs that rest on it (`lab.runs.own_code`); to worker processes its
    classes go by value, as those of a notebook do. Each call runs the cells anew. Raises NotebookError for a notebook
    that there is not and for a tag that no cell has, and what the cells raise.
    """
    import cloudpickle

    (path,) = locate([notebook])
    texts = [cell.source for cell in read(path).cells if tag in tags(cell)]
    if not texts:
        raise NotebookError(f"no cell of {notebook} has the tag {tag!r}")
    file = MODULES / f"{path.stem}.py"
    write_atomically(file, ("\n\n\n".join(texts) + "\n").encode())
    spec = spec_from_file_location(path.stem, file)
    assert spec and spec.loader, "a file that ends in .py has a loader"
    sys.modules[path.stem] = module = module_from_spec(spec)
    cloudpickle.register_pickle_by_value(module)
    spec.loader.exec_module(module)
    return module
