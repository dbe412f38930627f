"""Dry runs: what would be run, what is finished, and estimates; nothing is changed."""

import json
from typing import Any

import pytest

from benchrunner.io.seals import read_sealed, write_sealed
from benchrunner.results import Plugins, discover
from benchrunner_kit.testing import tiny_family
from inline import METHODS, STATISTICS, STUDIES, own
from kitchen import STUDY, Kitchen, staged

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


def with_words() -> Plugins:
    """The plugins of a test that needs no study file."""
    offered = own(register_backbones=[tiny_family()])
    return discover(extra=[METHODS, STATISTICS, STUDIES, ("own", offered)], installed=False)


def dry_run(kitchen: Kitchen, *words: str) -> dict[str, Any]:
    plan: dict[str, Any] = kitchen.json(*words, "--dry-run")
    return plan


def test_a_dry_run_lists_the_work_and_changes_nothing(kitchen: Kitchen) -> None:
    before = sorted(kitchen.folder.rglob("*"))
    words = ["--study", "study.toml", "--limit-train", "16", "--lr", "1e-3,2e-3"]
    plan = dry_run(kitchen, *words)
    assert sorted(kitchen.folder.rglob("*")) == before and kitchen.made() == []
    assert [(command["system"], command["words"]) for command in plan["commands"]] == [
        ("rye", ["bake", "rye", "out/rye"]),
        ("spelt", ["bake", "spelt", "out/spelt"]),
    ]
    assert sum(command["estimate"]["flops"] for command in plan["commands"]) == 4e9
    assert [
        (line["systems"], line["columns"], line["method"], line["fits"], line["finished"], line["rows"])
        for line in plan["fits"]
    ] == [
        (["rye"], ["taste"], "finetune", 4, 0, 4 * 16),
        (["spelt"], ["taste"], "finetune", 4, 0, 4 * 16),
        (["rye (sliced)"], ["taste"], "finetune+bilstm", 6, 0, 6 * 16 * 2),
        (["rye"], ["crust"], "features", 2, 0, 2 * 16),
        (["spelt"], ["crust"], "features", 2, 0, 2 * 16),
        (["rye (sliced)"], ["crust"], "features", 2, 0, 2 * 16 * 2),
    ]
    assert {line["problem"] for line in plan["fits"]} == {"the backbone is not built yet"}
    shown = kitchen.done(*words, "--dry-run")
    assert "an hour of baking" in shown and "60 min" in shown
    assert "in all: 20 different fit(s), of which 0 are known to be finished; 20 to run, which read 448 rows" in shown
    assert "time: no estimate, because no fit of these backbones" in shown
    assert (plan["to_run"], plan["seconds"], plan["without_estimate"]) == (20, None, 20)


def test_a_dry_run_knows_what_is_finished(kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--scale", "crumb", "--systems", "rye"]
    kitchen(*words, "--columns", "taste")
    plan = dry_run(kitchen, *words)
    assert [command["estimate"]["left"] for command in plan["commands"]] == [""]
    assert [(line["fits"], line["finished"], line["rows"]) for line in plan["fits"]] == [(1, 1, 0), (1, 0, 8)]
    planned = dry_run(kitchen, *words, "--columns", "taste", "--restarts", "3")["fits"][0]
    assert (planned["fits"], planned["finished"], planned["rows"]) == (3, 1, 16)
    kitchen(*words, "--restarts", "3", "--columns", "taste,crust")
    runs = [json.loads(path.read_text()) for path in (kitchen.folder / "fits").glob("*/fit.json")]
    done = dry_run(kitchen, *words, "--restarts", "3", "--columns", "taste,crust")["fits"]
    assert sum(line["finished"] for line in done) == len([run for run in runs if run["method"] != "majority"])
    assert [line["rows"] for line in done] == [0, 0]


def test_a_dry_run_of_stages_counts_shared_fits_once(kitchen: Kitchen) -> None:
    staged(kitchen)
    plan = dry_run(kitchen, "--study", "study.toml", "--restarts", "3")
    assert [(line["systems"], line["columns"], line["fits"], line["finished"]) for line in plan["fits"]] == [
        (["in two stages"], ["(first task)"], 1, 1),
        (["at once", "three together"], ["mood"], 3, 3),
        (["in two stages"], ["mood"], 3, 0),
    ]
    assert plan["fits"][2]["problem"] == "which fits are finished is known after the first task"
    shown = kitchen.done("--study", "study.toml", "--dry-run")
    assert "in all: 5 different fit(s), of which 4 are known to be finished" in shown


def test_a_dry_run_tells_columns_without_data_and_bad_commands(kitchen: Kitchen) -> None:
    (kitchen.folder / "study.toml").write_text(STUDY.replace('task = "mood"', 'task = "pairs"', 1))
    plan = dry_run(kitchen, "--study", "study.toml")
    assert list(plan["problems"]) == ["taste"] and "No data for mine/pairs" in plan["problems"]["taste"]
    assert {column for line in plan["fits"] for column in line["columns"]} == {"crust"}
    (kitchen.folder / "study.toml").write_text(STUDY)
    assert "stones cannot be baked" in kitchen.refused("--dry-run", "--set", "doughs=stone")
    code, out, err = kitchen("words", "--tasks", "mod", "--dry-run")
    assert (code, out) == (2, "") and "There is no task 'mod'" in err
    code, out, err = kitchen("wrods", "--tasks", "mood", "--dry-run")
    assert (code, out) == (2, "") and "There is no backbone 'wrods'" in err


def test_a_dry_run_of_backbones_and_tasks_needs_no_study(kitchen: Kitchen) -> None:
    words = ["words", "--tasks", "mood", "--restarts", "2", "--epochs", "3"]
    kitchen.plugins = with_words()
    (line,) = dry_run(kitchen, *words)["fits"]
    assert (line["systems"], line["columns"], line["fits"], line["rows"]) == (["words"], ["mine/mood"], 2, 2 * 3 * 48)
    assert dry_run(kitchen, *words, "--set", "max-steps=2", "--batch-size", "8")["fits"][0]["rows"] == 2 * 2 * 8
    assert not (kitchen.folder / "fits").exists()


def test_a_dry_run_estimates_from_finished_fits(kitchen: Kitchen) -> None:
    kitchen.plugins = with_words()
    kitchen("words", "--tasks", "mood", "--epochs", "1")
    (path,) = [
        path for path in (kitchen.folder / "fits").glob("*/record.json") if json.loads(path.read_text())["numerics"]
    ]
    record = read_sealed(path, "")
    record["timings"] = {"seconds": 12.0, "train_seconds": 10.0, "examples_per_second": 4.8}
    write_sealed(path, record)
    words = ["words", "--tasks", "mood", "--restarts", "2", "--epochs", "3"]
    plan = dry_run(kitchen, *words)
    assert (plan["to_run"], plan["without_estimate"]) == (2, 0)
    assert plan["seconds"] == pytest.approx(2 * (2 + 3 * 48 / 4.8))
    assert "time: about 64 s if the fits run one after another" in kitchen(*words, "--dry-run")[1]
