"""Replaced-token detection: its losses and gradients beside transformers' ELECTRA, its draws, its finished model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import fresh
from objective_samples import batch, micro_batches, padded
from pretraining_runs import learned, losses, model_card, run, stopped_at, weights, words
from safetensors.torch import load_file
from scipy import stats
from torch.nn import functional
from transformers import ElectraConfig, ElectraForMaskedLM, ElectraForPreTraining

from benchrunner import RequestError
from benchrunner.engine import Dropout
from benchrunner.features.randomness import generator
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.cross_entropy import drawn
from benchrunner_bert.pretraining.training.flops import replaced_tokens_flops
from benchrunner_bert.pretraining.training.replaced_tokens import ReplacedTokensModel, generator_configuration
from benchrunner_bert.weight_names import published_names

RTD = ["--objective", "rtd", "--generator", "0.5"]


def model(*, share: float = 0.5, weight: float = 50.0) -> ReplacedTokensModel:
    """A model with random weights, biases and norms included, so that swapped weights change the results."""
    whole = ReplacedTokensModel(fresh(), named("rtd"), share=share, weight=weight)
    source = generator(6, "test")
    with torch.no_grad():
        for name, one in whole.named_parameters():
            if not name.startswith("bert."):
                one.normal_(1.0 if "norm.weight" in name else 0.0, 0.1, generator=source)
    whole.bert.set_dropout(0.0)
    return whole


def with_chances(whole: ReplacedTokensModel, *, dropout: Dropout | None = None) -> PretrainingBatch:
    given = batch(whole, dropout=dropout)
    chances = torch.rand(len(given.labels), dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    return dataclasses.replace(given, chances=chances)


def electra(whole: ReplacedTokensModel) -> tuple[ElectraForMaskedLM, ElectraForPreTraining]:
    """transformers' generator and discriminator, with the same weights and one set of embeddings."""
    config, small = whole.config, whole.generator.config
    common = {"vocab_size": config.vocabulary, "embedding_size": config.hidden, "num_hidden_layers": config.layers}
    common |= {"max_position_embeddings": config.positions, "hidden_dropout_prob": 0.0}
    common |= {"attention_probs_dropout_prob": 0.0, "attn_implementation": "eager"}
    asker = ElectraForMaskedLM(
        ElectraConfig(
            **common,
            hidden_size=small.hidden,
            num_attention_heads=small.heads,
            intermediate_size=small.inner,
        )
    ).double()
    finder = ElectraForPreTraining(
        ElectraConfig(
            **common,
            hidden_size=config.hidden,
            num_attention_heads=config.heads,
            intermediate_size=config.inner,
        )
    ).double()
    asker.electra.embeddings = finder.electra.embeddings
    asker.generator_lm_head.weight = finder.electra.embeddings.word_embeddings.weight
    return asker, finder


def names(whole: ReplacedTokensModel) -> dict[str, tuple[str, list[str]]]:
    """Our weights -> which of the two models of transformers has them, and their names there."""
    found = dict[str, tuple[str, list[str]]]()
    for ours, theirs in published_names(whole.bert):
        if not ours.startswith("pooler."):
            found[f"bert.{ours}"] = "finder", [f"electra.{name}" for name in theirs]
    for ours, theirs in published_names(whole.bert):
        if ours.startswith("layers."):
            found[f"generator.{ours}"] = "asker", [f"electra.{name}" for name in theirs]
    for part in ("weight", "bias"):
        found[f"generator.projection.{part}"] = "asker", [f"electra.embeddings_project.{part}"]
        found[f"generator.tokens.dense.{part}"] = "asker", [f"generator_predictions.dense.{part}"]
        found[f"generator.tokens.norm.{part}"] = "asker", [f"generator_predictions.LayerNorm.{part}"]
        found[f"detector.dense.{part}"] = "finder", [f"discriminator_predictions.dense.{part}"]
        found[f"detector.output.{part}"] = "finder", [f"discriminator_predictions.dense_prediction.{part}"]
    found["generator.tokens.output.bias"] = "asker", ["generator_lm_head.bias"]
    return found


def test_losses_and_gradients_are_those_of_transformers_electra() -> None:
    whole = model().double()
    asker, finder = electra(whole)
    parts = {"asker": dict(asker.named_parameters()), "finder": dict(finder.named_parameters())}
    parts["asker"] |= {name: weight for name, weight in parts["finder"].items() if "embeddings." in name}
    mine = dict(whole.named_parameters())
    known = names(whole)
    with torch.no_grad():
        for ours, (part, theirs) in known.items():
            sizes = [len(parts[part][name]) for name in theirs]
            for name, values in zip(theirs, mine[ours].split(sizes), strict=True):
                parts[part][name].copy_(values)
    given = with_chances(whole)
    sums = whole(given)
    sums.loss(len(given.labels), given.flat.real, 50.0).backward()

    inputs = padded(given)
    labels = inputs.pop("labels")
    logits = asker(**inputs).logits
    chosen = labels != -100
    mlm = functional.cross_entropy(logits[chosen], labels[chosen])
    # padded rows have the batch's order, so that the chosen tokens have the order of the chances
    sums_of_shares = logits[chosen].softmax(-1).cumsum(-1)
    samples = (sums_of_shares <= given.chances[:, None]).sum(-1)
    corrupted = inputs["input_ids"].clone()
    corrupted[chosen] = samples
    replaced = torch.zeros_like(labels)
    replaced[chosen] = (samples != labels[chosen]).long()
    scores = finder(**{**inputs, "input_ids": corrupted}).logits
    real = inputs["attention_mask"] > 0
    found = functional.binary_cross_entropy_with_logits(scores[real], replaced[real].double())
    (mlm + 50 * found).backward()

    assert 5 < replaced.sum() < chosen.sum() + 1
    assert sums.mlm_loss.item() / len(given.labels) == pytest.approx(mlm.item(), rel=1e-9)
    assert sums.further_loss.item() / given.flat.real == pytest.approx(found.item(), rel=1e-9)
    assert sums.further_correct == ((scores > 0) == (replaced > 0))[real].sum()
    trained = {name for name, weight in mine.items() if weight.grad is not None}
    assert trained == known.keys()
    for ours, (part, theirs) in known.items():
        wanted = torch.cat([parts[part][name].grad for name in theirs])
        torch.testing.assert_close(mine[ours].grad, wanted, rtol=1e-6, atol=1e-9, msg=ours)


def test_parts_of_a_batch_draw_the_same_tokens() -> None:
    whole = model().double()
    given = with_chances(whole)
    sums = whole(given)
    parts = micro_batches(given)
    total = whole(parts[0])
    for part in parts[1:]:
        total = total.plus(whole(part))
    assert len(parts) > 3
    for one, other in zip(sums, total, strict=True):
        assert one.item() == pytest.approx(other.item(), rel=1e-9)


def test_drawn_tokens_follow_the_generators_distribution() -> None:
    source = torch.Generator().manual_seed(3)
    row = torch.randn(60, generator=source) * 2
    chances = torch.rand(40_000, dtype=torch.float64, generator=source)
    seen = drawn(row.expand(len(chances), -1), chances).bincount(minlength=60).numpy()
    expected = row.double().softmax(-1).numpy() * len(chances)
    large = expected >= 5
    seen = np.append(seen[large], seen[~large].sum())
    expected = np.append(expected[large], expected[~large].sum())
    assert stats.chisquare(seen, expected).pvalue > 1e-3


def test_the_ends_of_the_chances_give_tokens_that_can_occur() -> None:
    logits = torch.tensor([[-torch.inf, 0.0, 0.0, -torch.inf]]).expand(2, -1)
    assert drawn(logits, torch.tensor([0.0, 1 - 2**-53], dtype=torch.float64)).tolist() == [1, 2]


def test_dropout_of_generator_and_model_is_not_the_same() -> None:
    whole = model(share=1.0)
    whole.bert.set_dropout(0.5)
    seen = list[str]()

    class Watched(Dropout):
        def within(self, place: str) -> Dropout:
            seen.append(place)
            return super().within(place)

    whole(with_chances(whole, dropout=Watched(0, 1)))
    assert seen == ["generator"]


def test_the_encoder_begins_as_that_of_masked_tokens() -> None:
    from benchrunner_bert.pretraining.training.model import PretrainingModel

    config = Configuration(vocabulary=8000, hidden=32, layers=1, heads=2, inner=64)
    tokenizer = fresh().tokenizer
    alone = PretrainingModel.fresh(config, tokenizer, named("mlm"), seed=1)
    whole = ReplacedTokensModel.fresh(config, tokenizer, named("rtd"), share=0.25, weight=50.0, seed=1)
    for (name, one), (_, other) in zip(alone.bert.named_parameters(), whole.bert.named_parameters(), strict=True):
        assert torch.equal(one, other), name


@pytest.mark.parametrize(("share", "shape"), [(0.25, (12, 1, 24)), (0.5, (24, 2, 48)), (1.0, (48, 4, 96))])
def test_the_generator_has_a_share_of_the_width(share: float, shape: tuple[int, int, int]) -> None:
    small = generator_configuration(fresh().config, share)
    assert (small.hidden, small.heads, small.inner) == shape and small.layers == 2


def test_a_width_that_heads_do_not_divide_gets_fewer_heads() -> None:
    config = Configuration(hidden=100, heads=5)
    assert generator_configuration(config, 0.62).heads == 2


def test_counted_operations_are_those_of_both_models() -> None:
    from torch.utils.flop_counter import FlopCounterMode

    whole = model()
    given = with_chances(whole)
    with FlopCounterMode(display=False) as counter:
        whole(given)
    lengths = given.flat.lengths
    counted = replaced_tokens_flops(whole.config, whole.generator.config, lengths, len(given.labels))
    padded_attention = counter.get_total_flops() * 3
    assert counted == pytest.approx(padded_attention, rel=0.02)


# A whole run


def test_the_finished_model_is_a_plain_bert(tmp_path: Path) -> None:
    run(words(tmp_path, "out", *RTD, "--held-out", str(tmp_path / "corpus")))
    folder = tmp_path / "out" / "model"
    names = load_file(folder / "model.safetensors").keys()
    assert all(name.startswith(("bert.embeddings.", "bert.encoder.")) for name in names)
    assert json.loads((folder / "config.json").read_text())["architectures"] == ["BertModel"]
    card = model_card(tmp_path / "out")
    assert "16 wide, is left out" in card and "| rtd accuracy |" in card and "| held out rtd loss |" in card
    line = learned(tmp_path / "out")[-3]
    assert line["loss"] == pytest.approx(line["mlm_loss"] + 50 * line["rtd_loss"])


def test_a_killed_run_continues_bit_for_bit(tmp_path: Path) -> None:
    whole = words(tmp_path, "whole", *RTD, "--checkpoint-steps", "3", "--dropout", "0.1")
    run(whole)
    again = words(tmp_path, "again", *RTD, "--checkpoint-steps", "3", "--dropout", "0.1")
    stopped_at(again, 5)
    run(again)
    assert weights(tmp_path / "again") == weights(tmp_path / "whole")
    assert losses(tmp_path / "again") == losses(tmp_path / "whole")


def test_recomputed_layers_give_the_same_model(tmp_path: Path) -> None:
    run(words(tmp_path, "whole", *RTD, "--dropout", "0.1", steps=4))
    run(words(tmp_path, "twice", *RTD, "--dropout", "0.1", "--recompute", steps=4))
    assert weights(tmp_path / "twice") == weights(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["0", "1", "2", "3"])
def test_two_processes_give_the_losses_of_one(stage: str, tmp_path: Path) -> None:
    one = words(tmp_path, "one", *RTD, "--dropout", "0", steps=4)
    run(one)
    two = words(tmp_path, "two", *RTD, "--dropout", "0", "--processes", "2", "--zero", stage, steps=4)
    run(two)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "mlm", "generator": 0.5}, "--generator is of the objective rtd"),
        ({"detection_weight": 20.0}, "--detection-weight is of the objective rtd.*mlm\\+nsp has none"),
        ({"objective": "ltr", "input": "text", "whole_words": True}, "--whole-words is of objectives that mask"),
    ],
)
def test_settings_of_another_objective_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(RequestError, match=message):
        Settings(**settings)  # type: ignore[arg-type]
