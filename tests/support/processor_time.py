"""Processor time of tests by folder, below the summary of a run.

The variable BENCHRUNNER_TEST_TIMES names a file for the time of each test.
"""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Mapping
from pathlib import Path

import pytest

BUDGETS = {
    "plugins/benchrunner_bert": 89,
    "plugins/benchrunner_transformers": 49,
    "tests/studies": 40,
    "tests/commands": 27,
    "tests/runs": 17,
    "tests/training": 14,
    "tests/meta": 17,
    "plugins/benchrunner_devices": 16,
    "plugins/benchrunner_share": 20,
    "plugins/benchrunner_squad": 14,
    "plugins/benchrunner_conll": 13,
    "tests/plugins": 16,
    "plugins/benchrunner_submit": 10,
    "plugins/benchrunner_methods": 13,
    "plugins/benchrunner_slurm": 5,
}
"""Folder -> budget in seconds of two cores of an AMD EPYC with AVX-512; the others together have 98.

A budget stands beside the time, and is only ever lowered; no test fails above it, since machines differ.
"""

_spent = defaultdict[str, float](float)
"""Test -> seconds of processor time, its fixtures, ended child processes and those of `forked.py` included."""
_last = [0.0]


def _now() -> float:
    forks = sys.modules.get("forked")
    return sum(os.times()[:4]) + (forks.spent() if forks else 0)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup() -> Generator[None, None, None]:
    """Start the clock of a test, in the process that runs it."""
    _last[0] = _now()
    yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note the time of a test's set-up, call or tear-down in its report, which goes to the process that prints."""
    report = yield
    now = _now()
    vars(report)["processor_time"], _last[0] = now - _last[0], now
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the times."""
    _spent[report.nodeid] += getattr(report, "processor_time", 0.0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the time of each folder, the longest first; a process of pytest-xdist knows its own tests only."""
    if hasattr(config, "workerinput"):
        return
    folders = defaultdict[str, float](float)
    for test, seconds in _spent.items():
        parts = Path(test.partition("::")[0]).parts
        folders["/".join(parts[: 2 if parts[0] == "tests" or parts[-2:-1] != ("tests",) else -2])] += seconds
    total = sum(folders.values())
    if total >= 1:
        terminalreporter.section("processor time by folder")
        for folder, seconds in _longest_first(folders).items():
            budget = f" (budget: {BUDGETS[folder]} s)" if folder in BUDGETS else ""
            terminalreporter.write_line(f"{seconds:8.1f} s  {folder}{budget}")
        terminalreporter.write_line(f"{total:8.1f} s  in all")
    if file := os.environ.get("BENCHRUNNER_TEST_TIMES"):
        Path(file).write_text(json.dumps(_longest_first(_spent), indent=1), encoding="utf-8")


def _longest_first(times: Mapping[str, float]) -> dict[str, float]:
    return dict(sorted(times.items(), key=lambda item: -item[1]))
