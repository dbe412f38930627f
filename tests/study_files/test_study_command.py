"""`compare --study`: the commands of a study file are run, and their table is printed; errors name their place."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from benchrunner import RequestError, Runner, StudyFileResult, Workspace, discover, find_study, read_study
from benchrunner.commands.main import main
from benchrunner.runs.folder import find_run
from benchrunner.study_files import table
from benchrunner.study_files.system_commands import wait_passing_signals
from benchrunner.testing import tiny_family
from inline import board, mood, own
from kitchen import STAGED, STUDY, Kitchen, labelled_test, staged

pytestmark = pytest.mark.usefixtures("narrow_bilstm")


def test_a_study_makes_systems_once_and_shows_published_scores(kitchen: Kitchen) -> None:
    code, out, err = kitchen("--study", "study.toml", "--json", "--limit-train", "16")
    assert code == 0, err
    assert (kitchen.folder / "made.txt").read_text() == "rye fits\nspelt fits\n"
    assert "1 of 2, rye: benchrunner bake rye out/rye" in err
    result = json.loads(out)
    assert result["parameters"] == {"doughs": "rye,spelt", "more": ""}
    cells = {(cell["system"], cell["column"]): cell for cell in result["cells"]}
    assert len(cells) == 9
    assert len(cells["rye", "taste"]["restarts"]) == 2 and len(cells["rye", "crust"]["restarts"]) == 1
    for same in (("restarts", "taste"), ("restarts", "crust"), ("mean", "loss")):
        assert cells["rye", same[1]][same[0]] == cells["spelt", same[1]][same[0]], "the same weights twice"
    assert (cells["rye", "taste"]["published"], cells["spelt", "taste"]["published"]) == (99.5, None)
    assert (cells["rye", "loss"]["mean"], cells["rye (sliced)", "loss"]["mean"]) == (2.25, None)
    assert "rye (sliced) on loss: no figure: the study names no log of this system" in result["notes"]
    recipes = {
        (cell["method"], cell["recipe"]["lr"], cell["recipe"]["epochs"], cell["recipe"]["limit_train"])
        for part in result["results"]
        for cell in part["cells"]
    }
    assert recipes == {
        ("finetune", 2e-3, 1, 16),
        ("finetune+bilstm", 2e-3, 2, 16),
        ("features", 1e-3, 1, 16),
        ("features", 1e-3, 2, 16),
    }
    assert [len(cells["rye (sliced)", column]["restarts"]) for column in ("taste", "crust")] == [3, 1]
    mean = cells["rye", "taste"]["mean"]
    code, shown, _ = kitchen("--study", "study.toml", "--limit-train", "16", "--quiet")
    assert code == 0 and kitchen.made() == ["rye", "spelt"] * 2
    assert f"{mean:.1f} ± " in shown and "(2)" in shown and "paper 99.5" in shown and "paper 2.50" in shown
    assert "  paper: the baker's own book\n" in shown and "  taste: asked of few\n" in shown


def test_published_rows_are_told_apart_from_measured_ones(kitchen: Kitchen) -> None:
    code, out, _ = kitchen("--study", "study.toml", "--scale", "crumb", "--columns", "taste,price", "--quiet")
    lines = [[part.strip() for part in line.strip("│").split("│")] for line in out.splitlines() if line[0] == "│"]
    assert code == 0
    measured = [cells[1] for cells in lines if cells[0] in ("rye", "rye (sliced)")]
    assert len(measured) == 2 and all(float(figure) >= 0 for figure in measured)
    assert len([cells for cells in lines if cells[0] == "" and cells[1].startswith("[")]) == 2, "intervals"
    assert [cells for cells in lines if "paper" in "".join(cells)] == [
        ["rye", measured[0], "paper 3.0"],
        ["", "paper 99.5", ""],
        ["paper: toast", "paper 88.5", ""],
        ["paper: stone", "paper 0.5", "-"],
    ]
    assert "paper: market ┃" in out.splitlines()[3]
    assert "  paper (toast): a cookery book\n  paper, toast: from yesterday\n" in out
    assert "  scale crumb: for a mouse\n" in out


def test_a_figure_has_its_points_in_the_json_output(kitchen: Kitchen) -> None:
    (kitchen.folder / "study.toml").write_text(
        'title = "How fast?"\naxis = "hours"\n[[system]]\neach = {kind = "fast,slow", hours = "10,2"}\n'
        'name = "{kind} at {hours}"\nbackbone = "none"\nfigures = "{kind}-{hours}.jsonl"\nseries = "{kind}"\n'
        'at = "{hours}"\n[[column]]\nname = "loss"\nfigure = "loss"\n'
    )
    for name, loss in (("fast-2", 3.5), ("fast-10", 1.5), ("slow-2", 4.5)):
        (kitchen.folder / f"{name}.jsonl").write_text(json.dumps({"step": 1, "loss": loss}) + "\n")
    code, out, err = kitchen("--study", "study.toml", "--json", "--quiet")
    assert code == 0, err
    result = json.loads(out)
    assert result["axis"] == "hours"
    fast = {"column": "loss", "series": "fast", "at": [2, 10], "mean": [3.5, 1.5], "restarts": [[3.5], [1.5]]}
    slow = {"column": "loss", "series": "slow", "at": [2, 10], "mean": [4.5, None], "restarts": [[4.5], []]}
    assert result["series"] == [{**line, "deviation": [None, None]} for line in (fast, slow)]


def test_only_the_systems_that_are_named_are_built(kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--systems", "spelt", "--columns", "loss", "--json", "--quiet"]
    code, out, _ = kitchen(*words)
    assert code == 0 and kitchen.made() == ["spelt"]
    assert [(cell["system"], cell["mean"]) for cell in json.loads(out)["cells"]] == [("spelt", 2.25)]


def test_a_scale_sets_parameters_and_options_of_every_fit(kitchen: Kitchen) -> None:
    code, out, err = kitchen("--study", "study.toml", "--scale", "crumb", "--columns", "taste,crust,mean", "--json")
    assert code == 0, err
    result = json.loads(out)
    assert (result["scale"], result["parameters"]["doughs"]) == ("crumb", "rye") and kitchen.made() == ["rye"]
    recipes = [cell["recipe"] for part in result["results"] for cell in part["cells"]]
    assert {recipe["limit_train"] for recipe in recipes} == {8}
    cells = {(cell["system"], cell["column"]): cell for cell in result["cells"]}
    assert {len(cell["restarts"]) for cell in cells.values()} == {1}
    for system in ("rye", "rye (sliced)"):
        mean = (cells[system, "taste"]["mean"] + cells[system, "crust"]["mean"]) / 2
        assert cells[system, "mean"]["mean"] == pytest.approx(mean)
    code, out, _ = kitchen("--study", "study.toml", "--scale", "crumb", "--columns", "taste,mean", "--json")
    (note,) = [note for note in json.loads(out)["notes"] if note.startswith("mean: ")]
    assert note == "mean: no figure: there is no figure in crust"


def test_options_of_the_command_override_the_file(kitchen: Kitchen) -> None:
    typed = ["--restarts", "1", "--lr", "1e-3", "--columns", "taste", "--set", "doughs=rye"]
    code, out, _ = kitchen("--study", "study.toml", "--json", "--quiet", *typed)
    result = json.loads(out)
    assert code == 0
    assert [system["name"] for system in result["systems"]] == ["rye", "rye (sliced)"]
    assert {cell["recipe"]["lr"] for part in result["results"] for cell in part["cells"]} == {1e-3}
    assert [len(cell["restarts"]) for cell in result["cells"]] == [1, 1]


def test_test_splits_with_labels_are_scored_and_do_not_select(kitchen: Kitchen) -> None:
    kitchen.plugins = discover(extra=[("own", own(register_tasks=[labelled_test()]))], installed=False)
    columns = [f'[[column]]\nname = "{split}"\ntask = "known"\nsplit = "{split}"\n' for split in ("dev", "test")]
    text = "\n".join([STUDY[: STUDY.index("[[column]]")].replace('published = "toast"\n', ""), *columns])
    (kitchen.folder / "study.toml").write_text(text)
    words = ["--study", "study.toml", "--set", "doughs=rye", "--lr", "1e-3,2e-2", "--restarts", "2", "--json"]
    code, out, err = kitchen(*words)
    assert code == 0, err
    result = json.loads(out)
    cells = {(cell["system"], cell["column"]): cell for cell in result["cells"]}
    for system in ("rye", "rye (sliced)"):
        dev, test = cells[system, "dev"], cells[system, "test"]
        assert len(test["restarts"]) == 2
        assert (test["restarts"], test["best_on_dev"]) == (dev["restarts"], dev["best_on_dev"]), "of the same rows"
    selected = {tuple(cell["selected_on"]) for part in result["results"] for cell in part["cells"]}
    assert selected == {("dev",)}
    fits = [fit["id"] for part in result["results"] for cell in part["cells"] for fit in cell["fits"]]
    assert len(set(fits)) == 8, "both columns are scores of the same fits"
    kept = {path.parent.parent.name for path in (kitchen.folder / "fits").glob("*/model/*.safetensors")}
    assert kept == {cell["selected"] for cell in result["cells"]}, "no restart was fitted again to be scored"


def test_a_system_is_fine_tuned_on_a_first_task(kitchen: Kitchen) -> None:
    code, out, err = staged(kitchen, "--columns", "mood", "--json")
    assert code == 0, err
    cells = {cell["system"]: cell for cell in json.loads(out)["cells"]}
    code, out, _ = kitchen("tiny/words", "--tasks", "known", "--lr", "5e-3", "--limit-train", "24", "--json")
    (first,) = json.loads(out)["cells"]
    code, out, _ = kitchen(f"run:{first['selected']}", "--tasks", "mood", "--lr", "2e-3", "--json")
    (second,) = json.loads(out)["cells"]
    assert second["selected"] == cells["in two stages"]["selected"] != cells["at once"]["selected"]


def test_an_ensemble_answers_by_the_mean_of_its_restarts(kitchen: Kitchen) -> None:
    code, out, err = staged(kitchen, "--json")
    assert code == 0, err
    result = json.loads(out)
    (figure,) = [cell for cell in result["cells"] if cell["system"] == "three together"]
    assert len(figure["together"]) == 3
    (cell,) = [cell for part in result["results"] for cell in part["cells"] if len(cell["fits"]) == 3]
    runner = Runner(kitchen.plugins, Workspace(Path("fits"), kitchen.folder / "cache", data=Path("data")), device="cpu")
    rows = runner.rows(kitchen.plugins.task("mood"), "dev")
    logits = np.array([runner.outputs(find_run(Path("fits"), fit["id"]).fit(), rows) for fit in cell["fits"]])
    shares = (np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)).mean(axis=0)
    gold = [("glad", "sad").index(label) for label in rows.table.column("label").to_pylist()]
    assert figure["mean"] == pytest.approx(100 * np.mean(shares.argmax(axis=1) == gold))
    code, out, _ = kitchen("--study", "study.toml", "--quiet")
    assert f"{figure['mean']:.1f} (3 together)" in out


def test_a_study_says_how_to_submit_without_fitting_again(kitchen: Kitchen) -> None:
    moods = own(register_tasks=[mood()], register_backbones=[tiny_family()], register_leaderboards=[board()])
    kitchen.plugins = discover(extra=[("own", moods)], installed=False)
    text = STAGED.replace("title = ", 'board = "moods"\ntitle = ').replace("known", "mood")
    (kitchen.folder / "study.toml").write_text(text)
    code, out, err = kitchen("--study", "study.toml", "--json")
    assert code == 0, err
    commands = json.loads(out)["submissions"]
    assert [len(words) for words in commands.values()] == [4, 4, 6]
    before = {path: path.stat().st_mtime_ns for path in (kitchen.folder / "fits").glob("*/record.json")}
    for words in commands.values():
        code = main([*words, "--data", "data", "--runs", "fits", "--device", "cpu"], plugins=kitchen.plugins)
        assert code == 0
        logs = {path: path.stat().st_mtime_ns for path in (kitchen.folder / "fits").glob("*/record.json")}
        assert logs == before, "nothing was fitted"


def test_a_first_task_without_data_is_refused_by_its_place(kitchen: Kitchen) -> None:
    code, out, err = staged(kitchen)
    (kitchen.folder / "study.toml").write_text(STAGED.replace('task = "known"', 'task = "knwn"'))
    code, out, err = kitchen("--study", "study.toml")
    assert (code, out) == (2, "")
    assert "study.toml: system in two stages: first: There is no task 'knwn'. Did you mean mine/known" in err


def test_a_system_without_a_finished_fit_shows_a_gap_and_reason(kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--quiet", "--lr", "1e38", "--columns", "taste,loss", "--restarts", "1"]
    code, out, _ = kitchen(*words, "--set", "doughs=spelt")
    assert code == 1
    assert "  taste: no figure: no fit finished\n" in out and "diverged: the loss was not a finite" in out
    assert "2.25" in out, "the other columns are there"


@pytest.mark.parametrize(("number", "code"), [(1, 1), (2, 2), (7, 1)])
def test_a_command_that_fails_ends_the_study_with_its_name(number: int, code: int, kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--set", "doughs=burnt", f"more={number}", "--quiet"]
    ended, out, err = kitchen(*words)
    assert (ended, out) == (code, "")
    assert (
        "it burns" in err and f"ended with exit code {number}; its own message is above: benchrunner bake burnt" in err
    )
    assert not (kitchen.folder / "fits").exists()


def test_a_command_that_was_stopped_stops_the_study(kitchen: Kitchen) -> None:
    code, _, err = kitchen("--study", "study.toml", "--set", "doughs=burnt", "more=130")
    assert code == 130 and "The same command goes on from here" in err


REFUSED: dict[str, tuple[list[str], str]] = {
    "backbones": (
        ["words"],
        "says which backbones there are: leave them out. To choose some of its systems, give --systems A,B.",
    ),
    "tasks": (
        ["--tasks", "mood"],
        "says which tasks there are: leave them out. To choose some of its columns, give --columns A,B.",
    ),
    "method": (["--method", "features"], "The study study.toml says which methods are used"),
    "metric": (["--select-by", "accuracy"], "In the study study.toml, the metric of each column selects"),
    "parameter": (
        ["--set", "dough=rye"],
        "study.toml has no parameter 'dough' (did you mean doughs?). Its parameters, for --set",
    ),
    "no value": (["--set", "doughs"], "--set takes NAME=VALUE, not 'doughs'"),
    "twice": (["--set", "doughs=a", "doughs=b"], "--set names doughs twice"),
    "system": (
        ["--systems", "rie"],
        "has no system 'rie'. Did you mean rye? It has: rye, spelt",
    ),
    "column": (
        ["--columns", "cost"],
        "has no column 'cost'. Did you mean crust or loss? It has: taste, crust, loss, mean, price.",
    ),
    "scale": (
        ["--scale", "crum"],
        "There is no scale 'crum'. Did you mean crumb? The scales of study.toml: crumb, full",
    ),
    "unread": (["--stride", "3"], "The option stride is for tasks of another kind"),
    "BiLSTM": (
        ["--bilstm-width", "5"],
        "bilstm_width must be an even number above zero, not 5",
    ),
    "executor": (["--jobs", "0"], "--jobs must be at least 1"),
    "bad recipe": (["--epochs", "0"], "epochs must be above zero, not 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_study_arguments_are_refused_before_making_anything(name: str, kitchen: Kitchen) -> None:
    words, reason = REFUSED[name]
    assert reason in kitchen.refused(*words)
    assert kitchen.made() == []


FAULTY = {
    "no such task": ('task = "mood"', 'task = "moods"', "column taste: There is no task 'moods'. Did you mean mine/mo"),
    "no such metric": (
        'metric = "matthews"',
        'metric = "f1"',
        "column crust: mine/mood has no metric 'f1'; it has acc",
    ),
    "no such split": (
        'task = "mood"',
        'task = "mood"\nsplit = "test"',
        "column taste: mine/mood has no labels in its split test (data/mood/test.tsv), so only its leaderboard can",
    ),
    "unknown split": (
        'task = "mood"',
        'task = "mood"\nsplit = "tset"',
        "no dev or test split 'tset'; it has dev, test",
    ),
    "no data": ('task = "mood"', 'task = "pairs"', "column taste: No data for mine/pairs"),
    "no such method": ('"features"\n', '"feature"\n', "There is no method 'feature'. Did you mean features"),
    "bad option of all": ('restarts = "2"', 'restarts = "two"', "study.toml: recipe: restarts: 'two' is not a whole"),
    "bad option": ('lr = "2e-3"', 'lr = "low"', "study.toml: column taste: lr: 'low' is not a list"),
    "bad command": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'make = "bark rye out/bread"\nbackbone = "out/bread"',
        "system rye (sliced): This command cannot work: benchrunner bark rye out/bread\n"
        "benchrunner: there is no command 'bark'. Did you mean bake?",
    ),
    "command that refuses": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'make = "bake stone out/bread"\nbackbone = "out/bread"',
        "system rye (sliced): This command cannot work: benchrunner bake stone out/bread\n"
        "benchrunner: stones cannot be baked",
    ),
    "no such backbone": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'backbone = "out/wheat"',
        "system rye (sliced): There is no backbone 'out/wheat'",
    ),
    "no such part": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'backbone = "concat:out/rye,out/wheat"',
        "system rye (sliced): There is no backbone 'out/wheat'",
    ),
    "no list of parts": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'backbone = "concat:out/rye"',
        "system rye (sliced): 'concat:out/rye' does not name two or more backbones",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_study_entries_are_refused_before_making_anything(name: str, kitchen: Kitchen) -> None:
    old, new, reason = FAULTY[name]
    (kitchen.folder / "study.toml").write_text(STUDY.replace(old, new, 1))
    error = kitchen.refused()
    assert reason in error
    assert name != "no data" or "\nTo leave this column out, name the others: --columns A,B.\n" in error
    assert kitchen.made() == []


def test_a_system_may_concatenate_what_other_systems_make(kitchen: Kitchen) -> None:
    own = 'make = "bake rye out/rye {more}"\nbackbone = "out/rye"'
    for backbone in ("concat:out/rye,out/spelt", "concat:model,out/rye"):
        (kitchen.folder / "study.toml").write_text(STUDY.replace(own, f'backbone = "{backbone}"'))
        code, out, err = kitchen("--study", "study.toml", "--columns", "taste", "--quiet", "--json", "--restarts", "1")
        assert code == 0, err
        (cell,) = [cell for cell in json.loads(out)["cells"] if cell["system"] == "rye (sliced)"]
        assert cell["mean"] is not None
    assert kitchen.made() == ["rye", "spelt"] * 2


def test_a_command_that_leaves_no_backbone_is_an_error(kitchen: Kitchen) -> None:
    (kitchen.folder / "study.toml").write_text(STUDY.replace('backbone = "out/{dough}"', 'backbone = "in/{dough}"'))
    assert "study.toml, system rye: There is no backbone 'in/rye'" in kitchen.refused("--quiet")


def test_compare_says_which_argument_is_missing(kitchen: Kitchen) -> None:
    for words, reason in (
        ([], "Say the backbones: 'compare B1 B2 --tasks TASK', or 'compare --study NAME'"),
        (["words"], "Say --tasks: "),
        (["words", "--tasks", "mood", "--set", "a=b"], "--set is for a study file: give its name with --study"),
        (["words", "--tasks", "mood", "--scale", "tiny"], "--scale is for a study file"),
        (["words", "--tasks", "mood", "--systems", "a"], "--systems is for a study file"),
        (["--study", "stuudy"], "There is no study 'stuudy'"),
    ):
        code, out, err = kitchen(*words)
        assert (code, out) == (2, "") and reason in err


COUNT = """
import signal, sys, time
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
print("ready", flush=True)
while not heard:
    time.sleep(0.01)
time.sleep(0.3)
sys.exit(40 + len(heard))
"""


def test_a_stop_signal_reaches_the_command_once() -> None:
    """A terminal signals a whole group of processes."""
    process = subprocess.Popen([sys.executable, "-c", COUNT], stdout=subprocess.PIPE, process_group=0)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        stopped = wait_passing_signals(process)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        timer.join()
        process.stdout.close()
        signal.signal(signal.SIGINT, outside)
    assert (stopped, process.returncode) == (True, 41)


def test_a_study_file_is_read_again_with_all_its_figures(kitchen: Kitchen) -> None:
    code, out, err = kitchen(
        "--study", "study.toml", "--name", "doughs", "--columns", "taste,crust,loss,mean", "--json"
    )
    assert code == 0, err
    workspace = Workspace(kitchen.folder / "fits", kitchen.folder / "other cache", data=kitchen.folder / "data")
    for name in ("out", "model", "study.toml"):
        path = kitchen.folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    read = read_study("doughs", Runner(kitchen.plugins, workspace, device="cpu"))
    assert isinstance(read, StudyFileResult)
    assert json.loads(json.dumps(table.as_json(read))) == json.loads(out)
    assert json.loads(out)["kept_as"] == "doughs"
    kept = find_study(kitchen.folder / "fits", "doughs")
    assert kept.command[0] == "compare" and kept.is_study_file and kept.ended is not None
    shutil.rmtree(kitchen.folder / "data")
    without_data = read_study("doughs", Runner(kitchen.plugins, workspace, device="cpu"))
    assert isinstance(without_data, StudyFileResult)
    shown = [table.as_json(result)["cells"] for result in (read, without_data)]
    assert shown[0] == shown[1]


def test_stages_and_ensembles_of_a_kept_study_are_read_again(kitchen: Kitchen) -> None:
    code, out, err = staged(kitchen, "--name", "stages", "--json")
    assert code == 0, err
    workspace = Workspace(kitchen.folder / "fits", kitchen.folder / "other cache", data=kitchen.folder / "data")
    read = read_study("stages", Runner(kitchen.plugins, workspace, device="cpu"))
    assert isinstance(read, StudyFileResult)
    assert json.loads(json.dumps(table.as_json(read))) == json.loads(out)
    members = read.entries["three together", "mood"].members
    kept = find_study(kitchen.folder / "fits", "stages")
    assert len(members) == 3 and set(members) <= kept.selected
    assert kept.runs_for(["mine/mood"], "three together") == list(members)
    with pytest.raises(RequestError, match="several systems: at once, in two stages, three together"):
        kept.runs_for(["mine/mood"])
