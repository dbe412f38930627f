"""The command `calibration`: kept studies and runs, reasons, halves of dev, pictures and JSON."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchrunner import EXACT_MATCH, Regress, Split, TextTable
from benchrunner.command_line.main import main
from benchrunner_calibration.calibration import better_calibrated
from benchrunner_calibration.measures import SQUARE
from benchrunner_kinds import MultiLabel
from benchrunner_tasks import PEARSON
from command_line import Shell
from inline import files, mood, plugins

METHODS = ("words", "--tasks", "mood", "--method", "finetune,probe,majority", "--restarts", "2")
QUIETLY = ("--device", "cpu", "--quiet")


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, and runs of the study `kept`: two methods and the majority answer, two restarts each."""
    folder = tmp_path_factory.mktemp("finished")
    files(1, folder / "data")
    folders = ("--data", str(folder / "data"), "--runs", str(folder / "runs"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("BENCHRUNNER_CACHE", str(folder / "cache"))
        assert main(("compare", *METHODS, *QUIETLY, *folders, "--name", "kept"), plugins=plugins()) == 0
    return folder


@pytest.fixture
def kept(shell: Shell, finished: Path) -> Shell:
    """A shell in a folder with these data and runs."""
    shutil.copytree(finished, shell.folder, dirs_exist_ok=True)
    return shell


def compared(shell: Shell, name: str, *words: str) -> None:
    """Keep a study of the same fits with other options."""
    shell.done("compare", *METHODS, *QUIETLY, *shell.folders(), "--name", name, *words)


def shown(shell: Shell, *words: str) -> Any:
    return shell.json("calibration", *words, *shell.folders())


def runs_of(calibration: Any, system: str) -> list[str]:
    """Ids of the restarts of a system."""
    (cell,) = [cell for cell in calibration["result"]["cells"] if cell["system"] == system]
    return [fit["id"] for fit in cell["fits"]]


def figures(calibration: Any, system: str) -> dict[str, Any]:
    """The scores of a system by the names of the metrics."""
    (cell,) = [cell for cell in calibration["result"]["cells"] if cell["system"] == system]
    return {score["metric"]: score for score in cell["scores"]}


def probabilities(shell: Shell, run: str) -> np.ndarray:
    """The probabilities that `predict` gives for dev."""
    words = ("--split", "dev", "--probabilities", *QUIETLY)
    rows = shell.json("predict", run, *words, *shell.folders())["probabilities"]
    return np.array([[row["glad"], row["sad"]] for row in rows])


def test_a_study_shows_each_system_and_why_one_is_left_out(kept: Shell) -> None:
    text = kept.done("calibration", "kept", *kept.folders())
    assert "calibration in 15 bins of equal mass" in text
    assert "words (finetune)" in text and "words (probe)" in text
    assert "left out: words (majority) on mine/mood, dev: the method 'majority' gives an answer" in text


def test_figures_are_those_of_what_predict_gives(kept: Shell) -> None:
    calibration = shown(kept, "kept")
    found = figures(calibration, "words (finetune)")
    lines = (kept.folder / "data" / "mood" / "dev.tsv").read_text().splitlines()[1:]
    gold = np.array([line.endswith("\tsad") for line in lines]).astype(int)
    for number, run in enumerate(runs_of(calibration, "words (finetune)")):
        given = probabilities(kept, run)
        loss = -np.log(given[np.arange(24), gold]).mean()
        of_run = {name: score["restarts"][number] for name, score in found.items()}
        assert of_run["log_loss"] == pytest.approx(loss, abs=1e-4)
        assert of_run["accuracy"] == (given.argmax(axis=1) == gold).mean()
        assert of_run["confidence"] == pytest.approx(given.max(axis=1).mean(), abs=1e-5)
    reliability = calibration["reliability"][0]
    assert (reliability["system"], reliability["task"], reliability["rows"]) == ("words (finetune)", "mine/mood", 24)
    assert sum(part["answers"] for part in reliability["bins"]) == 48


def test_the_error_is_the_root_of_the_mean_square(kept: Shell) -> None:
    result = shown(kept, "kept")["result"]
    for system in ("words (finetune)", "words (probe)"):
        rows = {row["column"].removeprefix("mine/mood "): row for row in result["figures"] if row["system"] == system}
        error, square = rows["calibration error"], rows["calibration error²"]
        assert error["mean"] == pytest.approx(max(0, square["mean"]) ** 0.5)
        ends = [max(0, end) ** 0.5 for end in square["interval_over_examples"]]
        assert error["interval_over_examples"] == pytest.approx(ends)
        assert rows["plain ECE"]["interval_over_examples"] is None


def test_runs_are_named_one_by_one(kept: Shell) -> None:
    runs = runs_of(shown(kept, "kept"), "words (finetune)")
    alone = shown(kept, runs[1])
    assert runs_of(alone, "words") == [runs[1]]
    assert figures(alone, "words")["brier"]["deviation"] is None
    assert alone["result"]["conclusion"] == ""


def test_temperature_is_scored_on_other_rows(kept: Shell) -> None:
    found = figures(shown(kept, "kept", "--temperature"), "words (finetune)")
    square, change = (
        found["calibration error²"]["mean"]["value"],
        found["change of calibration error²"]["mean"]["value"],
    )
    after = found["calibration error after"]["mean"]["value"]
    assert after == pytest.approx(max(0, square + change) ** 0.5)
    assert len(found["temperature"]["restarts"]) == 2
    assert "temperature" in kept.done("calibration", "kept", "--temperature", "--notes", *kept.folders())


def test_limited_rows_of_dev_are_scored(kept: Shell) -> None:
    compared(kept, "limited", "--limit-dev", "10")
    calibration = shown(kept, "limited")
    assert [part["rows"] for part in calibration["reliability"]] == [10, 10]
    assert any("scored on 10 random rows of 24 only" in note for note in calibration["result"]["notes"])


@pytest.mark.parametrize(("first", "gain"), [("ours", 1.0), ("theirs", -1.0)])
def test_the_sentence_names_the_better_system_of_a_pair(first: str, gain: float) -> None:
    """A stand-in for a result: the pair is named by the later system, which may be the worse one."""
    column = SimpleNamespace(name="mood error²", metric=SQUARE, title="mood")
    (second,) = {"ours", "theirs"} - {first}
    pair = SimpleNamespace(is_clear=True, comparison=SimpleNamespace(gain=gain))
    statistics = SimpleNamespace(is_ranking=False, tests={(first, second, column.name): pair})
    result: Any = SimpleNamespace(statistics=statistics, study=SimpleNamespace(columns=[column]))
    assert better_calibrated(result, 5) == ["Better calibrated on mood: ours."]


def test_systems_are_compared_in_three_figures(kept: Shell) -> None:
    result = shown(kept, "kept")["result"]
    tests = result["comparisons"]
    assert [test["metric"] for test in tests] == ["calibration error²", "brier", "log_loss"]
    assert all(test["confidence"] == pytest.approx(1 - 0.05 / 3) for test in tests)
    assert all(test["adjusted_p"] >= test["p"] for test in tests)
    assert result["conclusion"].startswith("Better calibrated on mine/mood: ")
    assert result["mean_ranks"] == {}, "figures of calibration have no common rank"
    assert "Better calibrated on mine/mood: " in kept.done("calibration", "kept", *kept.folders())


def test_bins_ask_for_the_reliability_table(kept: Shell) -> None:
    assert "accuracy [95 %]" not in kept.done("calibration", "kept", *kept.folders())
    text = kept.done("calibration", "kept", "--bins", "3", "--equal-width", *kept.folders())
    assert "words (probe) on mine/mood, 24 rows: accuracy [95 %] by confidence" in text
    assert "calibration in 3 bins of equal width" in text


def test_pictures_hold_every_system(kept: Shell) -> None:
    path = kept.folder / "pictures.html"
    assert f"Wrote {path}." in kept.done("calibration", "kept", "--plot", str(path), *kept.folders())
    text = path.read_text()
    bins = sum(len(system["bins"]) for system in shown(kept, "kept")["reliability"])
    assert text.count("<svg") == 2 and text.count("scale(3.4)") == bins
    assert (
        "words (finetune)" in text and "calibration in 15 bins" in text and "http" not in text.replace("http-equiv", "")
    )


def test_dev_splits_of_a_task_have_columns_of_their_own(shell: Shell) -> None:
    task = mood()
    splits = {**task.splits, "dev-2": task.splits["dev"]}
    shell.plugins = plugins(register_tasks=[mood(splits=splits)])
    words = ("words", "--tasks", "mood", "--method", "probe", "--name", "two", *QUIETLY)
    shell.done("compare", *words, *shell.folders())
    calibration = shown(shell, "two", "--temperature")
    assert [part["task"] for part in calibration["reliability"]] == ["mine/mood (dev)", "mine/mood (dev-2)"]
    means = {row["column"]: row["mean"] for row in calibration["result"]["figures"]}
    assert means["mine/mood (dev) brier"] == means["mine/mood (dev-2) brier"] is not None


def test_clusters_widen_intervals(kept: Shell) -> None:
    brier = figures(shown(kept, "kept"), "words (probe)")["brier"]["interval_over_examples"]
    kept.plugins = plugins(register_tasks=[mood(clusters="label")])
    wide = figures(shown(kept, "kept"), "words (probe)")["brier"]["interval_over_examples"]
    assert wide[1] - wide[0] > brier[1] - brier[0]


@pytest.mark.parametrize(
    ("column", "problem", "metric", "reason"),
    [
        ("labels", MultiLabel(("1", "0")), EXACT_MATCH, "a gold answer is no label, or several"),
        ("label", Regress(0, 1), PEARSON, "a question of the kind 'regress' has no probabilities of labels"),
    ],
)
def test_other_questions_have_a_reason(shell: Shell, column: str, problem: Any, metric: Any, reason: str) -> None:
    splits = {}
    for role in ("train", "dev"):
        path = shell.folder / "data" / "mood" / f"{role}.tsv"
        path.write_text(path.read_text().replace("\tglad", "\t1").replace("\tsad", "\t0"))
        splits[role] = Split(role, (TextTable(f"mood/{role}.tsv", {"a": "text", column: "mood"}),))
    shell.plugins = plugins(register_tasks=[mood(problem=problem, metrics=(metric,), splits=splits, suite=None)])
    shell.done("compare", "words", "--tasks", "mood", "--name", "other", *QUIETLY, *shell.folders())
    error = shell.refused("calibration", "other", *shell.folders())
    assert f"Nothing here has probabilities that can be read. mine/mood: {reason}." in error


def test_nothing_is_fitted_where_outputs_were_removed(kept: Shell) -> None:
    run = runs_of(shown(kept, "kept"), "words (finetune)")[0]
    shutil.rmtree(kept.folder / "runs" / run / "outputs")
    calibration = shown(kept, "kept")
    [part] = [part for part in calibration["left_out"] if part["system"] == "words (finetune)"]
    assert part["reason"] == f"The outputs of the fit {run} were removed. Repeat the command of the study."


def test_changed_data_is_told(kept: Shell) -> None:
    path = kept.folder / "data" / "mood" / "dev.tsv"
    path.write_text(path.read_text().replace("\tsad", "\tglad"))
    assert "changed since the fit" in kept.refused("calibration", "kept", *kept.folders())


def test_missing_data_is_told_once(kept: Shell) -> None:
    shutil.rmtree(kept.folder / "data" / "mood")
    error = kept.refused("calibration", "kept", *kept.folders())
    assert error.count("No data for mine/mood, split dev: give it with --data DIR") == 1


def test_wrong_words_are_told(kept: Shell) -> None:
    assert "ends in .html" in kept.refused("calibration", "kept", "--plot", "plot.svg", *kept.folders())
    assert "from 1 to 1,000, not 0" in kept.refused("calibration", "kept", "--bins", "0", *kept.folders())
    assert "Did you mean" in kept.refused("calibration", "keptt", *kept.folders())
