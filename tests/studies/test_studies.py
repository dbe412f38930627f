"""Studies: the fits that run, selection on dev, the weights that are kept, and the figures of a result."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from benchrunner import (
    Executor,
    Fit,
    Grid,
    Job,
    Outcome,
    Record,
    RequestError,
    Runner,
    Selection,
    Study,
    find_faults,
    run_study,
    write_answers,
)
from benchrunner.data.delimited import TextTable
from benchrunner.errors import DataError, FitError, PluginError
from benchrunner.leaderboards.manifests import read_manifest
from benchrunner.runs.executors import Local
from benchrunner.studies import submission_answers
from benchrunner.studies.comparison.caption import footnotes
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.comparison.table import as_table
from benchrunner.studies.study import Result, selected_fit
from benchrunner.studies.study_options import StudyOptions
from benchrunner.studies.submission_answers import answers, check_counts, missing
from benchrunner.study_files import table
from benchrunner.study_files.run import run_study_file
from benchrunner.tasks.suites import Term
from benchrunner.tasks.task import Split
from benchrunner.testing import tiny_family
from chancy import Chancy, chancy
from inline import board, mood, runner


def study(made: Runner, **changes: Any) -> Result:
    options: dict[str, Any] = {"grid": Grid({"lr": (4, 8)}), "seeds": (0, 1, 2)}
    tasks = changes.pop("tasks", tuple(made.plugins.tasks.values()))
    return run_study(Study(("words",), tasks, **(options | changes)), made)


ACCURACY = Term("mine/mood", "dev", "accuracy")


def test_best_mean_grid_point_and_its_best_restart_are_chosen(tmp_path: Path) -> None:
    (cell,) = study(chancy(tmp_path)).cells
    assert cell.chosen is not None and cell.chosen.lr == 8
    assert selected_fit(cell).seed == 2
    spread = cell.spreads[ACCURACY]
    assert spread.values == (8 / 24, 16 / 24, 24 / 24)
    assert (spread.best.value, spread.mean.value) == (1.0, pytest.approx(2 / 3))
    assert spread.deviation == pytest.approx(statistics.stdev(spread.values))


class Uneven(Chancy):
    """Answers best on the mean with the learning rate 8, and best of all in one restart with 4."""

    name = "chancy"
    RIGHT: ClassVar = {(4, 0): 2, (4, 1): 24, (4, 2): 2, (8, 0): 16, (8, 1): 17, (8, 2): 18}

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = np.array([label == "glad" for label in table.column("label").to_pylist()])
        right = np.arange(len(gold)) < self.RIGHT[round(job.fit.recipe.lr), job.fit.seed]
        answers = np.where(right, gold, ~gold)
        return np.stack([answers, ~answers], axis=1).astype(np.float32)


@pytest.mark.parametrize(("rule", "lr", "seed", "mean"), [("mean", 8, 2, 17 / 24), ("best", 4, 1, 28 / 72)])
def test_the_rule_chooses_the_best_mean_or_the_best_fit(
    rule: str, lr: int, seed: int, mean: float, tmp_path: Path
) -> None:
    made = runner(tmp_path, register_methods=[Uneven()], register_tasks=[mood(method="chancy")])
    result = study(made, selection=Selection(rule=rule))
    (cell,) = result.cells
    assert cell.chosen is not None
    assert (cell.chosen.lr, selected_fit(cell).seed) == (lr, seed)
    assert cell.spreads[ACCURACY].mean.value == pytest.approx(mean), "over the restarts of the chosen grid point"
    assert as_json(result)["cells"][0]["select"] == rule
    note = "mine/mood: selected as the best single fit of all grid points and restarts"
    assert (note in footnotes(result)) == (rule == "best")


class Opposed(Chancy):
    """Answers with more accuracy with the learning rate 4, and with more correlation with 8.

    Of 24 rows, 18 are glad. With 4, the answer is always glad: an accuracy of 18/24, no correlation. With 8, all 6 sad
    rows and 8 glad rows are answered sad: an accuracy of 16/24.
    """

    name = "chancy"

    def predict(self, job: Job, table: Any) -> np.ndarray:
        gold = np.array([label == "glad" for label in table.column("label").to_pylist()])
        answers = gold & (np.cumsum(gold) > 8) if job.fit.recipe.lr == 8 else np.ones_like(gold)
        return np.stack([answers, ~answers], axis=1).astype(np.float32)


def opposed(folder: Path) -> Runner:
    made = runner(folder, register_methods=[Opposed()], register_tasks=[mood(method="chancy")])
    rows = [f"row {at}\t{'sad' if at % 4 == 0 else 'glad'}\n" for at in range(24)]
    (folder / "data" / "mood" / "dev.tsv").write_text("text\tmood\n" + "".join(rows))
    return made


@pytest.mark.parametrize(("metric", "lr"), [(None, 4), ("accuracy", 4), ("matthews", 8)])
def test_the_metric_that_selects_can_be_chosen(metric: str | None, lr: int, tmp_path: Path) -> None:
    result = study(opposed(tmp_path), seeds=(0,), selection=Selection(metric=metric))
    (cell,) = result.cells
    assert cell.chosen is not None and cell.chosen.lr == lr
    assert as_json(result)["cells"][0]["selected_by"] == (metric or "accuracy")
    assert ("mine/mood: selected by matthews" in footnotes(result)) == (metric == "matthews")


COLUMNS = """
title = "Which metric selects?"

[recipe]
lr = "4,8"
restarts = "1"

[[system]]
name = "words"
backbone = "words"

[[column]]
name = "accuracy"
task = "mood"

[[column]]
name = "correlation"
task = "mood"
metric = "matthews"

[[column]]
name = "accuracy again"
task = "mood"
metric = "accuracy"
"""


def test_the_metric_of_a_column_selects_among_shared_fits(tmp_path: Path) -> None:
    made, begun = opposed(tmp_path), list[str]()

    class Counting(Local):
        def run(self, fits: Iterable[Fit], runner: Runner) -> Iterator[tuple[Fit, Record]]:
            fits = list(fits)
            begun.extend(fit.id for fit in fits)
            yield from super().run(fits, runner)

    (tmp_path / "study.toml").write_text(COLUMNS)
    result = run_study_file(str(tmp_path / "study.toml"), made, executor=Counting())
    assert len(begun) == len(set(begun)) == 2, "three columns share two fits"
    cells = {name: result.entries["words", name].cell for name in ("accuracy", "correlation", "accuracy again")}
    assert {name: cell.chosen.lr for name, cell in cells.items() if cell is not None and cell.chosen is not None} == {
        "accuracy": 4,
        "correlation": 8,
        "accuracy again": 4,
    }
    shown = table.as_json(result)
    assert [(cell["column"], cell["selected_by"]) for cell in shown["cells"]] == [
        ("accuracy", "accuracy"),
        ("correlation", "matthews"),
        ("accuracy again", "accuracy"),
    ]
    assert [cell["selected_on"] for cell in shown["cells"]] == [["dev"]] * 3
    assert "correlation: selected by matthews" in shown["notes"]
    assert result.entries["words", "accuracy"].mean == pytest.approx(75.0)
    kept = {path.parent.parent.name for path in (tmp_path / "runs").glob("*/model/tiny.safetensors")}
    assert kept == set(begun), "the fit that each column selects keeps its weights"


def test_the_split_of_a_column_selects(tmp_path: Path) -> None:
    text = COLUMNS.replace('metric = "matthews"', 'split = "far"').replace('metric = "accuracy"', 'split = "near"')
    (tmp_path / "study.toml").write_text(text)
    result = run_study_file(str(tmp_path / "study.toml"), two_dev_splits(tmp_path))
    cells = [result.entries["words", name].cell for name in ("correlation", "accuracy again")]
    assert [cell.chosen.lr for cell in cells if cell is not None and cell.chosen is not None] == [8, 4]


def test_a_study_file_says_how_dev_selects(tmp_path: Path) -> None:
    text = COLUMNS.replace('restarts = "1"', 'restarts = "3"\nselect = "best"\npaper-adam = "true"')
    text += 'recipe = {select = "mean", paper-adam = "false"}\n'
    (tmp_path / "study.toml").write_text(text)
    made = runner(tmp_path, register_methods=[Uneven()], register_tasks=[mood(method="chancy")])
    result = run_study_file(str(tmp_path / "study.toml"), made)
    cells = [result.entries["words", name].cell for name in ("accuracy", "accuracy again")]
    recipes = [cell.chosen for cell in cells if cell is not None and cell.chosen is not None]
    assert [(recipe.lr, recipe.bias_correction) for recipe in recipes] == [(4, False), (8, True)]
    with pytest.raises(RequestError, match="the metric of each column selects: leave select-by out"):
        run_study_file(str(tmp_path / "study.toml"), made, options=StudyOptions(select_by="accuracy"))


class Narrow(Chancy):
    """Answers the first dev split best with the learning rate 4, and the second dev split much better with 8."""

    name = "narrow"
    RIGHT = {("near", 4): 15, ("near", 8): 5, ("far", 4): 0, ("far", 8): 24}

    def predict(self, job: Job, table: Any) -> np.ndarray:
        split = "near" if table.num_rows == 20 else "far"
        right = self.RIGHT[split, round(job.fit.recipe.lr)]
        glad = np.array([label == "glad" for label in table.column("label").to_pylist()])
        answers = np.where(np.arange(len(glad)) < right, glad, ~glad)
        return np.stack([answers, ~answers], axis=1).astype(np.float32)


def two_dev_splits(folder: Path, **changes: Any) -> Runner:
    """A task whose first dev split has 20 rows, and its second 24."""
    row = mood().splits
    near = Split("dev", (TextTable("mood/near.tsv", {"a": "text", "label": "mood"}),))
    splits = {"train": row["train"], "near": near, "far": row["dev"]}
    task = mood(method="narrow", splits=splits, **changes)
    made = runner(folder, register_methods=[Narrow()], register_tasks=[task])
    lines = (folder / "data" / "mood" / "dev.tsv").read_text().splitlines(keepends=True)
    (folder / "data" / "mood" / "near.tsv").write_text("".join(lines[:21]))
    return made


@pytest.mark.parametrize(
    ("select_on", "rate", "note"),
    [
        ((), 8, "selected on the mean over near, far"),
        (("near",), 4, "selected on near"),
        (("far",), 8, "selected on far"),
        (("near", "far"), 8, "selected on the mean over near, far"),
    ],
)
def test_the_dev_splits_that_select_are_chosen_and_told(
    select_on: tuple[str, ...], rate: float, note: str, tmp_path: Path
) -> None:
    result = study(two_dev_splits(tmp_path, select_on=select_on), seeds=(0,))
    (cell,) = result.cells
    assert cell.chosen is not None and cell.chosen.lr == rate
    assert f"mine/mood: {note}" in list(footnotes(result))
    (shown,) = as_json(result)["cells"]
    assert shown["selected_on"] == list(select_on or ("near", "far"))


def test_one_dev_split_needs_no_note_on_selection(tmp_path: Path) -> None:
    result = study(chancy(tmp_path))
    assert not any("selected on" in note for note in footnotes(result))


def test_a_flagged_restart_stays_in_the_mean_and_is_counted(tmp_path: Path) -> None:
    (cell,) = study(chancy(tmp_path), grid=Grid({"lr": (0,)})).cells
    assert cell.flagged == {"no better than majority": 3}
    assert cell.spreads[ACCURACY].values == (0.0, 0.0, 0.0)
    assert cell.spreads[ACCURACY].mean.value == 0.0


def test_a_failed_or_diverged_restart_has_no_score_but_a_reason(tmp_path: Path) -> None:
    endings = {0: Outcome("diverged", "the loss was nan"), 1: FitError("out of memory")}
    result = study(chancy(tmp_path, endings))
    (cell,) = result.cells
    assert sorted(cell.lost.values()) == ["diverged: the loss was nan"] * 2 + ["failed: out of memory"] * 2
    assert cell.spreads[ACCURACY].values == (1.0,)
    assert cell.spreads[ACCURACY].deviation is None
    notes = "\n".join(footnotes(result))
    assert "have no scores: failed: out of memory" in notes


def test_a_note_names_its_backbones_unless_all_share_it(tmp_path: Path) -> None:
    result = study(chancy(tmp_path))
    (cell,) = result.cells
    cells = (
        replace(cell, notes=("threshold 0.4", "2 rows are odd")),
        replace(cell, cell=replace(cell.cell, backbone="others"), notes=("threshold 0.6", "2 rows are odd")),
    )
    both = replace(result, study=replace(result.study, backbones=("words", "others")), cells=cells)
    assert list(footnotes(both)) == [
        "words on mine/mood: threshold 0.4",
        "mine/mood: 2 rows are odd",
        "others on mine/mood: threshold 0.6",
    ]


def test_a_cell_without_a_finished_fit_has_only_a_reason(tmp_path: Path) -> None:
    result = study(chancy(tmp_path, {0: ValueError("no")}), seeds=(0,))
    (cell,) = result.cells
    assert (cell.selected, dict(cell.spreads)) == (None, {})
    with pytest.raises(FitError, match="No fit of words on mine/mood finished: failed: ValueError: no"):
        selected_fit(cell)
    text = as_json(result)
    assert text["cells"][0]["selected"] is None and text["cells"][0]["scores"] == []
    assert as_table(result).row_count > 0


def test_a_fit_that_cannot_predict_is_lost_and_the_others_go_on(tmp_path: Path) -> None:
    class Mute(Chancy):
        def predict(self, job: Job, table: Any) -> np.ndarray:
            if job.fit.seed == 1:
                raise ValueError("speechless")
            if job.fit.seed == 2:
                raise RequestError("max_length is too short for this question")
            return super().predict(job, table)

    made = runner(tmp_path, register_methods=[Mute()], register_tasks=[mood(method="chancy")])
    (cell,) = study(made, grid=Grid({"lr": (8,)})).cells
    assert [reason[:29] for reason in cell.lost.values()] == [
        "failed: ValueError: speechles",
        "failed: max_length is too sho",
    ]
    assert len(cell.spreads[ACCURACY].values) == 1


@pytest.mark.parametrize("content", [None, "text\tmood\na\tblue\n"])
def test_a_faulty_dev_file_is_reported_before_anything_is_fitted(content: str | None, tmp_path: Path) -> None:
    made, path = chancy(tmp_path), tmp_path / "data" / "mood" / "dev.tsv"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(DataError, match=r"dev\.tsv"):
        study(made)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("keep", "left"), [("selected", 1), ("all", 6), ("none", 0)])
def test_keep_decides_whose_weights_stay(keep: str, left: int, tmp_path: Path) -> None:
    made = chancy(tmp_path)
    (cell,) = study(made, keep=keep).cells
    models = {path.parent.name for path in (tmp_path / "runs").glob("*/model") if (path / "tiny.safetensors").exists()}
    assert len(models) == left
    if keep == "selected":
        assert models == {selected_fit(cell).id}
    assert len(made.predict(selected_fit(cell), "test").answers) == 20, "weights that are gone are made again"


def test_a_finished_study_is_read_and_not_run_again(tmp_path: Path) -> None:
    first = as_json(study(chancy(tmp_path)))
    bad: dict[int, Any] = dict.fromkeys((0, 1, 2), ValueError("must not run"))
    assert as_json(study(chancy(tmp_path, bad))) == first


def test_a_method_without_a_backbone_is_fitted_once_for_any_grid(tmp_path: Path) -> None:
    made = runner(tmp_path)
    result = study(made, method="majority")
    (cell,) = result.cells
    assert len({fit.id for fit in cell.cell.fits}) == 1
    assert cell.spreads[ACCURACY].best == result.baseline[ACCURACY]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"backbones": ()}, "at least one backbone and one task"),
    ({"tasks": ()}, "at least one backbone and one task"),
    ({"seeds": ()}, r"different numbers, not \[\]"),
    ({"seeds": (0, 0)}, r"different numbers, not \[0, 0\]"),
    ({"keep": "some"}, "selected, all or none, not 'some'"),
    ({"backbones": ("a", "a")}, "each backbone and each task only once"),
    ({"tasks": (mood(), mood())}, "each backbone and each task only once"),
    ({"selection": Selection(metric="f1")}, "mine/mood has no metric 'f1' to select by; it has accuracy, matthews"),
]


@pytest.mark.parametrize(("change", "reason"), BAD)
def test_an_impossible_study_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(RequestError, match=reason):
        Study(**({"backbones": ("words",), "tasks": (mood(),)} | change))


def test_a_task_without_a_dev_split_cannot_be_selected_on(tmp_path: Path) -> None:
    splits = {name: split for name, split in mood().splits.items() if name != "dev"}
    with pytest.raises(RequestError, match="mine/mood has no split of the role 'dev'"):
        Study(("words",), (mood(splits=splits),))


def test_an_executor_that_forgets_fits_is_an_error(tmp_path: Path) -> None:
    class Lazy(Executor):
        name, about = "lazy", "for tests"

        def run(self, fits: Iterable[Fit], runner: Runner) -> Iterator[tuple[Fit, Record]]:
            for fit in list(fits)[1:]:
                yield fit, runner.run(fit)

    made = chancy(tmp_path)
    with pytest.raises(PluginError, match="The executor 'lazy' gave no record of 1 of 3 fits"):
        run_study(Study(("words",), (made.plugins.task("mood"),), seeds=(0, 1, 2)), made, executor=Lazy())


def test_compare_and_submit_from_python(tmp_path: Path) -> None:
    """Compare two backbones with real fits, then write a submission."""
    made = runner(tmp_path, register_backbones=[tiny_family(), tiny_family("another/words")])
    task = made.plugins.task("mood")
    result = run_study(
        Study(("tiny/words", "another/words"), (task,), Grid({"lr": (0.02, 0.05)}), (0, 1), {"epochs": 8}), made
    )
    first, second = (result.of(name, "mine/mood") for name in ("tiny/words", "another/words"))
    assert first.spreads == second.spreads, "the same weights under two names"
    best = first.spreads[ACCURACY].best.value
    majority = result.baseline[ACCURACY].value
    assert best is not None and majority is not None and best > majority
    assert as_table(result).row_count == 2
    collected = answers(board(), submission_answers.selected(board(), result.cells, made), {}, made)
    archive = write_answers(board(), collected, tmp_path)
    assert find_faults(board(), archive) == []
    (origin,) = read_manifest(archive).files
    assert (origin.fit, origin.method, origin.rows) == (selected_fit(first).id, "finetune", 20)


def test_what_a_board_wants_is_checked_before_anything_is_fitted(tmp_path: Path) -> None:
    made = runner(tmp_path)
    check_counts(board(), [made.plugins.task("mood")], made)
    path = tmp_path / "data" / "mood" / "test.tsv"
    path.write_text(path.read_text() + "one more\n")
    made = Runner(made.plugins, made.workspace)
    with pytest.raises(RequestError, match=r"moods\.tsv: .*test\.tsv has 21 rows; The board of moods wants 20\n"):
        check_counts(board(), [made.plugins.task("mood")], made)


def test_missing_tasks_are_given_a_reason_and_filled_by_majority(tmp_path: Path) -> None:
    made = runner(tmp_path)
    task = made.plugins.task("mood")
    assert missing(board(), [task], ["mine/mood"], made, unchosen="not among --tasks") == {}
    assert missing(board(), [task], [], made, unchosen="not among --tasks") == {"mine/mood": "not among --tasks"}
    filled = answers(board(), None, {"mine/mood": "not among --tasks"}, made)
    (only,) = filled.values()
    assert (only.method, only.filled) == ("majority", "not among --tasks; the training majority")
    (tmp_path / "data" / "mood" / "test.tsv").unlink()
    made = Runner(made.plugins, made.workspace)
    assert missing(board(), [task], ["mine/mood"], made, unchosen="not among --tasks") == {
        "mine/mood": "no data for its split test"
    }
