"""Hash of the code that a reader wrote herself: in a notebook's cells, a script, or a module beside them.

The suite's own code is hashed package by package (`lab.machine.versions`). Without this hash, who edits a rule in a
cell and runs the notebook again would be shown the episodes of the rule before.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from lab.machine.paths import ROOT
from lab.models.prompts import Prompt
from lab.models.rules import corruption_of, rule_of

PLAIN = (str, bytes, int, float, bool, tuple, type(None))
INSTALLED = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))


def own_code(start: type) -> str:
    """A hash over all code of the reader's own that a class uses, directly or not; "" where there is none.

    Followed are functions, classes, plain constants and prompts, with the rules that answer them, by the names that
    functions use. An object that is made at run time is not seen: what changes a result belongs into a setting.
    """
    seen, pending = dict[int, Any](), list[Any]([start])
    texts: list[str] = []
    while pending:
        item = pending.pop()
        if id(item) in seen or not (isinstance(item, Prompt) or _is_own(item)):
            continue
        seen[id(item)] = item
        text, used = _text_of(item)
        texts.append(text)
        pending += used
    return hashlib.sha256("\0".join(sorted(texts)).encode(errors="replace")).hexdigest()[:16] if _is_own(start) else ""


def _is_own(item: Any) -> bool:
    """Whether it was defined in a notebook, a script, or a module that is neither installed nor of the suite."""
    name = getattr(item, "__module__", None)
    if not isinstance(item, FunctionType | type) or name is None:
        return False
    if name == "__main__":
        return True
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None or (ROOT / name.partition(".")[0] / "__init__.py").exists():
        return False
    return not any(Path(file).is_relative_to(folder) for folder in (*INSTALLED, ROOT / "tests"))


def _text_of(item: Any) -> tuple[str, list[Any]]:
    """Its text, and what it uses."""
    if isinstance(item, Prompt):
        text = repr(("prompt", item.name, item.version, item.system, item.template))
        return text, [item.fields, item.answer, item.narrow, rule_of(item), corruption_of(item)]
    if isinstance(item, type):
        inside = {name: getattr(value, "__func__", getattr(value, "fget", value)) for name, value in vars(item).items()}
        plain = {name: repr(value) for name, value in inside.items() if _is_plain(value) and not name.startswith("__")}
        notes = {name: str(value) for name, value in inside.get("__annotations__", {}).items()}
        return repr((item.__qualname__, plain, notes)), [*item.__bases__, *inside.values()]
    try:
        text = inspect.getsource(item)
    except (OSError, TypeError):  # made by a decorator such as dataclass, from what the class says
        return "", []
    used = {name: item.__globals__[name] for name in _names(item.__code__) if name in item.__globals__}
    constants = {name: repr(value) for name, value in sorted(used.items()) if _is_plain(value)}
    return f"{text}{constants}", list(used.values())


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function uses, those of functions inside it among them."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) and (not isinstance(value, tuple) or all(map(_is_plain, value)))
