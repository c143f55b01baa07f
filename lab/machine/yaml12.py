"""YAML 1.2: 1e-3 and 010 (ten) are numbers; `no`, 1:30 and 2026-01-02 are texts.

PyYAML alone reads version 1.1, where 010 is 8, 1:30 is 90, `no` is false and 1e-3 a text.
Source: yaml.org/spec/1.2.2, 10.3.2, the core schema.
"""

from __future__ import annotations

import math
import re
from types import NoneType, UnionType
from typing import Any, get_args, get_origin

import yaml
from yaml.composer import Composer
from yaml.constructor import SafeConstructor
from yaml.cyaml import CParser
from yaml.resolver import Resolver

TAG = "tag:yaml.org,2002:"
NULL, TEXT = TAG + "null", TAG + "str"
SCALARS = (
    ("null", r"null|Null|NULL|~|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
)


class Reader(Composer, CParser, SafeConstructor, Resolver):
    """PyYAML's safe loader with the core schema. A duplicate key is an error, and so is an alias.

    Text is parsed in C, about five times faster. Nodes are composed in Python: in C deep nesting ends the process.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}
    yaml_constructors = {
        tag: construct
        for tag, construct in yaml.SafeLoader.yaml_constructors.items()
        if tag is None or tag.removeprefix(TAG) in ("null", "bool", "int", "float", "str", "seq", "map")
    }

    def __init__(self, text: str) -> None:
        CParser.__init__(self, text)
        for base in (Composer, SafeConstructor, Resolver):
            base.__init__(self)

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        text = node.value
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text, 10)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        number = float(node.value.lower().replace(".inf", "inf").replace(".nan", "nan"))
        if math.isinf(number) and "inf" not in node.value.lower():
            raise yaml.constructor.ConstructorError(None, None, f"{node.value} is too large a number", node.start_mark)
        return number

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node:
        if self.check_event(yaml.AliasEvent):  # a few hundred characters of aliases can expand to billions of values
            raise ValueError(f"aliases such as *{self.peek_event().anchor} are not read; write the value again")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            keys = [self.construct_object(key, deep) for key, _ in node.value]
            duplicate = next(key for index, key in enumerate(keys) if key in keys[:index])
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {duplicate!r} is given twice", node.start_mark
            )
        return mapping


class Writer(yaml.SafeDumper):
    """PyYAML's safe dumper with quotes around texts that `load` would read as another type."""

    yaml_implicit_resolvers = Reader.yaml_implicit_resolvers


for name, pattern, first in SCALARS:
    # An empty scalar is looked up under "".
    Reader.add_implicit_resolver(TAG + name, re.compile(rf"(?:{pattern})\Z"), [*first, *([""] * (name == "null"))])
Reader.add_constructor(TAG + "int", Reader.construct_yaml_int)
Reader.add_constructor(TAG + "float", Reader.construct_yaml_float)


def load(text: str, form: Any = Any) -> Any:
    """The value of a YAML document, None for an empty one.

    form: its type if known, such as list[str]: where the type has `str`, the text is taken literally, be it 0.70 or
    null. Other types are not checked. Raises ValueError for invalid YAML.
    """
    try:
        reader = Reader(text)
        if (node := reader.get_single_node()) is None:
            return None
        _mark_texts(node, form)
        return reader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise ValueError(
            f"{error.problem}{f' in line {mark.line + 1}, column {mark.column + 1}' * bool(mark)}"
        ) from None
    except yaml.YAMLError as error:  # a character that YAML does not allow
        raise ValueError(" ".join(str(error).split())) from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def dump(value: Any, **style: Any) -> str:
    """The value as YAML, which `load` reads back. style: options of yaml.dump."""
    return yaml.dump(value, Dumper=Writer, allow_unicode=True, **style)


def _mark_texts(node: yaml.Node, form: Any) -> None:
    """Tag scalars as texts where `form` has `str`."""
    kind, parts = get_origin(form) or form, get_args(form)
    if isinstance(form, UnionType) and NoneType in parts and len(parts) == 2:
        if node.tag != NULL:
            _mark_texts(node, next(part for part in parts if part is not NoneType))
    elif isinstance(node, yaml.ScalarNode):
        # An empty scalar, as in {a: }, is null even if `form` is str: an empty text is written "".
        if kind is str and node.value:
            node.tag = TEXT
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            _mark_texts(child, parts[0] if kind is list and parts else Any)
    else:
        key_form, value_form = parts if kind is dict and parts else (Any, Any)
        for key, value in node.value:
            _mark_texts(key, key_form)
            _mark_texts(value, value_form)
