"""The objectives of pre-training: what each trains, and its losses and gradients beside transformers'."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from bert_samples import fresh, turn_into_gradients
from objective_samples import (
    CORPUS,
    SHAPES,
    batch,
    forward_and_backward,
    model,
    padded,
)
from torch.nn import functional
from transformers import BertForMaskedLM, BertForPreTraining, BertLMHeadModel

from benchrunner.engine import Dropout
from benchrunner_bert.pretraining.architectures import of_size
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.model_folder import export
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.model import PretrainingModel

NEAR = 1e-5


THEIRS = {"mlm+nsp": BertForPreTraining, "mlm": BertForMaskedLM, "ltr": BertLMHeadModel}


CARD = Card(Request("base", (), Path("test"), Settings()), CORPUS, 1, {}, {}, 0)


def theirs(whole: PretrainingModel, folder: Path) -> torch.nn.Module:
    """Return the model in transformers."""
    export(whole, folder, CARD)
    return THEIRS[whole.objective.name].from_pretrained(folder, attn_implementation="eager").eval()


@pytest.mark.parametrize("shape", SHAPES, ids=["plain", "odd"])
@pytest.mark.parametrize("dropped", [False, True], ids=["predicting", "training"])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_losses_and_all_gradients_equal_transformers(
    objective: str, dropped: bool, shape: dict[str, int], tmp_path: Path
) -> None:
    whole = model(objective, **shape)
    # A rate of almost nothing sends attention through the implementation that training uses.
    whole.bert.attention_dropout = 1e-9 if dropped else 0.0
    given = batch(whole, dropout=Dropout(0, 0) if dropped else None, multiple=16)
    assert len(given.flat.tokens) > given.flat.real, "there is filling"
    sums, loss = forward_and_backward(whole, given)
    reference, inputs = theirs(whole, tmp_path), padded(given)
    if objective == "mlm+nsp":
        inputs["next_sentence_label"] = 1 - given.is_next
    if not whole.objective.is_masked:  # the label of a token is the token itself: their model shifts the labels
        inputs["labels"] = torch.where(inputs["attention_mask"] == 1, inputs["input_ids"], -100)
    expected = reference(**inputs)
    expected.loss.backward()
    torch.testing.assert_close(loss, expected.loss.detach(), rtol=0, atol=NEAR)
    if objective == "mlm+nsp":
        logits = expected.prediction_logits[inputs["labels"] != -100]
        mean = functional.cross_entropy(logits, given.labels)
        torch.testing.assert_close(sums.mlm_loss / sums.mlm_count, mean, rtol=0, atol=NEAR)
        assert sums.mlm_correct == (logits.argmax(-1) == given.labels).sum()
        guessed = expected.seq_relationship_logits.argmax(-1)
        assert sums.nsp_correct == (guessed == 1 - given.is_next).sum() and sums.nsp_count == 7
    turn_into_gradients(whole)
    mine, compared = dict(whole.published()), dict(reference.named_parameters())
    assert mine.keys() == compared.keys()
    for name, weight in compared.items():
        scale = max(1.0, weight.grad.abs().max().item())
        torch.testing.assert_close(mine[name] / scale, weight.grad / scale, rtol=0, atol=NEAR, msg=name)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_layers_computed_twice_give_the_same_gradients(objective: str) -> None:
    gradients = []
    for recomputes in (False, True):
        whole = model(objective)
        whole.bert.set_dropout(0.2)
        if recomputes:
            whole.bert.recompute_layers()
        passes = list[str]()
        for layer in whole.bert.layers:
            layer.inner.register_forward_pre_hook(lambda *_, passes=passes: passes.append("layer"))
        forward_and_backward(whole, batch(whole, dropout=Dropout(3, 1, 0)))
        assert len(passes) == 2 + 2 * recomputes
        gradients.append({name: weight.grad for name, weight in whole.named_parameters()})
    once, twice = gradients
    assert all(gradient is twice[name] or torch.equal(gradient, twice[name]) for name, gradient in once.items())


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_fresh_weights_follow_the_seed_and_the_published_draw(objective: str) -> None:
    architecture, size = of_size("1/48/4")
    first, again, reseeded = (
        architecture.fresh(size, fresh().tokenizer, Settings(objective=objective, seed=seed)).state_dict()
        for seed in (1, 1, 2)
    )
    for name, weight in first.items():
        assert torch.equal(weight, again[name])
        if weight.ndim == 1:
            assert (weight == ("norm.weight" in name)).all(), name
        else:
            assert weight.abs().max() <= 0.04 and 0.014 < weight.std().item() < 0.021, name
            assert not torch.equal(weight, reseeded[name]), name


def test_the_head_computes_round_numbers_of_tokens_in_bf16() -> None:
    """oneDNN compiles a product for each new shape, and keeps it: memory grew from 1.2 to 3.5 GB in 100 steps."""
    whole, rows = model("mlm"), list[int]()
    given = batch(whole)
    whole.tokens.register_forward_hook(lambda head, inputs, output: rows.append(len(output)))
    results = []
    for precision in ("fp32", "bf16"):
        whole.precision = precision
        loss = whole.sums(given).loss(len(given.labels), 0)  # without autocast, so that the numbers can be compared
        results.append([loss, *torch.autograd.grad(loss, whole.bert.embeddings.word.weight)])
    assert rows == [len(given.labels), 64] and len(given.labels) < 64
    for plain, filled in zip(*results, strict=True):
        torch.testing.assert_close(plain, filled)
