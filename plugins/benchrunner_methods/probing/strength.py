"""The strength of a probe's penalty, chosen by cross-validation inside the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import numpy as np

from benchrunner.engine import randomness
from benchrunner.results import Event
from benchrunner_methods.probing.linear import Scaling
from benchrunner_methods.probing.samples import samples

if TYPE_CHECKING:
    from benchrunner.engine import Job
    from benchrunner_methods.probing.linear import Layer
    from benchrunner_methods.probing.samples import Samples, Vectors

PENALTIES = (1e5, 1e4, 1e3, 1e2, 1e1, 1.0, 0.1)
"""Strengths to choose from, the strongest first: `alpha` of a ridge regression, 1 / `C` of a logistic regression, for
inputs with the standard deviation 1."""
LONE_PENALTY = 1e3
"""Penalty of a probe with a single training row."""
FOLDS = 5
CHOOSING_SAMPLES = 10_000
"""Most samples for choosing the penalty; the model itself is fitted to all samples."""
PATIENCE = 2
"""Number of weaker penalties in a row that must be worse than the best before the search stops. The loss has a single
minimum but for noise, and fits with weak penalties are the slowest."""


@final
@dataclass(frozen=True)
class Fitted:
    """A fitted linear layer."""

    layer: Layer
    note: str
    """Says how strong the penalty is."""


def fitted_head(read: Vectors, job: Job) -> Fitted:
    """Fit the linear layer of a job's head to vectors as they are."""
    scaling = Scaling.of(read.vectors)
    scaled = samples(read, scaling, job)
    model = fitted(scaled, job)
    layer = scaling.folded(model.layer, shifted=scaled.kind.has_bias)
    return Fitted(layer, f"the {read.source}, and {model.note}")


def fitted(samples: Samples, job: Job) -> Fitted:
    """Choose the penalty and fit the layer to all samples."""
    folds = _folds(samples, job.fit.seed)
    penalty = LONE_PENALTY
    note = f"one training row is too few for cross-validation: the penalty is {LONE_PENALTY:g}"
    if folds.max() > 0:
        penalty = _best_penalty(samples.of(folds >= 0), folds[folds >= 0], job)
        value = penalty if samples.kind.parameter == "alpha" else 1 / penalty
        note = f"cross-validation chose {samples.kind.parameter} = {value:g}"
    steps = len(PENALTIES) + 1
    job.report(Event("step", steps - 1, steps))
    layer = samples.kind.fit(samples, penalty)
    job.report(Event("step", steps, steps))
    return Fitted(layer, note)


def _best_penalty(samples: Samples, folds: np.ndarray, job: Job) -> float:
    """Return the penalty with the lowest mean loss over the held-out folds; among equal losses, the strongest."""
    best = PENALTIES[0]
    lowest_loss = np.inf
    worse_in_a_row = 0
    for number, penalty in enumerate(PENALTIES):
        job.report(Event("step", number, len(PENALTIES) + 1))
        loss = _held_out_loss(samples, folds, penalty)
        if loss < lowest_loss:
            best = penalty
            lowest_loss = loss
            worse_in_a_row = 0
        else:
            worse_in_a_row += 1
        if worse_in_a_row == PATIENCE:
            break
    return best


def _held_out_loss(samples: Samples, folds: np.ndarray, penalty: float) -> float:
    """Return the mean loss of all samples, each computed by a layer that was fitted to the other folds."""
    total = 0.0
    for fold in np.unique(folds):
        layer = samples.kind.fit(samples.of(folds != fold), penalty)
        held_out = samples.of(folds == fold)
        total += float(samples.kind.losses(held_out, layer.outputs(held_out.inputs)).sum())
    return total / len(folds)


def _folds(samples: Samples, seed: int) -> np.ndarray:
    """Return the fold of each sample for choosing the penalty, int64 (samples,); -1 for samples that are left out.

    Whole units take part, in random order, until there are `CHOOSING_SAMPLES`. All samples of a unit are in one fold.
    If samples have strata (labels), every fold has nearly the same share of each; a unit's is that of its first sample.
    """
    units, first = np.unique(samples.units, return_index=True)
    order = randomness.permutation(len(units), seed, "folds")
    sizes = np.bincount(samples.units)[units]
    count = int((np.cumsum(sizes[order]) <= CHOOSING_SAMPLES).sum())
    taken = order[: max(1, count)]
    strata = samples.kind.strata(samples)
    if strata is not None:  # side by side, so that dealing in turn spreads each stratum over all folds
        taken = taken[np.argsort(strata[first][taken], kind="stable")]
    fold_of_unit = np.full(int(units.max()) + 1, -1, dtype=np.int64)
    fold_of_unit[units[taken]] = np.arange(len(taken)) % FOLDS
    return np.asarray(fold_of_unit[samples.units])
