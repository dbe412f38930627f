"""Losses and all gradients are those of transformers; what is tied stays tied; sums are sums."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from bert_samples import fresh
from objective_samples import CORPUS, batch, gradients, mirrored, model, padded
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode
from transformers import BertForMaskedLM, BertForPreTraining, BertLMHeadModel

from benchrunner.errors import RequestError, Undefined, UnknownName
from benchrunner.features.randomness import Dropout
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.model_folder import export
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import OBJECTIVES, named
from benchrunner_bert.pretraining.training import cross_entropy
from benchrunner_bert.pretraining.training.flops import measured_peak, step_flops, utilisation
from benchrunner_bert.pretraining.training.held_out import HeldOut, summed
from benchrunner_bert.pretraining.training.model import PretrainingModel
from benchrunner_bert.pretraining.training.sums import Sums

NEAR = 1e-5
THEIRS = {"mlm+nsp": BertForPreTraining, "mlm": BertForMaskedLM, "ltr": BertLMHeadModel}
SHAPES = [{}, {"hidden": 30, "heads": 5, "layers": 3, "inner": 41, "positions": 71, "vocabulary": 8017}]
CARD = Card("test", CORPUS, ((1, 64),), 7, {}, 0.15, {}, 0, "fp32", "none", {})


def theirs(whole: PretrainingModel, folder: Path) -> torch.nn.Module:
    """The model in transformers, which has no objective `rtl`: for reversed texts, `ltr` is the same model."""
    if whole.objective.name == "rtl":
        whole = turned(whole)
    export(whole, folder, CARD)
    return THEIRS[whole.objective.name].from_pretrained(folder, attn_implementation="eager").eval()


def turned(whole: PretrainingModel) -> PretrainingModel:
    """The same weights with the objective `ltr`."""
    shape = {name: getattr(whole.bert.config, name) for name in SHAPES[1]}
    left = model("ltr", **shape)
    left.load_state_dict(whole.state_dict())
    return left


def learnt(whole: PretrainingModel, given: PretrainingBatch) -> tuple[Sums, torch.Tensor]:
    """The sums, with the gradients of the mean loss left in all weights."""
    sums = whole(given)
    loss = sums.loss(len(given.labels), len(given.is_next) if whole.objective.next_sentence else 0)
    loss.backward()
    return sums, loss.detach()


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
    sums, loss = learnt(whole, given)
    reference, inputs = theirs(whole, tmp_path), padded(mirrored(given) if objective == "rtl" else given)
    if objective == "mlm+nsp":
        inputs["next_sentence_label"] = 1 - given.is_next
    if not whole.objective.is_masked:  # over there each token's label is itself, and the model shifts
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
    compared = gradients(whole, reference)
    assert len(compared) == len([weight for weight in whole.parameters() if weight.requires_grad])
    for name, (mine, wanted) in compared.items():
        scale = max(1.0, wanted.abs().max().item())
        torch.testing.assert_close(mine / scale, wanted / scale, rtol=0, atol=NEAR, msg=name)


def test_the_output_layer_is_the_word_embeddings() -> None:
    whole = model("mlm+nsp")
    assert whole.tokens.output.weight is whole.bert.embeddings.word.weight
    names = [name for name, weight in whole.named_parameters() if weight.shape == (8000, 48)]
    assert names == ["bert.embeddings.word.weight"], "counted, trained and saved once"
    whole = whole.to(torch.float64).to(torch.float32)
    with torch.no_grad():
        whole.bert.embeddings.word.weight[7] = 3.0
    assert (whole.tokens.output.weight[7] == 3.0).all()


def test_the_word_embeddings_learn_from_both_sides() -> None:
    whole = model("mlm")
    given = batch(whole)
    learnt(whole, given)
    gradient = whole.bert.embeddings.word.weight.grad
    assert gradient is not None
    unread = np.setdiff1d(np.arange(8000), given.flat.tokens.numpy())
    assert len(unread) > 7000 and (gradient[unread].abs().sum(1) > 0).all(), "as an output every piece is pushed away"
    tokens = given.flat.tokens.unique()
    assert gradient[tokens].abs().sum(1).mean() > 5 * gradient[unread].abs().sum(1).mean()


def test_micro_batches_add_up_to_the_whole_batch() -> None:
    whole, alone = model("mlm+nsp"), model("mlm+nsp")
    given = batch(whole)
    sums, loss = learnt(whole, given)
    total = None
    for at, micro_batch in enumerate(parts(given)):
        part = alone(micro_batch)
        part.loss(len(given.labels), 7).backward()
        total = part.detached() if at == 0 else total.plus(part.detached())
    assert total.mlm_count == sums.mlm_count == len(given.labels) and total.nsp_count == 7
    for mine, wanted in zip(total, sums, strict=True):
        torch.testing.assert_close(mine, wanted.detach())
    torch.testing.assert_close(total.loss(len(given.labels), 7), loss)
    for summed_weight, weight in zip(alone.parameters(), whole.parameters(), strict=True):
        torch.testing.assert_close(summed_weight.grad, weight.grad, rtol=1e-4, atol=1e-6)


def parts(given: PretrainingBatch) -> list[PretrainingBatch]:
    """Each block of equally long sequences as a batch of its own."""
    starts, micro_batches = given.flat.starts.long(), []
    for block in given.flat.blocks:
        span, chosen = slice(block.start, block.stop), (block.start <= given.positions) & (given.positions < block.stop)
        rows = (starts[:-1] >= block.start) & (starts[:-1] < block.stop)
        inner = dataclasses.replace(
            given.flat,
            tokens=given.flat.tokens[span],
            segments=given.flat.segments[span],
            positions=given.flat.positions[span],
            starts=torch.arange(0, block.count * block.length + 1, block.length, dtype=torch.int32),
            blocks=(dataclasses.replace(block, start=0),),
        )
        micro_batches.append(
            PretrainingBatch(inner, given.positions[chosen] - block.start, given.labels[chosen], given.is_next[rows])
        )
    return micro_batches


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_layers_computed_twice_give_the_same_gradients(objective: str) -> None:
    gradients = []
    for recomputes in (False, True):
        whole = model(objective)
        whole.bert.set_dropout(0.2)
        whole.bert.recomputes = recomputes
        passes = list[str]()
        for layer in whole.bert.layers:
            layer.register_forward_pre_hook(lambda *_, passes=passes: passes.append("layer"))
        learnt(whole, batch(whole, dropout=Dropout(3, 1, 0)))
        assert len(passes) == 2 + 2 * recomputes
        gradients.append({name: weight.grad for name, weight in whole.named_parameters()})
    once, twice = gradients
    assert all(gradient is twice[name] or torch.equal(gradient, twice[name]) for name, gradient in once.items())


@pytest.mark.parametrize("objective", ["mlm+nsp", "rtl"])
def test_half_precision_stays_near_single_precision(objective: str) -> None:
    whole = model(objective)
    given = batch(whole)
    single = whole(given)
    with torch.autocast("cpu", torch.bfloat16):
        half = whole(given)
    assert half.mlm_loss.dtype == torch.float32 and half.mlm_loss != single.mlm_loss
    torch.testing.assert_close(half.mlm_loss, single.mlm_loss, rtol=0.01, atol=0)


# The loss over a vocabulary


@pytest.mark.parametrize("elements", [1, 50, 2**19])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_the_loss_in_pieces_is_torchs_own(kind: torch.dtype, elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cross_entropy._ELEMENTS, "cpu", elements)
    source = torch.Generator().manual_seed(0)
    logits = (20 * torch.randn(13, 17, generator=source)).to(kind).requires_grad_()
    targets = torch.randint(0, 17, (13,), generator=source)
    targets[::3] = logits.argmax(-1)[::3]
    exact = logits.detach().double().requires_grad_()
    wanted = functional.cross_entropy(exact, targets, reduction="sum")
    loss, hits = cross_entropy.summed(logits, targets)
    near = {torch.float32: 1e-5, torch.float64: 1e-12, torch.bfloat16: 1e-5}[kind]
    torch.testing.assert_close(loss.double(), wanted, rtol=near, atol=0)
    assert hits == (logits.argmax(-1) == targets).sum() > 4 and not hits.requires_grad
    (loss / 7).backward()
    (wanted / 7).backward()
    assert logits.grad.dtype == kind
    rounding = 2**-7 if kind == torch.bfloat16 else near
    torch.testing.assert_close(logits.grad.double(), exact.grad, rtol=rounding, atol=near)


def test_equal_logits_are_one_guess_and_not_many() -> None:
    assert cross_entropy.summed(torch.zeros(4, 3), torch.tensor([0, 1, 2, 1]))[1] == 1


def test_a_scale_that_half_precision_cannot_hold_is_not_rounded() -> None:
    """bf16 takes 1.003 for 1, and every gradient would be short of 0.3%; 1.003 thirds are nearer to the next number."""
    logits = torch.zeros(1, 3, dtype=torch.bfloat16, requires_grad=True)
    (cross_entropy.summed(logits, torch.tensor([0]))[0] * 1.003).backward()
    assert logits.grad[0, 1] == 0.3359375 > torch.tensor(1 / 3).bfloat16()


def test_no_predictions_have_no_loss() -> None:
    logits = torch.zeros(0, 5, requires_grad=True)
    loss, hits = cross_entropy.summed(logits, torch.zeros(0, dtype=torch.int64))
    loss.backward()
    assert loss == 0 and hits == 0 and logits.grad.shape == (0, 5)


# Fresh models


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
    frozen = {
        objective: {name for name, weight in model(objective).named_parameters() if not weight.requires_grad}
        for objective in OBJECTIVES
    }
    pooler = {"bert.pooler.weight", "bert.pooler.bias"}
    assert frozen == {"mlm+nsp": set(), "mlm": pooler, "ltr": pooler, "rtl": pooler}


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
        whole = PretrainingModel(Bert(Configuration.of_size(size, vocabulary), NoTokenizer()), named("mlm+nsp"))
    assert sum(weight.numel() for weight in whole.parameters()) == count


class NoTokenizer:
    fingerprint = "none"


# Held-out figures


def test_held_out_figures_are_those_of_all_batches_together() -> None:
    whole = model("mlm+nsp")
    given = batch(whole)
    figures, sums = HeldOut.of(summed(whole, parts(given))), whole(given)
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


def test_what_an_objective_has_not_has_no_figure() -> None:
    for objective in ("mlm", "ltr", "rtl"):
        whole = model(objective)
        figures = HeldOut.of(summed(whole, [batch(whole)]))
        assert figures.nsp_loss is None and figures.nsp_accuracy is None and figures.pairs is None


def test_no_batches_have_no_figures() -> None:
    with pytest.raises(Undefined, match="at least one batch"):
        HeldOut.of(summed(model("mlm"), []))


def test_a_loss_out_of_all_bounds_has_an_infinite_perplexity() -> None:
    values = (1e6, 1, 0, 0, 0, 0)
    assert HeldOut.of(Sums(*(torch.tensor(float(value)) for value in values))).perplexity == math.inf


def test_sums_over_batches_do_not_round() -> None:
    whole = model("mlm")
    given = batch(whole)
    total = summed(whole, [given] * 3)
    assert total.mlm_loss.dtype == torch.float64 and not total.mlm_loss.requires_grad
    assert summed(whole, [given] * 3).mlm_loss == 3 * summed(whole, [given]).mlm_loss


def test_right_to_left_is_left_to_right_on_reversed_text() -> None:
    whole = model("rtl")
    left, given = turned(whole), batch(whole)
    (sums, loss), (wanted, left_loss) = learnt(whole, given), learnt(left, mirrored(given))
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


# Operations


@pytest.mark.parametrize("shape", [*SHAPES, {"layers": 4}], ids=["plain", "odd", "deeper"])
@pytest.mark.parametrize("objective", ["mlm+nsp", "mlm"])
def test_operations_are_those_that_torch_counts(objective: str, shape: dict[str, int]) -> None:
    whole = model(objective, **shape)
    whole.bert.set_dropout(0.1)
    given = batch(whole, dropout=Dropout(1, 2, 3))
    with FlopCounterMode(display=False) as counter:
        learnt(whole, given)
    lengths = given.flat.starts.diff().numpy()
    wanted = step_flops(whole.bert.config, lengths, len(given.labels), next_sentence=whole.objective.next_sentence)
    assert counter.get_total_flops() == wanted


@pytest.mark.parametrize("objective", ["ltr", "rtl"])
def test_attention_one_way_needs_little_more_than_half(objective: str) -> None:
    both = Configuration.of_size("2/128", 100)
    left = named(objective).configured(both)
    single, three = np.array([1], dtype=np.int32), np.array([3], dtype=np.int32)
    assert step_flops(both, single, 0, next_sentence=False) == step_flops(left, single, 0, next_sentence=False)
    saved = step_flops(both, three, 0, next_sentence=False) - step_flops(left, three, 0, next_sentence=False)
    assert saved == 3 * 2 * (2 * 2 * 128) * (9 - 6)  # three passes, two layers, two products, three pairs fewer


def test_step_flops_of_base_are_six_per_weight_and_token() -> None:
    """The rule of thumb, over the weights that are multiplied with; attention comes on top."""
    config = Configuration.of_size("base", 30522)
    lengths = np.full(256, 128)
    flops = step_flops(config, lengths, 256 * 19, next_sentence=True)
    layers = 6 * 256 * 128 * 12 * 12 * 768**2
    heads = 6 * 256 * 19 * (768**2 + 768 * 30522) + 6 * 256 * (768**2 + 2 * 768)
    attention = 12 * 256 * 128 * 128 * 768 * 12
    assert flops == layers + heads + attention == pytest.approx(1.79e13, rel=0.01)


def test_lengths_of_few_bits_do_not_overflow() -> None:
    config = Configuration.of_size("base", 30522)
    many = np.full(4, 50000, dtype=np.int32)
    assert step_flops(config, many, 0, next_sentence=False) == step_flops(
        config, many.astype(np.int64), 0, next_sentence=False
    )


def test_utilisation_is_the_share_of_the_peak() -> None:
    assert utilisation(flops=3e9, seconds=2.0, peak=6e9) == 0.25


def test_a_peak_is_measured() -> None:
    assert measured_peak(torch.device("cpu"), torch.float32, repeats=1) > 1e8
