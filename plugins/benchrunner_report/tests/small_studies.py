"""Finished studies of a few backbones on a task of each kind, and drawings of charts."""

from __future__ import annotations

import re
from pathlib import Path

import finished_studies
from benchrunner.results import Grid, Result, Runner, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_report.drawings.chart import Chart
from benchrunner_report.pages import page_environment
from finished_studies import finish, task

NAMES = ("made/good", "made/poor")
KINDS = ("classify", "regress", "choose", "tag", "span")


def small(folder: Path, kinds: tuple[str, ...] = KINDS, names: tuple[str, ...] = NAMES) -> tuple[Result, Runner]:
    """Finish a study of some backbones on a task of each kind."""
    tasks = tuple(task(f"made/{kind}", kind) for kind in kinds)
    made = finished_studies.runner(folder, tasks, names)
    study = compared(names, tasks, Fitting(Grid({"lr": (3e-5, 2e-5)}), seeds=(0, 1, 2)))
    finish(study, made, dict(zip(names, (0.8, 0.5, 0.6), strict=False)))
    return run_study(study, made, keep_as="kept"), made


def draw(chart: Chart) -> list[str]:
    """Draw the panels of a chart."""
    drawn = page_environment("benchrunner_report").get_template("chart.html").module.drawn(chart)
    return re.findall("<svg.*?</svg>", drawn, flags=re.DOTALL)
