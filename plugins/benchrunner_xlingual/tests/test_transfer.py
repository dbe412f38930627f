"""One fit answers all languages, the language that is learned from selects, and figures equal the official rules."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import accuracy_score

from benchrunner import PluginError, Recipe, Task, Term, Workspace
from benchrunner.results import Computing, Runner, StudyOptions, discover, run_study
from benchrunner.runs.predicting import predict
from benchrunner.workspace import Settings
from benchrunner_kit.testing import check_task, tiny_family
from benchrunner_xlingual import PAWSX, SIB200, WIKIANN, XNLI, Transfer, register_tasks
from inline import plugin

TASKS = {task.name: task for task in register_tasks()}
SMALL = replace(XNLI, languages=("en", "de", "fr"))


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_task_keeps_its_contract(task: Task, tmp_path: Path) -> None:
    check_task(task, tmp_path)


@pytest.mark.parametrize("benchmark", [XNLI, PAWSX, WIKIANN, SIB200], ids=lambda benchmark: str(benchmark.name))
def test_demo_data_has_every_split(benchmark: Transfer, tmp_path: Path) -> None:
    task = benchmark.task()
    assert task.demo_files is not None
    task.demo_files(tmp_path)
    workspace = Workspace(tmp_path, tmp_path, data=tmp_path, settings=Settings(offline=True))
    rows = [len(task.load(split, workspace)) for split in task.splits]
    languages = len(benchmark.languages)
    assert rows == [300, *[108] * languages, *[60] * languages]


def test_only_the_language_that_is_learned_from_selects() -> None:
    german = replace(XNLI, name="de/xnli", train_language="de").task()
    assert german.selection_splits == ("dev_de",)
    assert len(german.named("dev")) == len(german.named("test")) == 15
    assert "multinli.train.de.tsv" in str(german.splits["train"].sources[0])


def test_the_language_that_is_learned_from_is_answered() -> None:
    with pytest.raises(PluginError, match="fits learn from, 'sw', selects by its dev split"):
        replace(PAWSX, train_language="sw")
    with pytest.raises(PluginError, match="name a language twice: en, en"):
        replace(PAWSX, languages=("en", "en"))


def test_one_fit_answers_all_languages_and_has_their_mean(tmp_path: Path) -> None:
    task = replace(SMALL.task(), recipe=Recipe(epochs=1, batch_size=32, max_length=16))
    assert task.demo_files is not None
    task.demo_files(tmp_path)
    settings = Settings(offline=True, official_counts=False)
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path, settings=settings)
    offers = plugin(register_backbones=[tiny_family()], register_tasks=[task])
    runner = Runner(discover(extra=[("tiny", offers)], installed=False), workspace, Computing("cpu"))
    study = StudyOptions().study(("tiny/words",), (task,), runner, tests=("test_en", "test_de", "test_fr"))
    result = run_study(study, runner)
    methods = [json.loads(path.read_text())["method"] for path in workspace.runs.glob("*/fit.json")]
    assert sorted(methods) == ["finetune", "majority"]
    (cell,) = result.cells
    for role in ("dev", "test"):
        scores = list[float]()
        for language in ("en", "de", "fr"):
            split = f"{role}_{language}"
            score = cell.figures[Term(task.name, split, "accuracy")].mean.value
            assert score is not None
            scores.append(score)
            answers = list(predict(cell.restarts[0], split, runner).answers)
            gold = task.load(split, workspace).table.column("label").to_pylist()
            assert scores[-1] == pytest.approx(accuracy_score(gold, answers))
        _, mean = result.averages("tiny/words")[f"en/xnli, mean of 3 languages ({role})"]
        assert mean == pytest.approx(sum(scores) / 3)
