"""Figures of a pre-training model on held-out texts: loss, perplexity and accuracy."""

from __future__ import annotations

import math

import pytest
import torch
from objective_samples import batch, micro_batches, model

from benchrunner_bert.pretraining.training.held_out import HeldOut, summed
from benchrunner_bert.pretraining.training.sums import Sums


def test_held_out_figures_are_those_of_all_batches_together() -> None:
    whole = model("mlm+nsp")
    given = batch(whole)
    figures, sums = HeldOut.of(summed(whole, micro_batches(given))), whole(given)
    assert figures.mlm_loss == pytest.approx(sums.mlm_loss.item() / len(given.labels), rel=1e-5)
    assert figures.perplexity == pytest.approx(math.exp(figures.mlm_loss))
    assert (figures.tokens, figures.pairs) == (len(given.labels), 7)
    assert figures.nsp_accuracy == sums.nsp_correct.item() / 7
    assert figures.mlm_accuracy == sums.mlm_correct.item() / len(given.labels)
    assert all(parameter.grad is None for parameter in whole.parameters())


def test_sums_are_divided_by_their_own_counts() -> None:
    values = (math.log(4) * 8, 8, 2, 1.0, 4, 3)
    figures = HeldOut.of(Sums(*(torch.tensor(float(value)) for value in values)))
    assert figures.perplexity == pytest.approx(4)
    assert (figures.mlm_accuracy, figures.nsp_loss, figures.nsp_accuracy) == (0.25, 0.25, 0.75)


def test_a_loss_out_of_all_bounds_has_an_infinite_perplexity() -> None:
    values = (1e6, 1, 0, 0, 0, 0)
    assert HeldOut.of(Sums(*(torch.tensor(float(value)) for value in values))).perplexity == math.inf


def test_sums_over_batches_do_not_round() -> None:
    whole = model("mlm")
    given = batch(whole)
    total = summed(whole, [given] * 3)
    assert total.mlm_loss.dtype == torch.float64 and not total.mlm_loss.requires_grad
    assert summed(whole, [given] * 3).mlm_loss == 3 * summed(whole, [given]).mlm_loss
