"""Names of a package that are defined elsewhere: a stub lists them, and each is imported when it is used first."""

import re
from collections.abc import Callable
from importlib import import_module
from pathlib import Path


def named_by_stub(module: str, file: str) -> tuple[Callable[[str], object], list[str]]:
    """Return `__getattr__` (PEP 562) and `__all__` of a module that names what the stub beside its file imports."""
    homes: dict[str, str] = {}
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    for home, names in re.findall(r"^from (\S+) import (\([^)]*\)|.*)$", stub, re.MULTILINE):
        homes |= dict.fromkeys(re.findall(r"(\w+) as ", names), home)

    def value_of(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module '{module}' has no attribute '{name}'")
        home = import_module(homes[name])
        # A module may be a name, too: `seals` of `benchrunner.io`.
        return getattr(home, name, None) or import_module(f"{homes[name]}.{name}")

    return value_of, sorted(homes)
