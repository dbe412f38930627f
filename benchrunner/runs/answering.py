"""Use finished fits: answers of one fit or of an ensemble, and checkpoints for other libraries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner.data.rows import Rows
from benchrunner.errors import CheckpointError, RequestError, described
from benchrunner.files import write_folder_atomically
from benchrunner.metrics import Score
from benchrunner.plugins.registry import Plugins
from benchrunner.runs import ensembles, fitted_backbone
from benchrunner.runs.ensembles import Ensemble
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.tasks.user_files import read_questions

if TYPE_CHECKING:
    from benchrunner.fits import Fit
    from benchrunner.runs.runner import Runner
    from benchrunner.tasks.task import Task


@dataclass(frozen=True)
class Answered:
    """Answers to some rows, by one fit or by an ensemble."""

    task: Task
    rows: Rows
    answers: list[Any]
    """One answer for each row, in their order."""
    extra_figures: Mapping[str, list[Any]]
    """What else can be said of each row: see `Problem.extra_figures`."""
    scores: Mapping[str, Score]
    """By metric; empty if the rows have no labels."""
    by: str
    """The id of the fit or of the ensemble."""


def answer(references: Sequence[str], path: Path | None, split: str | None, runner: Runner) -> Answered:
    """Answer a user's file, or a split of the task's data, with a finished fit or with several as an ensemble."""
    folders = [find_run(runner.workspace.runs, reference) for reference in references]
    homes = {folder.path.parent for folder in folders}
    if len(homes) > 1:
        raise RequestError("The members of an ensemble lie in one runs folder; these lie in several.")
    runner = runner.in_runs_folder(homes.pop()) if homes else runner
    fits = [_finished(folder, runner) for folder in folders]
    ensemble = Ensemble(tuple(fits))
    task = runner.plugins.task(ensemble.task)
    if path is not None:
        rows = read_questions(task, path, runner.workspace)
    else:
        rows = runner.rows(task, split or next(iter(task.named("dev")), task.train))
    outputs = ensembles.outputs(ensemble, rows, runner)
    settings = ensembles.settings(ensemble, runner)
    answers = task.problem.decode(outputs, rows.table, settings)
    extra_figures = task.problem.extra_figures(outputs, rows.table, settings)
    scores = task.scores(rows.table, answers, extra_figures)
    by = fits[0].id if len(fits) == 1 else ensemble.id
    return Answered(task, rows, answers, extra_figures, scores, by)


def export(reference: str, target: Path, runner: Runner) -> None:
    """Write a finished fit's encoder and head as one checkpoint in the backbone family's layout."""
    from safetensors.torch import load_file

    from benchrunner.backbones.encoder import ExportedHead

    if target.exists():
        raise RequestError(f"{target} exists already; name a folder that does not.")
    folder = find_run(runner.workspace.runs, reference)
    runner = runner.in_runs_folder(folder.path.parent)
    fit = _finished(folder, runner)
    if not runner.plugins.method(fit.method).needs_backbone:
        raise RequestError(f"The fit {fit.id} is of the method '{fit.method}', which leaves no model.")
    if not runner.plugins.method(fit.method).exports:
        raise RequestError(f"The fit {fit.id} is of the method '{fit.method}', whose head no other library knows.")
    problem = runner.plugins.task(fit.task).problem
    if json.loads(json.dumps(problem.identity())) != fit.problem:
        raise RequestError(f"The fit {fit.id} cannot be exported: the problem of {fit.task} changed since it was made.")
    if (kind := problem.export_kind) is None:
        raise RequestError(
            f"The fit {fit.id} cannot be exported: no other library has a head for problems of the kind "
            f"'{problem.name}' (its export_kind is None). A new fit can still start from it as run:{fit.id}."
        )
    encoder = fitted_backbone.saved(folder, runner.plugins, runner.workspace)[0].load(runner.workspace, seed=fit.seed)
    tensors = load_file(folder.model / "head.safetensors")
    weights = {name.removeprefix("output."): tensor for name, tensor in tensors.items()}
    head = ExportedHead(weights, kind, problem.head.reads_summary)
    write_folder_atomically(target, lambda part: encoder.save(part, head))


def convert(source: Path, target: Path, plugins: Plugins) -> None:
    """Convert a trainer's own checkpoint folder to the published layout of the first backbone family that knows it."""
    if target.exists():
        raise RequestError(f"{target} exists already; name a folder that does not.")
    refusals = list[RequestError]()
    for family in plugins.families:
        try:
            if family.convert(source, target):
                return
        except RequestError as refusal:  # another family may know it
            refusals.append(refusal)
        except Exception as error:  # a family may fail in any way
            supplier = plugins.supplier(family).name
            refusals.append(CheckpointError(f"The plugin '{supplier}' failed on {source}: {described(error)}."))
    if refusals:
        raise refusals[0]
    raise CheckpointError(
        f"{source} is neither a run (it has no fit.json) nor a training's checkpoint that a plugin knows. Export takes "
        "a run's id or folder, or a checkpoint folder as a trainer left it."
    )


def _finished(folder: RunFolder, runner: Runner) -> Fit:
    """Return the fit of a finished run. If its weights were not kept, it is fitted again."""
    record, fit = folder.record(), folder.fit()
    if record is None or record.status != "done":
        state = "it is not finished" if record is None else f"it {record.status}: {record.reason}"
        raise RequestError(f"The fit {folder.path.name} has no answers: {state}.")
    if not folder.model.exists():
        runner.run(fit, weights=True)
    return fit
