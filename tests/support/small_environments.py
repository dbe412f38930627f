"""Virtual environments without our distributions, and with every other installed package."""

import os
import subprocess
import sysconfig
import venv
from pathlib import Path


class SmallEnvironment:
    """An environment in a folder, without our distributions and with all other packages of this environment."""

    def __init__(self, folder: Path) -> None:
        """Make the environment; nothing is copied or downloaded."""
        self.folder = folder
        venv.EnvBuilder(symlinks=True).create(folder / "venv")
        (packages,) = (folder / "venv").glob("lib/python*/site-packages")
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if "benchrunner" not in entry.name:
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
