"""Names of a package that are defined elsewhere: a stub lists them, and each is imported when it is used first."""

import ast
import functools
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def named_by_stub(module: str, file: str) -> tuple[Callable[[str], object], list[str]]:
    """Return `__getattr__` (PEP 562) and `__all__` of a module that names what the stub beside its file imports."""
    homes: dict[str, str] = {}
    for node in ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            homes |= {alias.name: node.module for alias in node.names}

    @functools.cache
    def value_of(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        home = import_module(homes[name])
        # A module may be a name, too: `seals` of `benchrunner.io`.
        return getattr(home, name) if hasattr(home, name) else import_module(f"{homes[name]}.{name}")

    return value_of, sorted(homes)
