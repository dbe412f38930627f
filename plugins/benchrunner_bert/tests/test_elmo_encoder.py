"""States of ELMo are those of plain torch code, sequence by sequence; the contract of backbones holds."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from elmo_samples import SHAPES, elmo, plain_states, ragged

from benchrunner import CheckpointError, RequestError, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.elmo.configuration import ElmoConfiguration
from benchrunner_bert.elmo.encoder import Elmo
from benchrunner_kit.testing import check_backbone

NEAR = 2e-6


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_states_equal_hand_written_cells(shape: str) -> None:
    """Each sequence alone, token by token, without torch's LSTM; there is filling at the end of the batch."""
    encoder = elmo(shape)
    batch = ragged(encoder, multiple=16)
    assert len(batch.tokens) > batch.real
    layers = list(encoder.hidden_states(batch))
    assert len(layers) == encoder.config.layers + 1
    for sequence, (start, stop) in enumerate(zip(batch.starts[:-1], batch.starts[1:], strict=True)):
        expected = plain_states(encoder, batch.tokens[start:stop])
        for states, wanted in zip(layers, expected, strict=True):
            torch.testing.assert_close(states[start:stop], wanted, rtol=0, atol=NEAR)
        width, summary = encoder.config.width, encoder.summary(layers[-1], batch)[sequence]
        torch.testing.assert_close(summary[:width], expected[-1][-1, :width], rtol=0, atol=NEAR)
        torch.testing.assert_close(summary[width:], expected[-1][0, width:], rtol=0, atol=NEAR)


def test_an_elmo_keeps_the_contract_of_backbones(tmp_path: Path) -> None:
    folder = tmp_path / "elmo"
    elmo("2/8/12", vocabulary=8000).save(folder)
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone, family = discover().backbone_search.find(str(folder), workspace)
    assert backbone.frozen
    check_backbone(backbone, family, workspace, tmp_path / "again")


def test_damaged_checkpoints_are_refused(tmp_path: Path) -> None:
    from benchrunner_bert.elmo.checkpoint import read

    encoder = elmo("2/8")
    encoder.save(tmp_path)
    config = tmp_path / "config.json"
    text = config.read_text(encoding="utf-8")
    for old, new, message in (
        ('"direction_size": 8', '"direction_size": 9', "cannot be projected to a direction_size of 9"),
        ('"cell_size": 8', '"cell_size": 9', "does not hold this ELMo:(.|\n)*unexpected: |missing: "),
        ('"num_hidden_layers": 2', '"num_hidden_layers": 3', "missing: left_to_right.layers.2.weight_ih_l0"),
        ('"vocab_size"', '"vocabulary"', "vocab_size missing"),
        ('"elmo"', '"gru"', "model_type is 'gru'"),
        ('"vocab_size": 8000', '"vocab_size": 7', "the model only 7 embeddings"),
    ):
        config.write_text(text.replace(old, new), encoding="utf-8")
        assert config.read_text(encoding="utf-8") != text
        with pytest.raises(CheckpointError, match=message):
            read(tmp_path)
    config.write_text(text, encoding="utf-8")
    (tmp_path / "model.safetensors").write_bytes(b"cut")
    with pytest.raises(CheckpointError, match="the weights cannot be read"):
        read(tmp_path)


def test_sizes_are_named_or_numbers() -> None:
    assert ElmoConfiguration.of_size("base", 100) == ElmoConfiguration(100, 512, 2, 4096)
    assert ElmoConfiguration.of_size("3/20", 100) == ElmoConfiguration(100, 20, 3, 20)
    assert ElmoConfiguration.of_size("1/20/30", 100) == ElmoConfiguration(100, 20, 1, 30)
    for size in ("huge", "2", "2/0", "2/x", "2/3/4/5", ""):
        with pytest.raises(RequestError, match="An ELMo's size is small, medium, base, L/H or L/H/C"):
            ElmoConfiguration.of_size(size, 100)
    with pytest.raises(RequestError, match="10 cells cannot be projected to a width of 20"):
        ElmoConfiguration.of_size("2/20/10", 100)


def test_a_head_cannot_be_exported_for_other_libraries(tmp_path: Path) -> None:
    from bert_samples import ANSWER, exported

    from benchrunner.methods.heads import LinearHead

    encoder: Elmo = elmo("1/8")
    with pytest.raises(CheckpointError, match="No other library knows an ELMo"):
        encoder.save(tmp_path, exported(LinearHead(16, ANSWER.head, seed=0), ANSWER))
