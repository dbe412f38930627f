"""Objectives of pre-training: what each objective trains and refuses, and its fresh models."""

from __future__ import annotations

import math

import pytest
import torch
from bert_samples import fresh
from objective_samples import batch, forward_and_backward, left_to_right, mirrored, model

from benchrunner import RequestError, UnknownName
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.objectives import OBJECTIVES, named
from benchrunner_bert.pretraining.training.held_out import HeldOut, summed
from benchrunner_bert.pretraining.training.model import PretrainingModel


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_fresh_weights_follow_the_seed_and_the_published_draw(objective: str) -> None:
    config = Configuration(vocabulary=8000, hidden=48, layers=1, heads=4, inner=96, positions=64)
    tokenizer = fresh().tokenizer
    first, again, reseeded = (
        PretrainingModel.fresh(config, tokenizer, named(objective), seed=seed).state_dict() for seed in (1, 1, 2)
    )
    assert all(torch.equal(weight, again[name]) for name, weight in first.items())
    for name, weight in first.items():
        if name.endswith("bias"):
            assert not weight.any(), name
        elif "norm" in name:
            assert (weight == 1).all(), name
        else:
            assert weight.abs().max() <= 0.04 and 0.014 < weight.std().item() < 0.021, name
            assert not torch.equal(weight, reseeded[name]), name


def test_a_fresh_model_knows_nothing() -> None:
    config = Configuration(vocabulary=8000, hidden=48, layers=1, heads=4, inner=96, positions=64)
    whole = PretrainingModel.fresh(config, fresh().tokenizer, named("mlm+nsp"), seed=0)
    figures = HeldOut.of(summed(whole, [batch(whole)]))
    assert figures.mlm_loss == pytest.approx(math.log(8000), abs=0.1)
    assert figures.nsp_loss == pytest.approx(math.log(2), abs=0.1)


def test_only_what_the_objective_trains_is_trained() -> None:
    for objective in OBJECTIVES:
        frozen = {name for name, weight in model(objective).named_parameters() if not weight.requires_grad}
        assert frozen == (set() if objective == "mlm+nsp" else {"bert.pooler.weight", "bert.pooler.bias"})


def test_an_objective_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownName, match="There is no objective 'nsp'"):
        named("nsp")


@pytest.mark.parametrize(
    ("objective", "direction"), [("ltr", "both"), ("mlm", "left-to-right"), ("rtl", "left-to-right")]
)
def test_an_objective_with_the_wrong_attention_is_refused(objective: str, direction: str) -> None:
    with pytest.raises(RequestError, match=f"The objective {objective} needs attention that looks"):
        PretrainingModel(fresh(direction=direction), named(objective))


@pytest.mark.parametrize(
    ("size", "vocabulary", "count"),
    [("base", 30522, 110_106_428), ("large", 30522, 336_226_108), ("base", 28996, 108_932_934)],
)
def test_pretraining_models_have_published_parameter_counts(size: str, vocabulary: int, count: int) -> None:
    with torch.device("meta"):
        whole = PretrainingModel(Bert(Configuration.of_size(size, vocabulary), StubTokenizer()), named("mlm+nsp"))
    assert sum(weight.numel() for weight in whole.parameters()) == count


class StubTokenizer:
    fingerprint = "none"


def test_right_to_left_is_left_to_right_on_reversed_text() -> None:
    whole = model("rtl")
    left, given = left_to_right(whole), batch(whole)
    (sums, loss), (wanted, left_loss) = forward_and_backward(whole, given), forward_and_backward(left, mirrored(given))
    torch.testing.assert_close(loss, left_loss, rtol=1e-6, atol=0)
    assert sums.mlm_count == wanted.mlm_count == given.flat.real - 7 and sums.mlm_correct == wanted.mlm_correct
    for (name, mine), theirs in zip(whole.named_parameters(), left.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-6, msg=name)
    figures, expected = (
        HeldOut.of(summed(trained, [texts])) for trained, texts in ((whole, given), (left, mirrored(given)))
    )
    assert figures.perplexity == pytest.approx(expected.perplexity, rel=1e-5)
    assert figures.mlm_accuracy == expected.mlm_accuracy
    assert abs(loss - left(given).mlm_loss / sums.mlm_count) > 0.01, "the direction matters"
