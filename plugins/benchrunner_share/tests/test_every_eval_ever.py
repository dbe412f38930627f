"""Every Eval Ever: paths as its datastore asks for them, and content that its own schema takes."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from shared_folders import SharedFolder

from benchrunner import ACCURACY, Metric
from benchrunner.results import compared, run_study
from benchrunner.studies.cells import Fitting
from benchrunner_share.documents.every_eval_ever import log_path
from benchrunner_share.share import share_study
from chancy import Chancy
from inline import mood, runner

SCHEMA = Path(__file__).parent / "every_eval_ever" / "eval.schema.json"
NUMBER = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
"""A UUID of version 4, as the validator of the datastore has it."""


def validator() -> jsonschema.Draft7Validator:
    """Return a validator by the schema of Every Eval Ever."""
    return jsonschema.Draft7Validator(json.loads(SCHEMA.read_text()))


def log_of(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the path of the only log in a shared folder, and its content."""
    [path] = (folder / "every_eval_ever").rglob("*.json")
    return path, json.loads(path.read_text())


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
    name = log_path(backbone, "glue", {})
    assert name.startswith(f"data/glue/{folders.replace('_..', '_')}/") and len(name.split("/")) == 5


def test_the_schema_takes_a_log(original: SharedFolder) -> None:
    _, log = log_of(original.path)
    validator().validate(log)
    accuracy, matthews = log["evaluation_results"]
    assert accuracy["score_details"]["score"] == original.read("study.json")["result"]["cells"][0]["scores"][0]["mean"]
    assert (matthews["metric_config"]["min_score"], matthews["metric_config"]["max_score"]) == (-1.0, 1.0)
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({**log, "extra": 1})


def test_a_metric_without_known_range_claims_none(tmp_path: Path) -> None:
    errors = Metric.of_rows("errors", lambda gold, answer: float(gold != answer), lower_is_better=True)
    task = mood(method="chancy", metrics=(errors, ACCURACY))
    made = runner(tmp_path, register_methods=[Chancy()], register_tasks=[task])
    share_study(
        run_study(compared(("words",), (task,), Fitting(changes={"lr": 6})), made),
        tmp_path / "shared",
        made,
        report=False,
    )
    _, log = log_of(tmp_path / "shared")
    validator().validate(log)
    config = {each["metric_config"]["metric_id"]: each["metric_config"] for each in log["evaluation_results"]}
    assert not {"score_type", "min_score", "max_score"} & config["errors"].keys()
    assert config["accuracy"]["max_score"] == 1.0
