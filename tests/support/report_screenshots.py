"""Make the screenshots of docs/report.md: `python tests/support/report_screenshots.py FOLDER`, with chromium installed.

Fits the demo's two backbones to five tasks of generated data in FOLDER, with two learning rates and three seeds (up to
half an hour on a core; finished fits are not fitted again), writes a report there, and photographs parts of it.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import browsers
from benchrunner import Demo, Grid, Result, Runner, Study, discover, run_study, write_report
from distributions import ROOT

TASKS = ("glue/rte", "glue/mnli", "glue/stsb", "conll/ner", "squad/2.0")
HIDDEN = {
    "report-results.png": "none",
    "report-rows.png": "#main > header, #results, .task, #cost, #how",
    "report-task.png": "#main > header, #results, .task:not([id$=conll-ner]), #rows, #cost, #how",
}
"""File -> selector of the parts of the page that the picture leaves out."""


def study(folder: Path) -> tuple[Result, Runner]:
    """Run the study on the demo's data in a folder."""
    plugins = discover()
    demo = Demo.plan(folder, plugins)
    if not (folder / "data").exists():
        demo.write_data()
    runner = Runner(plugins, demo.workspace, device="cpu")
    changes = {"epochs": 2, "batch_size": 16, "precision": "fp32"}
    tasks = tuple(plugins.tasks_of(TASKS))
    asked = Study(demo.study.backbones, tasks, Grid({"lr": (1e-3, 3e-4)}), seeds=(0, 1, 2), changes=changes)
    return run_study(asked, runner, show_progress=True), runner


def photograph(report: Path, folder: Path) -> None:
    """Write the pictures of a report."""
    page = report.read_text(encoding="utf-8")
    for name, left_out in HIDDEN.items():
        with tempfile.TemporaryDirectory() as home:
            copy = Path(home) / "page.html"
            style = f"{left_out} {{ display: none }} h2 {{ margin-top: 0 !important }}</style>"
            copy.write_text(page.replace("</style>", style), encoding="utf-8")
            words = ("--window-size=1280,860", "--hide-scrollbars", f"--screenshot={folder / name}")
            browsers.run(Path(home), *words, copy.as_uri())


if __name__ == "__main__":
    home = Path(sys.argv[1]).resolve()
    result, made = study(home)
    photograph(write_report(result, home / "report.html", made), ROOT / "docs" / "images")
