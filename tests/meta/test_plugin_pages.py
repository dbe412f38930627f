"""Every Python block of the pages on plugins runs, and every test in them passes."""

import inspect
import sys
from pathlib import Path
from types import ModuleType

import pytest

from distributions import ROOT
from documents import blocks

DOCS = ROOT / "docs"
EXAMPLES = ("hooks", "derived_methods")
"""Pages of the reference with code that runs."""
PAGES = (
    DOCS / "plugins.md",
    *sorted((DOCS / "plugins").glob("*.md")),
    *(DOCS / "reference" / f"{name}.md" for name in EXAMPLES),
)
KINDS = ("sources", "problems", "features", "encoders", "methods")
"""Pages that describe one kind of value each, with code that runs."""


def test_each_kind_of_value_has_a_page() -> None:
    for kind in KINDS:
        assert blocks("python", ROOT / "docs" / "plugins" / f"{kind}.md"), kind


@pytest.mark.parametrize("page", [page for page in PAGES if blocks("python", page)], ids=lambda page: page.stem)
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page are one module, in the order of the page."""
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)  # where dataclasses look for their module
    for code in blocks("python", page):
        exec(compile(code, str(page), "exec", dont_inherit=True), module.__dict__)
    tests = {name: value for name, value in vars(module).items() if name.startswith("test_")}
    if page.stem not in ("features", "hooks", "metrics"):  # these have assertions, or a test of their own
        assert tests
    for name, test in tests.items():
        (tmp_path / name).mkdir()
        assert list(inspect.signature(test).parameters) == ["tmp_path"]
        test(tmp_path / name)
