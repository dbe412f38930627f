"""Kept studies: a study is written under a name, and its result is read again from the run folders alone."""

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import RequestError, UnknownName, Workspace
from benchrunner.errors import FitError
from benchrunner.io.seals import read_sealed, write_sealed
from benchrunner.results import (
    Computing,
    Grid,
    Runner,
    Study,
    compared,
    kept_studies,
    read_study,
    result_of_runs,
    run_study,
)
from benchrunner.studies.kept.keeper import check_name, derived_name
from benchrunner.studies.kept.kept_study import KeptCell, find_study
from benchrunner.studies.result import Result
from benchrunner_statistics import AnsweredRows
from chancy import Chancy, chancy
from inline import mood, plugins, runner, study_with


def small(made: Runner, **changes: Any) -> Study:
    options: dict[str, Any] = {"grid": Grid({"lr": (4, 8)}), "seeds": (0, 1, 2)}
    return study_with(("words",), tuple(made.plugins.tasks.values()), **(options | changes))


def without_data(made: Runner, folder: Path) -> Runner:
    """Return a runner in the same runs folder, without the data and without any backbone."""
    shutil.rmtree(folder / "data")
    workspace = Workspace(made.workspace.runs, folder / "other cache", data=folder / "no data")
    offers = plugins(register_methods=[Chancy()], register_tasks=[mood(method="chancy")], register_backbones=[])
    return Runner(offers, workspace, Computing("cpu"))


def same(left: Result, right: Result) -> None:
    """Compare two results whose tasks come from different plugin managers: by everything but the task objects."""
    assert [cell.cell.task.name for cell in left.cells] == [cell.cell.task.name for cell in right.cells]
    for ours, theirs in zip(left.cells, right.cells, strict=True):
        assert ours.cell.candidates == theirs.cell.candidates
        assert replace(ours, cell=theirs.cell) == theirs
    assert (left.baseline, left.name) == (right.baseline, right.name)
    assert list(map(KeptCell.of, left.study.cells)) == list(map(KeptCell.of, right.study.cells))
    assert left.study.without_cells == right.study.without_cells


@pytest.mark.timeout(60)
def test_a_pipe_in_the_place_of_a_study_is_refused(tmp_path: Path) -> None:
    """A pipe without a reader would hold the writer up without end."""
    made = runner(tmp_path)
    path = tmp_path / "runs" / "studies" / "first.json"
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    with pytest.raises(RequestError, match=r"first\.json cannot be written: this is a pipe or a device"):
        run_study(small(made), made, keep_as="first")


def test_a_study_is_read_without_data_and_backbones(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = run_study(small(made), made, keep_as="first")
    read = read_study("first", without_data(made, tmp_path))
    same(read, result)
    assert [len(read.cells), len(list(read.cells[0].cell.fits))] == [1, 6]


def test_rows_are_read_from_the_folder_that_the_study_used(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = run_study(small(made), made, keep_as="first")
    bare = Workspace(made.workspace.runs, tmp_path / "cache")
    read = read_study("first", Runner(made.plugins, bare, Computing("cpu")))
    kept, given = (AnsweredRows.kept(each.cells, "dev") for each in (read, result))
    assert (kept.answers, kept.gold, read.statistics) == (given.answers, given.gold, result.statistics)
    own = replace(bare, data=tmp_path / "own")
    readers = [read_study("first", Runner(made.plugins, asked, Computing("cpu"))).runner for asked in (bare, own)]
    assert [reader and reader.workspace.data for reader in readers] == [made.workspace.data, own.data]
    shutil.rmtree(tmp_path / "data")
    removed = read_study("first", Runner(made.plugins, bare, Computing("cpu"))).runner
    assert removed is not None and removed.workspace.data is None


def test_a_result_knows_the_command_that_repeats_it(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    words = ("compare", "words", "--tasks", "mood")
    assert run_study(small(made), made, keep_as="typed", command=words).command == words
    assert read_study("typed", made).command == words
    result = run_study(small(made), made, keep_as="from-python")
    assert result.command == replace(result, runner=None).command == replace(result, name="removed").command == ()


def test_predictions_are_read_once_if_asked(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    run_study(small(made), made, keep_as="kept")
    [cell] = read_study("kept", made).read_once(made).cells
    assert cell.selected is not None
    kept = cell.predicted(cell.selected, "dev")
    answers = kept.answers
    shutil.rmtree(kept.folder)
    assert cell.predicted(cell.selected, "dev").answers is answers
    with pytest.raises(FitError, match="cannot be read: this result was made without a runner"):
        replace(cell, predictions=None).predicted(cell.selected, "dev")


def test_a_lost_fit_is_read_with_its_reason(tmp_path: Path) -> None:
    made = chancy(tmp_path, {1: FitError("the oven is cold")})
    result = run_study(small(made), made, keep_as="lost")
    read = read_study("lost", made)
    same(read, result)
    assert set(read.cells[0].lost.values()) == {"failed: the oven is cold"}


def test_a_removed_run_is_lost_with_the_reason(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = run_study(small(made), made, keep_as="first")
    fit = next(result.cells[0].cell.fits)
    shutil.rmtree(made.folder(fit).path)
    read = read_study("first", made)
    assert read.cells[0].lost == {fit.id: "failed: the run is not finished, or was removed"}


def test_a_prediction_that_was_removed_is_missed(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    run_study(small(made), made, keep_as="kept")
    read = read_study("kept", made)
    predictions = read.cells[0].predictions
    assert predictions is not None
    fit = next(read.cells[0].cell.fits)
    kept = predictions.predict(fit, "dev")
    shutil.rmtree(kept.folder)
    with pytest.raises(FitError, match="has no kept prediction of mine/mood"):
        predictions.predict(fit, "dev")


def test_what_was_planned_is_kept_before_the_first_fit_runs(tmp_path: Path) -> None:
    made = chancy(tmp_path, {0: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        run_study(small(made), made, keep_as="stopped", command=["compare", "words"])
    kept = find_study(made.workspace.runs, "stopped")
    assert (kept.ended, kept.command, len(kept.fits), kept.selected) == (None, ("compare", "words"), 6, frozenset())
    read = read_study("stopped", made)
    assert len(read.cells[0].lost) == 6


def test_a_stopped_study_shows_the_fits_that_finished(tmp_path: Path) -> None:
    made = chancy(tmp_path, {2: KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        run_study(small(made), made, keep_as="stopped")
    read = read_study("stopped", made)
    assert len(read.cells[0].lost) == 4, "two restarts of the first grid point finished"
    assert read.cells[0].chosen is not None and read.cells[0].chosen.lr == 4


def test_repeating_a_study_changes_nothing_in_its_file(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    run_study(small(made), made, keep_as="first")
    path = made.workspace.runs / "studies" / "first.json"
    before = read_sealed(path, "")
    before |= {"started": "2020-01-01T00:00:00+00:00", "ended": "2020-01-02T00:00:00+00:00"}
    write_sealed(path, before)
    run_study(small(made), made, keep_as="first")
    assert read_sealed(path, "") == before


def test_a_larger_study_replaces_one_of_the_same_name(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    run_study(small(made, seeds=(0,)), made, keep_as="first")
    result = run_study(small(made), made, keep_as="first")
    read = read_study("first", made)
    same(read, result)


def test_a_study_without_a_name_gets_a_readable_one(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    name = run_study(small(made), made).name
    assert name.startswith("words-on-mood-")
    assert name == run_study(small(made), made).name != run_study(small(made, seeds=(0,)), made).name
    studies, faults = kept_studies(made.workspace.runs)
    assert (len(studies), faults) == (2, [])


def test_derived_names_are_short_and_can_be_files() -> None:
    paths = ["/a/very/long path/with (odd) characters and much more to come/", "org/model"]
    name = derived_name(compared(paths, [mood(name=f"glue/{task}") for task in ("rte", "cola", "mrpc")]))
    assert name[:-6] == "with-odd-characters-and-vs-model-on-3-glue-tasks-"
    assert check_name(name) == name
    assert derived_name(compared(["bert/random-4/128"], [mood(name="glue/rte")]))[:-6] == "random-4-128-on-rte-"


@pytest.mark.parametrize("name", ["", "../x", ".hidden", "a b", "x" * 101, "studies/x"])
def test_names_that_cannot_be_files_are_refused(name: str) -> None:
    with pytest.raises(RequestError, match="A study's name has letters"):
        check_name(name)


def test_an_unknown_study_is_an_error_with_close_names(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    run_study(small(made, seeds=(0,)), made, keep_as="breakfast")
    with pytest.raises(UnknownName, match="breakfast"):
        read_study("brekfast", made)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 1}', '{"format": 99}'])
def test_a_damaged_file_is_one_sentence_and_hides_no_other(text: str, tmp_path: Path) -> None:
    made = chancy(tmp_path)
    run_study(small(made, seeds=(0,)), made, keep_as="whole")
    (made.workspace.runs / "studies" / "broken.json").write_text(text)
    with pytest.raises(RequestError, match=r"broken\.json:"):
        find_study(made.workspace.runs, "broken")
    studies, faults = kept_studies(made.workspace.runs)
    assert ([study.name for study in studies], len(faults)) == (["whole"], 1)
    cell = read_sealed(made.workspace.runs / "studies" / "whole.json", "")
    del cell["cells"][0]["backbone"]
    write_sealed(made.workspace.runs / "studies" / "broken.json", cell)
    with pytest.raises(RequestError, match=r"broken\.json: .*backbone: is missing.* This is not a kept study"):
        find_study(made.workspace.runs, "broken")


def test_runs_named_one_by_one_make_a_result(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = run_study(small(made), made)
    fits = list(result.cells[0].cell.fits)
    again = result_of_runs([fits[0].id, f"run:{fits[3].id}", fits[4].id[:9], fits[5].id], without_data(made, tmp_path))
    (cell,) = again.cells
    assert [len(point.fits) for point in cell.cell.candidates] == [1, 3]
    assert cell.chosen is not None and (cell.chosen.lr, cell.selected) == (8, fits[5])
    assert cell.figures == result.cells[0].figures
    assert again.baseline == result.baseline


def test_methods_of_one_backbone_are_told_apart(tmp_path: Path) -> None:
    made = runner(tmp_path)
    tasks = tuple(made.plugins.tasks.values())
    results = [run_study(compared(("words",), tasks, methods=(method,)), made) for method in ("finetune", "features")]
    runs = [fit.id for result in results for fit in result.cells[0].cell.fits]
    again = result_of_runs(runs, made)
    assert again.study.backbones == ("words (finetune)", "words (features)")
    assert [cell.figures for cell in again.cells] == [result.cells[0].figures for result in results]


def test_the_runs_of_a_backbone_answer_for_its_study(tmp_path: Path) -> None:
    made = chancy(tmp_path)
    result = run_study(small(made), made, keep_as="first")
    kept = find_study(made.workspace.runs, "first")
    assert result.cells[0].selected is not None
    for name in (None, "words"):
        assert kept.runs_for(["mine/mood", "mine/pairs"], name) == [result.cells[0].selected.id]
    with pytest.raises(UnknownName, match="Did you mean words"):
        kept.runs_for(["mine/mood"], "word")
    with pytest.raises(RequestError, match="The study first selected no run of mine/pairs"):
        kept.runs_for(["mine/pairs"])
