"""Which module imports which, read from the source code without running it."""

import ast
import functools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from distributions import modules_of

ORDER = (
    "public_names",
    "console",
    "errors",
    "process",
    "io",
    "workspace",
    "plugin_code",
    "parameters",
    "metrics",
    "fits",
    "data",
    "features",
    "backbones",
    "problems",
    "tasks",
    "training",
    "methods",
    "leaderboards",
    "plugins",
    "runs",
    "studies",
    "command_line",
    "commands",
)
"""The core's packages and lone modules in the order of their imports: each imports only what stands before it."""
LONE_MODULES = ("public_names", "errors", "workspace", "plugin_code")
PACKAGES = tuple(name for name in ORDER if name not in LONE_MODULES)
ENTRANCES = tuple(f"benchrunner{name}" for name in ("", ".__main__", ".builtin", ".engine", ".results"))
"""The modules, or a package, that stand behind all packages: they may import everything."""


@dataclass(frozen=True)
class Import:
    """One import of a module of the same package."""

    importer: str
    imported: str

    def __str__(self) -> str:
        return f"{self.importer} -> {self.imported}"


def modules(package: Path) -> dict[str, Path]:
    """List the modules of a package, without its tests, by their dotted names."""
    return {
        ".".join(file.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__"): file
        for file in modules_of(package)
    }


def named_imports(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.Call, str, str]]:
    """Yield every import of a file: its statement or call, the module, and the name that it takes from the module.

    The name is empty where the module itself is imported, and "*" for all names. Calls are those of `import_module`
    and `__import__` with a module that is written there.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node, alias.name, ""
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield node, str(node.module), alias.name
        elif isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            named = [*node.args[:1], *(keyword.value for keyword in node.keywords if keyword.arg == "name")]
            if called in ("import_module", "__import__") and named and isinstance(named[0], ast.Constant):
                yield node, str(named[0].value), ""


@functools.cache
def imports(package: Path) -> Sequence[Import]:
    """Read every import among the modules of a package, those below TYPE_CHECKING and inside functions included.

    Calls of `import_module` count as statements do: see `named_imports`.
    """
    known, found = modules(package), list[Import]()
    for module, file in known.items():
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for node, home, name in named_imports(tree):
            assert not getattr(node, "level", 0), f"{file}:{node.lineno}: a relative import"
            imported = f"{home}.{name}" if f"{home}.{name}" in known else home
            if imported in known and imported != module:
                found.append(Import(module, imported))
    return tuple(found)


def cycles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Find the groups of modules that reach one another by imports (strongly connected components)."""
    reached = {name: _reachable(name, edges) for name in edges}
    groups = set[frozenset[str]]()
    for name in edges:
        if name in reached[name]:
            groups.add(frozenset(other for other in reached[name] if name in reached.get(other, ())))
    return sorted(sorted(group) for group in groups)


def _reachable(start: str, edges: Mapping[str, set[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        for name in edges.get(waiting.pop(), set()) - reached:
            reached.add(name)
            waiting.append(name)
    return reached


def package_of(module: str) -> str:
    """Name the core's package that holds a module; empty for the modules outside of packages."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in PACKAGES else ""


def rank(module: str) -> int:
    """Tell the place of a core module in the order of imports: it may import modules of no higher rank."""
    if module in ENTRANCES or module.startswith(tuple(f"{name}." for name in ENTRANCES[1:])):
        return len(ORDER)
    return ORDER.index(module.split(".")[1])


def graph(found: Sequence[Import]) -> dict[str, set[str]]:
    edges: dict[str, set[str]] = defaultdict(set)
    for line in found:
        edges[line.importer].add(line.imported)
    return dict(edges)


def necessary(edges: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Leave out every edge that a longer path replaces (transitive reduction of a graph without cycles)."""
    reached = {name: _reachable(name, edges) for name in edges}
    arrows: dict[str, set[str]] = {}
    for name, targets in edges.items():
        arrows[name] = targets.difference(*(reached.get(other, ()) for other in targets))
    return arrows
