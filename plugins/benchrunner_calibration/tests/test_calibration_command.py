"""The command `calibration`: kept studies and runs, reasons, halves of dev, plots and JSON."""

from __future__ import annotations

import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchrunner import Rows, Undefined
from benchrunner.command_line.main import main
from benchrunner_calibration.kept_answers import _as_matrix, label_numbers, units_of
from benchrunner_kinds import Candidates, MultiLabel
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


def named(calibration: Any, system: str) -> Any:
    return next(part for part in calibration["systems"] if part["system"] == system)


def probabilities(shell: Shell, run: str) -> np.ndarray:
    """The probabilities that `predict` gives for dev."""
    words = ("--split", "dev", "--probabilities", *QUIETLY)
    rows = shell.json("predict", run, *words, *shell.folders())["probabilities"]
    return np.array([[row["glad"], row["sad"]] for row in rows])


def test_a_study_shows_each_system_and_why_one_is_left_out(kept: Shell) -> None:
    text = kept.done("calibration", "kept", *kept.folders())
    assert "mine/mood, dev: 24 rows" in text
    assert "words (finetune)" in text and "words (probe)" in text
    assert "left out: words (majority) on mine/mood, dev: the method 'majority' gives an answer" in text


def test_figures_are_those_of_what_predict_gives(kept: Shell) -> None:
    system = named(shown(kept, "kept"), "words (finetune)")
    lines = (kept.folder / "data" / "mood" / "dev.tsv").read_text().splitlines()[1:]
    gold = np.array([line.endswith("\tsad") for line in lines]).astype(int)
    for number, run in enumerate(system["runs"]):
        given = probabilities(kept, run)
        loss = -np.log(given[np.arange(24), gold]).mean()
        figures = {name: figure["restarts"][number] for name, figure in system["figures"].items()}
        assert figures["log_loss"] == pytest.approx(loss, abs=1e-4)
        assert figures["accuracy"] == (given.argmax(axis=1) == gold).mean()
        assert figures["confidence"] == pytest.approx(given.max(axis=1).mean(), abs=1e-5)
    assert sum(part["answers"] for part in system["bins"]) == 48


def test_runs_are_named_one_by_one(kept: Shell) -> None:
    runs = named(shown(kept, "kept"), "words (finetune)")["runs"]
    alone = shown(kept, runs[1])
    assert [system["runs"] for system in alone["systems"]] == [[runs[1]]]
    assert alone["systems"][0]["figures"]["brier"]["deviation"] is None


def test_temperature_changes_no_answer(kept: Shell) -> None:
    temperature = named(shown(kept, "kept", "--temperature"), "words (finetune)")["temperature"]
    assert temperature["change"]["accuracy"]["value"] == 0
    assert len(temperature["of_halves"]) == len(temperature["of_all"]["restarts"]) == 2
    text = kept.done("calibration", "kept", "--temperature", *kept.folders())
    assert "of each half" in text and "with the temperature that the other half fitted" in text


def test_limited_rows_of_dev_are_scored(kept: Shell) -> None:
    compared(kept, "limited", "--limit-dev", "10")
    system = named(shown(kept, "limited"), "words (probe)")
    assert system["rows"] == 10
    assert "scored on 10 rows of dev" in system["notes"]


def test_pairs_are_tested_on_request(kept: Shell) -> None:
    assert shown(kept, "kept")["differences"] == []
    differences = shown(kept, "kept", "--differences")["differences"]
    assert [part["measure"] for part in differences] == ["squared_error", "brier", "log_loss"]
    assert all(part["comparison"]["confidence"] == pytest.approx(1 - 0.05 / 3) for part in differences)
    assert all(part["adjusted_p"] >= part["comparison"]["p"] for part in differences)
    text = kept.done("calibration", "kept", "--differences", *kept.folders())
    assert "words (finetune)" in text and "intervals hold together" in text


def test_bins_ask_for_the_reliability_table(kept: Shell) -> None:
    assert "accuracy [95 %]" not in kept.done("calibration", "kept", *kept.folders())
    text = kept.done("calibration", "kept", "--bins", "3", "--equal-width", *kept.folders())
    assert "accuracy [95 %]" in text and "3 bins of equal width" in text


def test_plots_hold_every_system(kept: Shell) -> None:
    path = kept.folder / "plot.svg"
    assert f"Wrote {path}." in kept.done("calibration", "kept", "--plot", str(path), *kept.folders())
    text = path.read_text()
    assert text.count("<circle") == sum(len(system["bins"]) for system in shown(kept, "kept")["systems"])
    assert "words (finetune)" in text and "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert ElementTree.fromstring(text).get("viewBox")


def test_nothing_is_fitted_where_outputs_were_removed(kept: Shell) -> None:
    run = named(shown(kept, "kept"), "words (finetune)")["runs"][0]
    shutil.rmtree(kept.folder / "runs" / run / "outputs")
    calibration = shown(kept, "kept")
    [part] = [part for part in calibration["left_out"] if part["system"] == "words (finetune)"]
    assert part["reason"] == f"the outputs of the fit {run} were removed: repeat the command of the study"


def test_changed_data_is_told(kept: Shell) -> None:
    path = kept.folder / "data" / "mood" / "dev.tsv"
    path.write_text(path.read_text().replace("\tsad", "\tglad"))
    assert "changed since the fit" in kept.refused("calibration", "kept", *kept.folders())


def test_missing_data_is_told_once(kept: Shell) -> None:
    shutil.rmtree(kept.folder / "data" / "mood")
    error = kept.refused("calibration", "kept", *kept.folders())
    assert error.count("No data for mine/mood, split dev: give it with --data DIR") == 1


def test_wrong_words_are_told(kept: Shell) -> None:
    assert "ends in .svg" in kept.refused("calibration", "kept", "--plot", "plot.png", *kept.folders())
    assert "from 1 to 1,000, not 0" in kept.refused("calibration", "kept", "--bins", "0", *kept.folders())
    assert "Did you mean" in kept.refused("calibration", "keptt", *kept.folders())


def test_problems_without_one_right_label_have_a_reason() -> None:
    several = mood(problem=MultiLabel(("glad", "sad")))
    with pytest.raises(Undefined, match="has no single right label"):
        label_numbers(several, [["glad"], []])
    with pytest.raises(Undefined, match="do not add up to 1"):
        _as_matrix([[0.9, 0.8]], several)


def test_rows_may_have_different_numbers_of_candidates() -> None:
    task = mood(problem=Candidates())
    assert label_numbers(task, [2, 0]).tolist() == [2, 0]
    matrix = _as_matrix([[0.5, 0.25, 0.25], [0.75, 0.25]], task)
    assert matrix.tolist() == [[0.5, 0.25, 0.25], [0.75, 0.25, 0.0]]


def test_rows_of_a_cluster_are_a_unit() -> None:
    rows = Rows(pa.table({"a": ["x", "y", "z"], "document": ["B", "A", "B"]}), "here")
    units = units_of(mood(clusters="document"), rows, 5)
    assert (units.numbers.tolist(), units.clusters) == ([0, 1, 0], [0, 1, 0])
    assert units_of(mood(), rows, 1).clusters is None
