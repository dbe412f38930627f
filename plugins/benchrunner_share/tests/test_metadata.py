"""Metadata of shared folders: `.eval_results`, read by the hub's library, and the direction of metrics."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import huggingface_hub
import pytest
import yaml
from shared_folders import SharedFolder

from benchrunner import ACCURACY, Metric, Split, Task
from benchrunner.results import Grid, compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_share.share import share_study
from benchrunner_share.verifying.verify import verify_folder
from benchrunner_tasks import HubTable
from chancy import Chancy
from inline import mood, runner


def task_of_the_hub() -> Task:
    """The task of the tests, whose rows of dev could be read from the hub too."""
    task = mood(method="chancy")
    dev = task.splits["dev"]
    hub = HubTable("owner/moods", "english", "validation", {"a": "text", "label": "mood"})
    return dataclasses.replace(task, splits={**task.splits, "dev": Split("dev", (*dev.sources, hub), dev.rows)})


@pytest.fixture(scope="module")
def of_the_hub(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    folder = tmp_path_factory.mktemp("hub")
    made = runner(folder, register_methods=[Chancy()], register_tasks=[task_of_the_hub()])
    study = compared(("words",), tuple(made.plugins.tasks.values()), Fitting(changes={"lr": 8}, seeds=(0, 1, 2)))
    result = run_study(study, made)
    share_study(result, folder / "shared", made, name="moods", report=False, url="https://example.org/moods")
    return SharedFolder(folder / "shared", made)


def test_data_outside_of_the_hub_has_no_eval_results(original: SharedFolder) -> None:
    assert not (original.path / "hub").exists()


def test_cut_data_does_not_pass_as_a_data_set_of_the_hub(tmp_path: Path) -> None:
    made = runner(tmp_path, register_methods=[Chancy()], register_tasks=[task_of_the_hub()])
    path = tmp_path / "data" / "mood" / "dev.tsv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    result = run_study(compared(("words",), tuple(made.plugins.tasks.values())), made)
    share_study(result, tmp_path / "shared", made, report=False)
    assert not (tmp_path / "shared/hub").exists()


@pytest.mark.skipif(
    not hasattr(huggingface_hub, "parse_eval_result_entries"), reason="this huggingface_hub has no .eval_results"
)
def test_the_hub_reads_the_eval_results(of_the_hub: SharedFolder) -> None:
    path = of_the_hub.path / "hub/words/.eval_results/benchrunner.yaml"
    [entry] = huggingface_hub.parse_eval_result_entries(yaml.safe_load(path.read_text()))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("owner/moods", "english", 66.666667)
    assert (entry.source_url, entry.verify_token) == ("https://example.org/moods", None)
    assert entry.date == of_the_hub.read("study.json")["answered"]
    assert entry.notes is not None and entry.notes.startswith("accuracy on validation, chancy, mean of 3 restarts")


def test_shared_folders_say_that_fewer_errors_are_better(tmp_path: Path) -> None:
    def is_wrong(gold: str, answer: str) -> float:
        return float(gold != answer)

    errors = Metric.of_rows("errors", is_wrong, lower_is_better=True)
    task = mood(method="chancy", metrics=(errors, ACCURACY))
    made = runner(tmp_path, register_methods=[Chancy()], register_tasks=[task])
    result = run_study(compared(("words",), (task,), Fitting(Grid({"lr": (4, 8)}), seeds=(0, 1))), made)
    share_study(result, tmp_path / "shared", made, report=False)
    study = json.loads((tmp_path / "shared/study.json").read_text())
    by_name = {metric["name"]: metric for metric in study["tasks"]["mine/mood"]["metrics"]}
    assert by_name["errors"]["lower_is_better"] and "lower_is_better" not in by_name["accuracy"]
    [path] = (tmp_path / "shared/every_eval_ever/data/mine/unknown/words").glob("*.json")
    evaluation = json.loads(path.read_text())
    said = {one["metric_config"]["metric_id"]: one["metric_config"] for one in evaluation["evaluation_results"]}
    assert {name: config["lower_is_better"] for name, config in said.items()} == {"errors": True, "accuracy": False}
    assert verify_folder(tmp_path / "shared", made.plugins, made.workspace).is_equal
    scores = study["result"]["cells"][0]["scores"][0]
    assert study["result"]["cells"][0]["chosen"]["lr"] == 8 and scores["best"] == min(scores["restarts"])
