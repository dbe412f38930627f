"""Use finished fits: answer rows, alone or together, write board files, export a checkpoint for other libraries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner.data.rows import Rows
from benchrunner.errors import CheckpointError, RequestError
from benchrunner.io.files import write_atomically, write_folder_atomically
from benchrunner.io.output_places import check_is_text, check_place
from benchrunner.leaderboards.file_kinds.file_kind import Answers
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.leaderboards.writing import file_content
from benchrunner.metrics import Score
from benchrunner.metrics.ranking import PROBABILITIES
from benchrunner.plugin_code import PluginCode, PluginFailure
from benchrunner.plugins.registry import Plugins
from benchrunner.runs import ensembles, fitted_backbone
from benchrunner.runs.ensembles import Ensemble
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.tasks.user_files import read_questions

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder
    from benchrunner.fits.fit import Fit
    from benchrunner.problems.problem import Problem
    from benchrunner.runs.runner import Runner
    from benchrunner.tasks.task import Task


@final
@dataclass(frozen=True)
class Answered:
    """Answers of one finished fit, or of several together, to some rows."""

    task: Task
    rows: Rows
    answers: list[Any]
    """One answer for each row, in their order."""
    extra_figures: Mapping[str, list[Any]]
    """Further figures of each row: see `Problem.extra_figures`."""
    scores: Mapping[str, Score]
    """Metric -> score; empty if the rows are not labelled."""
    by: str
    """Id of the fit or of the ensemble."""

    def check_probabilities(self) -> None:
        """Raise a `RequestError` if the task's problem gives no probabilities."""
        if PROBABILITIES not in self.extra_figures:
            kind = self.task.problem.name
            raise RequestError(f"{self.task.name} has no probabilities: it is a problem of the kind '{kind}'.")

    @property
    def probabilities(self) -> list[Any]:
        """For each row a table of label -> probability, or a list where the answers are no labels."""
        labels = getattr(self.task.problem, "labels", None)
        rows = [[round(float(figure), 6) for figure in row] for row in self.extra_figures[PROBABILITIES]]
        return [dict(zip(labels, row, strict=True)) for row in rows] if labels else list(rows)

    def as_json(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Return the answers and their scores as JSON values, with probabilities on request."""
        return {
            **({PROBABILITIES: self.probabilities} if probabilities else {}),
            "task": self.task.name,
            "by": self.by,
            "data": self.rows.origin,
            "rows": len(self.rows),
            "scores": self.scores,
            "answers": self.answers,
            "notes": self.rows.notes,
        }

    def as_text(self, *, probabilities: bool = False) -> str:
        """Write the answers as lines `index<TAB>prediction` below that header: the file that `score_file` reads.

        With `probabilities`, a third column holds those of each row as JSON.
        """
        lines = [f"{index}\t{self.task.problem.spell(value)}" for index, value in enumerate(self.answers)]
        lines.insert(0, "index\tprediction")
        if probabilities:
            figures = [PROBABILITIES, *(json.dumps(row, ensure_ascii=False) for row in self.probabilities)]
            lines = [f"{line}\t{figure}" for line, figure in zip(lines, figures, strict=True)]
        return "".join(f"{line}\n" for line in lines)


def answer(
    references: Sequence[str], runner: Runner, *, file: Path | None = None, split: str | None = None
) -> Answered:
    """Answer a user's file, or a split of the task's data, with finished fits of one task.

    `references` are ids of fits, beginnings of ids, or folders of fits; several fits answer together. The file is in
    the layout of the task's own files, labelled or not. Without file and split, the first dev split is answered.
    """
    if file is not None and split is not None:
        raise RequestError("Give either a file or a split of the task's own data, not both.")
    folders = [find_run(runner.workspace.runs, reference) for reference in references]
    homes = {folder.path.parent for folder in folders}
    if len(homes) > 1:
        raise RequestError("The members of an ensemble must be in one runs folder; these are in several.")
    runner = runner.in_runs_folder(homes.pop()) if homes else runner
    fits = [_finished(folder, runner) for folder in folders]
    ensemble = Ensemble(tuple(fits))
    task = runner.plugins.tasks.find(ensemble.task)
    if file is not None:
        rows = read_questions(task, file, runner.workspace)
    else:
        rows = runner.rows(task, split or next(iter(task.named("dev")), task.train))
    return answer_together(ensemble, task, rows, runner)


def answer_together(ensemble: Ensemble, task: Task, rows: Rows, runner: Runner) -> Answered:
    """Answer rows with finished fits; weights are needed only for rows that the fits have not answered before."""
    outputs = ensembles.outputs(ensemble, rows, runner)
    settings = ensembles.settings(ensemble, runner)
    answers = task.problem.decode(outputs, rows.table, settings)
    extra_figures = task.problem.extra_figures(outputs, rows.table, settings)
    scores = task.scores(rows.table, answers, extra_figures)
    by = ensemble.members[0].id if len(ensemble.members) == 1 else ensemble.id
    return Answered(task, rows, answers, extra_figures, scores, by)


def write_board_files(answered: Answered, board: Leaderboard, folder: Path) -> list[Path]:
    """Write the leaderboard's files of the task with these answers, whatever the number of rows; return their paths."""
    files = board.with_tasks([answered.task.name]).files_of(answered.task.name)
    if not files:
        raise RequestError(f"{board.name} takes no answers to {answered.task.name}.")
    given = Answers(answered.answers, table=answered.rows.table, extra_figures=answered.extra_figures, fit=answered.by)
    contents = {}
    for file in files:
        if absent := [name for name in file.kind.row_columns if name not in answered.rows.table.column_names]:
            raise RequestError(
                f"{file.name} has {', '.join(absent)} beside the answers, which is not read from a file of your own: "
                f"give the data as --data DIR and --split {file.split}, where {answered.task.name} has its own files."
            )
        contents[folder / file.name] = file_content(file, given, len(answered.rows))
    for path, content in contents.items():
        write_atomically(path, partial(Path.write_bytes, data=content))
    return list(contents)


def export(source: str, target: Path, runner: Runner) -> None:
    """Write a checkpoint that other libraries load, into a folder that does not exist yet.

    `source` is the id of a finished fit, the beginning of the id, or its folder: its encoder and head are written in
    the backbone family's published layout. Or `source` is a checkpoint folder as a trainer left it, and is converted.
    """
    check_is_text(target)
    if target.exists():
        raise RequestError(f"{target} exists already; name a folder that does not.")
    check_place(target, is_file=False)
    if is_checkpoint_folder(source):
        _convert(Path(source), target, runner.plugins)
    else:
        _export_fit(source, target, runner)


def is_checkpoint_folder(source: str) -> bool:
    """Return whether the source of an export is a folder with a trainer's checkpoint, not the folder of a fit."""
    return bool(source) and Path(source).is_dir() and not (Path(source) / "fit.json").is_file()


def _export_fit(reference: str, target: Path, runner: Runner) -> None:
    from safetensors.torch import load_file

    from benchrunner.backbones.encoder import ExportedHead
    from benchrunner.backbones.finite_numbers import check_weights

    folder = find_run(runner.workspace.runs, reference)
    runner = runner.in_runs_folder(folder.path.parent)
    fit = _finished(folder, runner)
    method, problem = runner.plugins.methods.find(fit.method), runner.plugins.tasks.find(fit.task).problem
    if not method.needs_backbone:
        raise RequestError(f"The fit {fit.id} is of the method '{fit.method}', which leaves no model.")
    if not method.exports:
        raise RequestError(f"The fit {fit.id} is of the method '{fit.method}', whose head no other library knows.")
    if json.loads(json.dumps(problem.identity())) != fit.problem:
        raise RequestError(f"The fit {fit.id} cannot be exported: the problem of {fit.task} changed since it was made.")
    if (kind := problem.export_kind) is None:
        raise RequestError(
            f"The fit {fit.id} cannot be exported: no other library has a head for problems of the kind "
            f"'{problem.name}' (its export_kind is None). A new fit can still start from it as run:{fit.id}."
        )
    if "features" in method.recipe_fields and fit.recipe.features != "last":
        raise RequestError(
            f"The fit {fit.id} cannot be exported: its head reads the layers '{fit.recipe.features}', and heads of "
            "other libraries read the last layer. Fit with --features last."
        )
    if problem.head.reads_summary and fit.recipe.summary != "pooler":
        raise RequestError(
            f"The fit {fit.id} cannot be exported: its head reads the summary '{fit.recipe.summary}', and heads of "
            "other libraries read the encoder's own summary. Fit with --summary pooler."
        )
    if (record := folder.record()) is not None:
        folder.check_model(record)
    encoder = fitted_backbone.saved(folder, runner.plugins, runner.workspace)[0].load(runner.workspace, seed=fit.seed)
    tensors = load_file(folder.model / "head.safetensors")
    check_weights((*encoder.named_parameters(), *tensors.items()), f"The weights in {folder.model}")
    weights = {name.removeprefix("output."): tensor for name, tensor in tensors.items()}
    if not method.trains_encoder:
        _check_frozen_head(fit, problem, encoder, has_bias="bias" in weights)
    head = ExportedHead(weights, kind, problem.head.reads_summary)
    write_folder_atomically(target, lambda part: encoder.save(part, head))


def _check_frozen_head(fit: Fit, problem: Problem, encoder: Encoder, *, has_bias: bool) -> None:
    """Raise a `RequestError` if a head that was fitted to states as they are is not the backbone's published head."""
    from benchrunner.backbones.encoder import Encoder

    if problem.head.reads_summary and has_bias and not encoder.summary_head_bias:
        reason = "it has a bias, and the published output layer of this backbone has none"
    elif problem.head.level == "token" and type(encoder).token_states is not Encoder.token_states:
        reason = "it reads the states of the last layer, and the published head of this backbone has a layer between"
    else:
        return
    raise RequestError(f"The head of the fit {fit.id} cannot be exported: {reason}. Use the method 'finetune'.")


def _convert(source: Path, target: Path, plugins: Plugins) -> None:
    """Write a trainer's checkpoint folder in the published layout of the first backbone family that knows it."""
    refusals = list[RequestError]()
    for family in plugins.families:
        try:
            with PluginCode():
                if family.convert(source, target):
                    return
        except RequestError as refusal:  # another family may know the folder
            refusals.append(refusal)
        except PluginFailure as failure:  # a family may fail in any way
            supplier = plugins.supplier(family).name
            refusals.append(CheckpointError(f"The plugin '{supplier}' failed on {source}: {failure}."))
    if refusals:
        raise refusals[0]
    raise CheckpointError(
        f"{source} is neither a finished fit (it has no fit.json) nor a trainer's checkpoint that a plugin knows. "
        "Export takes a fit's id or folder, or a checkpoint folder as a trainer left it."
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
