"""Systems of a study file that are fine-tuned on a first task, and ensembles of restarts."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchrunner import Workspace
from benchrunner.command_line.main import main
from benchrunner.fits.computing import Computing
from benchrunner.results import Runner, StudyOptions, discover, read_study, run_study
from benchrunner.runs.folder import find_run
from benchrunner.runs.predicting import raw_outputs
from benchrunner.studies.cells import selected_fit
from benchrunner_kit.testing import tiny_family
from inline import METHODS, STATISTICS, STUDIES, SUBMIT, board, mood, own, runner
from kitchen import STAGED, Kitchen, staged

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


def test_a_system_is_fine_tuned_on_a_first_task(kitchen: Kitchen) -> None:
    code, out, err = staged(kitchen, "--columns", "mood", "--json")
    assert code == 0, err
    cells = {cell["system"]: cell for cell in json.loads(out)["figures"]}
    (first,) = kitchen.json("tiny/words", "--tasks", "known", "--lr", "5e-3", "--limit-train", "24")["cells"]
    (second,) = kitchen.json(f"run:{first['selected']}", "--tasks", "mood", "--lr", "2e-3")["cells"]
    assert second["selected"] == cells["in two stages"]["selected"] != cells["at once"]["selected"]


def test_start_is_a_first_task_of_one_restart_and_all_rows(kitchen: Kitchen) -> None:
    staged(kitchen, "--dry-run")
    words = ["--tasks", "mood", "--lr", "2e-3,5e-3", "--limit-train", "16", "--restarts", "2", "--select", "best"]
    study = kitchen.json("tiny/words", *words, "--start", "known")
    (first,) = kitchen.json("tiny/words", "--tasks", "known", "--lr", "2e-3,5e-3")["cells"]
    (second,) = kitchen.json(f"run:{first['selected']}", *words)["cells"]
    fits = [[fit["id"] for fit in cell["fits"]] for cell in study["cells"]]
    assert fits == [[fit["id"] for fit in cell["fits"]] for cell in (first, second)]
    assert "fine-tuned on mine/known first" in study["notes"]


def test_the_fits_of_a_cell_may_skip_the_first_task(tmp_path: Path) -> None:
    first = replace(mood(), name="mine/first")
    made = runner(tmp_path, register_tasks=[first, mood()])
    tasks = made.plugins.tasks_of(["mine/first", "mine/mood"])
    study = StudyOptions(start="first", recipe={"epochs": 1}).study(["words"], tasks, made)
    cells = tuple(replace(cell, skips_first=cell.task.name == first.name) for cell in study.cells)
    result = run_study(replace(study, cells=cells), made)
    (stage,) = [cell for cell in result.cells if not cell.cell.columns]
    of_first, of_mood = [cell.cell for cell in result.cells if cell.cell.columns]
    assert [fit.id for fit in of_first.fits] == [fit.id for fit in stage.cell.fits]
    assert of_mood.backbone == f"run:{selected_fit(stage).id}" and of_first.backbone == "words"
    assert [cell.cell.skips_first for cell in read_study(result.name, made).cells] == [False, True, False]


def test_a_start_that_does_not_exist_is_refused(kitchen: Kitchen) -> None:
    staged(kitchen, "--dry-run")
    code, out, err = kitchen("words", "--tasks", "mood", "--start", "knwn")
    assert (code, out) == (2, "") and "There is no task 'knwn'. Did you mean mine/known" in err
    assert "says with `first` where fits start" in kitchen.refused("--start", "known")


def test_an_ensemble_answers_by_the_mean_of_its_restarts(kitchen: Kitchen) -> None:
    code, out, err = staged(kitchen, "--json")
    assert code == 0, err
    result = json.loads(out)
    (figure,) = [cell for cell in result["figures"] if cell["system"] == "three together"]
    assert len(figure["together"]) == 3
    (cell,) = [cell for cell in result["cells"] if len(cell["fits"]) == 3]
    runner = Runner(
        kitchen.plugins, Workspace(Path("fits"), kitchen.folder / "cache", data=Path("data")), Computing(device="cpu")
    )
    rows = runner.planner.rows(kitchen.plugins.tasks.find("mood"), "dev")
    logits = np.array([raw_outputs(find_run(Path("fits"), fit["id"]).fit(), rows, runner) for fit in cell["fits"]])
    probabilities = (np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)).mean(axis=0)
    gold = [("glad", "sad").index(label) for label in rows.table.column("label").to_pylist()]
    assert figure["mean"] == pytest.approx(100 * np.mean(probabilities.argmax(axis=1) == gold))
    out = kitchen.done("--study", "study.toml", "--quiet")
    assert f"{figure['mean']:.1f} (3 together)" in out


def test_a_study_says_how_to_submit_without_fitting_again(kitchen: Kitchen) -> None:
    moods = own(register_tasks=[mood()], register_backbones=[tiny_family()], register_leaderboards=[board()])
    kitchen.plugins = discover(extra=[METHODS, STATISTICS, STUDIES, SUBMIT, ("own", moods)], installed=False)
    text = STAGED.replace("title = ", 'board = "moods"\ntitle = ').replace("known", "mood")
    (kitchen.folder / "study.toml").write_text(text)
    code, out, err = kitchen("--study", "study.toml", "--json")
    assert code == 0, err
    commands = json.loads(out)["submissions"]
    assert [len(words) for words in commands.values()] == [4, 4, 6]
    records = {path: path.stat().st_mtime_ns for path in (kitchen.folder / "fits").glob("*/record.json")}
    for words in commands.values():
        code = main([*words, "--data", "data", "--runs", "fits", "--device", "cpu"], plugins=kitchen.plugins)
        assert code == 0
        now = {path: path.stat().st_mtime_ns for path in (kitchen.folder / "fits").glob("*/record.json")}
        assert now == records, "nothing was fitted"


def test_a_first_task_without_data_is_refused_by_its_place(kitchen: Kitchen) -> None:
    staged(kitchen)
    (kitchen.folder / "study.toml").write_text(STAGED.replace('task = "known"', 'task = "knwn"'))
    code, out, err = kitchen("--study", "study.toml")
    assert (code, out) == (2, "")
    assert "study.toml: system in two stages: first: There is no task 'knwn'. Did you mean mine/known" in err
