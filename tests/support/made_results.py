"""Results of comparisons that nothing was fitted for: every backbone has the same scores on every task."""

import itertools
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from benchrunner import Recipe, Score, Task, Term
from benchrunner.results import Fit, comparison, discover
from benchrunner.studies.cells import Candidate, CellResult, Figure, Fitting
from benchrunner.studies.result import Result
from benchrunner.studies.study_building import compared
from inline import REPORT, STATISTICS


def made_result(tasks: Sequence[Task], backbones: Sequence[str], *, best: float = 0.948, mean: float = 0.931) -> Result:
    """Make a result of three restarts."""
    figure = Figure(Score(best), Score(mean), 0.012, (mean, mean, mean), 100.0)
    terms: dict[str, list[Term]] = {}
    for task in tasks:
        pairs = itertools.product(task.named("dev"), task.metrics)
        terms[task.name] = [Term(task.name, split, metric.name) for split, metric in pairs]
    study, cells = compared(backbones, tasks, Fitting(seeds=(0, 1, 2))), []
    for asked in study.cells:
        fit = Fit(asked.task.name, asked.backbone, "finetune", Recipe(), 0, "data", {}, "revision", {})
        cell = replace(asked, candidates=(Candidate(fit.recipe, (fit,)),))
        cells.append(CellResult(cell, fit, fit.recipe, dict.fromkeys(terms[asked.task.name], figure), {}, {}))
    baseline = {term: Score(0.5) for listed in terms.values() for term in listed}
    return Result(study, tuple(cells), baseline)


def cells(line: str) -> list[str]:
    """Read the cells of a line of a rendered table."""
    return [cell.strip() for cell in line.replace("┃", "│").strip("│").split("│")]


def lines(renderable: object, width: int) -> list[str]:
    """Render a table for a terminal of so many columns, without colours; return its lines."""
    from rich.console import Console

    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(renderable)
    return [line.rstrip() for line in capture.get().splitlines()]


def said_below(result: Result, *kinds: str, shown: comparison.Shown | None = None) -> list[str]:
    """Return the lines below the table of a result that are facts of these kinds, by default all."""
    lines = []
    for fact in comparison.facts(result, shown=shown or comparison.Shown()):
        if not kinds or fact.kind in kinds:
            lines.append(fact.line)
    return lines


def written(form: str, result: Result, *arguments: Any, **options: Any) -> str:
    """Write the table of a result without a runner as `comparison.as_text` writes that of a study."""
    folder = SimpleNamespace(record=lambda: None)
    made: Any = SimpleNamespace(
        plugins=discover(extra=[REPORT, STATISTICS], installed=False), folder=lambda fit: folder
    )
    return comparison.as_text(form, replace(result, runner=made), *arguments, **options)
