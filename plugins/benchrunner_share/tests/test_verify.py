"""Verification of shared folders: what is computed again, and what is found in edited folders."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from shared_folders import SharedFolder, shared_folder

from benchrunner import Average, Metric, Suite, Term, Workspace
from benchrunner.plugins.distributions import Plugin
from benchrunner.results import Grid, cells, compared, run_study
from benchrunner_share.share import share_study
from chancy import Chancy
from inline import mood, plugins, runner


def test_an_untouched_folder_is_equal(original: SharedFolder) -> None:
    verified = original.verification()
    assert verified.is_equal and verified.name == "moods"
    assert (verified.scores, verified.answers) == (4 * 2, 4 * 24), "4 finished fits, on 24 rows"
    assert verified.figures == 2 * (1 + 1 + 1 + 2 + 1), "best, mean, deviation, 2 restarts, majority"
    assert [remark for remark in verified.remarks if "diverged, as the folder says" in remark]


def test_scores_equal_counts_of_the_raw_files(original: SharedFolder) -> None:
    """Count right answers with nothing but the answers and the data file."""
    lines = (original.runner.workspace.data / "mood" / "dev.tsv").read_text().splitlines()[1:]  # type: ignore[operator]
    gold = [line.split("\t")[1] for line in lines]
    study = original.read("study.json")
    [cell] = study["result"]["cells"]
    shares = []
    for fit in cell["candidates"][1]["fits"]:
        if fit not in cell["lost"]:
            prediction = study["predictions"][fit]["mine/mood"]["dev"]
            text = (original.path / f"predictions/{prediction}.answers.jsonl").read_text()
            answers = [json.loads(line)["answer"] for line in text.splitlines()]
            shares.append(sum(map(str.__eq__, gold, answers)) / 24)
    assert shares == [8 / 24, 24 / 24]
    [accuracy] = [score for score in cell["scores"] if score["metric"] == "accuracy"]
    assert (accuracy["best"], accuracy["mean"], accuracy["restarts"]) == (1.0, 0.6666666667, [0.3333333333, 1.0])


def test_verifying_needs_neither_backbones_nor_runs(original: SharedFolder, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "no runs", tmp_path / "no cache", data=original.runner.workspace.data)
    verified = original.verification(plugins=plugins(register_backbones=[]), workspace=workspace)
    assert verified.is_equal
    assert not (tmp_path / "no runs").exists() and not (tmp_path / "no cache").exists()


def set_score(study: dict[str, Any], name: str, value: object) -> None:
    study["result"]["cells"][0]["scores"][0][name] = value


LIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "mean": (lambda study: set_score(study, "mean", 0.9), '"mean": 0.6666666667,'),
    "best": (lambda study: set_score(study, "best", 0.99), '"best": 1.0,'),
    "deviation": (lambda study: set_score(study, "deviation", 0.0), '"deviation": 0.4714045208,'),
    "restarts": (lambda study: set_score(study, "restarts", [1.0, 1.0]), "0.3333333333,"),
    "selected": (
        lambda study: study["result"]["cells"][0].update(
            selected=study["result"]["cells"][0]["candidates"][0]["fits"][0]
        ),
        '"selected": ',
    ),
    "majority": (lambda study: set_score(study, "majority", 0.1), '"majority": 0.375'),
    "flags": (lambda study: study["result"]["cells"][0].update(flags={}), '"flags": {'),
    "hub": (
        lambda study: study["tasks"]["mine/mood"]["splits"]["dev"].update(
            hub={"repository": "a/b", "configuration": None, "split": "dev", "revision": None}
        ),
        '"hub": null',
    ),
    "revision": (lambda study: study["revisions"].update(words="other"), '"words": "tiny 1"'),
}


@pytest.mark.parametrize("name", LIES)
def test_a_lie_in_the_study_is_found(name: str, folder: SharedFolder) -> None:
    """Everything else in the folder agrees with the lie."""
    change, truth = LIES[name]
    line, *_ = folder.deceptive_differences(change).splitlines()
    _, says = line.split(" stands there, and the facts say ")
    assert line.startswith("study.json, line ") and says.strip("' ").startswith(truth)


def test_a_recipe_that_is_not_that_of_its_fits_is_found(folder: SharedFolder) -> None:
    differences = folder.deceptive_differences(
        lambda study: study["result"]["cells"][0]["candidates"][1]["recipe"].update(epochs=99)
    )
    assert "epochs is not that of the fit" in differences


def test_a_claimed_score_of_another_split_is_found(folder: SharedFolder) -> None:
    def claim(study: dict[str, Any]) -> None:
        [cell] = study["result"]["cells"]
        cell["scores"].append(cell["scores"][0] | {"split": "test"})
        study["data"]["mine/mood"]["test"] = study["data"]["mine/mood"]["dev"]
        study["tasks"]["mine/mood"]["splits"]["test"] = {"role": "test", "hub": None}

    assert "mine/mood (test): 24 rows were answered, and" in folder.deceptive_differences(claim)


def test_a_changed_score_of_a_prediction_is_found(folder: SharedFolder) -> None:
    _, prediction = folder.selected()
    folder.edit(f"predictions/{prediction}.json", lambda data: data["scores"].update(accuracy=0.5))
    assert "was changed after the folder was written" in folder.differences()
    folder.deceive()
    stands, says = """'  "accuracy": 0.5,'""", """'  "accuracy": 1.0,'"""
    sentence = f"predictions/{prediction}.json, line 11: {stands} stands there, and the facts say {says}."
    assert folder.differences() == sentence


EXPECTED = " stands there, and the answer to row 0 is expected, with its index, as 'benchrunner share' writes it."
ANSWERS: dict[str, tuple[Callable[[list[str]], object], str]] = {
    "another label": (
        lambda lines: lines.__setitem__(
            0, json.dumps({"index": 0, "answer": "glad"} if "sad" in lines[0] else {"index": 0, "answer": "sad"})
        ),
        """'  "accuracy": 1.0,' stands there, and the facts say '  "accuracy": 0.9583333333,'.""",
    ),
    "no label": (lambda lines: lines.__setitem__(3, '{"index": 3, "answer": "angry"}'), "line 4: the answer 'angry'"),
    "another type": (lambda lines: lines.__setitem__(3, '{"index": 3, "answer": {"a": [1]}}'), "line 4: the answer"),
    "a row less": (lambda lines: lines.pop(), "wrong number of rows: 23 answers, and the data here has 24 rows"),
    "a row more": (
        lambda lines: lines.append('{"index": 24, "answer": "sad"}'),
        "wrong number of rows: 25 answers, and the data here has 24 rows",
    ),
    "another order": (lambda lines: lines.reverse(), EXPECTED),
    "nan": (lambda lines: lines.__setitem__(0, '{"index": 0, "answer": NaN}'), EXPECTED),
    "key twice": (lambda lines: lines.__setitem__(0, '{"index": 0, "index": 0, "answer": "sad"}'), EXPECTED),
    "deep": (lambda lines: lines.__setitem__(0, "[" * 90_000), EXPECTED),
    "further keys": (lambda lines: lines.__setitem__(0, '{"index": 0, "answer": "sad", "x": 1}'), EXPECTED),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_edited_answers_are_found(name: str, folder: SharedFolder) -> None:
    change, sentence = ANSWERS[name]
    folder.edit_answers(change)
    assert sentence in folder.differences()


def test_an_edit_that_keeps_every_score_is_in_the_list_of_files(folder: SharedFolder) -> None:
    """Whoever writes the list of files anew too is found by the fingerprint only."""
    before = folder.verification().fingerprint
    path = folder.path / "fits" / f"{folder.selected()[0]}.json"
    path.write_text(path.read_text().replace('"timings": {', '"timings": {\n  "hours": 1.5,'))
    assert f"'fits/{path.name}' was changed after the folder was written." in folder.differences()
    folder.deceive()
    assert folder.differences() == ""
    assert folder.verification().fingerprint != before


def test_an_edited_fit_is_found(folder: SharedFolder) -> None:
    fit, _ = folder.selected()
    folder.edit(f"fits/{fit}.json", lambda data: data["fit"].update(seed=77))
    folder.deceive()
    assert f"fits/{fit}.json holds the fit" in folder.differences()


@pytest.mark.parametrize("pattern", ["README.md", "every_eval_ever/*/*/*/*/*.json"])
def test_an_edited_card_is_found(pattern: str, folder: SharedFolder) -> None:
    [path] = folder.path.glob(pattern)
    name = path.relative_to(folder.path).as_posix()
    path.write_text(path.read_text().replace("66.67", "99.99").replace("0.66", "0.99"))
    folder.deceive_list()
    assert f"{name}, line " in folder.differences()


def test_missing_and_further_files_are_found(folder: SharedFolder) -> None:
    _, prediction = folder.selected()
    (folder.path / f"predictions/{prediction}.answers.jsonl").unlink()
    (folder.path / "weights.pkl").write_bytes(b"cos\nsystem\n(S'exit'\ntR.")
    text = folder.differences()
    assert f"'predictions/{prediction}.answers.jsonl' is missing." in text
    assert "'weights.pkl' is no file that 'benchrunner share' writes for this study." in text
    assert "'words' on 'mine/mood' is not verified" in text


def other_data(folder: SharedFolder, tmp_path: Path, change: Callable[[str], str]) -> Workspace:
    """Copy the verifier's data and change the file of dev."""
    data = folder.runner.workspace.data
    assert data is not None
    shutil.copytree(data, tmp_path / "own")
    path = tmp_path / "own" / "mood" / "dev.tsv"
    path.write_text(change(path.read_text()))
    return replace(folder.runner.workspace, data=tmp_path / "own")


def test_other_texts_are_another_revision_of_the_data(folder: SharedFolder, tmp_path: Path) -> None:
    workspace = other_data(folder, tmp_path, lambda text: text.replace("river", "lake"))
    differences = folder.differences(workspace=workspace)
    assert "mine/mood (dev): the answers are to another revision of the data than" in differences
    assert "columns that differ: 'a'." in differences and "the facts say" not in differences


def test_answers_to_other_labels_are_not_scored(folder: SharedFolder, tmp_path: Path) -> None:
    workspace = other_data(folder, tmp_path, lambda text: text.replace("\tglad", "\tsad", 1))
    verification = folder.verification(workspace=workspace)
    [difference] = verification.differences
    assert difference.endswith("columns that differ: 'label'.") and verification.scores == 0


def test_fewer_rows_are_named(folder: SharedFolder, tmp_path: Path) -> None:
    workspace = other_data(folder, tmp_path, lambda text: text.rsplit("\n", 2)[0] + "\n")
    assert "mine/mood (dev): 24 rows were answered, and" in folder.differences(workspace=workspace)


def test_without_data_nothing_is_equal(folder: SharedFolder, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, tmp_path, data=tmp_path)
    text = folder.unverified(workspace=workspace)
    assert "'mine/mood' ('dev') is not computed here: there is no copy of the data here" in text
    assert "None" not in text


def test_an_unknown_task_is_named_with_its_plugin(folder: SharedFolder) -> None:
    text = folder.unverified(plugins=plugins(register_tasks=[], register_leaderboards=[]))
    assert "There is no task 'mine/mood'." in text and "they need the plugin 'own (own)'" in text


def test_a_search_is_not_repeated_and_this_is_said(tmp_path: Path) -> None:
    grid, stopped = Grid({"lr": (4, 8), "epochs": (1, 2)}), cells.PointChoice("early stop 1", {"early_stop": 1})
    searched = shared_folder(tmp_path, endings={1: None}, search=stopped, grid=grid)
    verified = searched.verification()
    assert verified.is_equal
    assert [remark for remark in verified.remarks if "the search was not repeated" in remark]


def test_another_version_is_a_remark(folder: SharedFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores that are equal prove more than equal versions."""
    monkeypatch.setattr(folder.runner.plugins, "loaded", [Plugin("own", "own", lambda: "9.9")])
    verified = folder.verification()
    assert verified.is_equal
    assert [remark for remark in verified.remarks if "here is 9.9" in remark]


def _accuracy_with(library: object, gold: Sequence[str], answers: Sequence[str]) -> float:
    return sum(map(str.__eq__, gold, answers)) / len(gold)


def test_a_library_behind_a_task_is_installed(tmp_path: Path) -> None:
    """A metric of a library, such as that of CoNLL, enters the fits with the library's version."""
    metric = Metric("escaped", partial(_accuracy_with, escape))
    made = runner(tmp_path, register_tasks=[mood(metrics=(metric,))])
    result = run_study(compared(("words",), tuple(made.plugins.tasks.values())), made)
    share_study(result, tmp_path / "shared", made, report=False)
    shared = SharedFolder(tmp_path / "shared", made)
    [fit] = [shared.read(f"fits/{fit.id}.json")["fit"] for cell in result.cells for fit in cell.restarts]
    assert [title for title in fit["suppliers"] if title.startswith("markupsafe")]
    assert shared.verification().remarks == ()


def test_averages_of_a_suite_are_shared_and_verified(tmp_path: Path) -> None:
    term = Term("mine/mood", "dev", "accuracy")
    suite = Suite("moods", (Average("mean", ((term,), (replace(term, task="mine/second"),))),))
    tasks = [mood(suite=suite), mood(name="mine/second", suite=suite)]
    made = runner(tmp_path, register_tasks=tasks)
    result = run_study(compared(("words",), tuple(tasks)), made)
    share_study(result, tmp_path / "shared", made, report=False)
    shared = SharedFolder(tmp_path / "shared", made)
    content = shared.read("study.json")["result"]
    means = [cell["scores"][0]["mean"] for cell in content["cells"]]
    assert content["averages"]["words"]["mean"]["mean"] == pytest.approx(sum(means) / 2)
    assert shared.verification().is_equal


def test_tasks_whose_data_is_here_are_verified(tmp_path: Path) -> None:
    """Lies about a task are found without the data of the other task, and all else is as the facts say."""
    tasks = [mood(method="chancy"), mood(name="mine/second", method="chancy")]
    made = runner(tmp_path, register_methods=[Chancy()], register_tasks=tasks)
    result = run_study(compared(("words",), tuple(tasks)), made)
    share_study(result, tmp_path / "shared", made, report=False)
    shared = SharedFolder(tmp_path / "shared", made)
    here = plugins(register_methods=[Chancy()], register_tasks=tasks[:1], register_leaderboards=[])
    assert "There is no task 'mine/second'" in shared.unverified(plugins=here)
    assert shared.verification(plugins=here).scores == 2
    shared.edit("study.json", lambda study: set_score(study, "mean", 0.9))
    shared.deceive()
    assert '"mean": 0.9,' in shared.differences(plugins=here).splitlines()[0]


def test_forged_answers_of_the_majority_are_found(tmp_path: Path) -> None:
    made = runner(tmp_path)
    result = run_study(compared({"floor": "words"}, tuple(made.plugins.tasks.values()), methods=("majority",)), made)
    share_study(result, tmp_path / "shared", made, report=False)
    shared = SharedFolder(tmp_path / "shared", made)
    assert shared.verification().is_equal
    shared.edit_answers(lambda lines: lines.__setitem__(0, '{"index": 0, "answer": "glad"}'))
    shared.edit_answers(lambda lines: lines.__setitem__(1, '{"index": 1, "answer": "sad"}'))
    assert "the answers are not those of the majority of the training rows here" in shared.differences()
