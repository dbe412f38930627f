"""Export finished fits as checkpoints that other libraries load."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import RequestError
from benchrunner.engine import Encoder, ExportedHead, Method, Problem, decoding, steps, write_folder_atomically
from benchrunner.results import find_run, output_places

if TYPE_CHECKING:
    from benchrunner.results import Fit, Runner

EXPORTED = {"features": "last", "summary": "pooler", "head_layer": "none"}
"""Recipe of heads that other libraries have."""


def export(source: str, target: Path, runner: Runner) -> None:
    """Write a checkpoint that other libraries load, into a folder that does not exist yet.

    `source` is the id of a finished fit, the beginning of the id, or its folder: its encoder and head are written in
    the backbone family's published layout.
    """
    if target.exists():
        raise RequestError(f"{target} exists already; name a folder that does not.")
    output_places.check_place(target, is_file=False)
    folder = find_run(runner.workspace.runs, source)
    runner = runner.in_workspace(replace(runner.workspace, runs=folder.path.parent))
    fit = runner.finished_fit(folder)
    method, problem = runner.plugins.methods.find(fit.method), runner.plugins.tasks.find(fit.task).problem
    kind = problem.export_kind
    refusal = _refusal(fit, method, problem)
    if kind is None or refusal:
        raise RequestError(f"The fit {fit.id} cannot be exported: {refusal}")
    with runner.locked(fit):
        job = runner.prediction_job(fit, folder)
    encoder = steps.load_fitted_encoder(job)
    learned = steps.learned_weights(folder.model)
    weights = {name.removeprefix("output."): weight for name, weight in learned.items()}
    if not method.trains_encoder:
        _check_frozen_head(fit, problem, encoder, has_bias="bias" in weights)
    head = ExportedHead(weights, kind, problem.head.reads_summary)
    write_folder_atomically(target, lambda part: encoder.save(part, head))


def _refusal(fit: Fit, method: Method, problem: Problem) -> str:
    """Say why no other library has a head like that of a fit, and what to do; empty if one may have."""
    if not method.needs_backbone:
        return (
            f"its method '{fit.method}' leaves no model. Export a fit of a method that trains one, such as 'finetune'."
        )
    if not method.exports:
        return f"no other library knows the head of its method '{fit.method}'. Fit with --method finetune."
    if decoding.as_json(problem.identity()) != fit.problem:
        return (
            f"the problem of {fit.task} changed since this fit was made. Repeat the command that made it, and export "
            "the new fit."
        )
    if problem.export_kind is None or problem.owns_weights:
        why = "it has weights of its own" if problem.owns_weights else "its export_kind is None"
        return (
            f"no other library has a head for problems of the kind '{problem.name}' ({why}). A new fit can still start "
            f"from it as run:{fit.id}."
        )
    options = []
    fields = method.fields_read(problem)
    for name, value in EXPORTED.items():
        if name in fields and getattr(fit.recipe, name) != value:
            options.append(f"{name.replace('_', '-')}={value}")
    for name in method.set_parameters(fit.recipe):
        own = method.parameter(name)
        if own.shapes_head:
            options.append(f"{name}={own.default}")
    if options:
        return (
            "heads of other libraries are linear layers over the encoder's own summary, not of a sentence-embedding "
            f"model, or over the states of the last layer, and its head is not. Fit with --set {' '.join(options)}."
        )
    return ""


def _check_frozen_head(fit: Fit, problem: Problem, encoder: Encoder, *, has_bias: bool) -> None:
    """Raise a `RequestError` if a head that was fitted to states as they are is not the backbone's published head."""
    if problem.head.reads_summary and has_bias and not encoder.summary_head_bias:
        reason = "it has a bias, and the published output layer of this backbone has none"
    elif problem.head.level == "token" and type(encoder).token_states is not Encoder.token_states:
        reason = "it reads the states of the last layer, and the published head of this backbone has a layer between"
    else:
        return
    raise RequestError(f"The head of the fit {fit.id} cannot be exported: {reason}. Use the method 'finetune'.")
