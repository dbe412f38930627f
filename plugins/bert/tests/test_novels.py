"""bert/novels, the backbone that comes along: what it is, where it is from, and that it has learnt."""

from __future__ import annotations

import json
import math
import os
import statistics
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from benchrunner import Workspace
from benchrunner.results import Runner, Study, discover, run_study
from benchrunner.workspace import Settings
from benchrunner_bert.backbones import VOCABULARY
from benchrunner_bert.family import EMBEDDED
from benchrunner_bert.pretraining import settings
from benchrunner_bert.pretraining.corpus import store_writer
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.vocabulary import Vocabulary
from benchrunner_bert.pretraining.instances.instances import Instances
from benchrunner_kit.testing import check_backbone

(NOVELS,) = EMBEDDED
REAL = os.environ.get("BENCHRUNNER_REAL_DATA")
OFFICIAL = pytest.mark.skipif(not REAL, reason="BENCHRUNNER_REAL_DATA names no folder with the official files")


def test_it_is_small_and_a_backbone_like_any_other(tmp_path: Path) -> None:
    assert (NOVELS.folder / "model.safetensors").stat().st_size < 8_000_000
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", settings=Settings(offline=True))
    backbone, family = discover().backbone_search.find("novels", workspace)
    assert backbone == NOVELS
    check_backbone(backbone, family, workspace, tmp_path / "saved")


def test_its_card_says_where_it_is_from() -> None:
    corpus = json.loads((NOVELS.folder / "corpus.json").read_text(encoding="utf-8"))
    card = (NOVELS.folder / "README.md").read_text(encoding="utf-8")
    assert "benchrunner pretrain 4/192" in card
    sources = corpus["plan"]["sources"]
    learnt = json.loads(VOCABULARY.with_suffix(".json").read_text(encoding="utf-8"))["texts"]
    assert len(sources) == 91
    for one in sources:
        assert learnt[one["name"].removesuffix(".txt")] == one["sha256"], "the vocabulary's manifest has the same files"


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
    model = transformers.BertForPreTraining.from_pretrained(NOVELS.folder).float().eval()
    with torch.no_grad():
        logits = model(torch.tensor([[cls, *left, mask, *right, sep]])).prediction_logits[0, 1 + len(left)]
    assert int((logits > logits[wanted[0]]).sum()) < 50


@OFFICIAL
def test_the_model_beats_unigram_counts_on_held_out_novels(tmp_path: Path) -> None:
    """The counts are of the held-out text itself: no other unigram model can be better on it."""
    assert REAL is not None
    trained = {one["name"] for one in json.loads((NOVELS.folder / "corpus.json").read_text())["plan"]["sources"]}
    unread = sorted((Path(REAL) / "corpus" / "100_english_novels").glob("*.txt"))
    unread = [one for one in unread if one.name not in trained]
    assert len(unread) == 3
    vocabulary = Vocabulary.read(VOCABULARY, lowercase=True)
    store = store_writer.write(tmp_path, Corpus.named([str(one) for one in unread], blank_lines=0), vocabulary)
    maker = Instances(store, vocabulary.tokenizer().frame, vocabulary, settings.Settings(), 0)
    counts = np.bincount(store.read(0, store.tokens), minlength=vocabulary.size)
    model = transformers.BertForPreTraining.from_pretrained(NOVELS.folder).float().eval()
    loss = unigram = count = 0.0
    for at in range(64):
        one = maker.make(at)
        batch = {"input_ids": torch.from_numpy(one.tokens.astype(np.int64))[None]}
        batch["token_type_ids"] = torch.from_numpy(one.segments.astype(np.int64))[None]
        with torch.no_grad():
            logits = model(**batch).prediction_logits[0, one.positions]
        loss += float(torch.nn.functional.cross_entropy(logits, torch.from_numpy(one.labels).long(), reduction="sum"))
        unigram -= float(np.log(counts[one.labels] / counts.sum()).sum())
        count += len(one.labels)
    print(f"perplexity {math.exp(loss / count):.1f}, of the text's own word counts {math.exp(unigram / count):.1f}")
    assert loss < 0.7 * unigram


@OFFICIAL
@pytest.mark.slow
@pytest.mark.parametrize("task", ["stsb", "sst2"])
def test_it_beats_its_twin_by_more_than_two_standard_errors(task: str, tmp_path: Path) -> None:
    """benchmarks/embedded_backbone.py prints the same with its figures, and other tasks' too."""
    assert REAL is not None
    workspace = Workspace(
        tmp_path / "runs", tmp_path / "cache", data=Path(REAL) / "glue", settings=Settings(offline=True)
    )
    runner = Runner(discover(), workspace)
    study = Study(
        (NOVELS.name, NOVELS.twin),
        tuple(runner.plugins.tasks_of([task])),
        seeds=(0, 1, 2, 3, 4),
        changes={"limit_train": 10_000, "lr": 3e-4, "precision": "bf16"},
    )
    result = run_study(study, runner)
    values = [next(iter(one.figures.values())).values for one in result.cells]
    error = math.sqrt(sum(statistics.variance(one) for one in values) / 5)
    assert statistics.fmean(values[0]) - statistics.fmean(values[1]) > 2 * error
