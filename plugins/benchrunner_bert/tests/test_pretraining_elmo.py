"""The pre-training of an ELMo: loss and gradients of plain code, exact resumption, ZeRO, and the model it leaves."""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from elmo_samples import SHAPES, elmo, plain_states, ragged
from pretraining_runs import corpus, gone_on_from, learned, losses, run, weights, words
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional
from torch.utils.flop_counter import FlopCounterMode

from benchrunner import Workspace
from benchrunner.engine import Dropout, FlatBatch
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.elmo.encoder import Elmo
from benchrunner_bert.pretraining.instances.batches import PretrainingBatch
from benchrunner_bert.pretraining.objectives import TWO_MODELS
from benchrunner_bert.pretraining.training.elmo_model import ElmoPretrainingModel
from benchrunner_kit.testing import check_backbone

NEAR = 2e-6


def model(size: str) -> ElmoPretrainingModel:
    """Every weight is drawn, output biases included, so that mixing two of them up shows."""
    whole = ElmoPretrainingModel(elmo(size), TWO_MODELS)
    for head in (whole.after, whole.before):
        nn.init.normal_(head.output.bias, generator=torch.Generator().manual_seed(3))
        head.output.bias.data[: 4000 if head is whole.after else 5] += 0.5
    return whole.eval()


def batch(flat: FlatBatch) -> PretrainingBatch:
    """Each token but the last of a sequence predicts the token after it."""
    starts = flat.starts.tolist()
    places = [place for start, stop in itertools.pairwise(starts) for place in range(start, stop - 1)]
    positions = torch.tensor(places)
    return PretrainingBatch(flat, positions, flat.tokens[positions + 1], torch.full((len(starts) - 1,), -1))


def plain_losses(whole: ElmoPretrainingModel, flat: FlatBatch) -> tuple[torch.Tensor, torch.Tensor, int]:
    """Compute the mean loss of each direction and the hits, one sequence after another, one token after another."""
    width, sums, hits, count = whole.elmo.config.width, [torch.zeros(()), torch.zeros(())], 0, 0
    for start, stop in zip(flat.starts[:-1].tolist(), flat.starts[1:].tolist(), strict=True):
        tokens = flat.tokens[start:stop]
        states = plain_states(whole.elmo, tokens)[-1]
        for direction, (predicting, labels) in enumerate(
            [(states[:-1, :width], tokens[1:]), (states[1:, width:], tokens[:-1])]
        ):
            network = (whole.elmo.left_to_right, whole.elmo.right_to_left)[direction]
            bias = (whole.after, whole.before)[direction].output.bias
            logits = predicting @ network.embedding.weight.T + bias
            sums[direction] = sums[direction] + functional.cross_entropy(logits, labels, reduction="sum")
            hits += int((logits.argmax(-1) == labels).sum())
        count += stop - start - 1
    return sums[0] / count, sums[1] / count, hits


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_loss_and_all_gradients_equal_plain_code(shape: str) -> None:
    whole = model(shape)
    given = batch(ragged(whole.elmo, multiple=16))
    sums = whole(given)
    loss = sums.loss(len(given.labels), 0)
    loss.backward()
    gradients = {name: weight.grad.clone() for name, weight in whole.named_parameters()}
    whole.zero_grad()
    after, before, hits = plain_losses(whole, given.flat)
    (after + before).backward()
    torch.testing.assert_close(loss, after + before, rtol=1e-6, atol=NEAR)
    assert (sums.mlm_count, sums.mlm_correct) == (2 * len(given.labels), hits)
    torch.testing.assert_close(sums.mlm_loss / sums.mlm_count, (after + before) / 2, rtol=0, atol=NEAR)
    for name, weight in whole.named_parameters():
        scale = max(1.0, weight.grad.abs().max().item())
        torch.testing.assert_close(gradients[name] / scale, weight.grad / scale, rtol=0, atol=NEAR, msg=name)
    assert len(gradients) == len(list(whole.elmo.parameters())) + 2, "the output weights are the embeddings"


def test_the_operations_are_those_that_torch_counts() -> None:
    whole = model("2/8/20")
    given, width = batch(ragged(whole.elmo, texts=2)), whole.elmo.config.width
    starts = given.flat.starts.tolist()
    with FlopCounterMode(display=False) as counter:
        for start, stop in itertools.pairwise(starts):
            states = plain_states(whole.elmo, given.flat.tokens[start:stop])[-1]
            states[:-1, :width] @ whole.elmo.left_to_right.embedding.weight.T
            states[1:, width:] @ whole.elmo.right_to_left.embedding.weight.T
    lengths = np.diff(starts)
    assert whole.config.step_flops(lengths, 2 * len(given.labels), next_sentence=False) == 3 * counter.get_total_flops()


def test_dropout_is_on_each_layers_input_and_on_the_output() -> None:
    whole = model("2/8")
    whole.elmo.set_dropout(0.5)
    given = batch(ragged(whole.elmo))
    sites = list[str]()

    class Watched(Dropout):
        def __call__(self, x: torch.Tensor, rate: float, site: str) -> torch.Tensor:
            sites.append(site)
            assert rate == 0.5
            return super().__call__(x, rate, site)

    whole(dataclasses.replace(given, flat=dataclasses.replace(given.flat, dropout=Watched(0, 1))))
    expected = [*(f"{way} {layer}" for way in ("left_to_right", "right_to_left") for layer in (0, 1))]
    expected += ["output of left_to_right", "output of right_to_left"]
    assert sorted(sites) == sorted(expected)


# Whole runs

BROKEN = ("--checkpoint-steps", "5", "--keep-checkpoints", "9")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and a run of 16 steps that nothing stopped; the last 4 are of the second phase."""
    folder = tmp_path_factory.mktemp("elmo")
    corpus(folder / "corpus")
    corpus(folder / "held", seed=1)
    run(asked(folder, "unbroken"), OMP_NUM_THREADS="1")
    return folder


def asked(folder: Path, out: str, *more: str) -> list[str]:
    held = ("--held-out", str(folder / "held"), "--evaluate-steps", "8")
    more = ("--lr", "1e-2", "--micro-tokens", "4096", *more)
    return words(folder, out, *BROKEN, *held, *more, steps=16, size="elmo-2/16/24")


def test_a_broken_run_goes_on_to_the_same_bits(home: Path) -> None:
    """Over the border of the phases."""
    gone_on_from(home / "unbroken", 10, home / "broken")
    run(asked(home, "broken"), OMP_NUM_THREADS="1")
    assert learned(home / "broken") == learned(home / "unbroken")
    assert weights(home / "broken") == weights(home / "unbroken")
    assert sum(losses(home / "unbroken")[-5:]) < 0.9 * sum(losses(home / "unbroken")[:5])


def test_the_model_is_a_frozen_backbone_with_a_name_and_a_card(home: Path) -> None:
    folder = home / "unbroken" / "model"
    workspace = Workspace(home / "runs", home / "cache", settings=Settings(offline=True))
    plugins = discover()
    backbone, family = plugins.backbone_search.find("pretrained/unbroken", workspace)
    assert backbone.frozen and backbone.about.startswith("pre-trained here: an ELMo of 2 LSTM layers, 16 wide in each")
    assert plugins.backbone_search.find(str(folder), workspace)[0].revision(workspace) == backbone.revision(workspace)
    check_backbone(backbone, family, workspace, home / "again")
    encoder = backbone.load(workspace, seed=0)
    assert isinstance(encoder, Elmo) and encoder.dropout == 0.1
    tensors = load_file(folder / "model.safetensors")
    assert torch.equal(encoder.right_to_left.embedding.weight, tensors["right_to_left.embedding.weight"])
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "24 cells" in card and "positions" not in card
