"""Note which lines of the core each test executes, in the process of pytest and in the processes that a test starts."""

from __future__ import annotations

import atexit
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

PACKAGE, NOTES = "MUTATION_PACKAGE", "MUTATION_NOTES"
"""Environment variables: the folder whose lines are noted, and the file for notes."""

Executed = dict[str, set[int]]
"""File below the package -> numbers of executed lines."""


class Lines:
    """The lines of the core that this process executes."""

    def __init__(self) -> None:
        self._package = Path(os.environ[PACKAGE])
        self._coverage = coverage.Coverage(
            data_file=None, config_file=False, include=[f"{self._package}/*"], messages=False
        )
        self._coverage.set_option("run:disable_warnings", ["no-data-collected", "module-not-measured", "no-sysmon"])
        self._coverage.start()

    def take(self) -> Executed:
        """Return the lines that were executed since the last call."""
        self._coverage.stop()
        data = self._coverage.get_data()
        executed: Executed = {}
        for file in data.measured_files():
            executed[str(Path(file).relative_to(self._package.parent))] = set(data.lines(file) or ())
        self._coverage.erase()
        self._coverage.start()
        return executed


class Recorder:
    """Plugin of pytest that writes a note for each test: its lines, its seconds and whether it passed."""

    def __init__(self) -> None:
        self._lines = Lines()
        self._own: Executed = {}
        self._shared: dict[str, Executed] = {}
        """Name of a fixture for several tests -> lines of its set-up, which are lines of all these tests."""
        self._passed = True

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        if fixturedef.scope == "function":
            return (yield)
        _add(self._own, self._lines.take())
        result = yield
        self._shared[fixturedef.argname] = self._lines.take()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self._own, self._passed = {}, True
        self._lines.take()
        started = time.monotonic()
        result = yield
        _add(self._own, self._lines.take())
        for name in item.fixturenames:
            _add(self._own, self._shared.get(name, {}))
        _note(item.nodeid, self._own, seconds=time.monotonic() - started, passed=self._passed)
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._passed &= report.outcome == "passed"


def note_at_exit() -> None:
    """Note the lines of this process for the test that started it."""
    lines = Lines()

    def note() -> None:
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
        if test:
            _note(test, lines.take())

    atexit.register(note)


def _add(executed: Executed, more: Executed) -> None:
    for file, lines in more.items():
        executed[file] = executed.get(file, set()) | lines


def _note(test: str, executed: Executed, **more: Any) -> None:
    lines = {file: sorted(numbers) for file, numbers in executed.items()}
    with Path(os.environ[NOTES]).open("a", encoding="utf-8") as notes:
        notes.write(json.dumps({"test": test, "lines": lines, **more}) + "\n")
