"""The parameters that a notebook declares, and values for them from the command line.

A notebook declares them in its cell tagged `parameters`, one typed assignment a line, its help in the trailing comment:
    limit: int = 20  # tasks per split
Elements of a bare `list` or `dict` are of the types that its default has. A value that is given is YAML 1.2
(`lab.machine.yaml12`) and has exactly the declared type, but that a whole number will do for a float.
A text whose default is an offline engine (rules, replay:RUN, local), or whose help begins with "who", is an engine:
    engine: str = "rules"  # who answers the prompts
papermill reads such a cell, too, but for lines with a second equals sign: an engine's options take a colon there.
What is chosen is checked before a kernel starts where its name tells what it is: engines, recordings, judges, and lists
of CLOSED, whose default names all choices but those that the help quotes.
"""

from __future__ import annotations

import ast
import functools
import io
import operator
import re
import tokenize
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, get_args, get_origin

from lab.machine.printing import hint
from lab.machine.reading import Mismatch, typed
from lab.models import engines
from lab.models.connect import connect
from lab.notebooks.documents import NotebookError, name_of, read, tags

if TYPE_CHECKING:
    from nbformat import NotebookNode

# The engines that other names stand for, by parameter.
NAMED = {"recordings": "replay:{}", "judges": "rules?judge={}", "checked": "rules?judge={}"}
CLOSED = ("benchmarks", "datasets", "lengths", "samples", "worlds")
TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}
QUOTED = re.compile('"([^"]+)"')
QUOTES = ' (in braces or brackets, a text with ? or : wants "quotes")'
WRITTEN = {bool: " (write true or false)", list: QUOTES, dict: QUOTES}


class Parameter(NamedTuple):
    """One declared parameter. annotation: as written ("int", "list[str]", "str | None")."""

    name: str
    annotation: str
    default: Any
    help: str

    @property
    def form(self) -> Any:
        """Its type as Python has it, elements included: list[int] of `blocks: list = [5, 3]`."""
        return _form(ast.parse(self.annotation, mode="eval").body, self.default)

    @property
    def chooses_engine(self) -> bool:
        """Whether its value is an engine string: the default is rules, replay or local, or the help begins "who"."""
        if self.annotation.removesuffix(" | None") != "str":
            return False
        return offline(self.default or "") or self.help.lower().startswith("who ")

    def __str__(self) -> str:
        return f"{self.name}: {self.annotation} = {self.default!r}  # {self.help}"


def offline(text: str) -> bool:
    """Whether a text is surely an engine: any word but rules, replay and local parses as an endpoint's model."""
    try:
        return engines.parse(text).kind != "endpoint"
    except engines.BadEngine:
        return False


def chosen(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, engines.Engine]:
    """The engines that a notebook's values choose, by parameter.

    values: of all its parameters. `engine` has those of single operators (`engines`) in it; an engine of a list of them
    has its place behind the name; recordings and judges are engines that replay and that judge so. Raises BadEngine.
    """
    engines_chosen = {}
    for name, parameter in parameters.items():
        value, others = values[name], values.get("engines") if name == "engine" else None
        if parameter.chooses_engine and value:
            engines_chosen[name] = engines.with_others(value, others if isinstance(others, dict) else {})
        elif isinstance(value, list) and _engines_alone(parameter.default):
            engines_chosen |= {f"{name}[{index}]": engines.parse(str(engine)) for index, engine in enumerate(value)}
        elif isinstance(value, list) and name in NAMED:
            engines_chosen |= {f"{name} {text}": engines.parse(NAMED[name].format(text)) for text in value}
    return engines_chosen


def check_engines(chosen: Iterable[engines.Engine]) -> None:
    """Connect every part of some engines before anything is played, since a kernel is slower to find out.

    Raises NotebookError naming the engine that means nothing, lacks its key, recording or model, or does not answer.
    """
    for part in dict.fromkeys(part.text for engine in chosen for part in engine.parts):
        try:
            backbone = connect(part, cache=None)
            if hasattr(backbone, "try_out"):
                backbone.try_out()
        except (ValueError, RuntimeError, OSError) as error:
            raise NotebookError(f"engine {part!r} cannot answer, and nothing was run: {error}") from error


def declared(notebook: NotebookNode, where: str) -> dict[str, Parameter]:
    """The parameters of a notebook by name; empty without a cell tagged `parameters`.

    Raises NotebookError, naming the line, for anything but a typed assignment of a literal with a comment.
    """
    cell = next((cell for cell in notebook.cells if "parameters" in tags(cell)), None)
    return {} if cell is None else declared_in(cell.source, where)


def declared_in(source: str, where: str) -> dict[str, Parameter]:
    """The parameters that the code of such a cell declares. Raises as `declared`."""
    try:
        # Tokens, not a search for "#", which may stand in a string.
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
        body = ast.parse(source).body
    except (SyntaxError, tokenize.TokenError) as error:
        raise NotebookError(f"the parameters cell of {where} is not valid Python: {error}") from error
    parameters = [_parameter(statement, comments, where) for statement in body]
    return {parameter.name: parameter for parameter in parameters}


def resolve(notebooks: Sequence[Path], given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Validate `-p name text` pairs against every notebook and parse them into typed values; the last of a name wins.

    Raises NotebookError before anything runs: for a name that no notebook or only some of them declare, and for a
    text that is not of the declared type.
    """
    by_notebook = {name_of(path): declared(read(path), name_of(path)) for path in notebooks}
    values = {}
    for name, text in given:
        lacking = [where for where, parameters in by_notebook.items() if name not in parameters]
        if lacking:
            others = [where for where in by_notebook if where not in lacking]
            head = f"{', '.join(lacking)} {'has' if len(lacking) == 1 else 'have'} no parameter {name!r}"
            if others:
                having = f"{', '.join(others)} {'has' if len(others) == 1 else 'have'}"
                raise NotebookError(f"{head}, while {having}. Run them apart.")
            raise unknown(head, name, [one for parameters in by_notebook.values() for one in parameters.values()])
        parsed = [parse(text, parameters[name]) for parameters in by_notebook.values()]
        if len({repr(value) for value in parsed}) > 1:
            raise NotebookError(f"{name} is of another type in each of {', '.join(by_notebook)}. Run them apart.")
        values[name] = parsed[0]
        for parameters in by_notebook.values():
            check_choices(parameters[name], parsed[0])
    return values


def parse(text: str, parameter: Parameter) -> Any:
    """Parse one value from the command line: the text itself for a `str`, else YAML of the declared type.

    Raises NotebookError if it, or an element of it, is of another type.
    """
    from lab.machine.yaml12 import load

    form = parameter.form
    if isinstance(form, UnionType):
        if text.strip().lower() in ("none", "null", "~", ""):
            return None
        form = get_args(form)[0]
    if form is str:
        return text  # not YAML, which would take quotes off and end the text at a #
    try:
        return typed(load(text, form), form, strict=True)
    except ValueError as error:
        raise _wrong(parameter, text, error, WRITTEN) from None


def check_choices(parameter: Parameter, value: Any) -> None:
    """Raise NotebookError for an element of a list of CLOSED that is none of its choices."""
    if parameter.name not in CLOSED or not parameter.default:
        return
    known = [*parameter.default, *QUOTED.findall(parameter.help)]
    for element in value or ():
        if element not in known:
            near = hint(str(element), map(str, known))
            there = ", ".join(map(str, known))
            raise NotebookError(f"parameter {parameter.name} got {element!r}{near or ';'} choose from {there}")


def check_value(parameter: Parameter, value: Any, written: Mapping[type, str]) -> None:
    """Raise NotebookError for a value that is of another type. written: type -> how to write it; {} is the name."""
    try:
        typed(value, parameter.form, strict=True)
    except ValueError as error:
        raise _wrong(parameter, value, error, written) from None


def _wrong(parameter: Parameter, value: Any, error: ValueError, written: Mapping[type, str]) -> NotebookError:
    form = get_args(parameter.form)[0] if isinstance(parameter.form, UnionType) else parameter.form
    how = written.get(get_origin(form) or form, "").format(parameter.name)
    part, why = f" got {value!r}", f"which is no {parameter.annotation}{how}"
    if not isinstance(error, Mismatch):
        why += f"; {error}"
    elif error.where:
        part, why = f"{error.where} got {error.part!r}", error.why
    return NotebookError(f"parameter {parameter.name}{part}, {why}: {parameter}")


def unknown(head: str, name: str, parameters: Collection[Parameter]) -> NotebookError:
    """A name that is not declared. head: who lacks it."""
    known = dict.fromkeys(map(str, parameters))
    there = "There are:" if known else "They declare none."
    near = hint(name, {parameter.name for parameter in parameters})
    return NotebookError(f"{head}{near or '.'} {there}" + "".join(f"\n  {line}" for line in known))


def _parameter(statement: ast.stmt, comments: Mapping[int, str], where: str) -> Parameter:
    """One declared parameter. comments: by the number of the line that each ends."""
    line = f"line {statement.lineno} of the parameters cell of {where}"
    example = "write it as in: limit: int = 20  # tasks per split"
    if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name) or not statement.value:
        raise NotebookError(f"{line} is no typed assignment; {example}")
    annotation = ast.unparse(statement.annotation)
    comment = comments.get(statement.end_lineno or statement.lineno, "")
    if not comment:
        raise NotebookError(f"{line} has no comment to serve as help; {example}")
    try:
        parameter = Parameter(statement.target.id, annotation, ast.literal_eval(statement.value), comment)
        typed(parameter.default, parameter.form, strict=True)
    except (ValueError, KeyError, TypeError) as error:
        raise NotebookError(f"{line} needs a literal value of a type among {', '.join(TYPES)}; {example}") from error
    return parameter


def _engines_alone(default: Any) -> bool:
    """Whether a default is a list of offline engines: any other word could be a model, and is mostly none."""
    texts = default if isinstance(default, list) else []
    return bool(texts) and all(isinstance(text, str) and offline(text) for text in texts)


def _form(annotation: ast.expr, default: Any = None) -> Any:
    """The type that an annotation names. Raises KeyError or TypeError for one that is not among TYPES."""
    match annotation:
        case ast.BinOp(left, ast.BitOr(), ast.Constant(None)) | ast.BinOp(ast.Constant(None), ast.BitOr(), left):
            return _form(left, default) | None
        case ast.Name("list" | "dict") if default:
            return _form_of(default)
        case ast.Name("dict"):
            return dict[str, Any]
        case ast.Name(name):
            return TYPES[name]
        case ast.Subscript(ast.Name(name), ast.Tuple(parts)):
            return TYPES[name][*map(_form, parts)]  # type: ignore[index]
        case ast.Subscript(ast.Name(name), part):
            return TYPES[name][_form(part)]  # type: ignore[index]
    raise TypeError(f"{ast.unparse(annotation)} is no single type")


def _form_of(value: Any) -> Any:
    """The type of a literal with its elements; whole numbers among others are floats, as in [0, 0.5]."""
    if not value or not isinstance(value, (list, dict)):
        return dict[str, Any] if value == {} else type(value)
    forms = dict.fromkeys(map(_form_of, value.values() if isinstance(value, dict) else value))
    if float in forms:
        forms.pop(int, None)
    element: Any = functools.reduce(operator.or_, forms)
    return dict[str, element] if isinstance(value, dict) else list[element]
