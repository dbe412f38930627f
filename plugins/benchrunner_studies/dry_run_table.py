"""Dry runs as tables with notes, and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

from benchrunner.results import cells, command_line, comparison
from benchrunner_studies.dry_run import DryRun


def _command_table(plan: DryRun) -> comparison.Layout:
    """Lay out the commands as rows."""
    lines = []
    for command in plan.commands:
        estimate = command.estimate
        left = estimate.left or "nothing"
        flops = cells.ABSENT if estimate.flops is None else f"{estimate.flops:.2g}"
        lines.append(comparison.Line((command.system, left, flops, _duration(estimate.seconds))))
    headers = ("system", "left to do", "FLOPs", "time")
    return comparison.Layout(headers, (False, False, True, True), tuple(lines), "commands, in this order")


def _fit_table(plan: DryRun) -> comparison.Layout:
    """Lay out the fits as rows: which systems and columns need them, and how many are finished."""
    lines = []
    for line in plan.lines:
        names = (", ".join(line.systems), ", ".join(line.columns), line.fits[0].task, line.fits[0].method)
        to_run = "?" if line.problem else str(line.to_run)
        lines.append(comparison.Line((*names, str(len(line.fits)), to_run, f"{line.rows:,}")))
    headers = ("system", "column", "task", "method", "fits", "to run", "rows x epochs left")
    return comparison.Layout(headers, (False,) * 4 + (True,) * 3, tuple(lines), "fits")


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return cells.ABSENT
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def notes(plan: DryRun) -> Iterator[str]:
    """Yield what the tables cannot show: the commands themselves, problems, totals, and the basis of estimates."""
    if plan.about:
        yield " ".join(plan.about.split())
    for number, command in enumerate(plan.commands, start=1):
        yield f"command {number}: benchrunner {shlex.join(command.words)}"
    for name, problem in plan.problems.items():
        yield f"{name} cannot be computed: {problem}"
    reasons: dict[str, list[str]] = {}
    for line in plan.lines:
        if line.problem:
            reasons.setdefault(line.problem, []).extend(line.systems)
    for problem, systems in reasons.items():
        yield f"{', '.join(dict.fromkeys(systems))}: {problem}"
    rows = sum(fit.rows for fit in plan.fits if not fit.is_finished)
    yield (
        f"in all: {len(plan.fits)} different fit(s), of which {len(plan.fits) - plan.to_run} are known to be finished; "
        f"{plan.to_run} to run, which read {rows:,} rows"
    )
    trainings = sum(fit.folds for fit in plan.fits if not fit.is_finished)
    if trainings > plan.to_run:
        yield f"these fits are {trainings} trainings, because a cross-validated fit has one for each fold"
    yield from _lengths(plan)
    most = len(plan.fits) + sum(line.added for line in plan.lines)
    if most > len(plan.fits):
        yield f"restarts are added until clear: {len(plan.fits)} fits at least, {most} at most"
    yield from _estimate(plan)
    yield "rows x epochs are training rows over the grid points and restarts that are not finished"
    yield "nothing was run, and no hub was asked"


def _lengths(plan: DryRun) -> Iterator[str]:
    """Yield that trainings of several lengths could be one, and that some may be left out."""
    goes_on = any(fit.goes_on for fit in plan.fits)
    if not goes_on and len({fit.recipe.epochs for line in plan.lines for fit in line.fits if len(line.fits) > 1}) > 1:
        yield (
            "each number of epochs is a training of its own; one training would give all of them with --set "
            "schedule=constant, inverse-sqrt or trapezoid and warmup as a number of steps"
        )
    if any(line.is_searched for line in plan.lines):
        yield "these are the most fits: a search leaves grid points out that are not good enough on dev"


def _estimate(plan: DryRun) -> Iterator[str]:
    """Yield how long the fits will take, by finished fits like them."""
    known = plan.known_seconds
    if known:
        missing = f"; no estimate for {plan.to_run - len(known)} of them" if len(known) < plan.to_run else ""
        yield (
            f"time: about {_duration(sum(known))} if the fits run one after another, by finished fits of these "
            f"backbones on such a device, without predictions{missing}"
        )
    elif plan.to_run:
        yield "time: no estimate, because no fit of these backbones with these methods is finished on such a device"


def as_json(plan: DryRun) -> dict[str, Any]:
    """Return the plan as JSON values."""
    return {
        "title": plan.title,
        "commands": plan.commands,
        "fits": [
            {
                "systems": line.systems,
                "columns": line.columns,
                "backbone": line.fits[0].backbone,
                "task": line.fits[0].task,
                "method": line.fits[0].method,
                "fits": len(line.fits),
                "finished": line.finished,
                "rows": line.rows,
                "to_run": line.to_run,
                "added_at_most": line.added,
                "problem": line.problem or None,
            }
            for line in plan.lines
        ],
        "problems": plan.problems,
        "to_run": plan.to_run,
        "seconds": sum(plan.known_seconds) if plan.known_seconds or not plan.to_run else None,
        "without_estimate": plan.to_run - len(plan.known_seconds),
        "notes": list(notes(plan)),
    }


def print_plan(plan: DryRun, *, is_json: bool) -> None:
    """Print what a study would run."""
    output = command_line.output
    if is_json:
        output.print_json(as_json(plan))
        return
    if plan.commands:
        output.print_table(_command_table(plan), (), title=plan.title)
    output.print_table(_fit_table(plan), notes(plan), title="" if plan.commands else plan.title)
