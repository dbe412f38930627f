"""Check that a method keeps its contract: seeds, model folders, rows in any order."""

from __future__ import annotations

import contextlib
import operator
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import torch

from benchrunner import PluginError, Recipe, RequestError, Workspace, guarded
from benchrunner.engine import Backbone, BackboneFamily, Cache, Job, Method, Outcome, Parameter, Problem
from benchrunner_kit.testing.contract import Faults, check_count, found, refuse
from benchrunner_kit.testing.problem_checks import other_values
from benchrunner_kit.testing.samples import MOOD, Loaded, fit_job, sentences, unlabelled
from benchrunner_kit.testing.tiny_encoder import TinyBackbone, tiny_family

if TYPE_CHECKING:
    import pyarrow as pa

QUICK = Recipe(lr=1e-3, epochs=2, batch_size=8, bilstm_width=16, features="last")
"""The recipe of the fits of a check."""


def check_method(
    method: Method,
    folder: Path,
    *,
    problem: Problem = MOOD,
    columns: Mapping[str, Sequence[object]] | None = None,
    backbone: Backbone | None = None,
    family: BackboneFamily | None = None,
    recipe: Recipe = QUICK,
) -> None:
    """Check that a method keeps its contract with small fits; raise a `PluginError` that lists every fault.

    The fits are written below `folder`; data that they read may lie in its folder `data`. They learn the `problem` from
    labelled rows, `columns`, with a `backbone` and its `family`: by default glad and sad sentences, and `TinyBackbone`.
    These are compared: two fits with one seed; a fit before and after another fit of the same method; a model folder
    before and after it is moved; rows one by one with all rows together; rows with labels and rows without them. Each
    parameter that the method declares must have a possible default and be part of a fit's id, and a fit with other
    values must be done.
    """
    import pyarrow as pa

    name = f"the method '{method.name}'"
    table = pa.table({column: list(values) for column, values in (columns or sentences(16)).items()})
    try:
        method.check(problem)
        method.check_recipe(recipe, problem)
    except RequestError as refusal:
        raise PluginError(
            f"{name} refuses the rows of the check ({refusal}): give check_method a problem and columns that it learns."
        ) from None
    trial = _Trial(method, problem, table, backbone or TinyBackbone(), family or tiny_family(), recipe, folder)
    refuse(name, found("fitting and predicting", _check_fits(trial)))


def another(own: Parameter) -> Any:
    """Return a possible value of a parameter that is not the default; None if none is found."""
    for value in own.choices or other_values(own.kind() if own.default is None else own.default):
        with contextlib.suppress(RequestError):
            checked = own.checked(own.kind(value), own.name)
            if checked != own.default:
                return checked
    return None


@final
@dataclass(frozen=True)
class _Trial:
    """What the fits of one check have in common."""

    method: Method
    problem: Problem
    table: pa.Table
    backbone: Backbone
    family: BackboneFamily
    recipe: Recipe
    folder: Path

    @property
    def workspace(self) -> Workspace:
        return Workspace(self.folder / "runs", self.folder / "cache", self.folder / "data")

    def fitted(self, name: str, *, seed: int = 0) -> Job:
        """Run a fit, and return the job that predicts with it; raise a `PluginError` if the fit is faulty."""
        home = self.folder / name
        encoder = self.backbone.load(self.workspace, seed=0)
        weights = {key: value.clone() for key, value in encoder.state_dict().items()}
        start = Loaded(encoder) if self.method.needs_backbone else None
        job = fit_job(self.method, self.problem, self.table, start, self.workspace, home, self.recipe, seed=seed)
        home.mkdir(parents=True, exist_ok=True)
        outcome = self.method.fit(job)
        if not isinstance(outcome, Outcome):
            raise PluginError(f"fit gives {outcome!r}: return an `Outcome`")
        if outcome.status != "done":
            raise PluginError(f"a fit on {len(self.table)} rows ends as {outcome.status}: {outcome.reason}")
        if not job.model.is_dir() or not any(job.model.iterdir()):
            raise PluginError("fit writes nothing to `job.model`: write there what `predict` reads")
        for key, value in encoder.state_dict().items():
            if not self.method.trains_encoder and not torch.equal(value, weights[key]):
                raise PluginError(
                    f"fit changes the weight '{key}' of the encoder, and `trains_encoder` is False: set it to True, or "
                    "train without gradients of the encoder"
                )
        return self.predicting(replace(job, train=None, cache=Cache(home / "read")))

    def predicting(self, job: Job) -> Job:
        """Return the job that predicts with the backbone that is read from the folder of the model."""
        if not self.method.needs_backbone:
            return job
        saved = self.family.find(str(job.model), self.workspace)
        if saved is None:
            raise PluginError(
                "the backbone's family finds no encoder in `job.model`: write it with `encoder.save(job.model)`, also "
                "if its weights are as they were"
            )
        return replace(job, backbone=saved)

    def predicted(self, job: Job, table: pa.Table | None = None) -> np.ndarray:
        """Predict the rows of a table, by default those that were learned."""
        return np.asarray(self.method.predict(job, self.table if table is None else table))


def _check_fits(trial: _Trial) -> Faults:
    """Fit and compare predictions."""
    if not trial.method.about.strip():
        yield "`about` is empty: `benchrunner list methods` shows it"
    problem = trial.problem
    first = trial.fitted("first")
    outputs = trial.predicted(first)
    check_count("predict", outputs, problem.output_count(trial.table), "raw outputs")
    are_floats = np.issubdtype(outputs.dtype, np.floating)
    if not are_floats or np.isnan(outputs).any() or (outputs == np.inf).any():
        raise PluginError("predict gives outputs that are not finite numbers: give floats, as a head does")
    check_count(
        "decode of the outputs", problem.decode(outputs, trial.table, problem.decoding), len(trial.table), "rows"
    )
    if not np.array_equal(outputs, trial.predicted(first)):
        yield "predict gives other outputs in a second call: draw no random numbers, and call `.eval()`"
    _disturb()
    second = trial.fitted("second")
    places = _global_states()
    if not np.array_equal(outputs, trial.predicted(second)):
        yield (
            "two fits with the same seed give other outputs: draw every random number from `job.fit.seed`, for example "
            "with `benchrunner.engine.randomness.generator`"
        )
    _disturb()
    other = trial.fitted("another seed", seed=1)
    is_fixed = any(map(operator.eq, places, _global_states()))
    if is_fixed and np.array_equal(outputs, trial.predicted(other)):
        yield (
            "fits with two seeds give the same outputs, since the method seeds random numbers itself: derive them from "
            "`job.fit.seed`, so that restarts differ"
        )
    yield from found("fitting with other values of its parameters", _check_parameters(trial))
    yield from found("predicting after another fit", _check_moved(trial, first, outputs))
    yield from found("predicting other rows", _check_rows(trial, first, outputs))


def _check_parameters(trial: _Trial) -> Faults:
    """Fit with other values of the parameters, each of which must make another fit."""
    method, recipe = trial.method, trial.recipe
    others = {f"{method.name}.{own.name}": another(own) for own in method.parameters}
    possible = {name: value for name, value in others.items() if value is not None}
    for name, value in possible.items():
        if method.set_parameters(recipe.changed(**{name: value})) == method.set_parameters(recipe):
            yield (
                f"the parameter '{name}' makes no difference to the fit's id, so that a fit with another value would "
                "be read instead of run: leave `set_parameters` as it is in `Method`"
            )
    if possible:
        replace(trial, recipe=recipe.changed(**possible)).fitted("parameters")


def _check_moved(trial: _Trial, job: Job, outputs: np.ndarray) -> Faults:
    """Check that predictions stay the same after the method fitted other rows, and from a moved model folder."""
    label = trial.problem.label_columns[0]
    table = trial.table
    place = table.column_names.index(label)
    turned = table.set_column(place, label, table.column(label).take(_backwards(table)))
    replace(trial, table=turned).fitted("third")
    if not np.array_equal(outputs, trial.predicted(job)):
        raise PluginError(
            "predict gives other outputs after the method has fitted other rows: keep what is learned in `job.model`, "
            "not in the object, which all fits share"
        )
    moved = trial.folder / "moved" / "model"
    moved.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(job.model, moved)
    try:
        with guarded("predicting with a model folder that was moved"):
            there = replace(job, model=moved, cache=Cache(moved.parent / "read"))
            elsewhere = trial.predicted(trial.predicting(there))
    finally:
        shutil.move(moved, job.model)
    if not np.array_equal(outputs, elsewhere):
        yield (
            "predict gives other outputs with a model folder that was moved: read from `job.model` only, and keep no "
            "absolute paths"
        )


def _check_rows(trial: _Trial, job: Job, outputs: np.ndarray) -> Faults:
    """Compare predictions for rows without labels, for rows in another order, and for rows one by one."""
    table = trial.table
    with guarded("predicting rows without labels"):
        bare = trial.predicted(job, unlabelled(trial.problem, table))
    if not np.array_equal(outputs, bare):
        yield "predict gives other outputs for the same rows without labels: read no labels there"
    if len(outputs) != len(table):
        return
    backwards = _backwards(table)
    turned = trial.predicted(job, table.take(backwards))
    if not np.allclose(turned, outputs[backwards], rtol=1e-3, atol=1e-4):
        yield "predict gives other outputs for the same rows in another order: give each row's outputs at its place"
    with guarded("predicting a single row"):
        single = np.concatenate([trial.predicted(job, table.slice(row, 1)) for row in range(4)])
    if not np.allclose(single, outputs[:4], rtol=1e-3, atol=1e-4):
        yield "predict gives other outputs for rows one by one than for all together: let no row depend on other rows"


def _backwards(table: pa.Table) -> list[int]:
    return list(reversed(range(len(table))))


def _global_states() -> tuple[object, ...]:
    """Describe where the global random numbers of Python, numpy and torch are."""
    return random.getstate(), repr(np.random.get_state()), torch.get_rng_state().numpy().tobytes()


def _disturb() -> None:
    """Move the global random numbers on, which a method must not use."""
    random.random()
    np.random.random()
    torch.rand(1)
