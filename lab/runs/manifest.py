"""The manifest of a run: what was run, and with what; two runs are the same experiment if their identities agree."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.machine.reading import MANIFEST, REMEDY, damaged, read_json, typed
from lab.machine.versions import code_hash, git_commit, package_versions
from lab.models.cache import canonical


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
