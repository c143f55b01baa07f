"""Parameters that papermill injected into the running notebook, as its kernel finds them in IPython's history.

`python -m lab run` checks parameters before a kernel starts; plain papermill takes any name and value. So the first
library call compares its cell, which follows that of the declared parameters and begins "# Parameters", with these.
Nothing is checked in a script, and in a notebook that declares its parameters in another form.
"""

from __future__ import annotations

import ast
import hashlib
import os
import sys
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from lab.machine.paths import notebook_name
from lab.notebooks.documents import NotebookError
from lab.notebooks.parameters import Parameter, check_choices, check_engines, check_value, chosen, declared_in, unknown

FIRST_LINE = "# Parameters"  # of papermill's cell
MACHINE = ("workers", "cluster")  # parameters that change no number
LONGEST = 60  # characters of parameters in a folder's name
PAPERMILL: dict[type, str] = {
    str: " (write -r {} TEXT)",
    list: " (write -y '{}: […]')",
    dict: " (write -y '{}: {{…}}')",
}


def check() -> None:
    """Check what was injected, before anything slow.

    Raises NotebookError for an unknown name, a value of the wrong type or not among the choices, an engine that cannot
    answer; BadEngine.
    """
    if cells := _cells():
        _checked(*cells)


def folder() -> str:
    """The folder of a run with changed parameters, "limit=2,seed=1"; "" where none was injected or changed."""
    return _checked(*cells) if (cells := _cells()) else ""


def named_after(changed: Mapping[str, Any]) -> str:
    """A folder's name for parameters that are not at their defaults; a hash stands for what it cannot hold."""
    names = sorted(changed.keys() - {*MACHINE})
    words = ",".join(f"{name}={_word(changed[name])}" for name in names)
    plain = "".join(char if char.isalnum() or char in "@.,+=_-" else "-" for char in words)[:LONGEST]
    return plain if plain == words else f"{plain}~{hashlib.sha256(words.encode()).hexdigest()[:6]}"


def _word(value: Any) -> str:
    if isinstance(value, list):
        return "+".join(map(_word, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _cells() -> tuple[str, str] | None:
    """The cell of declared parameters and papermill's behind it."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    history = shell.user_ns.get("In", []) if shell else []
    pairs = [(cell, after) for cell, after in pairwise(history) if after.startswith(FIRST_LINE)]
    return pairs[-1] if pairs else None


@cache
def _checked(declaring: str, injecting: str) -> str:
    """Check injected parameters, once; the name of their folder. Raises as `check`."""
    try:
        parameters, values = declared_in(declaring, "the notebook"), _assigned(injecting)
    except (NotebookError, SyntaxError, ValueError):
        return ""  # cells of a reader's own
    if not parameters:
        return ""
    for name, value in values.items():
        if name not in parameters:
            raise unknown(f"{notebook_name() or 'the notebook'} has no parameter {name!r}", name, parameters.values())
        check_value(parameters[name], value, PAPERMILL)
        check_choices(parameters[name], value)
    if not os.environ.get("LAB_NOTEBOOK"):  # else the runner has asked them
        _check_engines(parameters, values)
    return named_after({name: value for name, value in values.items() if value != parameters[name].default})


def _check_engines(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> None:
    """Connect the engines that are not the defaults."""
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    usual, now = (chosen(parameters, these) for these in (defaults, {**defaults, **values}))
    check_engines(engine for name, engine in now.items() if engine != usual.get(name))


def _assigned(source: str) -> dict[str, Any]:
    """Name -> value of a cell as papermill writes it. Raises ValueError for another, SyntaxError for none of Python."""
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
