"""Every Eval Ever: paths as its datastore asks for them, and content that its own schemas take."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from statistics import fmean
from typing import Any

import jsonschema
import pytest
from shared_folders import SharedFolder

from benchrunner import ACCURACY, Metric
from benchrunner.results import compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_share.documents.every_eval_ever import Log
from benchrunner_share.share import share_study
from chancy import Chancy, chancy
from inline import mood, runner

SCHEMAS = Path(__file__).parent / "every_eval_ever"
NUMBER = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
"""A UUID of version 4, as the validator of the datastore has it."""


def validator(name: str) -> jsonschema.Draft7Validator:
    """Return a validator by one of the schemas of Every Eval Ever."""
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / f"{name}.schema.json").read_text()))


def log_of(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the path of the only log in a shared folder, and its content."""
    [path] = (folder / "every_eval_ever").rglob("*.json")
    return path, json.loads(path.read_text())


@pytest.fixture(scope="module")
def with_rows(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """A shared folder with rows of the data: two restarts that answer 6 and 12 of 24 rows right."""
    folder = tmp_path_factory.mktemp("rows")
    made = chancy(folder)
    result = run_study(
        compared({"lab/moods": "words"}, tuple(made.plugins.tasks.values()), Fitting(changes={"lr": 6}, seeds=(0, 1))),
        made,
    )
    share_study(result, folder / "shared", made, name="moods", report=False, with_rows=True)
    return SharedFolder(folder / "shared", made)


def test_a_log_lies_where_the_datastore_wants_it(original: SharedFolder) -> None:
    path, log = log_of(original.path)
    name = path.relative_to(original.path / "every_eval_ever").as_posix()
    assert re.fullmatch(rf"data/mine/unknown/words/{NUMBER}\.json", name)
    assert log["model_info"]["id"] == "words" and log["evaluation_id"].startswith("mine/words/")


@pytest.mark.parametrize(
    ("backbone", "folders"),
    [
        ("google/bert:x", "google/bert_x"),
        ("data/a/b", "_data/a_b"),
        ("../..", "_../_.."),
        ("con/aux.v1", "_con/_aux.v1"),
        ("models", "unknown/models"),
    ],
)
def test_names_of_backbones_are_names_of_folders(backbone: str, folders: str) -> None:
    name = Log(backbone, "glue", {}).name
    assert name.startswith(f"data/glue/{folders.replace('_..', '_')}/") and len(name.split("/")) == 5


@pytest.mark.parametrize("name", ["original", "with_rows"])
def test_the_schema_takes_a_log(name: str, request: pytest.FixtureRequest) -> None:
    folder: SharedFolder = request.getfixturevalue(name)
    _, log = log_of(folder.path)
    validator("eval").validate(log)
    accuracy, matthews = log["evaluation_results"]
    assert accuracy["score_details"]["score"] == folder.read("study.json")["result"]["cells"][0]["scores"][0]["mean"]
    assert (matthews["metric_config"]["min_score"], matthews["metric_config"]["max_score"]) == (-1.0, 1.0)
    with pytest.raises(jsonschema.ValidationError):
        validator("eval").validate({**log, "extra": 1})


def test_without_rows_there_are_no_samples(original: SharedFolder) -> None:
    assert not list(original.path.rglob("*_samples.jsonl"))
    assert "detailed_evaluation_results" not in log_of(original.path)[1]


def test_samples_have_the_rows_and_give_the_score(with_rows: SharedFolder) -> None:
    path, log = log_of(with_rows.path)
    samples = path.with_name(f"{path.stem}_samples.jsonl")
    content = samples.read_bytes()
    details = log["detailed_evaluation_results"]
    assert details["file_path"] == samples.relative_to(with_rows.path / "every_eval_ever").as_posix()
    assert details["checksum"] == hashlib.sha256(content).hexdigest() and details["total_rows"] == 2 * 24
    lines = [json.loads(line) for line in content.decode().splitlines()]
    takes = validator("instance_level_eval")
    for line in lines:
        takes.validate(line)
    assert {line["evaluation_id"] for line in lines} == {log["evaluation_id"]}
    accuracy = log["evaluation_results"][0]
    assert {line["evaluation_result_id"] for line in lines} == {accuracy["evaluation_result_id"]}
    assert fmean(line["evaluation"]["score"] for line in lines) == pytest.approx(accuracy["score_details"]["score"])
    data = with_rows.runner.workspace.data
    assert data is not None
    rows = [row.split("\t") for row in (data / "mood" / "dev.tsv").read_text().splitlines()[1:]]
    for line, (text, label) in zip(lines, rows * 2, strict=True):
        assert line["input"] == {"raw": text, "reference": [label]}
        assert line["evaluation"]["is_correct"] == (line["output"]["raw"] == [label])


def test_samples_are_verified(with_rows: SharedFolder, tmp_path: Path) -> None:
    assert with_rows.verification().is_equal
    forged = with_rows.copy(tmp_path / "forged")
    [samples] = forged.path.rglob("*_samples.jsonl")
    samples.write_text(samples.read_text().replace('"is_correct": false', '"is_correct": true'))
    forged.deceive_list()
    line, *_ = forged.differences().splitlines()
    assert "stands there, and the facts say" in line and '"is_correct": false' in line


def test_a_metric_without_known_range_claims_none(tmp_path: Path) -> None:
    errors = Metric.of_rows("errors", lambda gold, answer: float(gold != answer), lower_is_better=True)
    task = mood(method="chancy", metrics=(errors, ACCURACY))
    made = runner(tmp_path, register_methods=[Chancy()], register_tasks=[task])
    share_study(
        run_study(compared(("words",), (task,), Fitting(changes={"lr": 6})), made),
        tmp_path / "shared",
        made,
        report=False,
        with_rows=True,
    )
    _, log = log_of(tmp_path / "shared")
    validator("eval").validate(log)
    config = {each["metric_config"]["metric_id"]: each["metric_config"] for each in log["evaluation_results"]}
    assert not {"score_type", "min_score", "max_score"} & config["errors"].keys()
    assert config["accuracy"]["max_score"] == 1.0
    [samples] = (tmp_path / "shared").rglob("*_samples.jsonl")
    correct = {"errors": 0, "accuracy": 0}
    for line in map(json.loads, samples.read_text().splitlines()):
        correct[line["evaluation_result_id"].rpartition("/")[2]] += line["evaluation"]["is_correct"]
    assert correct == {"errors": 6, "accuracy": 6}
