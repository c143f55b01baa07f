"""The manifest of a run: what was run, and with what. Two runs are the same experiment if their identities agree.

The suite's code is hashed package by package (`lab.machine.versions`). Code that a user wrote in a notebook's cells, a
script, or a module next to them is hashed by `own_code`. Otherwise, a user who edits a rule in a cell and runs the
notebook again would get the stored episodes of the old rule.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from lab.machine.files import canonical
from lab.machine.paths import ROOT
from lab.machine.reading import MANIFEST, REMEDY, damaged, read_json, typed
from lab.machine.versions import code_hash, git_commit, package_versions
from lab.models.prompts import Prompt
from lab.models.rules import corruption_of, rule_of

PLAIN = (str, bytes, int, float, bool, tuple, type(None))
INSTALLED = tuple(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib"))


@dataclass(frozen=True)
class Manifest:
    """The identity of an experiment, and its surroundings, which are no part of the identity.

    method: the agent's name. engine: the engine string. address: the endpoint's address, "rules" for rules. parameters:
    all other settings. tasks: ids in order. code: hash of the sources that the result depends on.
    """

    method: str
    engine: str
    address: str
    parameters: Mapping[str, Any]
    tasks: tuple[str, ...]
    code: str
    surroundings: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(
        cls, method: str, engine: str, address: str, parameters: Mapping[str, Any], tasks: Iterable[str],
        packages: Sequence[str], read_by: str = "",
    ) -> Manifest:  # fmt: skip
        """packages: those of the suite whose source code the result depends on. read_by: the experiment's class as
        "module:name", with which `lab.viewer.episodes` reads the folder; no part of the identity.

        Raises ValueError for repeated task ids.
        """
        tasks = tuple(tasks)
        repeated = [task for task, times in Counter(tasks).items() if times > 1]
        if repeated:
            raise ValueError(f"Task ids must be unique; these are not: {', '.join(repeated)}")
        versions = {"commit": git_commit(), "packages": package_versions(), "sources": sorted(packages)}
        surroundings = versions | ({"experiment": read_by} if read_by else {})
        plain = json.loads(json.dumps(dict(parameters)))
        return cls(method, engine, address, plain, tuple(tasks), code_hash(packages), surroundings)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """The manifest in a run's folder. Raises DamagedFile if it is missing, damaged or edited."""
        path = folder / MANIFEST
        stored = read_json(path, dict[str, Any], REMEDY)
        try:
            manifest = typed(stored, cls)
        except ValueError as error:
            raise damaged(path, error, REMEDY) from None
        if stored.get("digest", manifest.digest) != manifest.digest:
            raise damaged(path, "it was changed after it was written", REMEDY)
        return manifest

    def identity(self) -> dict[str, Any]:
        """All fields that must agree for a run to be resumed."""
        tasks = hashlib.sha256("\n".join(self.tasks).encode()).hexdigest()
        fields = {name: getattr(self, name) for name in ("method", "engine", "address", "parameters", "code")}
        return fields | {"n_tasks": len(self.tasks), "tasks_hash": tasks}

    @property
    def current(self) -> bool:
        """Whether the run's source code is the same in this checkout, so that it could be resumed."""
        sources = self.surroundings.get("sources", ())  # runs without this field are older than the current sources
        return bool(sources) and self.code == code_hash(sources)

    @property
    def digest(self) -> str:
        """SHA-256 of the identity, in hex."""
        return hashlib.sha256(canonical(self.identity()).encode()).hexdigest()


def differences(held: Mapping[str, Any], wanted: Mapping[str, Any], within: str = "") -> list[str]:
    """The differences of two identities as text: "engine is 'rules' there and 'local' here"."""
    texts = []
    for name in sorted(held.keys() | wanted.keys() if within else wanted):
        old, new = held.get(name), wanted.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            texts += differences(old, new, within=f"{within}{name}.")
        elif canonical(old) != canonical(new):  # as JSON: a tuple is a list there, and NaN is NaN
            texts.append(f"{within}{name} is {old!r} there and {new!r} here")
    return texts


def own_code(start: type | Callable[..., Any]) -> str:
    """A hash over all user code that a class or function uses, directly or indirectly; "" if `start` is no user code.

    It follows the names that functions use to functions, classes, plain constants, and prompts with their rules.
    It misses objects created at run time: put anything that changes a result into a setting.
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
    """Whether an item is user code: defined in a notebook, a script, or a module outside the suite and installed
    packages.
    """
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
    """The text of an item to hash, and the objects that it uses."""
    if isinstance(item, Prompt):
        text = repr(("prompt", item.name, item.version, item.system, item.template))
        return text, [item.fields, item.answer, item.narrow, rule_of(item), corruption_of(item)]
    if isinstance(item, type):
        inside = {name: getattr(value, "__func__", getattr(value, "fget", value)) for name, value in vars(item).items()}
        plain = {name: repr(value) for name, value in inside.items() if _is_plain(value) and not name.startswith("__")}
        annotations = {name: str(value) for name, value in inside.get("__annotations__", {}).items()}
        return repr((item.__qualname__, plain, annotations)), [*item.__bases__, *inside.values()]
    try:
        text = inspect.getsource(item)
    except (OSError, TypeError):  # generated by a decorator such as dataclass; the class itself is hashed
        return "", []
    used = {name: item.__globals__[name] for name in _names(item.__code__) if name in item.__globals__}
    constants = {name: repr(value) for name, value in sorted(used.items()) if _is_plain(value)}
    return f"{text}{constants}", list(used.values())


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function uses, including those in nested functions."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)


def _is_plain(value: Any) -> bool:
    return isinstance(value, PLAIN) and (not isinstance(value, tuple) or all(map(_is_plain, value)))
