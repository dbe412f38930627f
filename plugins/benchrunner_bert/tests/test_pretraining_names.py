"""Finished models by name, and several runs on one corpus that is tokenised once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pretraining_runs import corpus, model_card, run, words

from benchrunner import RequestError
from benchrunner.results import discover
from benchrunner_bert import pretrained


def test_a_name_leads_to_its_one_model_until_that_is_gone(tmp_path: Path) -> None:
    runs, folder = tmp_path / "runs", tmp_path / "out" / "model"
    folder.mkdir(parents=True)
    (folder / "config.json").touch()
    pretrained.register("mine", folder, "a small one", runs)
    (known,) = pretrained.listed(runs)
    assert (known.name, known.folder, known.about) == ("mine", folder.resolve(), "a small one")
    assert pretrained.find("mine", runs) == known
    pretrained.check_free("mine", folder, runs)
    with pytest.raises(RequestError, match="choose another with --name"):
        pretrained.check_free("mine", tmp_path / "second", runs)
    with pytest.raises(RequestError, match="letters, digits"):
        pretrained.check_free("../mine", folder, runs)
    (folder / "config.json").unlink()
    assert list(pretrained.listed(runs)) == []
    with pytest.raises(RequestError, match="no longer exists"):
        pretrained.find("mine", runs)


@pytest.mark.parametrize(
    ("content", "reason"),
    [("[" * 100_000, "nested more than 100 deep"), ('{"about": "x"}', "expected the keys folder and about")],
    ids=["brackets", "no folder"],
)
def test_a_damaged_file_of_a_name_is_refused(content: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "pretrained" / "x.json"
    file.parent.mkdir()
    file.write_text(content)
    assert list(pretrained.listed(tmp_path)) == []
    with pytest.raises(RequestError, match=reason) as error:
        pretrained.find("x", tmp_path)
    assert str(file) in str(error.value) and "Remove this file" in str(error.value)


def test_runs_share_tokens_and_are_listed_with_their_restriction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = ["--tokens", str(tmp_path / "tokens")]
    run(words(tmp_path, "both", *shared, steps=2))
    written = {path: path.stat().st_mtime_ns for path in (tmp_path / "tokens").glob("*.*")}
    run(words(tmp_path, "left", *shared, "--objective", "ltr", "--name", "gpt-like", "--recompute", steps=2))
    assert written == {path: path.stat().st_mtime_ns for path in (tmp_path / "tokens").glob("*.*")} != {}
    assert not (tmp_path / "left" / "tokens").exists()
    monkeypatch.setenv("BENCHRUNNER_RUNS", str(tmp_path / "runs"))
    listed = {name: one.about for name, one in discover().backbones.items() if name.startswith("pretrained/")}
    assert list(listed) == ["pretrained/both", "pretrained/gpt-like"]
    assert "ltr, 2 steps; its attention looks left only" in listed["pretrained/gpt-like"]


def test_documents_without_a_pair_are_counted_in_words_and_card(tmp_path: Path) -> None:
    with (corpus(tmp_path / "corpus") / "novels.txt").open("a", encoding="utf-8") as file:
        file.write("\n\nThe old man met the horse.\n\nThe woman ran.\n")
    said = run(words(tmp_path, "out", steps=1))
    assert "2 of 14 documents hold a single sentence and are not read" in said
    card = model_card(tmp_path / "out")
    assert "Documents of a single sentence, which were not read because they hold no pair of spans: 2." in card
    all_read = run(words(tmp_path, "text", "--objective", "mlm", "--input", "document", steps=1))
    assert "single sentence" not in all_read
    assert "single sentence" not in model_card(tmp_path / "text")


def test_vocabulary_is_relearnt_if_corpus_changed_before_tokens(tmp_path: Path) -> None:
    shared = ["--tokens", str(tmp_path / "tokens")]
    run(words(tmp_path, "one", *shared, steps=1))
    for path in (tmp_path / "tokens").iterdir():
        if not path.name.startswith("learnt"):  # as if it had been killed when the vocabulary was there
            path.unlink()
    (tmp_path / "corpus" / "novels.txt").write_text("Zebras zigzag. Zany zebras zoom.\n\n" * 40)
    run(words(tmp_path, "two", *shared, steps=1))
    assert "zebras" in (tmp_path / "tokens" / "learnt.txt").read_text().splitlines()
