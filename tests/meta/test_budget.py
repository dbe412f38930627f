"""The project stays small: every package of the core, the whole and the documentation have budgets that only fall.

A feature makes its room in the commit that adds it. A package that shrinks lowers its budget. This command prints
today's sizes in the form of the tables below: `PYTHONPATH=tests/support python tests/meta/test_budget.py`.
"""

import ast
import io
import tokenize
from functools import cache
from pathlib import Path

import pytest

from distributions import CORE, PLUGINS, ROOT, modules_of

BUDGETS = {
    "backbones": 2_116,
    "command_line": 6_351,
    "commands": 2_827,
    "console": 1_354,
    "data": 5_066,
    "features": 6_154,
    "fits": 3_265,
    "io": 7_990,
    "leaderboards": 1_725,
    "methods": 4_836,
    "metrics": 1_540,
    "parameters": 4_768,
    "plugins": 9_744,
    "problems": 3_105,
    "process": 1_780,
    "runs": 14_837,
    "studies": 33_516,
    "tasks": 3_134,
    "training": 11_347,
    "(root)": 1_681,
}
"""Package of the core -> tokens; "(root)" are the modules beside the packages."""
WHOLE_CORE = 127_136
EVERYTHING = 411_936
"""Core and first-party plugins together: what moves from one to the other saves nothing."""
WORDS = 75_272
"""Words of all pages: those at the top, docs/, and the read-mes of plugins and leaderboards."""
SLACK = 0.02
"""A budget more than this above the size must be lowered, so that nobody spends what somebody else saved."""
LAYOUT = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def tokens(source: str) -> int:
    """Count the tokens of Python code without comments, docstrings, line ends and indents."""
    documented = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            documented |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    found = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(token.type not in LAYOUT and token.start[0] not in documented for token in found)


@cache
def size(package: Path) -> int:
    """Count the tokens of a package, without its tests."""
    return sum(tokens(file.read_text(encoding="utf-8")) for file in modules_of(package))


@cache
def sizes_of_the_core() -> dict[str, int]:
    """Count the tokens of each package of the core."""
    sizes = {file.parent.name: size(file.parent) for file in sorted(CORE.glob("*/__init__.py"))}
    return {**sizes, "(root)": sum(tokens(file.read_text(encoding="utf-8")) for file in CORE.glob("*.py"))}


def whole() -> int:
    """Count the tokens of the core and of all plugins."""
    return sum(sizes_of_the_core().values()) + sum(map(size, PLUGINS))


def words() -> int:
    """Count the words of all pages."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/*/README.md")]
    return sum(len(page.read_text(encoding="utf-8").split()) for page in pages)


def check(name: str, found: int, budget: int) -> None:
    """Fail where a size is above its budget, or far below."""
    assert found <= budget, f"make room first: {name} has {found:,}, {found - budget:,} above its budget"
    assert found > budget * (1 - SLACK), f"well done: lower the budget of {name} to {found:,}"


def test_tokens_are_counted_without_documentation() -> None:
    assert tokens('"""A module."""\n# why\nx = 1  # one\n\n\ndef f():\n    """Return x."""\n    return x\n') == 10


def test_every_package_of_the_core_has_a_budget() -> None:
    assert sizes_of_the_core().keys() == BUDGETS.keys()


@pytest.mark.parametrize("name", BUDGETS)
def test_a_package_of_the_core_keeps_its_budget(name: str) -> None:
    check(name, sizes_of_the_core()[name], BUDGETS[name])


def test_the_whole_keeps_its_budgets() -> None:
    check("the core", sum(sizes_of_the_core().values()), WHOLE_CORE)
    check("core and plugins together", whole(), EVERYTHING)


def test_the_documentation_keeps_its_budget() -> None:
    check("words of documentation", words(), WORDS)


if __name__ == "__main__":
    print(f"BUDGETS = {sizes_of_the_core()}")
    print(f"WHOLE_CORE = {sum(sizes_of_the_core().values())}\nEVERYTHING = {whole()}\nWORDS = {words()}")
