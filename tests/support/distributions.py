"""The distributions of this repository, as their pyproject.toml files describe them."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
HOMES = (
    ROOT,
    *(file.parent for file in sorted(ROOT.glob("*/pyproject.toml"))),
    *(file.parent for file in sorted(ROOT.glob("plugins/*/pyproject.toml"))),
)
"""The folder of each distribution, the core's first."""
CORE = ROOT / "benchrunner"
KERNELS = ROOT / "plugins" / "kernels"
PLUGINS = (
    *sorted(ROOT.glob("plugins/benchrunner_*")),
    KERNELS / "benchrunner_kernels",
    ROOT / "leaderboards" / "benchrunner_leaderboards",
)
"""The package of each first-party plugin."""


def modules_of(package: Path) -> list[Path]:
    """List the modules of a package, without its tests."""
    files = sorted(package.rglob("*.py"))
    return [file for file in files if "tests" not in file.relative_to(package).parts]


def settings(home: Path) -> dict[str, Any]:
    """Read the whole pyproject.toml of a distribution."""
    return tomllib.loads((home / "pyproject.toml").read_text(encoding="utf-8"))


def project(home: Path) -> dict[str, Any]:
    """Read the [project] table of a distribution."""
    table: dict[str, Any] = settings(home)["project"]
    return table


def package(home: Path) -> Path:
    """Find the folder of a distribution's Python package."""
    [found] = [file.parent for file in home.glob("benchrunner*/__init__.py")]
    return found


def normalized(name: str) -> str:
    """Normalize the name of a distribution as package indexes do (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
