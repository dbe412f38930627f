"""Inference: all features in batches, without gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import torch

from benchrunner.errors import Diverged
from benchrunner.features.arrays import Features
from benchrunner.features.blocks import ranges
from benchrunner.features.flat_batch import FlatBatch, collate, rounding
from benchrunner.features.kernels import Kernels
from benchrunner.training.memory import computed_in_parts
from benchrunner.training.precision import precise

Level = Literal["sequence", "token"]


@final
@dataclass(frozen=True)
class Inference:
    """How features are computed in batches, without gradients."""

    device: torch.device
    precision: str
    micro_tokens: int
    report: Callable[[int, int], None] = lambda done, total: None
    """Called with the number of units that are computed, and of all."""
    kernels: Kernels | None = None

    def predict(self, model: Callable[[FlatBatch], torch.Tensor], features: Features, level: Level) -> np.ndarray:
        """Compute the model's outputs for each sequence or each token, in the order of the features, in fp32.

        Raises `Diverged` for outputs that are not finite numbers.
        """
        result = np.empty(0, dtype=np.float32)
        count = len(features.tokens) if level == "token" else len(features.owner)

        def visit(batch: FlatBatch, units: np.ndarray) -> None:
            nonlocal result
            outputs = model(batch).float().cpu().numpy()
            is_finite = np.isfinite(outputs).reshape(len(outputs), -1).all(axis=1)
            if not is_finite.all():
                bad = np.count_nonzero(~is_finite)
                raise Diverged(f"the outputs of {bad:,} of {len(outputs):,} {level}s are not finite numbers")
            if not len(result):
                result = np.empty((count, *outputs.shape[1:]), dtype=np.float32)
            if level == "token":
                result[batch.feature_positions[: batch.real]] = outputs[: batch.real]
            else:
                first = features.groups[units]
                result[ranges(first, features.groups[units + 1] - first)] = outputs

        self.visit_batches(visit, features)
        return result

    def visit_batches(self, visit: Callable[[FlatBatch, np.ndarray], None], features: Features) -> None:
        """Call `visit` with batches of all units, and with the units of each batch.

        A batch holds units of similar length, so that it has few distinct lengths. Batches become smaller where memory
        runs out: `visit` is then called again with parts of the batch that failed.
        """
        done = 0

        def compute(units: np.ndarray) -> None:
            multiple = rounding(self.precision, features.tokens_in(units))
            visit(collate(features, units, self.device, multiple=multiple, kernels=self.kernels), units)

        with torch.inference_mode(), precise(self.device, self.precision):
            for units, _ in computed_in_parts(compute, features.unit_tokens, self.micro_tokens, self.device):
                done += len(units)
                self.report(done, features.units)
