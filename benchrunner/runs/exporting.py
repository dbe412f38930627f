"""Export finished fits, and trainers' checkpoints, as checkpoints that other libraries load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner.errors import CheckpointError, RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.decoding import as_json
from benchrunner.io.files import write_folder_atomically
from benchrunner.io.output_places import check_is_text, check_place
from benchrunner.plugin_code import PluginCode, PluginFailure
from benchrunner.plugins.registry import Plugins
from benchrunner.problems.problem import Problem
from benchrunner.runs.answering import finished_fit
from benchrunner.runs.folder import find_run
from benchrunner.runs.references import saved
from benchrunner.runs.runner import Runner

if TYPE_CHECKING:
    from benchrunner.backbones.encoder import Encoder


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
    runner = runner.in_workspace(replace(runner.workspace, runs=folder.path.parent))
    fit = finished_fit(folder, runner)
    method, problem = runner.plugins.methods.find(fit.method), runner.plugins.tasks.find(fit.task).problem
    if not method.needs_backbone:
        raise RequestError(
            f"The fit {fit.id} cannot be exported: its method '{fit.method}' leaves no model. Export a fit of a method "
            "that trains one, such as 'finetune'."
        )
    if not method.exports:
        raise RequestError(
            f"The fit {fit.id} cannot be exported: no other library knows the head of its method '{fit.method}'. Fit "
            "with --method finetune."
        )
    if as_json(problem.identity()) != fit.problem:
        raise RequestError(
            f"The fit {fit.id} cannot be exported: the problem of {fit.task} changed since this fit was made. Repeat "
            "the command that made it, and export the new fit."
        )
    if (kind := problem.export_kind) is None or problem.owns_weights:
        why = "it has weights of its own" if problem.owns_weights else "its export_kind is None"
        raise RequestError(
            f"The fit {fit.id} cannot be exported: no other library has a head for problems of the kind "
            f"'{problem.name}' ({why}). A new fit can still start from it as run:{fit.id}."
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
    if fit.recipe.head_layer != "none":
        raise RequestError(
            f"The fit {fit.id} cannot be exported: its head has a dense layer, and heads that export writes have none. "
            "Fit with --head-layer none."
        )
    if (record := folder.record()) is not None:
        folder.check_model(record)
    backbone, _ = saved(folder, runner.plugins, runner.workspace)
    encoder = backbone.load(runner.workspace, seed=fit.seed)
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
