"""Mutants: small changes of a module's functions, and a variant of the module that records which statements run."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OPERATORS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
    ast.Continue: ast.Break, ast.AugAssign: ast.Pass, ast.Raise: ast.Pass, ast.Break: ast.Pass,
}  # fmt: skip
FUNCTIONS = {"all": "any", "any": "all", "min": "max", "max": "min"}
# Fields whose changes alter a message, or are evaluated when the function is defined.
SKIPPED = {"decorator_list", "defaults", "kw_defaults", "returns", "annotation", "exc", "pattern", "msg"}


@dataclass(frozen=True)
class Mutant:
    """One changed node. before, after: the statement, of a compound one its first line."""

    module: str
    function: str
    before: str
    after: str
    line: int
    tree: ast.Module
    holder: Any  # the list or the dictionary of fields that has the node
    at: int | str
    new: ast.AST

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.module, self.function, self.before, self.after

    @property
    def statement(self) -> str:
        return "|".join(self.key[:3])

    def code(self) -> CodeType:
        """The compiled module with the change."""
        self.holder[self.at] = ast.copy_location(self.new, self.holder[self.at])
        return compiled(self.tree, self.module)


def replacements(node: ast.AST) -> Iterator[ast.AST]:
    """What may stand in a node's place."""
    match node:
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield ast.Constant(value + 1 if isinstance(value, int) else value * 2)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield ast.IfExp(test, orelse, body)
        case ast.Call(func=function, args=[*arguments], keywords=[*keywords]):
            if isinstance(function, ast.Name) and function.id in FUNCTIONS:
                yield ast.Call(ast.Name(FUNCTIONS[function.id], ast.Load()), arguments, keywords)
            if len(arguments) > 1 and not any(isinstance(argument, ast.Starred) for argument in arguments):
                yield ast.Call(function, [arguments[1], arguments[0], *arguments[2:]], keywords)
            for index in range(len(keywords)):
                yield ast.Call(function, arguments, keywords[:index] + keywords[index + 1 :])
        case ast.comprehension(target=target, iter=iterated, ifs=[_, *conditions]):
            yield ast.comprehension(target, iterated, conditions, 0)
        case ast.If(test=test, body=body, orelse=orelse):
            yield ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Return(value=ast.expr()) if ast.unparse(node) != "return None":
            yield ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case _ if type(node) in OPERATORS:
            yield OPERATORS[type(node)]()


def parsed(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


def compiled(tree: ast.Module, module: str) -> CodeType:
    return compile(ast.fix_missing_locations(tree), str(ROOT / module), "exec")


def header(statement: ast.AST) -> str:
    return ast.unparse(ast.fix_missing_locations(statement)).splitlines()[0]


def functions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions and methods with their qualified names; nested functions are part of their function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{prefix}{node.name}.")


def nodes(node: ast.AST, statement: ast.AST) -> Iterator[tuple[Any, int | str, ast.AST]]:
    """Where each node below a node is held, and the statement that it belongs to."""
    for field, value in ast.iter_fields(node):
        places = enumerate(value) if isinstance(value, list) else [(field, value)]
        for at, child in places if field not in SKIPPED else ():
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                own = child if isinstance(child, ast.stmt) else statement
                yield (value if isinstance(value, list) else vars(node)), at, own
                yield from nodes(child, own)


def mutants(module: str) -> Iterator[Mutant]:
    """All mutants of a module's functions."""
    tree = parsed(module)
    for name, function in functions(tree):
        for holder, at, statement in list(nodes(function, function)):
            old, before = holder[at], header(statement)
            for new in replacements(old):
                holder[at] = ast.copy_location(new, old)
                after = header(new if old is statement else statement)
                holder[at] = old
                yield Mutant(module, name, before, after, statement.lineno, tree, holder, at, new)


def sample(module: str, count: int) -> list[Mutant]:
    """The mutants with the smallest hashes: most stay the same when the code changes. count: 0 for all."""
    by_key = {mutant.key: mutant for mutant in mutants(module)}
    keys = sorted(by_key, key=lambda key: hashlib.sha256(repr(key).encode()).digest())
    return [by_key[key] for key in keys[: count or None]]


def recording(module: str) -> CodeType:
    """A module that calls `__hit__` before every statement of a function."""
    tree = parsed(module)
    for name, function in functions(tree):
        bodies = [body for node in ast.walk(function) for body in vars(node).values() if isinstance(body, list)]
        for body in [body for body in bodies if body and isinstance(body[0], ast.stmt)]:
            for at in range(len(body))[::-1]:
                (call,) = ast.parse(f"__hit__({f'{module}|{name}|{header(body[at])}'!r})").body
                body.insert(at, ast.copy_location(call, body[at]))
    return compiled(tree, module)


def codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from codes(constant)
