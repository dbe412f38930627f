"""The linear head and inference: outputs do not depend on the batch and are in the order of the rows."""

import numpy as np
import pytest
import torch
from torch import nn

from benchrunner.errors import Diverged
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.methods.heads import LinearHead
from benchrunner.problems.problem import HeadShape
from benchrunner.training.inference import Inference
from benchrunner_kit.testing import MOOD, TinyEncoder
from tiny_fits import CPU, features


def test_fresh_heads_follow_the_seed_and_a_truncated_normal() -> None:
    shape = HeadShape("sequence", 500)
    first, same, different = (LinearHead(64, shape, seed=seed).output.weight for seed in (1, 1, 2))
    assert torch.equal(first, same) and not torch.equal(first, different)
    assert first.abs().max() <= 0.04 and 0.016 < first.std().item() < 0.019  # a cut normal is narrower than 0.02
    assert not LinearHead(64, shape, seed=1).output.bias.any()


def test_sequence_heads_keep_unit_order_and_token_heads_do_not() -> None:
    data, encoder = features(9), TinyEncoder()
    head = LinearHead(12, MOOD.head, seed=1)
    units = np.array([5, 0, 8, 3])
    together = head(encoder, collate(data, units, CPU))
    alone = torch.cat([head(encoder, collate(data, np.array([unit]), CPU)) for unit in units])
    torch.testing.assert_close(together, alone)
    batch = collate(data, units, CPU)
    assert LinearHead(12, HeadShape("token", 3), seed=1)(encoder, batch).shape == (len(batch.tokens), 3)


def test_outputs_that_are_not_finite_are_counted() -> None:
    def model(batch: FlatBatch) -> torch.Tensor:
        return torch.tensor([[1.0, 2.0]] * 7 + [[1.0, torch.nan], [torch.inf, 1.0]])

    with pytest.raises(Diverged, match="the outputs of 2 of 9 sequences are not finite numbers"):
        Inference(CPU, "fp32", 10_000).predict(model, features(9), "sequence")


@pytest.mark.parametrize("micro_tokens", [1, 30, 10_000])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_predictions_are_in_row_order_for_any_micro_batch_size(micro_tokens: int, precision: str) -> None:
    data, encoder = features(40), TinyEncoder(dropout=0.5)
    head = LinearHead(12, MOOD.head, seed=1)
    nn.init.normal_(head.output.weight, generator=torch.Generator().manual_seed(1))
    seen: list[tuple[int, int]] = []
    inference = Inference(CPU, precision, micro_tokens, report=lambda done, total: seen.append((done, total)))
    outputs = inference.predict(lambda batch: head(encoder, batch), data, "sequence")
    alone = [head(encoder, collate(data, np.array([unit]), CPU)).detach() for unit in range(40)]
    assert outputs.dtype == np.float32 and outputs.shape == (40, 2)
    near = 1e-5 if precision == "fp32" else 0.1
    np.testing.assert_allclose(outputs, torch.cat(alone).numpy(), atol=near)
    assert seen[-1] == (40, 40)
