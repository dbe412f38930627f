"""bert/novels-10m: a backbone like any other, which has learnt more than bert/novels."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers

from benchrunner import Workspace
from benchrunner.results import discover
from benchrunner.workspace import Settings
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.family import EMBEDDED
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_novels.family import MODEL

SENTENCES = (
    ("it was the best of times , it was the worst of", "times", ", it was the age of wisdom ."),
    ("he shook his", "head", "and said nothing ."),
    ("she opened the", "door", "and went into the room ."),
    ("i do not", "know", "what you mean ."),
    ("the old man sat down by the", "fire", "and warmed his hands ."),
)


def test_it_fits_a_wheel_and_is_found_by_name_and_folder(tmp_path: Path) -> None:
    """Otherwise it is a BERT like bert/novels, whose contract is checked."""
    assert sum(path.stat().st_size for path in MODEL.place.iterdir()) < 25_000_000
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone, family = discover().backbone_search.find("novels-10m", workspace)
    assert backbone == MODEL
    by_folder = family.find(str(MODEL.place), workspace)
    assert by_folder is not None and by_folder.revision(workspace) == MODEL.revision(workspace)
    assert family.find("bert/other", workspace) is None


def test_its_twin_reads_the_same_tokens_with_as_many_weights(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    twin, _ = discover().backbone_search.find(MODEL.twin, workspace)
    assert twin.weight_count(workspace) == MODEL.weight_count(workspace)
    fingerprints = {backbone.load(workspace, seed=0).tokenizer_fingerprint for backbone in (twin, MODEL)}
    assert len(fingerprints) == 1


def test_it_expects_masked_words_more_than_the_smaller_model() -> None:
    """Transformers computes the losses of five words, each masked in a sentence of its own."""
    assert losses(MODEL.place) < losses(EMBEDDED[0].place) - 2.0


def losses(folder: Path) -> float:
    vocabulary = Vocabulary.read(VOCABULARY, lowercase=True)
    tokenizer = vocabulary.tokenizer()
    _, _, cls, sep, mask = vocabulary.special
    model = transformers.BertForPreTraining.from_pretrained(folder).float().eval()
    total = 0.0
    for sentence in SENTENCES:
        left, wanted, right = (tokenizer.pieces([text]).tokens.tolist() for text in sentence)
        with torch.no_grad():
            logits = model(torch.tensor([[cls, *left, mask, *right, sep]])).prediction_logits[0, 1 + len(left)]
        total -= logits.log_softmax(-1)[wanted[0]].item()
    return total
