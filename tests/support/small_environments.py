"""Virtual environments with some of our distributions only, and every other installed package."""

import os
import re
import subprocess
import sysconfig
import venv
from collections.abc import Collection
from pathlib import Path

_OURS = re.compile(r"(?:__editable__[._]+)?(benchrunner(?:_[a-z][a-z0-9]*?)?)(?:[-_]\d+[._]\d.*)?")
"""Names of what an installation of our distributions leaves among the packages."""


class SmallEnvironment:
    """An environment in a folder that has the given distributions of ours, as this environment has them."""

    def __init__(self, folder: Path, distributions: Collection[str]) -> None:
        """Make the environment; nothing is copied or downloaded."""
        self.folder = folder
        venv.EnvBuilder(symlinks=True).create(folder / "venv")
        (packages,) = (folder / "venv").glob("lib/python*/site-packages")
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            ours = _OURS.fullmatch(entry.name)
            if ours is None or ours[1] in distributions:
                (packages / entry.name).symlink_to(entry)

    def __call__(self, *words: str | Path) -> tuple[int, str]:
        """Run a command of benchrunner in the folder; return its exit code and everything that it wrote."""
        inherited = {
            name: value for name, value in os.environ.items() if not name.startswith(("BENCHRUNNER", "PYTHON"))
        }
        done = subprocess.run(
            [self.folder / "venv" / "bin" / "python", "-m", "benchrunner", *words],
            cwd=self.folder,
            env={**inherited, "BENCHRUNNER_CACHE": str(self.folder / "cache"), "HF_HUB_OFFLINE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout
