"""The parameters that a notebook declares, and values for them from the command line.

A notebook declares them in its cell tagged `parameters`, one typed assignment per line, with help as trailing comment:
    limit: int = 20  # tasks per split
A bare `list` or `dict` has elements of the types in its default. Values from the command line are YAML 1.2
(`lab.machine.yaml12`) of exactly the declared type; only for a float a whole number is accepted, too.
A text is an engine if its default is an offline engine (rules, replay:RUN, local), or its help begins with "who":
    engine: str = "rules"  # who answers the prompts
papermill can read such a cell, except for lines with a second equals sign: there engines' options need a colon.
Values are validated before a kernel starts if the parameter's name shows its kind: engines, recordings, judges, and the
lists in CLOSED, whose choices are those of the default and those quoted in the help. So are texts whose help begins
"one of":
    domain: str = "units"  # one of "travel", "recipes", "blocks"
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

# Parameter -> engine string for an element of its list.
NAMED = {"recordings": "replay:{}", "judges": "rules?judge={}", "checked": "rules?judge={}"}
CLOSED = ("benchmarks", "datasets", "lengths", "samples", "worlds")
ONE_OF = "one of "  # how the help of a text begins that has no other values than its default and those quoted
TYPES: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool, "list": list, "dict": dict}
QUOTED = re.compile('"([^"]+)"')
QUOTES = ' (in braces or brackets, a text with a colon and a space wants "quotes")'
WRITTEN = {bool: " (write true or false)", list: QUOTES, dict: QUOTES}


class Parameter(NamedTuple):
    """A declared parameter. annotation: as written ("int", "list[str]", "str | None")."""

    name: str
    annotation: str
    default: Any
    help: str

    @property
    def form(self) -> Any:
        """Its Python type with elements: list[int] for `blocks: list = [5, 3]`."""
        return _form(ast.parse(self.annotation, mode="eval").body, self.default)

    @property
    def chooses_engine(self) -> bool:
        """Whether its value is an engine string: the default is rules, replay or local, or the help starts with who."""
        if self.annotation.removesuffix(" | None") != "str":
            return False
        return offline(self.default or "") or self.help.lower().startswith("who ")

    def __str__(self) -> str:
        return f"{self.name}: {self.annotation} = {self.default!r}  # {self.help}"


def offline(text: str) -> bool:
    """Whether a text is certainly an engine: any word except rules, replay and local could be an endpoint's model."""
    try:
        return engines.parse(text).kind != "endpoint"
    except engines.BadEngine:
        return False


def chosen(parameters: Mapping[str, Parameter], values: Mapping[str, Any]) -> dict[str, engines.Engine]:
    """The engines that a notebook's values select, by parameter.

    values: of all parameters. "engine" includes the engines of single operators (`engines`). Engines in a list are
    keyed "name[index]", recordings and judges "name value" (NAMED has their engines). Raises BadEngine.
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
    """Connect all parts of engines before anything is played: faster than to fail in a kernel.

    Raises NotebookError naming an engine that is invalid, lacks its key, recording or model, or does not answer.
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
    """The parameters that the source of a parameters cell declares. Raises as `declared`."""
    try:
        # Tokenise, since a "#" may be part of a string.
        tokens = tokenize.generate_tokens(io.StringIO(source).readline)
        comments = {token.start[0]: token.string.lstrip("# ") for token in tokens if token.type == tokenize.COMMENT}
        body = ast.parse(source).body
    except (SyntaxError, tokenize.TokenError) as error:
        raise NotebookError(f"the parameters cell of {where} is not valid Python: {error}") from error
    parameters = [_parameter(statement, comments, where) for statement in body]
    return {parameter.name: parameter for parameter in parameters}


def resolve(notebooks: Sequence[Path], given: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Validate `-p name text` pairs against every notebook and parse them to typed values; the last one of a name wins.

    Raises NotebookError for a name that some notebooks do not declare, and for a text of the wrong type.
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
            raise unknown(head, name, [item for parameters in by_notebook.values() for item in parameters.values()])
        parsed = [parse(text, parameters[name]) for parameters in by_notebook.values()]
        if len({repr(value) for value in parsed}) > 1:
            raise NotebookError(f"{name} is of another type in each of {', '.join(by_notebook)}. Run them apart.")
        values[name] = parsed[0]
        for parameters in by_notebook.values():
            check_choices(parameters[name], parsed[0])
    return values


def parse(text: str, parameter: Parameter) -> Any:
    """Parse a value from the command line: for a `str` the text itself, else YAML of the declared type.

    Raises NotebookError if the value, or an element of it, has another type.
    """
    from lab.machine.yaml12 import load

    form = parameter.form
    if isinstance(form, UnionType):
        if text.strip().lower() in ("none", "null", "~", ""):
            return None
        form = get_args(form)[0]
    if form is str:
        return text  # not YAML, which would strip quotes and end the text at a #
    try:
        return typed(load(text, form), form, strict=True)
    except ValueError as error:
        raise _wrong(parameter, text, error, WRITTEN) from None


def check_choices(parameter: Parameter, value: Any) -> None:
    """Raises NotebookError for a text, or an element of a list in CLOSED, that is not among the choices."""
    text = parameter.help.startswith(ONE_OF)
    if not text and (parameter.name not in CLOSED or not parameter.default):
        return
    defaults = [parameter.default] if text else parameter.default
    known = [*dict.fromkeys([*defaults, *QUOTED.findall(parameter.help)])]
    for element in [value] if text else value or ():
        if element not in known:
            alike = hint(str(element), map(str, known))
            choices = ", ".join(map(str, known))
            raise NotebookError(f"parameter {parameter.name} got {element!r}{alike or ';'} choose from {choices}")


def check_value(parameter: Parameter, value: Any, written: Mapping[type, str]) -> None:
    """Raises NotebookError for a value of another type. written: type -> how to write it; {} is the name."""
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
    """The error for a name that is not declared. head: its first words, on who lacks it."""
    lines = dict.fromkeys(map(str, parameters))
    intro = "There are:" if lines else "They declare none."
    alike = hint(name, {parameter.name for parameter in parameters})
    return NotebookError(f"{head}{alike or '.'} {intro}" + "".join(f"\n  {line}" for line in lines))


def _parameter(statement: ast.stmt, comments: Mapping[int, str], where: str) -> Parameter:
    """Parse a declared parameter. comments: line number -> trailing comment. Raises NotebookError."""
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
    """Whether a default is a list of offline engines only. Other words could be models, but mostly are not."""
    texts = default if isinstance(default, list) else []
    return bool(texts) and all(isinstance(text, str) and offline(text) for text in texts)


def _form(annotation: ast.expr, default: Any = None) -> Any:
    """The type that an annotation names. Raises KeyError or TypeError for a type that is not among TYPES."""
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
    """The type of a literal with its elements; integers next to floats count as floats, as in [0, 0.5]."""
    if not value or not isinstance(value, (list, dict)):
        return dict[str, Any] if value == {} else type(value)
    forms = dict.fromkeys(map(_form_of, value.values() if isinstance(value, dict) else value))
    if float in forms:
        forms.pop(int, None)
    element: Any = functools.reduce(operator.or_, forms)
    return dict[str, element] if isinstance(value, dict) else list[element]
