"""Inference: a model's outputs for all features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch

from benchrunner.errors import Diverged
from benchrunner.features.arrays import Features
from benchrunner.features.blocks import ranges
from benchrunner.features.flat_batch import FlatBatch, collate, rounding
from benchrunner.training.memory import computed_in_parts

Level = Literal["sequence", "token"]


def predict(
    model: Callable[[FlatBatch], torch.Tensor],
    features: Features,
    device: torch.device,
    *,
    level: Level,
    precision: str,
    micro_tokens: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> np.ndarray:
    """Compute the model's outputs for each sequence or each token, in the order of the features, in fp32.

    A batch holds units of similar length, so that it has few distinct lengths. Batches become smaller if memory runs
    out. Raises `Diverged` for outputs that are not finite numbers.
    """
    result = np.empty(0, dtype=np.float32)
    done = 0
    count = len(features.tokens) if level == "token" else len(features.owner)

    def compute(units: np.ndarray) -> tuple[FlatBatch, np.ndarray]:
        multiple = rounding(precision, features.tokens_in(units))
        batch = collate(features, units, device, multiple=multiple)
        return batch, model(batch).float().cpu().numpy()

    parts = computed_in_parts(compute, features.unit_tokens, micro_tokens, device)
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        for units, (batch, outputs) in parts:
            if not np.isfinite(outputs).all():
                bad = (~np.isfinite(outputs)).reshape(len(outputs), -1).any(axis=1).sum()
                raise Diverged(f"the outputs of {bad:,} of {len(outputs):,} {level}s are not finite numbers")
            if not done:
                result = np.empty((count, *outputs.shape[1:]), dtype=np.float32)
            if level == "token":
                result[batch.feature_positions[: batch.real]] = outputs[: batch.real]
            else:
                first = features.groups[units]
                result[ranges(first, features.groups[units + 1] - first)] = outputs
            done += len(units)
            report(done, features.units)
    return result
