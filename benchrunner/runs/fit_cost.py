"""Estimate of what a fit costs, from its backbone's size and its data."""

from __future__ import annotations

from benchrunner.fits.executor import FitCost
from benchrunner.fits.fit import Fit
from benchrunner.runs.planner import Planner

BASE_WEIGHTS = 110_000_000
"""Weights of a backbone that does not tell their number: 12 layers of 768, and a vocabulary of 30,000."""
TEXT_BYTES = 4
"""Bytes of text for each token of a subword tokenizer; English needs a little more."""
TRAINED_BYTES = 16
"""Bytes for each weight in training: the weight, its gradient and Adam's two moments, in fp32."""
ACTIVATION_BYTES = 0.006
"""Bytes of activations for each weight and each token of a micro-batch: 68 x hidden size x layers in fp32 (twice the 34
of Korthikanti et al. 2022, section 4.1, for 16 bits), where a layer has 12 x hidden size^2 weights of 768 columns."""
PROCESS_BYTES = 700_000_000
"""Bytes of a process that has loaded torch, the plugins and its data."""


def fit_cost(fit: Fit, planner: Planner) -> FitCost:
    """Estimate the cost of a fit. Loads the rows that the fit learns from, as planning it did."""
    task, method = planner.plugins.tasks.find(fit.task), planner.plugins.methods.find(fit.method)
    if not method.needs_backbone:
        return FitCost(flops=0.0, memory=PROCESS_BYTES)
    weights, recipe = planner.weight_count(fit.backbone) or BASE_WEIGHTS, fit.recipe
    rows = planner.training_rows(task, recipe, fit.seed).table
    passes = recipe.epochs if method.trains_in_steps else 1
    tokens = min(recipe.micro_tokens, recipe.batch_size * recipe.max_length)
    return FitCost(
        flops=6.0 * weights * passes * rows.nbytes / TEXT_BYTES,  # forward and backward pass
        memory=PROCESS_BYTES + round(weights * (TRAINED_BYTES + ACTIVATION_BYTES * tokens)),
    )
