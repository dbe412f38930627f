"""States of ELMo are those of plain torch code, sequence by sequence; the contract of backbones holds."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import torch
from elmo_samples import SHAPES, elmo, plain_states, ragged

from benchrunner import CheckpointError, Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_kit.testing import check_backbone

NEAR = 2e-6


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_states_equal_hand_written_cells(shape: str) -> None:
    """Each sequence alone, token by token, without torch's LSTM; there is filling at the end of the batch."""
    encoder = elmo(shape)
    batch = ragged(encoder, multiple=16)
    assert len(batch.tokens) > batch.real
    states = torch.stack(list(encoder.hidden_states(batch)))
    width, summaries = encoder.config.width, encoder.summary(states[-1], batch)
    for sequence, (start, stop) in enumerate(itertools.pairwise(batch.starts.tolist())):
        expected = torch.stack(plain_states(encoder, batch.tokens[start:stop]))
        torch.testing.assert_close(states[:, start:stop], expected, rtol=0, atol=NEAR)
        ends = torch.cat([expected[-1, -1, :width], expected[-1, 0, width:]])
        torch.testing.assert_close(summaries[sequence], ends, rtol=0, atol=NEAR)


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
