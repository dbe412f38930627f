"""BERTs side by side: different widths, left-to-right beside right-to-left, and a fit from the command line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from benchrunner import Recipe, Workspace
from benchrunner.engine import collate, randomness
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.configuration import Configuration, Direction
from benchrunner_bert.family import BertFamily
from benchrunner_bert.model import Bert
from benchrunner_bert.tokenizer import BertTokenizer
from benchrunner_kit.testing import MOOD, check_backbone, sentences
from benchrunner_methods.concatenated_encoder import ConcatenatedEncoder
from benchrunner_methods.concatenation import ConcatenatedFamily


def bert(size: str, direction: Direction, *, seed: int) -> Bert:
    tokenizer = BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True)
    pieces = VOCABULARY.read_text(encoding="utf-8").count("\n")
    model = Bert(replace(Configuration.of_size(size, pieces), direction=direction), tokenizer)
    model.draw(randomness.generator(seed, "test"))
    return model.eval()


@torch.inference_mode()
def test_left_to_right_and_right_to_left_keep_their_states() -> None:
    """Each part has its own width, its own restriction of attention and its own token for the summary."""
    parts = [bert("2/128", "left-to-right", seed=1), bert("2/64/1", "right-to-left", seed=2)]
    encoder = ConcatenatedEncoder(["ltr", "rtl"], parts).eval()
    features = MOOD.encode(pa.table(sentences(12)), encoder, Recipe(), training=False)
    batch = collate(features, np.arange(12), torch.device("cpu"))
    layers = list(encoder.hidden_states(batch))
    expected = [list(part.hidden_states(batch)) for part in parts]
    assert [layer.shape[1] for layer in layers] == [192] * 3
    for layer, *own_states in zip(layers, *expected, strict=True):
        assert torch.equal(layer, torch.cat(own_states, dim=1))
    summary = encoder.summary(layers[-1], batch)
    assert torch.equal(summary[:, :128], parts[0].summary(expected[0][-1], batch))
    assert torch.equal(summary[:, 128:], parts[1].summary(expected[1][-1], batch))


def test_two_berts_keep_a_backbones_contract(tmp_path: Path) -> None:
    family, workspace = BertFamily(), Workspace(tmp_path, tmp_path)

    parts = [family.find(name, workspace) for name in ("bert/random-2/128", "bert/random-2/64/1")]
    both = ConcatenatedFamily((family, family))
    backbone = both.combined("concat:bert/random-2/128,bert/random-2/64/1", [part for part in parts if part])
    check_backbone(backbone, both, workspace, tmp_path / "saved")
