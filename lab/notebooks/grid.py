"""The grid of a sweep: values from the command line, and the cells that they make.

A cell is one notebook at one point of the grid. It has a folder of its own, named after the point, and is finished when
its record lies beside its output (see `lab.notebooks.sweep`).
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from lab.machine.files import write_atomically
from lab.machine.paths import runs_folder
from lab.machine.versions import code_hash
from lab.models.cache import canonical
from lab.models.connect import connect
from lab.models.engines import MODELS, BadEngine, Engine, parse
from lab.models.routed import address_of
from lab.notebooks.documents import NotebookError, locate, name_of, read
from lab.notebooks.execute import Job, Outcome
from lab.notebooks.parameters import Parameter, check_engines, chosen, declared, resolve
from lab.notebooks.rehearsal import opened
from lab.runs.forecast import Accounts
from lab.runs.manifest import Manifest
from lab.runs.run import OPENED, RETRY_FAILED, failures

LONGEST = 100  # characters of a cell's folder


@dataclass(frozen=True)
class Cell:
    """A notebook at one point of the grid. point: the swept values. declared: the notebook's parameters."""

    job: Job
    point: Mapping[str, Any]
    declared: Mapping[str, Parameter]

    @property
    def _record(self) -> Path:
        return self.job.output.with_suffix(".cell.json")

    @property
    def noted(self) -> Path:
        """The file that names the runs that it opened."""
        return self.job.output.with_suffix(".runs")

    @property
    def values(self) -> dict[str, Any]:
        """All parameters: the given and the swept ones, and the defaults of the others."""
        return {name: one.default for name, one in self.declared.items()} | dict(self.job.parameters)

    @cached_property
    def engines(self) -> dict[str, Engine]:
        """Its engines by parameter, `engine` with those of single operators. Raises BadEngine."""
        return chosen(self.declared, self.values)

    @cached_property
    def models(self) -> dict[str, Engine]:
        """Those of its engines in which a model answers, be it one operator."""
        return {name: one for name, one in self.engines.items() if not one.kinds.isdisjoint(MODELS)}

    @property
    def evidence(self) -> str:
        """ "simulated" where one of its engines is noisy rules, else "measured"."""
        return "simulated" if any(one.noisy for one in self.engines.values()) else "measured"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What its output was made from."""
        sources = [[cell.cell_type, cell.source] for cell in read(self.job.source).cells]
        # The server's address, too: it may hold another model of that name.
        addresses = {text: address_of(connect(text, cache=None)) for text in map(str, self.models.values())}
        return {
            "notebook": digest(sources),
            "parameters": dict(self.job.parameters),
            "code": code_hash(),
            "addresses": addresses,
        }

    def finished(self) -> dict[str, Any] | None:
        """Its record. None unless it was made from just this, all episodes were measured, and none is to be retried."""
        try:
            record = json.loads(self._record.read_text(encoding="utf-8"))
            whole = record["identity"] == self.identity and not record["accounts"]["not_measured"]
            whole = whole and not (os.environ.get(RETRY_FAILED) and any(map(failures, opened(self.noted))))
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return record if whole and self.job.output.exists() else None

    def keep(self, outcome: Outcome) -> dict[str, Any]:
        """Write the record of an execution that succeeded; its content."""
        runs = opened(self.noted)
        # Noisy rules in whose place others answer every operator are in none of the runs.
        played = [parse(Manifest.read(run).engine) for run in runs]
        noiseless = bool(played) and not any(one.noisy for one in played)
        record = {
            "identity": self.identity,
            "evidence": "measured" if noiseless else self.evidence,
            "seconds": round(outcome.seconds, 1),
            "accounts": asdict(Accounts.of(runs)),
        }
        if not outcome.failure:
            write_atomically(self._record, json.dumps(record, indent=1, ensure_ascii=False).encode())
        return record


def cells_of(
    names: Sequence[str], given: Sequence[tuple[str, str]], grids: Sequence[str], out: Path | None = None
) -> tuple[list[Cell], Path]:
    """The cells of a sweep in the order of its points, the last grid fastest, and its folder.

    given: (parameter, text) pairs that all cells share. grids: "NAME=VALUE,VALUE", one for each swept parameter. out:
    by default a folder of `runs/sweeps`, the same for the same notebooks, fixed and swept parameters.
    Raises NotebookError for a wrong name or value, and for an engine that cannot be reached.
    """
    notebooks = locate(names)
    fixed, points = resolve(notebooks, given), _points(notebooks, given, grids)
    out = (out or _default_folder(notebooks, fixed, list(points[0]))).resolve()
    cells = [_cell(path, point, fixed, out) for point in points for path in notebooks]
    check(cells, servers=False)
    return cells, out


def items(text: str, where: str) -> list[str]:
    """The values in a text, which commas separate; a comma in brackets or quotes belongs to its value.

    A value that is quoted as a whole loses its quotes. where: for the message.
    Raises NotebookError for no value, an empty one that is not quoted, and for brackets or quotes that do not close.
    """
    from lab.machine.yaml12 import load

    found, depth, quote, before = [""], 0, "", ","
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and before in ",[{:\"'":  # elsewhere it is an apostrophe
            quote = character
        else:
            depth += (character in "[{") - (character in "]}")
        if character == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += character
        before = before if character == " " else character
        if depth < 0:
            break
    if depth or quote:
        raise NotebookError(f"brackets or quotes in --grid {where}={text} do not close; quote a value that holds some")
    values = [value.strip() for value in found]
    if "" in values:
        raise NotebookError(f'--grid {where}={text} has an empty value; give values, or "" for an empty text')
    try:
        return [load(value) if value[0] in "\"'" else value for value in values]
    except ValueError as error:
        raise NotebookError(f"--grid {where}={text}: a quoted value cannot be read: {error}") from None


def _points(notebooks: Sequence[Path], given: Sequence[tuple[str, str]], grids: Sequence[str]) -> list[dict[str, Any]]:
    """The product of the grids; the last one changes fastest."""
    axes: dict[str, list[Any]] = {}
    for grid in grids:
        name, equals, text = grid.partition("=")
        if not equals:
            raise NotebookError(f"--grid {grid} has no values; write it as in: --grid seed=0,1,2")
        if name in axes:
            raise NotebookError(f"--grid {name} is given twice; put all its values into one, separated by commas")
        if name in dict(given):
            raise NotebookError(f"{name} is given by -p and by --grid; drop one of them")
        axes[name] = [resolve(notebooks, [(name, item)])[name] for item in items(text, name)]
        shown = [text_of(value) for value in axes[name]]
        repeated = next((value for value in shown if shown.count(value) > 1), None)
        if repeated is not None:
            raise NotebookError(f"--grid {grid} has {repeated} twice; drop one of them")
    return [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]


def _default_folder(notebooks: Sequence[Path], fixed: Mapping[str, Any], swept: Sequence[str]) -> Path:
    # Without the swept values: a sweep to which one is added keeps its finished cells.
    same = digest([[str(path) for path in notebooks], dict(fixed), sorted(swept)])
    stems = "+".join(path.stem for path in notebooks)
    return runs_folder() / "sweeps" / f"{_plain(stems)} {same[:6]}"


def _cell(path: Path, point: Mapping[str, Any], fixed: Mapping[str, Any], out: Path) -> Cell:
    told = [f"{name}={text_of(value)}" for name, value in point.items()]
    folder = " ".join(f"{name}={_plain(text_of(value)) or 'none'}" for name, value in point.items())[:LONGEST].strip()
    if folder != " ".join(told):  # something was left out, and two points could have one name
        folder = f"{folder} {digest(dict(point))[:6]}"
    output = out / folder / f"{name_of(path)}.ipynb"
    environment = {OPENED: str(output.with_suffix(".runs"))}
    label = f"{name_of(path)} {folder}"  # a notebook's name alone is that of all its cells
    job = Job(path, output, {**fixed, **point}, out / folder / "figures", environment, label)
    return Cell(job, point, declared(read(path), name_of(path)))


def check(cells: Sequence[Cell], servers: bool) -> None:
    """Raises NotebookError for the first engine that means nothing or cannot answer. servers: ask them, too."""
    found: list[Engine] = []
    for cell in cells:
        try:
            found += cell.engines.values()
        except BadEngine as error:
            told = f"an engine of {cell.job.title} cannot answer, and no cell was played"
            raise NotebookError(f"{told}: {error}") from error
    check_engines(found, "no cell was played", servers)


def text_of(value: Any) -> str:
    """A parameter's value as a text: lists and mappings in YAML on a line, as they are typed."""
    from lab.machine.yaml12 import dump

    if isinstance(value, (list, dict)):
        return dump(value, default_flow_style=True, width=math.inf, sort_keys=False).rstrip("\n")
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    """Text for a folder's name."""
    return re.sub(r"[^\w @.,+=-]+", "-", text, flags=re.ASCII).strip("- ")


def digest(value: Any) -> str:
    """A short hash of a JSON value."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()[:16]
