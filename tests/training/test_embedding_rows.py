"""Training only the embedding rows in use: every encoder has the states that it has with the whole table."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from benchrunner import Workspace
from benchrunner.backbones.encoder import Encoder
from benchrunner.engine import OneBackbone
from benchrunner.errors import PluginError
from benchrunner.features.flat_batch import FlatBatch, collate
from benchrunner.training.embedding_rows import WHOLE_TABLE, WordsInUse, narrowed
from benchrunner_kit.testing import TinyBackbone, TinyEncoder, check_backbone
from benchrunner_kit.testing.tiny_encoder import VOCABULARY
from inline import QUICK, runner
from tiny_fits import features

CPU = torch.device("cpu")
PADDING = 5
"""A token id that is not its own row in the small table."""
UNUSED = int(np.setdiff1d(np.arange(1, 97), features(60).tokens)[0])
"""A token id that no example has."""


class Counting(TinyEncoder):
    """Derives positions from the padding id as RoBERTa does: counts the tokens that are not padding."""

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        real = (batch.tokens[: batch.real] != PADDING).long()
        positions = PADDING + (real.cumsum(0) - real.cumsum(0)[batch.starts[:-1].long()][batch.owner]) * real
        filled = functional.pad(positions, (0, len(batch.tokens) - batch.real))
        yield from super().hidden_states(replace(batch, positions=filled))


class Functional(TinyEncoder):
    """Looks up the weight of the table without calling its module."""

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        yield functional.embedding(batch.tokens, self.word.weight)


class Tied(TinyEncoder):
    """Uses the whole table for more than looking up tokens."""

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        for hidden in super().hidden_states(batch):
            yield hidden + self.word.weight.mean(0)


class Masking(TinyEncoder):
    """Looks up a token id of its own in training mode."""

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        yield self.word(torch.full_like(batch.tokens, UNUSED) if self.training else batch.tokens)


def states(encoder: Encoder) -> list[torch.Tensor]:
    data = features(60)
    batch = collate(data, np.arange(20), CPU)
    with torch.no_grad():
        return list(encoder.eval().hidden_states(batch))


@pytest.mark.parametrize("kind", [TinyEncoder, Counting])
def test_the_encoder_sees_the_tokenizers_ids(kind: type[TinyEncoder]) -> None:
    encoder, data = kind(), features(60)
    whole = states(encoder)
    assert len(narrowed(encoder, data)) == 1
    assert len(encoder.word.weight) < VOCABULARY
    assert all(map(torch.equal, states(encoder), whole))


@pytest.mark.parametrize("kind", [Functional, Tied])
def test_an_encoder_that_needs_the_whole_table_keeps_it(kind: type[TinyEncoder]) -> None:
    encoder = kind()
    before = encoder.word.weight.detach().clone()
    assert narrowed(encoder, features(60)) == []
    assert torch.equal(encoder.word.weight.detach(), before)
    assert encoder.training, "the mode is as it was"


def test_an_id_that_no_example_holds_is_an_error() -> None:
    encoder, data = Masking(), features(60)
    assert len(narrowed(encoder, data)) == 1
    with pytest.raises(PluginError, match="looks up another token in it"):
        encoder.train()(collate(data, np.arange(2), CPU))


def test_the_paddings_row_alone_has_no_gradient() -> None:
    data = features(60)
    padding = int(data.tokens[3])
    gradients = []
    for narrow in (False, True):
        table = nn.Embedding(97, 12, padding_idx=padding, _weight=TinyEncoder().word.weight.detach().clone())
        words = WordsInUse(table, data) if narrow else None
        table(torch.from_numpy(data.tokens).long()).square().sum().backward()
        assert table.weight.grad is not None
        gradients.append(table.weight.grad)
        if words is not None:
            words.restore(1.0)
            assert table.padding_idx == padding
    whole, small = gradients
    assert torch.equal(whole[np.unique(data.tokens)], small)
    assert not whole[padding].any()


def test_a_padding_that_no_example_holds_has_a_row() -> None:
    table = nn.Embedding(97, 12, padding_idx=UNUSED)
    WordsInUse(table, features(60))
    assert torch.equal(table(torch.tensor([UNUSED])), torch.zeros(1, 12))


class OfKind(TinyBackbone):
    """A backbone whose encoder is of the class that its name says."""

    def revision(self, workspace: Workspace) -> str:
        return f"{self.name} {super().revision(workspace)}"

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        encoder = super().load(workspace, seed=seed)
        encoder.__class__ = {"functional": Functional, "counting": Counting}[self.name]
        return encoder


def family(kind: str) -> OneBackbone:
    return OneBackbone(OfKind(kind), lambda folder: OfKind(kind, folder=folder))


def test_a_fit_notes_that_it_trains_the_whole_table(tmp_path: Path) -> None:
    fit_runner = runner(tmp_path, register_backbones=[family("functional"), family("counting")])
    for kind, notes in (("functional", (WHOLE_TABLE,)), ("counting", ())):
        fit = fit_runner.planner.plan(fit_runner.plugins.tasks.find("mood"), kind, recipe=QUICK)
        record = fit_runner.run(fit)
        assert (record.status, record.notes) == ("done", notes)


def test_the_check_finds_a_table_that_is_read_elsewhere(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tmp_path)
    check_backbone(OfKind("counting"), family("counting"), workspace, tmp_path / "counting")
    with pytest.raises(PluginError, match="word_embeddings is used for more than looking up"):
        check_backbone(OfKind("functional"), family("functional"), workspace, tmp_path / "functional")
