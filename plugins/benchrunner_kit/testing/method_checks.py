"""Check that a method keeps its contract: seeds, model folders, rows in any order."""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchrunner import PluginError, Recipe, RequestError, Workspace
from benchrunner.engine import Backbone, BackboneFamily, Cache, Job, Method, Outcome, Parameter, Problem
from benchrunner_kit.testing.contract import Findings
from benchrunner_kit.testing.problem_checks import unlabelled
from benchrunner_kit.testing.samples import MOOD, Loaded, fit_job, sentences
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

    findings = Findings(f"the method '{getattr(method, 'name', type(method).__name__)}'")
    table = pa.table({name: list(values) for name, values in (columns or sentences(16)).items()})
    _check_description(method, recipe, findings)
    try:
        method.check(problem)
        method.check_recipe(recipe, problem)
    except RequestError as refusal:
        raise PluginError(
            f"{findings.name} refuses the rows of the check ({refusal}): give check_method a problem and columns that "
            "it learns."
        ) from None
    if findings.faults:
        findings.refuse()
    trial = _Trial(
        method, problem, table, backbone or TinyBackbone(), family or tiny_family(), recipe, folder, findings
    )
    with findings.step("to fit and to predict"):
        trial.run()
    findings.refuse()


def _check_description(method: Method, recipe: Recipe, findings: Findings) -> None:
    """Check the attributes that describe the method, with its parameters."""
    for name in ("name", "about"):
        if not isinstance(getattr(method, name, None), str) or not getattr(method, name).strip():
            findings.add(f"`{name}` must be a text: `benchrunner list methods` shows it")
    try:
        method.check_declared()
    except PluginError as fault:
        findings.add(str(fault))


def another(own: Parameter) -> Any:
    """Return a possible value of a parameter that is not the default; None if none is found."""
    start = own.default or 0
    others: tuple[Any, ...] = own.choices
    if not others and own.kind is bool:
        others = (not start,)
    elif not others and own.kind in (int, float):
        others = (own.kind(start + 1), own.kind(start - 1), own.kind(start / 2), own.kind((start + 1) / 2))
    elif not others:
        others = (own.kind(f"{start}x"),)
    for value in others:
        with contextlib.suppress(RequestError):
            if value != own.default:
                return own.checked(value, own.name)
    return None


def _other_values(method: Method, recipe: Recipe) -> Recipe:
    """Return the recipe with another value of each parameter of a method."""
    others = {f"{method.name}.{own.name}": another(own) for own in method.parameters}
    return recipe.changed(**{name: value for name, value in others.items() if value is not None})


@dataclass
class _Trial:
    """The fits of one check."""

    _method: Method
    _problem: Problem
    _table: pa.Table
    _backbone: Backbone
    _family: BackboneFamily
    _recipe: Recipe
    _folder: Path
    _findings: Findings
    _states_after: tuple[object, ...] = ()

    @property
    def _workspace(self) -> Workspace:
        return Workspace(self._folder / "runs", self._folder / "cache", self._folder / "data")

    def run(self) -> None:
        """Fit and compare predictions, until a fault makes the next comparison meaningless."""
        first = self._fitted("first", self._table)
        if first is None:
            return
        outputs = self._predict(first, self._table)
        if not self._check_outputs(outputs):
            return
        self._equal(
            outputs,
            self._predict(first, self._table),
            "predict gives other outputs in a second call: draw no "
            "random numbers when predicting, and switch dropout off with `.eval()`",
        )
        _disturb()
        second = self._fitted("second", self._table)
        if second is not None:
            self._equal(
                outputs,
                self._predict(second, self._table),
                "two fits with the same seed give other outputs: draw "
                "every random number from `job.fit.seed`, for example with `benchrunner.engine.randomness.generator`",
            )
        self._check_parameters()
        self._check_seeds(outputs)
        self._check_moved(first, outputs)
        self._check_rows(first, outputs)

    def _check_parameters(self) -> None:
        """Fit with other values of the parameters, which must be another fit for each of them."""
        usual = self._fit_of(self._recipe)
        for parameter in self._method.parameters:
            name = f"{self._method.name}.{parameter.name}"
            value = another(parameter)
            if value is not None and self._fit_of(self._recipe.changed(**{name: value})) == usual:
                self._findings.add(
                    f"the parameter '{parameter.name}' makes no difference to the fit's id, so that a fit with another "
                    "value would be read instead of run: leave `set_parameters` as it is in `Method`"
                )
        if self._method.parameters:
            with self._findings.step("to fit with other values of its parameters"):
                self._fitted("parameters", self._table, recipe=_other_values(self._method, self._recipe))

    def _fit_of(self, recipe: Recipe) -> str:
        """Return the id of a fit as the planner makes it."""
        planned = recipe.changed(parameters=self._method.set_parameters(recipe))
        home = self._folder / "identity"
        return fit_job(self._method, self._problem, self._table, None, self._workspace, home, planned).fit.id

    def _check_seeds(self, outputs: np.ndarray) -> None:
        """Compare fits with two seeds, if the method sets global random numbers to a fixed place."""
        _disturb()
        first = self._fitted("seed 0", self._table, seed=0)
        states = self._states_after
        _disturb()
        other = self._fitted("seed 1", self._table, seed=1)
        later = self._states_after
        is_fixed = any(state == after for state, after in zip(states, later, strict=True))
        if first is None or other is None:
            return
        if is_fixed and np.array_equal(outputs, self._predict(other, self._table)):
            self._findings.add(
                "fits with two seeds give the same outputs, since the method seeds random numbers itself: derive them "
                "from `job.fit.seed`, so that restarts differ"
            )

    def _fitted(self, name: str, table: pa.Table, *, seed: int = 0, recipe: Recipe | None = None) -> Job | None:
        """Run a fit; return the job that predicts with it, or None if the fit is not done."""
        home = self._folder / name
        encoder = self._backbone.load(self._workspace, seed=0) if self._method.needs_backbone else None
        weights = {} if encoder is None else {key: value.clone() for key, value in encoder.state_dict().items()}
        start = None if encoder is None else Loaded(encoder)
        job = fit_job(
            self._method, self._problem, table, start, self._workspace, home, recipe or self._recipe, seed=seed
        )
        job.model.parent.mkdir(parents=True, exist_ok=True)
        outcome = self._method.fit(job)
        self._states_after = _global_states()
        if not isinstance(outcome, Outcome):
            self._findings.add(f"fit gives {outcome!r}: return an `Outcome`")
            return None
        if outcome.status != "done":
            self._findings.add(f"a fit on {table.num_rows} rows ends as {outcome.status}: {outcome.reason}")
            return None
        if not job.model.is_dir() or not any(job.model.iterdir()):
            self._findings.add("fit writes nothing to `job.model`: write there what `predict` reads")
            return None
        if encoder is not None and not self._method.trains_encoder:
            changed = [key for key, value in encoder.state_dict().items() if not torch.equal(value, weights[key])]
            if changed:
                self._findings.add(
                    f"fit changes the weight '{changed[0]}' of the encoder, and `trains_encoder` is False: set it to "
                    "True, or train without gradients of the encoder"
                )
        return self._predicting(job, home / "read")

    def _predicting(self, job: Job, cache: Path) -> Job | None:
        """Return the job that predicts with a model folder, with the backbone that is read from it."""
        saved = self._family.find(str(job.model), self._workspace) if self._method.needs_backbone else None
        if saved is None and self._method.needs_backbone:
            self._findings.add(
                "the backbone's family finds no encoder in `job.model`: write it with `encoder.save(job.model)`, also "
                "if its weights are as they were"
            )
            return None
        return replace(job, train=None, backbone=saved, cache=Cache(cache))

    def _predict(self, job: Job, table: pa.Table) -> np.ndarray:
        return np.asarray(self._method.predict(job, table))

    def _check_outputs(self, outputs: np.ndarray) -> bool:
        """Check the number, the type and the values of outputs; return whether they can be compared."""
        expected = self._problem.output_count(self._table)
        if len(outputs) != expected:
            self._findings.add(
                f"predict gives {len(outputs)} outputs for {expected} raw outputs of the rows: give one each"
            )
            return False
        if not np.issubdtype(outputs.dtype, np.floating) or np.isnan(outputs).any() or (outputs == np.inf).any():
            self._findings.add(
                "predict gives outputs that are not finite numbers: give floats, as a head of the problem does"
            )
            return False
        answers = self._problem.decode(outputs, self._table, self._problem.decoding)
        if len(answers) != self._table.num_rows:
            self._findings.add("the problem cannot decode the outputs: give the raw outputs that its head would give")
            return False
        return True

    def _equal(self, expected: np.ndarray, found: np.ndarray, fault: str) -> bool:
        """Add the fault if two arrays of outputs are not the same bits."""
        if not np.array_equal(expected, found):
            self._findings.add(fault)
            return False
        return True

    def _check_moved(self, job: Job, outputs: np.ndarray) -> None:
        """Compare predictions after another fit of the same method object, and from a model folder that was moved."""
        label = self._problem.label_columns[0]
        place = self._table.column_names.index(label)
        backwards = list(reversed(range(self._table.num_rows)))
        turned = self._table.set_column(place, label, self._table.column(label).take(backwards))
        self._fitted("third", turned)
        if not self._equal(
            outputs,
            self._predict(job, self._table),
            "predict gives other outputs after the method has "
            "fitted other rows: keep what is learned in `job.model`, not in the object, which all fits share",
        ):
            return
        moved = self._folder / "moved" / "model"
        moved.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(job.model, moved)
        with self._findings.step("to predict with a model folder that was moved"):
            elsewhere = self._predicting(replace(job, model=moved), self._folder / "moved" / "read")
            if elsewhere is not None:
                self._equal(
                    outputs,
                    self._predict(elsewhere, self._table),
                    "predict gives other outputs with a model folder "
                    "that was moved: read from `job.model` only, and keep no absolute paths",
                )
        shutil.move(moved, job.model)

    def _check_rows(self, job: Job, outputs: np.ndarray) -> None:
        """Compare predictions for rows without labels, for rows in another order, and for rows one by one."""
        with self._findings.step("to predict rows without labels"):
            bare = self._predict(job, unlabelled(self._problem, self._table))
            self._equal(
                outputs, bare, "predict gives other outputs for the same rows without labels: read no labels there"
            )
        if self._problem.output_count(self._table) != self._table.num_rows:
            return
        order = list(reversed(range(self._table.num_rows)))
        with self._findings.step("to predict rows in another order"):
            turned = self._predict(job, self._table.take(order))
            if not np.allclose(turned, outputs[order], rtol=1e-3, atol=1e-4):
                self._findings.add(
                    "predict gives other outputs for the same rows in another order: give each row's outputs at its "
                    "place"
                )
        with self._findings.step("to predict a single row"):
            single = np.concatenate([self._predict(job, self._table.slice(row, 1)) for row in range(4)])
            if not np.allclose(single, outputs[:4], rtol=1e-3, atol=1e-4):
                self._findings.add(
                    "predict gives other outputs for rows one by one than for all together: let no row's outputs "
                    "depend on other rows"
                )


def _global_states() -> tuple[object, ...]:
    """Describe where the global random numbers of Python, numpy and torch are."""
    return random.getstate(), repr(np.random.get_state()), torch.get_rng_state().numpy().tobytes()


def _disturb() -> None:
    """Move the global random numbers on, which a method must not use."""
    random.random()
    np.random.random()
    torch.rand(1)
