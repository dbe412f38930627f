"""Requests that need more memory than there is are refused in a sentence, and a model is measured against guessing."""

from __future__ import annotations

import math
import resource
from pathlib import Path

import pytest

pytest.importorskip("deepspeed", reason="pre-training needs benchrunner-bert's extra 'pretrain'")

from pretraining_runs import corpus, line, words
from pretraining_texts import UNK, vocabulary

from benchrunner_bert.pretraining.corpus import store_writer, unigram
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.sources import TextFile
from benchrunner_bert.pretraining.corpus.unigram import unigram_loss
from benchrunner_bert.pretraining.results import Learned

HUGE = [
    ("1/32/2", ("--batch-size", "9000000", "--length", "500000"), "A batch of 9,000,000 sequences of 500,000 tokens"),
    ("elmo-1/32", ("--batch-size", "9000000", "--long-length", "900000"), "A batch of 9,000,000 sequences of 900,000"),
    ("1000000/128", (), "A model of the size 1000000/128 has"),
    ("1/1000000/1", (), "A model of the size 1/1000000/1 has"),
    ("elmo-1000000/128", (), "A model of the size elmo-1000000/128 has"),
    ("elmo-1/128/1000000000", (), "A model of the size elmo-1/128/1000000000 has"),
    ("gpt-1000000/128", (), "A model of the size gpt-1000000/128 has"),
]


@pytest.mark.parametrize(("size", "more", "reason"), HUGE)
def test_numbers_that_take_gigabytes_are_refused(
    tmp_path: Path, size: str, more: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path / "corpus")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert line(*words(tmp_path, "out", *more, size=size)[3:]) == 2
    error = capsys.readouterr().err
    assert reason in error and "Traceback" not in error and not (tmp_path / "out").exists()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000, "kilobytes"


def test_guessing_loses_the_entropy_of_the_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("oak oak elm strange\n\noak elm\n", encoding="utf-8")
    words = vocabulary(tmp_path / "words.txt", "oak", "elm", "ash")
    store = store_writer.write(tmp_path / "store", Corpus((TextFile(tmp_path / "a.txt", "a.txt"),)), words)
    known = -(3 / 5 * math.log(3 / 5) + 2 / 5 * math.log(2 / 5))
    assert unigram_loss(store, UNK) == pytest.approx(known)
    shares = [3 / 6, 2 / 6, 1 / 6]
    assert unigram_loss(store, None) == pytest.approx(-sum(share * math.log(share) for share in shares))
    monkeypatch.setattr(unigram, "_BLOCK", 2)
    assert unigram_loss(store, None) == pytest.approx(-sum(share * math.log(share) for share in shares))


def test_a_model_hardly_better_than_guessing_learnt_nothing() -> None:
    assert Learned(6.0, 6.0).is_nothing and Learned(5.97, 6.0).is_nothing and not Learned(5.9, 6.0).is_nothing
    assert "6, of guessing tokens by their frequency 6: the model learnt nothing" in Learned(6.0, 6.0).text
    assert "learnt nothing" not in Learned(2.0, 6.0).text
