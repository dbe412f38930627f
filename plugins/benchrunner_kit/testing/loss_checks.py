"""Checks of a problem's loss: a sum over units, with a gradient, that leads to right answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from benchrunner.engine import FlatBatch, collate
from benchrunner_kit.testing.contract import Findings
from benchrunner_kit.testing.tiny_encoder import TinyEncoder

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner import Recipe
    from benchrunner.engine import Features, Problem

STEPS = 80
"""Steps of Adam when outputs themselves are trained."""
RATE = 0.4
"""Learning rate of these steps."""
ENOUGH = 0.5
"""Share of rows that trained outputs must answer rightly; the texts of spans may not begin and end with pieces."""


def check_loss(problem: Problem, table: pa.Table, recipe: Recipe, findings: Findings) -> None:
    """Compare the loss of a batch with those of its units, and what the loss learns with what is decoded."""
    with findings.step("to compute the loss"):
        features = problem.encode(table, TinyEncoder(), recipe, training=True)
        outputs = seen_by_the_loss(problem.own_layers(0), _drawn(problem, features, seed=1).requires_grad_())
        units = np.arange(features.units)
        whole = _loss(problem, outputs, features, units)
        if not isinstance(whole, torch.Tensor) or whole.shape != () or whole.dtype != torch.float32:
            findings.add("loss must give one number as a tensor in fp32: call `.float()` on the outputs, and sum")
            return
        if not whole.isfinite() or not whole.requires_grad:
            findings.add(
                f"the loss of sample outputs is {whole.item()} and has a gradient: {whole.requires_grad}; it must be "
                "finite, and computed from the outputs with torch"
            )
            return
        if not problem.of_whole_batches:
            _check_sum(problem, outputs, features, whole, findings)
        _check_learning(problem, table, features, recipe, findings)


def sample_outputs(problem: Problem, features: Features) -> np.ndarray:
    """Draw outputs as `loss` and `gather` get them: one for each sequence or token, behind the problem's own layers."""
    with torch.no_grad():
        return seen_by_the_loss(problem.own_layers(0), _drawn(problem, features, seed=0)).numpy().copy()


def seen_by_the_loss(layers: torch.nn.Module | None, outputs: torch.Tensor) -> torch.Tensor:
    """Return what the problem's own layers make of a head's outputs."""
    if layers is None:
        return outputs
    made: torch.Tensor = layers(outputs)
    return made


def _drawn(problem: Problem, features: Features, *, seed: int) -> torch.Tensor:
    """Draw outputs as a head gives them."""
    slots = features.tokens if problem.head.level == "token" else features.owner
    drawn = np.random.default_rng(seed).normal(size=(len(slots), problem.head.width))
    return torch.tensor(drawn, dtype=torch.float32)


def _loss(problem: Problem, outputs: torch.Tensor, features: Features, units: np.ndarray) -> torch.Tensor:
    """Compute the loss of some units, whose outputs stand in the order that heads give."""
    batch = collate(features, units, torch.device("cpu"))
    return problem.loss(outputs[_places(problem, features, units, batch)], batch)


def _places(problem: Problem, features: Features, units: np.ndarray, batch: FlatBatch) -> torch.Tensor:
    """Return the places of a batch's outputs among those of all features."""
    if problem.head.level == "token":
        return torch.from_numpy(batch.feature_positions)
    sequences = [np.arange(features.groups[unit], features.groups[unit + 1]) for unit in units]
    return torch.from_numpy(np.concatenate(sequences))


def _check_sum(
    problem: Problem, outputs: torch.Tensor, features: Features, whole: torch.Tensor, findings: Findings
) -> None:
    """Compare the loss of all units with the sum of the units' losses, and with the loss in another order."""
    units = np.arange(features.units)
    single = sum(_loss(problem, outputs, features, units[[unit]]).item() for unit in units)
    if not np.isclose(single, whole.item(), rtol=1e-3, atol=1e-4):
        findings.add(
            f"the loss of a batch is {whole.item():.4g}, and the losses of its units add up to {single:.4g}: sum the "
            'losses, `reduction="sum"`; training divides by their number'
        )
    turned = _loss(problem, outputs, features, units[::-1].copy()).item()
    if not np.isclose(turned, whole.item(), rtol=1e-3, atol=1e-4):
        findings.add(
            f"the loss of a batch is {whole.item():.4g}, and {turned:.4g} with its units in another order: outputs are "
            "in the order of the units, or of `batch.tokens`; use `batch.restore` to go from one to the other"
        )


def _check_learning(problem: Problem, table: pa.Table, features: Features, recipe: Recipe, findings: Findings) -> None:
    """Train outputs themselves by the loss; most rows must then be answered rightly."""
    asked = problem.encode(table, TinyEncoder(), recipe, training=False)
    if not np.array_equal(asked.tokens, features.tokens):
        return  # other sequences are trained than asked, so that the outputs of one are not those of the other
    outputs = (0.01 * _drawn(problem, features, seed=2)).requires_grad_()  # zeros may be a saddle point
    layers = problem.own_layers(0)
    optimizer = torch.optim.Adam([outputs, *(layers.parameters() if layers else ())], lr=RATE)
    units = np.arange(features.units)
    batch = collate(features, units, torch.device("cpu"))
    places = _places(problem, features, units, batch)
    losses = []
    for _ in range(STEPS + 1):
        optimizer.zero_grad()
        learned = seen_by_the_loss(layers, outputs)
        loss = problem.loss(learned[places], batch)
        losses.append(loss.item())
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    first, last = losses[0], losses[-1]
    if not last < first:
        findings.add(f"gradient steps do not lower the loss ({first:.4g} before, {last:.4g} after): check its sign")
        return
    raw = problem.gather(learned.detach().numpy().copy(), asked, table)
    answers = problem.decode(raw, table, problem.decoding)
    gold = problem.gold(table) or []
    wrong = [row for row, label in enumerate(gold) if not _is_right(answers[row], problem.best_answer(label))]
    if len(wrong) > (1 - ENOUGH) * len(gold):
        row = wrong[0]
        findings.add(
            f"outputs that minimise the loss are decoded to wrong answers in {len(wrong)} of {len(gold)} rows (row "
            f"{row}: {answers[row]!r}, right is {problem.best_answer(gold[row])!r}): let `targets`, `loss` and "
            "`decode` read the outputs in the same way"
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
