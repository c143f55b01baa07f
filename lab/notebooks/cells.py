"""What the cells of a notebook define, as a module: another notebook, a script or a test goes on from there."""

from __future__ import annotations

import hashlib
import re
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from lab.machine.files import write_atomically
from lab.machine.paths import answer_cache
from lab.notebooks.documents import NotebookError, locate, read, tags


def module_of(notebook: str, tag: str) -> ModuleType:
    """The cells with a tag, imported from a file `modules/NAME_HASH.py` beside the cache of answers.

    A file, so that their text makes a part of the runs that rest on it (`lab.runs.own_code`); named by their hash, too,
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
