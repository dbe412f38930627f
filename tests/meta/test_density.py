"""Code is understood at the first reading: no comprehension stands inside another one."""

import ast

from distributions import PACKAGES, ROOT, modules_of

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def nested_comprehensions(source: str) -> list[int]:
    """List the lines of comprehensions that have another comprehension inside."""
    lines: list[int] = []
    for outer in ast.walk(ast.parse(source)):
        if isinstance(outer, COMPREHENSIONS):
            inside = [node for node in ast.walk(outer) if node is not outer and isinstance(node, COMPREHENSIONS)]
            lines += [outer.lineno] * bool(inside)
    return lines


def test_nested_comprehensions_are_found() -> None:
    source = "[list(row) for row in rows]\n{name: [x for x in y] for name, y in z}\nany(max(a for a in b) for b in c)"
    assert nested_comprehensions(source) == [2, 3]


def test_no_comprehension_is_nested() -> None:
    files = [file for package in PACKAGES for file in modules_of(package)]
    assert len(files) > 200
    found: list[str] = []
    for file in files:
        lines = nested_comprehensions(file.read_text(encoding="utf-8"))
        found += [f"{file.relative_to(ROOT)}:{line}" for line in lines]
    assert found == [], "name the inner one in a statement of its own, or write a loop"
