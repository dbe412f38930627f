"""A `Corpus` makes a task; the recipe of CoNLL-2003 shows each sentence with its neighbours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conll_samples import real_data, workspace

from benchrunner import PluginError, Recipe, Task
from benchrunner.parameters.recipes import RECIPE_FIELDS
from benchrunner_conll import CONLL2003, Corpus, register_tasks
from benchrunner_kit.testing import TinyEncoder


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
    assert rows.notes == ("tags are in IOB2", "2 rows, where the official count is 3")
    assert (task.train, task.named("dev"), task.recipe.context) == ("train", ["dev_web"], "sentence")
    assert task.problem.identity() == {"kind": "tag", "labels": ["O", "B-group", "I-group"]}


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


def test_a_batch_is_32_sentences_with_their_neighbours() -> None:
    (task,) = register_tasks()
    recipe = task.recipe
    assert (recipe.lr, recipe.epochs, recipe.batch_size, recipe.batch_unit) == (5e-5, 3, 32, "sentences")
    assert (recipe.context, recipe.max_length) == ("window", 128)
    assert (task.name, task.metrics[0].name) == ("conll/ner", "f1")
    assert CONLL2003.labels[:3] == ("O", "B-PER", "I-PER") and len(CONLL2003.labels) == 9


QUICK = {("window", False), ("document", True)}
"""Cases that every run of the tests proves, four seconds each; the others are slow tests."""


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
        table = task.load(split, workspace(real_data("conll2003"))).table
        recipe = Recipe(max_length=64, context=context)
        features = task.problem.encode(table, TinyEncoder(), recipe, training=training)
        outputs = np.eye(9, dtype=np.float32)[np.maximum(features.token_targets["label"], 0)]
        answers = task.problem.decode(task.problem.gather(outputs, features, table), table, {})
        assert answers == task.problem.gold(table)
        assert features.batch_counts("sentences").sum() == len(answers)
        assert features.lengths.max() <= 64
