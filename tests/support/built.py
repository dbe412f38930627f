"""All distributions as wheels and source archives: `python tests/support/built.py FOLDER` builds them.

No network is needed: the running environment has setuptools. The sources are copied, so that the checkout stays clean.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from distributions import HOMES, package, project, settings

LEFT_BEHIND = shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "*.so")


def modules(home: Path) -> list[str]:
    """List the files of a distribution's modules that lie outside of its package."""
    return [f"{name}.py" for name in settings(home)["tool"]["setuptools"].get("py-modules", [])]


def copy_sources(home: Path, folder: Path) -> None:
    """Copy what a distribution is built from."""
    folder.mkdir(parents=True)
    scripts = [file.name for file in home.glob("setup.py")]  # of what is compiled
    for file in ("pyproject.toml", "LICENSE", project(home)["readme"], *modules(home), *scripts):
        shutil.copy(home / file, folder)
    shutil.copytree(package(home), folder / package(home).name, ignore=LEFT_BEHIND)


def build(folder: Path) -> None:
    """Build the source archive and the wheel of each distribution; the wheel is built from the archive."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as away:
        for home in HOMES:
            source = Path(away) / project(home)["name"]
            copy_sources(home, source)
            _call_backend("build_sdist", source, folder)
    for archive in sorted(folder.glob("*.tar.gz")):
        with TemporaryDirectory() as away, tarfile.open(archive) as held:
            held.extractall(away, filter="data")
            (source,) = Path(away).iterdir()
            _call_backend("build_wheel", source, folder)


def _call_backend(hook: str, source: Path, folder: Path) -> None:
    """Call a hook of setuptools in a folder of sources, as pip does, which would start four processes for a wheel."""
    code = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"
    subprocess.run([sys.executable, "-c", code, hook, folder.resolve()], cwd=source, check=True, capture_output=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
