"""A report of 2,000 fits takes little time, memory and space."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import finished_studies
from benchrunner.results import Grid, compared, run_study
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import Fitting
from finished_studies import finish, task

KINDS = ("classify", "regress", "choose", "tag", "span", "classify")
NAMES = tuple(f"made/backbone-{number}" for number in range(4))
CODE = """
import re, sys, time
from pathlib import Path
import test_large_reports
from benchrunner.command_line.main import main
runner = test_large_reports.runner(Path(sys.argv[1]))
main(["report", "large", "--runs", str(runner.workspace.runs), "--out", sys.argv[2]], plugins=runner.plugins)
[peak] = re.findall(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())  # ru_maxrss has the parent's peak
print(time.process_time(), int(peak) / 1000)
"""


def runner(folder: Path) -> Runner:
    """Return a runner with twelve tasks of 200 rows and four backbones."""
    tasks = [task(f"made/task-{number}", kind, rows=200) for number, kind in enumerate(KINDS * 2)]
    return finished_studies.runner(folder, tasks, NAMES)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process's own peak of memory")
def test_a_report_of_two_thousand_fits_is_small_and_quick(tmp_path: Path) -> None:
    """12 tasks x 4 backbones x 8 learning rates x 5 restarts: 1,920 fits. No library for training is loaded."""
    made = runner(tmp_path)
    tasks = tuple(made.plugins.tasks.values())
    study = compared(
        NAMES, tasks, Fitting(Grid({"lr": tuple(number * 1e-5 for number in range(1, 9))}), seeds=(0, 1, 2, 3, 4))
    )
    finish(study, made, dict(zip(NAMES, (0.8, 0.75, 0.7, 0.72), strict=True)), steps=1000)
    run_study(study, made, keep_as="large")
    page, here = tmp_path / "large.html", Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parents[2] / "tests" / "support")])
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path), str(page)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, megabytes = map(float, done.stdout.split("\n")[-2].split())
    assert seconds < 10 and megabytes < 500, done.stdout
    assert page.stat().st_size < 3_000_000
