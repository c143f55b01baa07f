"""Validation of parameters that papermill injected into the running notebook, read from IPython's history.

`python -m lab run` validates parameters before a kernel starts, but plain papermill accepts any name and value. So the
first library call compares papermill's cell, which begins with "# Parameters", with the declared parameters in the cell
before it. Nothing is checked in scripts, and in notebooks that declare parameters in another form.
"""

from __future__ import annotations

import ast
import hashlib
import os
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from lab.machine import progress
from lab.machine.paths import notebook_name
from lab.notebooks.documents import NotebookError
from lab.notebooks.parameters import Parameter, check_choices, check_engines, check_value, chosen, declared_in, unknown

FIRST_LINE = "# Parameters"  # of papermill's cell
MACHINE = ("workers", "cluster")  # parameters that change no number
LONGEST = 60  # characters of the parameters in a folder's name
PAPERMILL: dict[type, str] = {
    str: " (write -r {} TEXT)",
    list: " (write -y '{}: […]')",
    dict: " (write -y '{}: {{…}}')",
}


def check() -> None:
    """Validate injected parameters, before anything slow starts.

    Raises NotebookError for an unknown name, a value of the wrong type or not among the choices, or an engine that
    cannot answer. Raises BadEngine.
    """
    if cells := _cells():
        _checked(*cells)


def folder() -> str:
    """The folder's name for a run with changed parameters, "limit=2,seed=1"; "" if none was injected or changed."""
    return _checked(*cells) if (cells := _cells()) else ""


def named_after(changed: Mapping[str, Any]) -> str:
    """A folder's name for changed parameters. If it is too long or has special characters, a hash is appended."""
    names = sorted(changed.keys() - {*MACHINE})
    text = ",".join(f"{name}={_word(changed[name])}" for name in names)
    plain = "".join(char if char.isalnum() or char in "@.,+=_-" else "-" for char in text)[:LONGEST]
    return plain if plain == text else f"{plain}~{hashlib.sha256(text.encode()).hexdigest()[:6]}"


def _word(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(_word, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cells() -> tuple[str, str] | None:
    """The cell of declared parameters and papermill's cell after it; None without them."""
    shell = progress.shell()
    history = shell.user_ns.get("In", []) if shell else []
    pairs = [(cell, after) for cell, after in pairwise(history) if after.startswith(FIRST_LINE)]
    return pairs[-1] if pairs else None


@cache
def _checked(declaring: str, injecting: str) -> str:
    """Validate injected parameters, once per process. Returns the name of their folder. Raises as `check`."""
    try:
        parameters, values = declared_in(declaring, "the notebook"), _assigned(injecting)
    except (NotebookError, SyntaxError, ValueError):
        return ""  # the cells have another form, such as in a user's own notebook
    if not parameters:
        return ""
    for name, value in values.items():
        if name not in parameters:
            raise unknown(f"{notebook_name() or 'the notebook'} has no parameter {name!r}", name, parameters.values())
        check_value(parameters[name], value, PAPERMILL)
        check_choices(parameters[name], value)
    if not os.environ.get("LAB_NOTEBOOK"):  # otherwise the runner has connected them already
        _check_engines(parameters, values)
    return named_after({name: value for name, value in values.items() if value != parameters[name].default})


def _check_engines(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Connect the engines that differ from the defaults. Raises NotebookError."""
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    before, now = (chosen(parameters, chosen_values) for chosen_values in (defaults, {**defaults, **values}))
    check_engines(engine for name, engine in now.items() if engine != before.get(name))


def _assigned(source: str) -> dict[str, Any]:
    """Name -> value, from papermill's cell. Raises ValueError for another form, SyntaxError for invalid Python."""
    values = {}
    for statement in ast.parse(source).body:
        match statement:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Name("float"), [ast.Constant(str(number))])):
                values[name] = float(number)
            case ast.Assign([ast.Name(name)], value):
                values[name] = ast.literal_eval(value)
            case _:
                raise ValueError(f"line {statement.lineno} assigns nothing")
    return values
