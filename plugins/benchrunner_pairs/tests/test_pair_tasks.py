"""Files of pairs in the layouts of BLiMP, EWoK and COMPS, and the tasks on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner import DataError, DataNotFound, Rows, Workspace
from benchrunner_kit.testing import check_task
from benchrunner_pairs.table import TABLE

TASKS = {row.name: row.task() for row in TABLE}
BLIMP = {"sentence_good": "He is.", "sentence_bad": "He are.", "UID": "agreement", "linguistics_term": "verbs"}
EWOK = {"Context1": "It rains.", "Context2": "It is dry.", "Target1": "I am wet.", "Target2": "I am dry."}
COMPS = {"prefix_acceptable": "A dog", "prefix_unacceptable": "A table", "property_phrase": "can run."}


def load(task: str, folder: Path, path: str, *objects: Any, split: str = "dev") -> Rows:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text("".join(f"{json.dumps(given)}\n" for given in objects))
    return TASKS[task].load(split, Workspace(folder / "runs", folder / "cache", data=folder))


def test_the_right_sentence_is_first_and_second_in_turn(tmp_path: Path) -> None:
    rows = load("blimp", tmp_path, "blimp/data/agreement.jsonl", BLIMP, BLIMP, BLIMP).table
    assert rows.column("label").to_pylist() == [0, 1, 0]
    assert rows.column("choices").to_pylist()[:2] == [["He is.", "He are."], ["He are.", "He is."]]


def test_a_paradigm_is_a_file_where_no_key_names_it(tmp_path: Path) -> None:
    pair = {"sentence_good": "He is.", "sentence_bad": "He are."}
    load("blimp-supplement", tmp_path, "supplement_filtered/turns.jsonl", pair)
    rows = load("blimp-supplement", tmp_path, "supplement_filtered/hypernym.jsonl", pair, pair).table
    assert rows.column("paradigm").to_pylist() == ["hypernym", "hypernym", "turns"]
    assert rows.column("label").to_pylist() == [0, 1, 0]


def test_ewok_asks_for_the_context_of_each_target(tmp_path: Path) -> None:
    first, second = load("ewok", tmp_path, "ewok/weather.jsonl", EWOK).table.to_pylist()
    assert first["choices"] == ["It rains. I am wet.", "It is dry. I am wet."]
    assert (first["ending"], first["label"]) == ("I am wet.", 0)
    assert second["choices"] == ["It rains. I am dry.", "It is dry. I am dry."]
    assert (second["ending"], second["label"]) == ("I am dry.", 1)


def test_babylm_has_each_item_of_ewok_twice(tmp_path: Path) -> None:
    swapped = {"Context1": EWOK["Context2"], "Context2": EWOK["Context1"], "Target1": EWOK["Target2"], "Target2": "x"}
    rows = load("ewok-filtered", tmp_path, "full_eval/ewok_filtered/weather.jsonl", EWOK, swapped).table
    assert rows.column("ending").to_pylist() == ["I am wet.", "I am dry."]


def test_comps_asks_which_concept_has_the_property(tmp_path: Path) -> None:
    [row] = load("comps", tmp_path, "comps/comps_wugs_dist-before.jsonl", COMPS).table.to_pylist()
    assert row["choices"] == ["A dog can run.", "A table can run."]
    assert (row["ending"], row["paradigm"]) == ("can run.", "wugs_dist_before")


def test_an_object_without_a_text_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"bad\.jsonl:2: the rows of this object cannot be read: there is no 'sentence_b"
    ):
        load("blimp", tmp_path, "blimp/data/bad.jsonl", BLIMP, {"sentence_good": "He is."})
    with pytest.raises(DataError, match=r"bad\.jsonl:1: .* 'sentence_bad' is 7, and a text was expected"):
        load("blimp", tmp_path, "blimp/data/bad.jsonl", {**BLIMP, "sentence_bad": 7})


def test_missing_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match=r"no files .*blimp/data/\*\.jsonl \(or in 2 other usual folders\)"):
        TASKS["blimp"].load("dev", Workspace(tmp_path, tmp_path, data=tmp_path))


def test_the_mean_over_paradigms_counts_each_once(tmp_path: Path) -> None:
    load("blimp", tmp_path, "blimp/data/agreement.jsonl", BLIMP, BLIMP, BLIMP)
    table = load("blimp", tmp_path, "blimp/data/islands.jsonl", {**BLIMP, "UID": "islands"}).table
    scores = TASKS["blimp"].scores(table, [0, 1, 0, 1])
    assert scores["accuracy"].value == 0.75
    assert scores["mean_of_paradigms"].value == 0.5


def test_each_phenomenon_has_a_figure(tmp_path: Path) -> None:
    objects = [{**BLIMP, "linguistics_term": term} for term in ("binding", "binding", "ellipsis")]
    table = load("blimp", tmp_path, "blimp/data/agreement.jsonl", *objects).table
    scores = TASKS["blimp"].scores(table, [0, 0, 0])
    assert (scores["binding"].value, scores["ellipsis"].value) == (0.5, 1.0)
    assert scores["quantifiers"].reason == "no row has 'quantifiers' in the column 'phenomenon'"


@pytest.mark.parametrize("name", TASKS)
def test_each_task_keeps_its_contract(name: str, tmp_path: Path) -> None:
    check_task(TASKS[name], tmp_path)
