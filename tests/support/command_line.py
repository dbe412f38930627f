"""The command line of plugins that live in a test, on folders below the test's own."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner.command_line.main import main
from benchrunner.plugins.registry import Plugins
from inline import files, mood, pairs, plugins as inline_plugins


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

    def done(self, *words: str | Path) -> str:
        """Run a command that succeeds; return everything that it wrote."""
        code, written = self(*words)
        assert code == 0, written
        return written

    def json(self, *words: str | Path) -> Any:
        """Run a command that succeeds with --json; return the value that it printed."""
        return json.loads(self.done(*words, "--json"))

    def fitted(self) -> list[str]:
        """The ids of the runs that hold a model."""
        return sorted(path.name for path in self.runs.iterdir() if (path / "model" / "head.json").exists())


class Shell:
    """Runs commands of the inline plugins in one folder; standard output and standard error are kept apart."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.plugins = inline_plugins(register_tasks=[mood(), pairs()])
        files(1, folder / "data")

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run a command; return its exit code, standard output and standard error. No traceback is shown."""
        self._capsys.readouterr()
        try:
            code = main(words, plugins=self.plugins)
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        written = self._capsys.readouterr()
        assert "Traceback" not in written.err + written.out
        return code, written.out, written.err

    def done(self, *words: str) -> str:
        """Run a command that succeeds; return its standard output."""
        code, out, err = self(*words)
        assert code == 0, err
        return out

    def json(self, *words: str) -> Any:
        """Run a command that succeeds with --json; return the value that it printed."""
        return json.loads(self.done(*words, "--json"))

    def refused(self, *words: str) -> str:
        """Run a command that is not understood; return the error."""
        code, out, err = self(*words)
        assert (code, out) == (2, ""), (code, out, err)
        return err

    def folders(self) -> list[str]:
        """The options that name the data and the runs."""
        return ["--data", str(self.folder / "data"), "--runs", str(self.folder / "runs")]

    def run(self, *words: str) -> tuple[int, str, str]:
        """Run `run mood` without progress on the CPU."""
        return self("run", "mood", *self.folders(), "--quiet", "--device", "cpu", *words)

    def fitted(self, *words: str) -> str:
        """Fit the tiny backbone, or what the words ask for; return the id of the run."""
        chosen = words or ("--backbone", "words")
        shown = self.json("run", "mood", *self.folders(), "--quiet", "--device", "cpu", *chosen)
        return str(shown["cells"][0]["selected"])
