"""Registries: entries that installed packages declare in pyproject.toml (entry points), and that notebooks add."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from lab.machine.printing import hint
from lab.runs.experiment import BadSetting


@dataclass
class Registry:
    """The entries of an entry-point group by name. kind: their name in messages. own: entries added in this process."""

    group: str
    kind: str
    own: dict[str, Any] = field(default_factory=dict)

    def names(self) -> list[str]:
        """All names, sorted; imports nothing."""
        return sorted(self._declared.keys() | self.own.keys())

    @cached_property
    def _declared(self) -> dict[str, EntryPoint]:
        """The installed packages' entries. Cached: reading the metadata of all packages takes about 20 ms."""
        return {entry.name: entry for entry in entry_points(group=self.group)}

    def named(self, name: str) -> Any:
        """The entry of that name, or the attribute of "module:NAME"; "mine.ipynb:NAME" is in its cells tagged `yours`.

        Raises BadSetting if unknown, ImportError, and NotebookError for a notebook that cannot be read.
        """
        if name in self.own:
            return self.own[name]
        if name in self._declared:
            return self._declared[name].load()
        module, colon, attribute = name.partition(":")
        if colon and (value := getattr(_loaded(module), attribute, None)) is not None:
            return value
        known = self.names()
        listed = ", ".join(known) or "none; install the suite with: python -m pip install -e ."
        raise BadSetting(
            f"There is no {self.kind} {name!r}. There are: {listed}{hint(name, known)} "
            "Name one of your own as module:NAME, or as mine.ipynb:NAME"
        )


def _loaded(module: str) -> Any:
    if module.endswith(".ipynb"):
        from lab.notebooks.documents import YOURS, module_of  # notebooks are read for such names alone

        return module_of(module, YOURS)
    return import_module(module)


STUDIES = Registry("lab.studies", "study")
