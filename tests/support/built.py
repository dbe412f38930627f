"""Both distributions as wheels and source archives: `python tests/support/built.py FOLDER` builds them.

No network is needed: the running environment has hatchling and setuptools.
"""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

from distributions import KERNELS, ROOT

BACKENDS = {"benchrunner": "hatchling.build", "benchrunner_kernels": "setuptools.build_meta"}
"""Distribution -> its build backend, as its pyproject.toml names it."""


def build(folder: Path) -> None:
    """Build the source archive and the wheel of each distribution; the wheel is built from the archive."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as away:
        kernels = Path(away) / "kernels"  # setuptools writes beside the sources
        shutil.copytree(KERNELS, kernels, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__", "*.so"))
        _call_backend("benchrunner", "build_sdist", ROOT, folder)
        _call_backend("benchrunner_kernels", "build_sdist", kernels, folder)
    for archive in sorted(folder.glob("*.tar.gz")):
        with TemporaryDirectory() as away, tarfile.open(archive) as held:
            held.extractall(away, filter="data")
            (source,) = Path(away).iterdir()
            _call_backend(archive.name.rpartition("-")[0], "build_wheel", source, folder)


def _call_backend(distribution: str, hook: str, source: Path, folder: Path) -> None:
    """Call a hook of a build backend in a folder of sources, as pip does, which would start four processes."""
    code = f"import sys; from importlib import import_module; import_module('{BACKENDS[distribution]}')"
    code += f".{hook}(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, folder.resolve()], cwd=source, check=True, capture_output=True)


if __name__ == "__main__":
    build(Path(sys.argv[1]))
