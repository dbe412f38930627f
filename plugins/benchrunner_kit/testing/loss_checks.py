"""Checks of a problem's loss: a sum over units, with a gradient, that leads to right answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from benchrunner import PluginError
from benchrunner.engine import Features, collate
from benchrunner_kit.testing.contract import Faults
from benchrunner_kit.testing.samples import Sample, behind, drawn
from benchrunner_kit.testing.tiny_encoder import TinyEncoder

STEPS = 80
"""Steps of Adam when outputs themselves are trained."""
RATE = 0.4
"""Learning rate of these steps."""
ENOUGH = 0.5
"""Share of rows that trained outputs must answer rightly; the texts of spans may not begin and end with pieces."""


def check_loss(sample: Sample) -> Faults:
    """Compare the loss of a batch with those of its units, and what the loss learns with what is decoded."""
    problem = sample.problem
    features = problem.encode(sample.table, TinyEncoder(), sample.recipe, training=True)
    of_head = drawn(problem, features, seed=1).requires_grad_()
    outputs = behind(problem.own_layers(0), of_head)
    whole = _loss(sample, features, outputs, np.arange(features.units))
    if not isinstance(whole, torch.Tensor) or whole.shape != () or whole.dtype != torch.float32:
        raise PluginError("loss must give one number as a tensor in fp32: call `.float()` on the outputs, and sum")
    if not whole.isfinite() or not whole.requires_grad:
        raise PluginError(
            f"the loss of sample outputs is {whole.item()} and has a gradient: {whole.requires_grad}; compute a finite "
            "number from the outputs with torch"
        )
    if not problem.of_whole_batches:
        yield from _check_sum(sample, features, outputs, whole.item())
    if np.array_equal(sample.features.tokens, features.tokens):  # else, outputs of other sequences are trained
        yield from _check_learning(sample, features)


def _loss(sample: Sample, features: Features, outputs: torch.Tensor, units: np.ndarray) -> torch.Tensor:
    """Compute the loss of some units, whose outputs stand in the order that heads give."""
    batch = collate(features, units, torch.device("cpu"))
    places = batch.feature_positions
    if sample.problem.head.level == "sequence":
        sequences = np.split(np.arange(len(features.owner)), features.groups[1:-1])
        places = np.concatenate([sequences[unit] for unit in units])
    return sample.problem.loss(outputs[torch.from_numpy(places)], batch)


def _check_sum(sample: Sample, features: Features, outputs: torch.Tensor, whole: float) -> Faults:
    """Compare the loss of all units with the sum of the units' losses, and with the loss in another order."""
    units = np.arange(features.units)
    losses = [_loss(sample, features, outputs, units[[unit]]) for unit in units]
    single = torch.stack(losses).sum().item()
    if not np.isclose(single, whole, rtol=1e-3, atol=1e-4):
        yield (
            f"the loss of a batch is {whole:.4g}, and the losses of its units add up to {single:.4g}: sum the losses, "
            '`reduction="sum"`'
        )
    turned = _loss(sample, features, outputs, units[::-1].copy()).item()
    if not np.isclose(turned, whole, rtol=1e-3, atol=1e-4):
        yield (
            f"the loss of a batch is {whole:.4g}, and {turned:.4g} with its units in another order: `batch.restore` "
            "leads from the order of `batch.tokens` to that of the outputs"
        )


def _check_learning(sample: Sample, features: Features) -> Faults:
    """Train outputs themselves by the loss; most rows must then be answered rightly."""
    problem = sample.problem
    outputs = (0.01 * drawn(problem, features, seed=2)).requires_grad_()  # zeros may be a saddle point
    layers = problem.own_layers(0)
    weights = layers.parameters() if layers else ()
    optimizer = torch.optim.Adam([outputs, *weights], lr=RATE)
    losses = []
    for _ in range(STEPS + 1):
        optimizer.zero_grad()
        learned = behind(layers, outputs)
        loss = _loss(sample, features, learned, np.arange(features.units))
        losses.append(loss.item())
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    first, last = losses[0], losses[-1]
    if not last < first:
        raise PluginError(f"gradient steps do not lower the loss, {first:.4g}, but to {last:.4g}: check its sign")
    answers = sample.answers(sample.gathered(learned.detach().numpy()))
    right = list(map(problem.best_answer, sample.gold))
    wrong = [row for row, answer in enumerate(right) if not _is_right(answers[row], answer)]
    if len(wrong) > (1 - ENOUGH) * len(right):
        row = wrong[0]
        yield (
            f"outputs that minimise the loss are decoded to wrong answers in {len(wrong)} of {len(right)} rows (row "
            f"{row}: {answers[row]!r}, right is {right[row]!r}): let `targets`, `loss` and `decode` read the outputs "
            "in the same way"
        )


def _is_right(answer: Any, right: Any) -> bool:
    """Compare an answer with the right one; numbers may differ a little.

    A ranking, pairs of a name and a score, is right if its first name has no lowest score in the right one.
    """
    if _is_ranking(answer) and _is_ranking(right):
        right_scores = dict(right)
        lowest = min(right_scores.values())
        return bool(max(right_scores.values()) == lowest or right_scores.get(answer[0][0], lowest) > lowest)
    if isinstance(answer, float) and isinstance(right, int | float):
        return abs(answer - right) <= 0.05 * max(1.0, abs(right))
    return bool(answer == right)


def _is_ranking(answer: Any) -> bool:
    if not isinstance(answer, list) or not answer:
        return False
    return all(isinstance(pair, list) and len(pair) == 2 and isinstance(pair[1], float) for pair in answer)
