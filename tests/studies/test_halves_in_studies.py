"""Selection on one half of dev: what chooses and what is shown, and that the choice favours no system."""

import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from benchrunner import ACCURACY, RequestError, Rows
from benchrunner.engine import Job
from benchrunner.fits.fit import Fit, Record
from benchrunner.io.files import remove_whole
from benchrunner.metrics import Score
from benchrunner.parameters.recipes import Recipe
from benchrunner.results import Runner, compared, predict, read_study, run_study
from benchrunner.runs.folder import read_prediction
from benchrunner.runs.predicting import Predicted, raw_outputs
from benchrunner.studies.cells import Candidate, Cell, LimitedRunners, selected_fit
from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.kept.noted_predictions import KeptPredictions, PredictionIds
from benchrunner.studies.selection import select
from benchrunner.tasks.dev_halves import halves
from chancy import Chancy, chancy, compare_rates
from inline import mood, runner
from kinds_of_tasks import task_of_kind
from rate_methods import _is_glad, _logits, split_dependent
from trees import trees

TERM = compared(("words",), (mood(),)).columns[0].term(mood())


class HalfDependent(Chancy):
    """Answers the half that selects best with the learning rate 8, and the other half best with 4."""

    def __init__(self, selecting: set[str]) -> None:
        super().__init__()
        self._selecting = selecting

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = _is_glad(table)
        is_selecting = np.array([text in self._selecting for text in table.column("a").to_pylist()])
        right = is_selecting if job.fit.recipe.lr == 8 else ~is_selecting
        return _logits(np.where(right, gold, ~gold))


def half_dependent(folder: Path, **changes: Any) -> Runner:
    """Return a runner whose task is fitted by `HalfDependent`."""
    task = mood(method="chancy", **changes)
    whole = runner(folder, register_methods=[Chancy()], register_tasks=[task])
    selecting, _ = halves(whole.planner.rows(task, "dev"), task, "dev")
    texts = set(selecting.table.column("a").to_pylist())
    return runner(folder, register_methods=[HalfDependent(texts)], register_tasks=[task])


def test_one_half_selects_and_the_other_is_shown(tmp_path: Path) -> None:
    made = half_dependent(tmp_path)
    result = compare_rates(made, seeds=(0,), select_on_half=True)
    (cell,) = result.cells
    assert cell.chosen is not None and cell.chosen.lr == 8, "right in the half that selects"
    assert (cell.figures[TERM].mean, cell.figures[TERM].best) == (Score(0.0), Score(0.0)), "wrong in the other"
    assert cell.flagged == {"no better than majority": 1}
    assert result.baseline[TERM].value == pytest.approx(_share_of_glad(cell.runner), abs=1e-9)
    assert len(result.rows()) == 12
    assert result.statistics.trials["words", result.study.columns[0].name] == (0.5, 1.0), "both rates, as shown"
    shown = as_json(result)
    assert shown["select_on_half"] is True
    assert "mine/mood: selected on 12 rows of dev, and scored on the other 12 (--select-on-half)" in shown["notes"]
    assert "selected on one half of dev, scored on the other" in cell.limits
    again = read_study(result.name, made)
    assert (again.cells[0].chosen, again.cells[0].figures) == (cell.chosen, cell.figures)
    assert again.baseline == result.baseline


def _share_of_glad(of_cell: Runner | None) -> float:
    """Return the accuracy of the answer glad, or sad, on the rows that are shown."""
    assert of_cell is not None
    labels = of_cell.planner.rows(mood(), "dev").table.column("label").to_pylist()
    train = of_cell.planner.rows(mood(), "train").table.column("label").to_pylist()
    return labels.count(statistics.mode(train)) / len(labels)


def test_whole_dev_selects_otherwise(tmp_path: Path) -> None:
    made = half_dependent(tmp_path)
    whole = compare_rates(made, seeds=(0,))
    half = compare_rates(made, seeds=(0,), select_on_half=True)
    assert whole.cells[0].figures[TERM].mean == Score(0.5)
    assert [fit.id for fit in whole.cells[0].cell.fits] == [fit.id for fit in half.cells[0].cell.fits]
    assert as_json(whole)["select_on_half"] is False
    assert whole.name != half.name
    assert read_study(whole.name, made).cells[0].figures == whole.cells[0].figures
    assert read_study(half.name, made).cells[0].figures == half.cells[0].figures


def test_predictions_without_notes_are_found_by_their_half(tmp_path: Path) -> None:
    """A study that is not complete has no notes of its predictions."""
    made = half_dependent(tmp_path)
    (cell,) = compare_rates(made, seeds=(0,), select_on_half=True).cells
    compare_rates(made, seeds=(0,))  # leaves newer predictions, of all rows
    fit = selected_fit(cell)
    assert cell.runner is not None
    kept, of_all_rows = KeptPredictions(cell.runner, PredictionIds()), KeptPredictions(made, PredictionIds())
    found = [kept.predict(fit, "dev", selecting=True), kept.predict(fit, "dev"), of_all_rows.predict(fit, "dev")]
    assert [predicted.record.scores["accuracy"].value for predicted in found] == [1.0, 0.0, 0.5]
    assert kept.has(fit, "dev")
    remove_whole(found[0].folder)
    assert not kept.has(fit, "dev"), "nothing selects"


def test_thresholds_are_tuned_on_the_half_that_selects(tmp_path: Path) -> None:
    made = runner(tmp_path, register_tasks=[trees()])
    task = made.plugins.tasks.find("trees")
    result = run_study(compared(("words",), (task,), select_on_half=True), made)
    (cell,) = result.cells
    fit, halved = selected_fit(cell), cell.runner
    assert halved is not None
    rows = halved.planner.rows(task, "dev", selecting=True)
    tuned = task.problem.tune(np.array(raw_outputs(fit, rows, halved)), rows.table, task.metrics[0])
    for selecting in (True, False):
        prediction = read_prediction(cell.predictions.predict(fit, "dev", selecting=selecting).folder)  # type: ignore[union-attr]
        assert prediction.settings == {**task.problem.decoding, **tuned}
    others = halved.planner.rows(task, "dev")
    assert tuned != task.problem.tune(np.array(raw_outputs(fit, others, halved)), others.table, task.metrics[0])
    assert read_prediction(predict(fit, "test", halved).folder).settings["tau"] == tuned["tau"]


def test_several_dev_splits_are_halved_and_others_whole(tmp_path: Path) -> None:
    made = split_dependent(tmp_path, select_on=("near",))
    result = compare_rates(made, seeds=(0,), select_on_half=True)
    (cell,) = result.cells
    notes = list(footnotes(result))
    assert "mine/mood: selected on 10 rows of near, and scored on the other 10 (--select-on-half)" in notes
    assert "mine/mood: selected on 12 rows of far, and scored on the other 12 (--select-on-half)" in notes
    assert cell.runner is not None
    assert {term.split for term in cell.figures} == {"near", "far"}
    assert cell.runner.planner.rows(cell.cell.task, "train").half is None


def test_the_selecting_half_is_limited_too(tmp_path: Path) -> None:
    result = compare_rates(half_dependent(tmp_path), seeds=(0,), select_on_half=True, limit_dev=10)
    notes = list(footnotes(result))
    assert "mine/mood: selected on 5 rows of dev, and scored on the other 5 (--select-on-half)" in notes
    assert any("scored on the first 10 of 24 rows only (--limit-dev)" in note for note in notes)


def test_nothing_is_said_to_favour_the_larger_grid(tmp_path: Path) -> None:
    result = compare_rates(chancy(tmp_path), select_on_half=True)
    (cell,) = result.cells
    other = replace(cell, cell=replace(cell.cell, system="other", candidates=cell.cell.candidates[1:]))
    study = replace(compared(("words", "other"), (cell.cell.task,)), cells=(cell.cell, other.cell))
    assert not any("favours" in note for note in footnotes(replace(result, study=study, cells=(cell, other))))


def test_a_task_that_cannot_be_halved_is_refused_before_fits(tmp_path: Path) -> None:
    made = runner(tmp_path, register_methods=[Chancy()], register_tasks=[mood(method="chancy")])
    with pytest.raises(RequestError, match=r"dev\.tsv has 1 row"):
        compare_rates(made, select_on_half=True, limit_dev=1)
    assert not made.workspace.runs.exists()


def test_either_all_cells_select_on_half_or_none() -> None:
    study = compared(("words", "others"), (mood(),))
    half = compared(("words", "others"), (mood(),), select_on_half=True)
    with pytest.raises(RequestError, match="either all systems and columns select on half of dev, or none"):
        replace(study, cells=(study.cells[0], half.cells[1]))


@pytest.mark.parametrize("kind", ["classify", "tag", "choose", "span"])
def test_a_half_has_the_outputs_and_answers_of_its_rows(kind: str, tmp_path: Path) -> None:
    """Raw outputs of a row may be several; those of all rows are computed once, and each half takes its own."""
    task = task_of_kind(kind, recipe=Recipe(lr=0.02, epochs=1, batch_size=8, context="sentence"))
    made = runner(tmp_path, register_tasks=[task])
    fitting = compared(("words",), (task,), select_on_half=True).cells[0].fitting
    halved = LimitedRunners(made).of(fitting)
    fit = made.planner.plan(task, "words")
    answers = predict(fit, "dev", made, settings={}).answers
    ids = set()
    for selecting in (True, False):
        rows = halved.planner.rows(task, "dev", selecting=selecting)
        assert rows.half is not None
        predicted = predict(fit, "dev", halved, settings={}, selecting=selecting)
        assert predicted.answers == [answers[row] for row in rows.half.numbers]
        assert len(raw_outputs(fit, rows, halved)) == task.problem.output_count(rows.table)
        ids.add(predicted.record.id)
    assert len(ids) == 2
    assert len(list((made.folder(fit).path / "outputs").glob("*.npy"))) == 1, "one inference"


class MemoryPredictions:
    """Answers of fits that are known: for each fit, which rows of dev are answered rightly."""

    def __init__(self, right: dict[str, np.ndarray], parts: tuple[Rows, Rows] | None) -> None:
        self._right, self._parts = right, parts

    def predict(self, fit: Fit, split: str, *, selecting: bool = False) -> Predicted:
        right = self._right[fit.id]
        if self._parts is not None:
            half = self._parts[0 if selecting else 1].half
            assert half is not None
            right = right[list(half.numbers)]
        score = Score(float(right.mean()))
        return Predicted(Record("p", "done", scores={"accuracy": score}), Path())


def differences(parts: tuple[Rows, Rows] | None, *, studies: int) -> list[float]:
    """Draw studies of one system with 18 grid points and one with a single point, all of which answer by chance."""
    task = mood(metrics=(ACCURACY,))
    candidates = []
    for number in range(19):
        recipe = Recipe(lr=1e-5 * (number + 1))
        fit = Fit(task.name, "words", "finetune", recipe, 0, "d", {}, "r", {})
        candidates.append(Candidate(recipe, (fit,)))
    systems = [Cell("many", task, tuple(candidates[:18])), Cell("one", task, tuple(candidates[18:]))]
    found = []
    for number in range(studies):
        draw = np.random.default_rng(number)
        right = {point.fits[0].id: draw.random(100) < 0.5 for point in candidates}
        records = {fit: Record(fit, "done") for fit in right}
        predictions = MemoryPredictions(right, parts)
        many, one = (select(cell, records, predictions).figures[TERM].mean.value for cell in systems)
        assert many is not None and one is not None
        found.append(many - one)
    return found


def test_a_choice_among_18_random_points_favours_nobody() -> None:
    """The largest of 18 normal numbers is 1.82 deviations above the mean: 9.1 points of 100 answers by chance."""
    rows = Rows(pa.table({"a": ["x"] * 100, "label": ["glad", "sad"] * 50}), "dev")
    whole = differences(None, studies=300)
    half = differences(halves(rows, mood(), "dev"), studies=300)
    assert statistics.fmean(whole) == pytest.approx(0.091, abs=0.01)
    error = statistics.stdev(half) / 300**0.5
    assert abs(statistics.fmean(half)) < 2.5 * error < 0.02
