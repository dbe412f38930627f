"""A model is measured against guessing tokens by their frequency."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from pretraining_texts import vocabulary

from benchrunner_bert.pretraining.corpus import store_writer, unigram
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.sources import TextFile
from benchrunner_bert.pretraining.corpus.unigram import unigram_loss
from benchrunner_bert.pretraining.results import outcome
from benchrunner_bert.pretraining.settings import Settings


def test_guessing_loses_the_entropy_of_the_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("oak oak elm strange\n\noak elm\n", encoding="utf-8")
    words = vocabulary(tmp_path / "words.txt", "oak", "elm", "ash")
    store = store_writer.write(tmp_path / "store", Corpus((TextFile(tmp_path / "a.txt", "a.txt"),)), words)
    known = -(3 / 5 * math.log(3 / 5) + 2 / 5 * math.log(2 / 5))
    assert unigram_loss(store, Settings()) == pytest.approx(known)
    monkeypatch.setattr(unigram, "_BLOCK", 2)
    everything = -sum(share * math.log(share) for share in (3 / 6, 2 / 6, 1 / 6))
    assert unigram_loss(store, Settings(predict_unknown=True)) == pytest.approx(everything)


def test_a_model_hardly_better_than_guessing_learnt_nothing() -> None:
    assert outcome(6.0, 6.0)[1] and outcome(5.97, 6.0)[1] and not outcome(5.9, 6.0)[1]
    assert "the model learnt nothing" in outcome(6.0, 6.0)[0] and "learnt nothing" not in outcome(2.0, 6.0)[0]
