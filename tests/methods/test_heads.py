"""The linear head: what it reads, and its precision."""

from typing import Literal

import numpy as np
import pytest
import torch
from transformers import RobertaConfig
from transformers.models.roberta.modeling_roberta import RobertaClassificationHead

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


def test_a_tanh_layer_makes_the_head_of_roberta() -> None:
    units = [5, 2, 9]
    encoder, head = TinyEncoder(), LinearHead(12, HeadShape("sequence", 3), seed=1, summary="first", layer="tanh")
    theirs = RobertaClassificationHead(RobertaConfig(hidden_size=12, num_labels=3)).eval()
    theirs.dense.load_state_dict(head.dense.state_dict())
    theirs.out_proj.load_state_dict(head.output.state_dict())
    states = torch.stack([encoder(batch_of([unit]))[0] for unit in units])
    torch.testing.assert_close(head(encoder, batch_of(units)), theirs(states[:, None]), rtol=0, atol=1e-6)


def test_a_gelu_layer_of_tokens_drops_before_and_after() -> None:
    batch, encoder = batch_of([5, 2, 9], dropping=True), TinyEncoder(dropout=0.5)
    head = LinearHead(12, HeadShape("token", 3), seed=1, layer="gelu")
    inside = torch.nn.functional.gelu(head.dense(batch.dropout(encoder(batch), 0.5, "head")))
    torch.testing.assert_close(head(encoder, batch), head.output(batch.dropout(inside, 0.5, "head layer")))


def test_a_layer_leaves_the_fresh_output_layer_as_it_is() -> None:
    plain, deep = (LinearHead(12, HeadShape("token", 3), seed=1, layer=layer) for layer in ("none", "gelu"))
    assert "dense.weight" not in plain.state_dict()
    assert torch.equal(plain.output.weight, deep.output.weight)
    assert not torch.equal(deep.dense.weight[:3], deep.output.weight)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_half_precision_leaves_outputs_in_full(level: Literal["token", "sequence"]) -> None:
    encoder, batch = TinyEncoder(), batch_of(list(range(12)))
    head = LinearHead(12, HeadShape(level, 1), seed=1)
    with torch.autocast("cpu", torch.bfloat16):
        outputs = head(encoder, batch)
    assert outputs.dtype == torch.float32 and not torch.equal(outputs, outputs.bfloat16().float())
