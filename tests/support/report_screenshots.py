"""Make the screenshots of docs/report.md: `python tests/support/report_screenshots.py FOLDER`, with chromium installed.

Fits three small backbones to four tasks of the demo's data in FOLDER, with three seeds (some five minutes on a
core; finished fits are not fitted again), writes a report there, and photographs parts of it.

With a report, `.../report_screenshots.py mine.html`, photographs the results of this report.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from shutil import unpack_archive

import browsers
from benchrunner.fits.computing import Computing
from benchrunner.results import Result, Runner, compared, discover, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_kit.demo import Demo
from benchrunner_kit.demo_command import TALES
from benchrunner_report.rendering import write_report
from distributions import ROOT

BACKBONES = ("bert/novels", "bert/random-4/192", "bert/random-tiny")
TASKS = ("glue/stsb", "conll/ner", "squad/1.1")
HIDDEN = {
    "report-results.png": "none",
    "report-rows.png": "#main > header, #results, #tasks, #cost, #how",
    "report-task.png": "#main > header, #results, #tasks > h2, .task:not([id$=conll-ner]), #rows, #cost, #how",
}
"""File -> selector of the parts of the page that the picture leaves out."""


def study(folder: Path) -> tuple[Result, Runner]:
    """Run the study on the demo's data in a folder."""
    plugins = discover()
    demo = Demo.of(folder, plugins)
    demo.write_data(plugins.tasks_of(TASKS))
    unpack_archive(TALES, folder / "data")
    tasks = tuple(plugins.tasks_of((*TASKS, str(folder / "data" / "order.toml"))))
    runner = Runner(plugins, demo.workspace, Computing("cpu"))
    changes = {"epochs": 3, "batch_size": 16, "lr": 1e-3, "max_length": 64, "precision": "fp32"}
    asked = compared(BACKBONES, tasks, Fitting(seeds=(0, 1, 2), changes=changes))
    return run_study(asked, runner, show_progress=True, keep_as="three-small-backbones"), runner


def photograph(report: Path, pictures: Mapping[str, str], folder: Path) -> None:
    """Write pictures of a report. `pictures` are file names with the parts of the page that they leave out."""
    page = report.read_text(encoding="utf-8")
    for name, left_out in pictures.items():
        with tempfile.TemporaryDirectory() as home:
            copy = Path(home) / "page.html"
            style = f"{left_out} {{ display: none }} h2, .task h3 {{ margin-top: 0 !important }}</style>"
            copy.write_text(page.replace("</style>", style), encoding="utf-8")
            words = ("--window-size=1280,860", "--hide-scrollbars", f"--screenshot={folder / name}")
            browsers.run(Path(home), *words, copy.as_uri())


if __name__ == "__main__":
    place, images = Path(sys.argv[1]).resolve(), ROOT / "docs" / "images"
    if place.is_file():
        photograph(place, {f"{place.stem}.png": HIDDEN["report-results.png"]}, images)
    else:
        result, made = study(place)
        photograph(write_report(result, place / "report.html", made), HIDDEN, images)
