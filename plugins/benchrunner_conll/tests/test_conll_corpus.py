"""A `Corpus` makes a task; its recipe shows each sentence with its neighbours; its demo data can be learned."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
from conll_samples import real_rows, workspace

from benchrunner import PluginError, Recipe, Task
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner_conll import CONLL2003, Corpus, register_tasks
from benchrunner_conll.conlleval import evaluate
from benchrunner_kit.testing import TinyEncoder, check_task


def tweets(**changes: object) -> Task:
    corpus: dict[str, object] = {
        "name": "mine/tweets",
        "about": "Which groups do tweets name?",
        "files": {"train": ("train.conll",), "dev_web": ("web.conll",), "test": ("test.conll",)},
        "types": ("group",),
    }
    return Corpus(**(corpus | changes)).task()  # type: ignore[arg-type]


def test_a_corpus_makes_a_task(tmp_path: Path) -> None:
    task = tweets(rows={"dev_web": 3}, recipe=Recipe(context="sentence"))
    (tmp_path / "web.conll").write_text("The\tB-group\nWho\tI-group\n\nat O\n")
    rows = task.load("dev_web", workspace(tmp_path))
    assert rows.table.to_pydict() == {"words": [["The", "Who"], ["at"]], "labels": [["B-group", "I-group"], ["O"]]}
    assert rows.notes[:2] == ("tags are in IOB2", "2 dev rows, where the official count is 3")
    assert "no column 'document'" in rows.notes[2], "the file has no marks of documents"
    assert (task.train, task.named("dev"), task.recipe.context) == ("train", ["dev_web"], "sentence")
    assert task.problem.identity()["labels"] == ["O", "B-group", "I-group"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"types": ("O", "group")}, "without O, B- and I-, so none can be 'O'"),
        ({"files": {"train": ("a",), "validation": ("b",)}}, "is or begins with train, dev or test, not 'validation'"),
        ({"rows": {"dev": 3}}, "there are no files of the split 'dev'"),
        ({"columns": ("words", "tags")}, "words and labels among them"),
    ],
)
def test_a_wrong_corpus_is_a_plugin_error(changes: dict[str, object], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        tweets(**changes)


QUICK = {("window", False), ("document", True)}
"""Cases that every run of the tests proves, two seconds each; the others are slow tests."""


@pytest.mark.parametrize(
    ("context", "training"),
    [
        pytest.param(context, training, marks=() if (context, training) in QUICK else pytest.mark.slow)
        for context in RECIPE_FIELDS["context"].choices
        for training in (True, False)
    ],
)
def test_every_word_of_the_real_files_is_answered_once(context: str, training: bool) -> None:
    """Uses windows of 64 pieces, which are too short for many sentences and most documents."""
    (task,) = register_tasks()
    for split in task.splits:
        table = real_rows(split).table
        recipe = Recipe(max_length=64, context=context)
        features = task.problem.encode(table, TinyEncoder(), recipe, training=training)
        outputs = np.eye(9, dtype=np.float32)[np.maximum(features.token_targets["label"], 0)]
        answers = task.problem.decode(task.problem.gather(outputs, features, table), table, {})
        assert answers == task.problem.gold(table)
        assert features.batch_counts("sentences").sum() == len(answers)
        assert features.lengths.max() <= 64


TASK = CONLL2003.task()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    TASK.demo_files(folder)  # type: ignore[misc]
    return folder


@pytest.mark.parametrize("split", CONLL2003.files)
def test_every_split_loads_with_documents_and_every_type(data: Path, split: str) -> None:
    rows = TASK.load(split, workspace(data))
    assert rows.notes[0] == "tags are in IOB1, read as IOB2"
    assert len(set(rows.table.column("document").to_pylist())) == (60 if split == "train" else 20)
    assert {tag for tags in rows.table.column("labels").to_pylist() for tag in tags} == set(CONLL2003.labels)


def test_the_task_keeps_its_contract(tmp_path: Path) -> None:
    check_task(TASK, tmp_path)


def test_the_list_of_tasks_says_that_the_context_is_a_choice() -> None:
    """The default context loses 5 to 10 points of F1 with small models: see README.md."""
    assert TASK.recipe.context == "window" and "small models: --set context=window,sentence" in TASK.about


def test_each_word_tells_its_tag(data: Path) -> None:
    train, dev = (TASK.load(split, workspace(data)).table.to_pylist() for split in ("train", "dev"))
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for row in train:
        for word, tag in zip(row["words"], row["labels"], strict=True):
            seen[word][tag] += 1
    predicted = []
    for row in dev:
        predicted.append([seen[word].most_common(1)[0][0] if word in seen else "O" for word in row["words"]])
    assert evaluate([row["labels"] for row in dev], predicted).overall.f1 > 95
