"""The manifest of a run: what was run, and with what; two runs are the same experiment if their identities agree.

The suite's own code is hashed package by package (`lab.machine.versions`), and what a reader wrote herself, in a
notebook's cells, a script, or a module beside them, by `own_code`. Without it, who edits a rule in a cell and runs the
notebook again would be shown the episodes of the rule before.
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
    """What makes two runs the same experiment, and, apart from it, the surroundings it ran in.

    method: the agent's name. engine: the engine string. address: the endpoint's address, "rules" for rules. parameters:
    everything else that the user chose. tasks: ids in order. code: hash of the sources the result depends on.
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
        """packages: the suite's own packages whose source code the result depends on. read_by: the experiment's class
        as "module:name", by which a folder is read back (`lab.viewer.episodes`); no part of its identity.
        """
        tasks = tuple(tasks)
        repeated = [task for task, times in Counter(tasks).items() if times > 1]
        if repeated:
            raise ValueError(f"Task ids must be unique; these are not: {', '.join(repeated)}")
        noted = {"commit": git_commit(), "packages": package_versions(), "sources": sorted(packages)}
        surroundings = noted | ({"experiment": read_by} if read_by else {})
        plain = json.loads(json.dumps(dict(parameters)))
        return cls(method, engine, address, plain, tuple(tasks), code_hash(packages), surroundings)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Of a run's folder. Raises DamagedFile, also where it was edited."""
        path = folder / MANIFEST
        held = read_json(path, dict[str, Any], REMEDY)
        try:
            manifest = typed(held, cls)
        except ValueError as error:
            raise damaged(path, error, REMEDY) from None
        if held.get("digest", manifest.digest) != manifest.digest:
            raise damaged(path, "it was changed after it was written", REMEDY)
        return manifest

    def identity(self) -> dict[str, Any]:
        """Everything that must agree before a run may be resumed."""
        tasks = hashlib.sha256("\n".join(self.tasks).encode()).hexdigest()
        fields = {name: getattr(self, name) for name in ("method", "engine", "address", "parameters", "code")}
        return fields | {"n_tasks": len(self.tasks), "tasks_hash": tasks}

    @property
    def current(self) -> bool:
        """Whether the sources that its results depend on are those of this checkout, so that it would be resumed."""
        sources = self.surroundings.get("sources", ())  # a run that does not note them is older than these sources
        return bool(sources) and self.code == code_hash(sources)

    @property
    def digest(self) -> str:
        """A hash that two different experiments do not share, hex."""
        return hashlib.sha256(canonical(self.identity()).encode()).hexdigest()


def differences(held: Mapping[str, Any], wanted: Mapping[str, Any], within: str = "") -> list[str]:
    """In words, what two identities have otherwise: "engine is 'rules' there and 'local' here"."""
    words = []
    for name in sorted(held.keys() | wanted.keys() if within else wanted):
        old, new = held.get(name), wanted.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            words += differences(old, new, within=f"{within}{name}.")
        elif canonical(old) != canonical(new):  # as JSON: a tuple is a list there, and NaN is NaN
            words.append(f"{within}{name} is {old!r} there and {new!r} here")
    return words


def own_code(start: type | Callable[..., Any]) -> str:
    """A hash over all code of the reader's own that a class or function uses, directly or not; "" where there is none.

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
