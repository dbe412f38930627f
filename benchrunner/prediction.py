"""The one prediction loop."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from benchrunner.features import Features
from benchrunner.flat import FlatBatch, collate, micro_batches, rounding


def predict(
    model: Callable[[FlatBatch], torch.Tensor],
    features: Features,
    device: torch.device,
    *,
    precision: str,
    micro_tokens: int,
    report: Callable[[int, int], None] = lambda done, total: None,
) -> np.ndarray:
    """Raw outputs of every unit, in the features' order: fp32 (units, width).

    Units are computed together with others of their length, so a batch holds few distinct lengths.
    """
    outputs, done = list[np.ndarray](), 0
    parts = micro_batches(np.arange(features.units), features.unit_tokens, micro_tokens)
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16"):
        for units in parts:
            batch = collate(features, units, device, multiple=rounding(precision))
            outputs.append(model(batch).float().cpu().numpy())
            done += len(units)
            report(done, features.units)
    order = np.concatenate(parts)
    result = np.empty_like(gathered := np.concatenate(outputs))
    result[order] = gathered
    return result
