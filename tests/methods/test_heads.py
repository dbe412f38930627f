"""The linear head: what it reads, and its precision."""

from typing import Literal

import numpy as np
import pytest
import torch

from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.features.randomness import Dropout
from benchrunner.methods.heads import LinearHead
from benchrunner.problems.problem import HeadShape
from benchrunner_kit.testing import TinyEncoder
from tiny_fits import features

CPU = torch.device("cpu")


def batch_of(units: list[int], *, multiple: int = 1, dropping: bool = False) -> FlatBatch:
    return collate(features(12), np.array(units), CPU, multiple=multiple, dropout=Dropout(1, 2) if dropping else None)


@pytest.mark.parametrize(("place", "index"), [("first", 0), ("last", -1)])
def test_a_head_without_summary_reads_the_summary_tokens_state(place: Literal["first", "last"], index: int) -> None:
    units = [5, 2, 9]
    batch, encoder = batch_of(units), TinyEncoder()
    encoder.summary_place = place
    head = LinearHead(12, HeadShape("sequence", 2, summary=False), seed=1)
    states = torch.stack([encoder(batch_of([unit]))[index] for unit in units])
    torch.testing.assert_close(head(encoder, batch), head.output(states), rtol=0, atol=1e-6)
    pooled = LinearHead(12, HeadShape("sequence", 2), seed=1)
    assert not torch.allclose(head(encoder, batch), pooled(encoder, batch), atol=1e-3)


class Doubling(TinyEncoder):
    """An encoder whose published architecture doubles the states of tokens below the output layer."""

    def token_states(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return 2 * hidden


def test_a_head_for_tokens_reads_the_encoders_token_states() -> None:
    batch, encoder = batch_of([5, 2, 9]), TinyEncoder()
    head = LinearHead(12, HeadShape("token", 3), seed=1)
    doubled = head.output(2 * encoder(batch))
    torch.testing.assert_close(head(Doubling(), batch), doubled, rtol=0, atol=1e-6)
    torch.testing.assert_close(head(encoder, batch), head.output(encoder(batch)), rtol=0, atol=1e-6)


def test_an_output_layer_on_summaries_can_lack_its_bias() -> None:
    head = LinearHead(12, HeadShape("sequence", 2), seed=1, summary_bias=False)
    assert list(head.state_dict()) == ["output.weight"] and head(TinyEncoder(), batch_of([0, 1])).shape == (2, 2)
    for shape in (HeadShape("token", 2), HeadShape("sequence", 2, summary=False)):
        assert "output.bias" in LinearHead(12, shape, seed=1, summary_bias=False).state_dict(), "reads no summary"


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_half_precision_leaves_outputs_in_full(level: Literal["token", "sequence"]) -> None:
    encoder, batch = TinyEncoder(), batch_of(list(range(12)))
    head = LinearHead(12, HeadShape(level, 1), seed=1)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = head(encoder, batch)
    assert outputs.dtype == torch.float32 and not torch.equal(outputs, outputs.bfloat16().float())
