"""The packages and the two distributions of this repository: `benchrunner` and, compiled, `benchrunner-kernels`."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CORE = ROOT / "benchrunner"
KERNELS = ROOT / "plugins" / "kernels"
PLUGINS = (
    *sorted(ROOT.glob("plugins/benchrunner_*")),
    KERNELS / "benchrunner_kernels",
    ROOT / "leaderboards" / "benchrunner_leaderboards",
)
"""The package of each first-party plugin."""
PACKAGES = (CORE, *PLUGINS)
DISTRIBUTIONS = (ROOT, KERNELS)
"""The folder of each distribution's pyproject.toml."""


def home(plugin: Path) -> Path:
    """Return the folder with a plugin's read-me and tests: its package, or the distribution that is its own."""
    return KERNELS if plugin.parent == KERNELS else plugin


def modules_of(package: Path) -> list[Path]:
    """List the modules of a package, without its tests."""
    files = sorted(package.rglob("*.py"))
    return [file for file in files if "tests" not in file.relative_to(package).parts]


def settings(distribution: Path) -> dict[str, Any]:
    """Read the whole pyproject.toml of a distribution."""
    return tomllib.loads((distribution / "pyproject.toml").read_text(encoding="utf-8"))


def project(distribution: Path) -> dict[str, Any]:
    """Read the [project] table of a distribution."""
    table: dict[str, Any] = settings(distribution)["project"]
    return table


def normalized(name: str) -> str:
    """Normalize the name of a distribution as package indexes do (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()
