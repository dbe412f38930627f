"""The metadata that both distributions share: `python tests/support/release.py [VERSION]` writes it into both.

The core's pyproject.toml is the place of the version, of the links and of the classifiers.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.version import Version

from distributions import DISTRIBUTIONS, ROOT, project

_VERSION = re.compile(r'^version = ".*"$', re.MULTILINE)
_CLASSIFIERS = re.compile(r"^classifiers = \[\n.*?^\]\n", re.MULTILINE | re.DOTALL)
_LINKS = re.compile(r"^\[project\.urls\]\n(?:.+\n)+\n", re.MULTILINE)
_OURS = re.compile(r'(benchrunner[a-z0-9-]*(?:\[[a-z0-9,]+\])?)>=[0-9][^"]*(?=")')
"""A requirement of one of our distributions, up to its closing quotation mark."""


def series(version: str) -> str:
    """Write which versions suit a version: the same series, of which 0.1.4 is with 0.1.0, and 1.5 with 1.0."""
    parsed = Version(version)
    if parsed.major:
        first, next_series = f"{parsed.major}.0", f"{parsed.major + 1}.0"
    else:
        first, next_series = f"0.{parsed.minor}", f"0.{parsed.minor + 1}"
    return f">={version if parsed.is_prerelease else first},<{next_series}"


def released(version: str) -> Iterator[tuple[Path, str]]:
    """Yield every file that a release writes, with its text for this version."""
    core = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for home in DISTRIBUTIONS:
        file = home / "pyproject.toml"
        text = _VERSION.sub(f'version = "{version}"', file.read_text(encoding="utf-8"), count=1)
        text = _CLASSIFIERS.sub(_CLASSIFIERS.findall(core)[0], text)
        before, after = _LINKS.sub("", text).split("[project.", 1)
        text = f"{before}{_LINKS.findall(core)[0]}[project.{after}"
        yield file, _with_series(text, version)
    for name, pattern, line in (
        ("benchrunner/__init__.py", r"^__version__ = .*$", f'__version__ = "{version}"'),
        ("CITATION.cff", r"^version: .*$", f"version: {version}"),
        ("plugins/benchrunner_kit/scaffolds/writing.py", r"(?<=\{name\})>=[^\"]*", series(version)),
    ):
        text = (ROOT / name).read_text(encoding="utf-8")
        yield ROOT / name, re.sub(pattern, line, text, flags=re.MULTILINE)


def _with_series(text: str, version: str) -> str:
    return _OURS.sub(lambda match: match[1] + series(version), text)


if __name__ == "__main__":
    chosen = sys.argv[1] if len(sys.argv) > 1 else str(project(ROOT)["version"])
    if str(Version(chosen)) != chosen:
        sys.exit(f"write the version {chosen} as {Version(chosen)}")
    for path, written in list(released(chosen)):
        path.write_text(written, encoding="utf-8")
