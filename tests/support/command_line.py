"""The command line of plugins that live in a test, on folders below the test's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchrunner.commands.main import main
from benchrunner.plugins.registry import Plugins


class CommandLine:
    """Runs commands with data, runs and cache below a folder, as the environment's variables name them."""

    def __init__(
        self, folder: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        self.plugins, self.runs, self._capsys = plugins, folder / "runs", capsys
        for name in ("DATA", "RUNS", "CACHE"):
            monkeypatch.setenv(f"BENCHRUNNER_{name}", str(folder / name.lower()))

    def __call__(self, *words: str | Path) -> tuple[int, str]:
        """Run a command; return its exit code and everything that it wrote."""
        self._capsys.readouterr()
        code = main([*map(str, words)], plugins=self.plugins)
        written = self._capsys.readouterr()
        return code, written.out + written.err

    def fitted(self) -> list[str]:
        """The ids of the runs that hold a model."""
        return sorted(path.name for path in self.runs.iterdir() if (path / "model" / "head.json").exists())
