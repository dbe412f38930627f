"""bert/novels, the backbone that comes along: what it is, where it is from, and that it has learnt."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import transformers

from benchrunner import Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.family import EMBEDDED
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_kit.testing import check_backbone

(NOVELS,) = EMBEDDED


def test_it_is_small_and_a_backbone_like_any_other(tmp_path: Path) -> None:
    assert (NOVELS.place / "model.safetensors").stat().st_size < 8_000_000
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone, family = discover().backbone_search.find("novels", workspace)
    assert backbone == NOVELS
    check_backbone(backbone, family, workspace, tmp_path / "saved")


@pytest.mark.parametrize(
    ("before", "word", "after"),
    [
        ("it was the best of times , it was the worst of", "times", ", it was the age of wisdom ."),
        ("he shook his", "head", "and said nothing ."),
        ("she opened the", "door", "and went into the room ."),
        ("i do not", "know", "what you mean ."),
        ("the old man sat down by the", "fire", "and warmed his hands ."),
    ],
)
def test_it_expects_what_a_reader_expects(before: str, word: str, after: str, tmp_path: Path) -> None:
    """The masked word is among the first fifty of the 8,000 that it may be; by chance it is not."""
    vocabulary = Vocabulary.read(VOCABULARY, lowercase=True)
    tokenizer = vocabulary.tokenizer()
    left, wanted, right = (tokenizer.pieces([text]).tokens.tolist() for text in (before, word, after))
    _, _, cls, sep, mask = vocabulary.special
    model = transformers.BertForPreTraining.from_pretrained(NOVELS.place).float().eval()
    with torch.no_grad():
        logits = model(torch.tensor([[cls, *left, mask, *right, sep]])).prediction_logits[0, 1 + len(left)]
    assert int((logits > logits[wanted[0]]).sum()) < 50
