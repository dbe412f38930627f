"""Mutants of a Python file: each is the file with one small change that a test should notice.

Changes that no test has to notice are not made: in annotations, decorators, texts of messages, `__repr__`, encodings,
named limits and waiting times, and what only a type checker reads.
"""

from __future__ import annotations

import ast
import copy
import hashlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
}
BLOCKS = ("body", "orelse", "finalbody", "handlers", "decorator_list", "cases")
"""Fields of a statement that hold other statements, and decorators."""
ANNOTATIONS = ("annotation", "returns", "bases", "type_params")
NAME = re.compile(r"[\w./-]+")
"""Strings that may be a key or a file's name; any other string is a text for people."""
TEXT_KEYWORDS = ("strict", "encoding", "stacklevel", "help", "about", "text")
"""Arguments whose removal changes only a message, or nothing on Linux with correct callers."""
TYPING_CALLS = ("cast", "TypeVar", "NewType")


@dataclass(frozen=True)
class Mutant:
    """A file of the package with one change."""

    file: str
    """Path below the repository."""
    lines: tuple[int, int]
    """First and last line of the changed statement without the statements inside."""
    function: str
    """Name of the function that the statement is in; empty if it runs when the module is imported."""
    line: int
    start: int
    end: int
    """Offsets of the changed text in the file, in bytes."""
    old: str
    new: str

    @property
    def id(self) -> str:
        """Name of the mutant in the list of results."""
        return f"{self.file}:{self.line} | {_one_line(self.old)} -> {_one_line(self.new)}"

    @property
    def change(self) -> str:
        """The name without the line, which other changes of the file move."""
        return f"{self.file} | {self.id.partition(' | ')[2]}"

    def source(self, root: Path) -> bytes:
        """Return the changed file."""
        text = (root / self.file).read_bytes()
        return text[: self.start] + self.new.encode() + text[self.end :]


def drawn(root: Path, files: Sequence[str], count: int, seed: int) -> list[Mutant]:
    """Draw statements, each with one of its mutants. A change of one statement does not change which others are drawn.

    Every statement that has mutants is equally likely.
    """
    chosen: list[tuple[str, Mutant]] = []
    for file in files:
        seen: dict[str, int] = {}
        for statement, function, source in _statements(root / file):
            mutants = [*_of_statement(statement, function, source, file)]
            if mutants:
                text = f"{seed} {file} {function} {ast.unparse(statement)}"
                seen[text] = seen.get(text, 0) + 1
                key = hashlib.sha256(f"{text} {seen[text]}".encode()).hexdigest()
                chosen.append((key, random.Random(key).choice(mutants)))
    return [mutant for _, mutant in sorted(chosen, key=lambda pair: pair[0])[:count]]


def _statements(file: Path) -> Iterator[tuple[ast.stmt, str, Source]]:
    """Yield every statement that may be changed, with the function it is in."""
    source = Source(file.read_bytes())

    def inside(block: Sequence[ast.AST], function: str) -> Iterator[tuple[ast.stmt, str, Source]]:
        for node in block:
            if _is_for_readers(node):
                continue
            if isinstance(node, ast.stmt):
                yield node, function, source
            inner = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
            for field in BLOCKS:
                if field != "decorator_list":
                    yield from inside(getattr(node, field, []), inner)

    yield from inside(ast.parse(source.text).body, "")


def _is_for_readers(node: ast.AST) -> bool:
    """Return whether a statement is there for people or type checkers alone."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Assert() | ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float())):
            return name.isupper()
        case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.FunctionDef(name="__repr__"):
            return True
        case ast.FunctionDef(decorator_list=decorators):
            return any(ast.unparse(decorator) in ("overload", "abstractmethod") for decorator in decorators)
    return False


class Source:
    """The text of a file, and the offsets of its lines."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.offsets = [0]
        for line in text.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the first and last offset of a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offsets[node.lineno - 1] + node.col_offset, self.offsets[node.end_lineno - 1] + node.end_col_offset


def _of_statement(statement: ast.stmt, function: str, source: Source, file: str) -> Iterator[Mutant]:
    """Yield the mutants of a statement, without those of the statements inside."""
    last = statement.end_lineno or statement.lineno
    if body := getattr(statement, "body", None):
        last = max(statement.lineno, body[0].lineno - 1)
    for node, new in _changes(statement):
        start, end = source.span(node)
        old = source.text[start:end].decode()
        if old != new:
            yield Mutant(file, (statement.lineno, last), function, node.lineno, start, end, old, new)


def _changes(statement: ast.stmt) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Yield a node of a statement and the text to put in its place."""
    match statement:
        case ast.Raise() | ast.Continue() | ast.Break() | ast.AugAssign() | ast.Delete() | ast.Expr(value=ast.Call()):
            yield statement, "pass"
        case ast.Assign(targets=[ast.Subscript()]):
            yield statement, "pass"
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield statement, "return None"
        case ast.If(test=test):
            yield test, "True"
            yield test, "False"
        case ast.With(items=items):
            for item in items:
                if item.optional_vars is None:
                    yield item.context_expr, "__import__('contextlib').nullcontext()"
    if not isinstance(statement, ast.Raise):
        for expression in _expressions(statement):
            for new in _changed_expressions(expression):
                yield expression, f"({ast.unparse(new)})"


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions in a node, without texts, types, decorators and the statements inside."""
    for field, value in ast.iter_fields(node):
        if field in (*BLOCKS, *ANNOTATIONS) and isinstance(node, ast.stmt | ast.arg | ast.ExceptHandler):
            if field == "handlers":
                for handler in value:
                    yield from _expressions(handler)
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.JoinedStr) or not isinstance(child, ast.AST) or _is_type(child):
                continue
            if isinstance(child, ast.expr):
                yield child
            yield from _expressions(child)


def _is_type(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=name)):
            return name in TYPING_CALLS
        case ast.Subscript(value=ast.Name(id=name)):
            return name in ("Literal", "Callable", "Offers", "dict", "list", "tuple", "set")
        case ast.keyword(arg=str(name)):
            return name in TEXT_KEYWORDS
    return False


def _changed_expressions(node: ast.expr) -> Iterator[ast.expr]:
    """Yield the small changes of one expression."""
    match node:
        case ast.Compare(ops=[operator, *more]) if type(operator) in SWAPPED:
            yield _with(node, ops=[SWAPPED[type(operator)](), *more])
        case ast.BoolOp(op=operator):
            yield _with(node, op=SWAPPED[type(operator)]())
        case ast.BinOp(op=ast.Add() | ast.Sub() as operator, left=left, right=right):
            if not any(map(_is_text, (left, right))):
                yield _with(node, op=SWAPPED[type(operator)]())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield operand
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value + 1)
        case ast.Constant(value=str() as value) if NAME.fullmatch(value):
            yield ast.Constant(f"{value}X")
        case ast.IfExp():
            yield _with(node, test=ast.Constant(True))
            yield _with(node, test=ast.Constant(False))
        case ast.List(elts=elements, ctx=ast.Load()) | ast.Set(elts=elements):
            yield from _shorter(node, "elts", elements)
        case ast.Tuple(elts=elements, ctx=ast.Load()):
            yield from _shorter(node, "elts", elements)
        case ast.Dict(keys=keys, values=values):
            for index in range(len(keys)):
                others = [number for number in range(len(keys)) if number != index]
                yield _with(node, keys=[keys[other] for other in others], values=[values[other] for other in others])
        case ast.Call(keywords=keywords):
            kept = [keyword for keyword in keywords if keyword.arg not in (None, *TEXT_KEYWORDS)]
            for keyword in kept:
                yield _with(node, keywords=[other for other in keywords if other is not keyword])
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            for index, loop in enumerate(node.generators):
                for value in (True, False) if loop.ifs else ():
                    loops = copy.deepcopy(node.generators)
                    loops[index].ifs = [ast.Constant(value)]
                    yield _with(node, generators=loops)


def _shorter(node: ast.expr, field: str, elements: Sequence[ast.expr]) -> Iterator[ast.expr]:
    for index in range(len(elements)):
        yield _with(node, **{field: [*elements[:index], *elements[index + 1 :]]})


def _with(node: ast.expr, **fields: object) -> ast.expr:
    changed = copy.copy(node)
    for name, value in fields.items():
        setattr(changed, name, value)
    return changed


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _one_line(text: str) -> str:
    return " ".join(text.split())
