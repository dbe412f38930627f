"""Rows in a report: where backbones differ, the matrices and slices that add rows up, and rows that are left out."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import confusion_matrix
from small_studies import NAMES, small

import finished_studies
from benchrunner import Metric
from benchrunner.command_line.main import main
from benchrunner.results import Result, Runner, read_study
from benchrunner_report.disagreement import Disagreement
from benchrunner_report.gathering import Report, gather
from benchrunner_report.grading import graded
from benchrunner_report.rendering import rendered
from benchrunner_report.visible_text import visible
from benchrunner_statistics import AnsweredRows
from finished_studies import task


def rows_of(result: Result, task: str) -> AnsweredRows:
    return AnsweredRows.kept([result.of(name, task) for name in result.study.names], "dev")


def test_differing_rows_are_those_of_the_rows_of_the_result(study: tuple[Result, Runner], report: Report) -> None:
    for part in report.differing:
        rows = rows_of(study[0], part.task)
        right = [np.mean(rows.right[name], axis=0) > 0.5 for name in NAMES]
        differing = np.flatnonzero(right[0] != right[1])
        assert [row["d"] for row in part.rows] == sorted((row["d"] for row in part.rows), reverse=True)
        if part.unit:
            continue
        assert {row["n"] for row in part.rows} == set(differing)
        assert part.differing == len(differing) and part.total == len(rows.rows)


def test_rows_of_numbers_differ_by_their_distance_from_gold(study: tuple[Result, Runner], report: Report) -> None:
    [part] = [part for part in report.differing if part.unit]
    rows = rows_of(study[0], "made/regress")
    good, poor = (np.array(rows.answers[name]) for name in ("made/good", "made/poor"))
    difference = abs(abs(good - rows.gold).mean(axis=0) - abs(poor - rows.gold).mean(axis=0))
    assert (part.task, part.unit, part.differing) == ("made/regress", "from gold", (difference > 1e-9).sum())
    assert part.rows[0]["n"] == difference.argmax()
    assert f"{good[0, difference.argmax()]:.2f}" in [answer for answer, _, _ in part.rows[0]["a"][0]]


def test_grades_between_right_and_wrong_are_compared(study: tuple[Result, Runner]) -> None:
    """Half of the right words are better than none, though both answers are wrong."""
    half = Metric("f1", lambda gold, answers: 0.0, per_row=lambda gold, answer: 0.5 * (answer == "half"))
    result, _ = study
    rows = AnsweredRows.kept(result.cells[:2], "dev")
    answers = {"made/good": (["half"] * 60,), "made/poor": (["none"] * 60,)}
    rows = replace(rows, task=replace(rows.task, metrics=(half,)), answers=answers, gold=["whole"] * 60)
    rows.__dict__["rule"] = replace(rows.rule, _least=[1.0] * 60)
    grading = graded(rows)
    part = Disagreement.of(rows, grading)
    assert (grading.unit, grading.mean("made/good"), grading.mean("made/poor")) == ("f1", 50.0, 0.0)
    assert part.differing == 60 and part.rows[0]["a"] == [[["half", 1, 50.0]], [["none", 1, 0.0]]]


def test_answers_of_all_restarts_are_counted(report: Report) -> None:
    for part in report.differing:
        for row in part.rows:
            assert [sum(count for _, count, _ in given) for given in row["a"]] == [3, 3]


def test_confusion_matrices_are_those_of_scikit_learn(study: tuple[Result, Runner], report: Report) -> None:
    sections = {section.task.name: section for section in report.sections}
    assert not sections["made/regress"].confusions and not sections["made/span"].confusions
    for name in ("made/classify", "made/choose", "made/tag"):
        rows = rows_of(study[0], name)
        for matrix in sections[name].confusions:
            gold, answers = [], []
            for restart in rows.answers[matrix.title]:
                gold += rows.gold or ()
                answers += restart
            if name == "made/tag":
                gold, answers = list(chain.from_iterable(gold)), list(chain.from_iterable(answers))
            labels = [int(label) for label in matrix.columns] if name == "made/choose" else list(matrix.columns)
            wanted = confusion_matrix(gold, answers, labels=labels) / 3
            counts = [[entry.value for entry in entries] for _, entries in matrix.lines]
            assert np.allclose(counts, wanted) and [label for label, _ in matrix.lines] == list(matrix.columns)


def test_slices_average_to_the_mean_grade(study: tuple[Result, Runner], report: Report) -> None:
    for section in report.sections:
        right = rows_of(study[0], section.task.name).right
        assert sum(part.rows for part in section.by_label) in (0, 60)
        for name in NAMES if section.by_label else ():
            mean = sum(part.rows * part.means[name] for part in section.by_label) / 60
            assert mean == pytest.approx(100 * np.mean(right[name]))
    assert any(section.by_label for section in report.sections)


def test_rows_beyond_the_limit_are_counted(study: tuple[Result, Runner]) -> None:
    result, _ = study
    rows = AnsweredRows.kept(result.cells[:2], "dev")
    grading = graded(rows)
    whole, part = Disagreement.of(rows, grading), Disagreement.of(rows, grading, most_bytes=3_000)
    assert 0 < len(part.rows) < len(whole.rows) == whole.differing
    assert part.rows == whole.rows[: len(part.rows)]
    assert f"{whole.differing - len(part.rows)} left out" in part.shown and "left out" not in whole.shown


def test_rows_of_places_are_shown(study: tuple[Result, Runner]) -> None:
    """Tasks about marked words keep numbers beside their texts."""
    result, _ = study
    rows = AnsweredRows.kept(result.cells[:2], "dev")
    table = rows.rows.table
    places = pa.array([[[0, 1], [2, 3]]] * len(table))
    marked = replace(rows, rows=replace(rows.rows, table=table.append_column("places", places)))
    assert "0. [0, 1]\n1. [2, 3]" in Disagreement.of(marked, graded(marked)).rows[0]["t"]


def test_one_backbone_shows_the_rows_it_gets_wrong(tmp_path: Path) -> None:
    result, made = small(tmp_path, ("classify",), NAMES[1:])
    report = gather(result, made)
    [part] = report.differing
    right = rows_of(result, part.task).right["made/poor"]
    assert {row["n"] for row in part.rows} == set(np.flatnonzero(np.mean(right, axis=0) <= 0.5))
    assert "Rows answered wrong" in rendered(report)


def test_changed_data_leaves_out_single_rows(tmp_path: Path) -> None:
    small(tmp_path, ("classify",))
    changed = finished_studies.runner(tmp_path, (task("made/classify", rows=50),), NAMES)
    report = gather(read_study("kept", changed), changed)
    assert "changed" in report.sections[0].absent and report.differing == []
    assert "Single rows cannot be shown" in rendered(report)


def test_absent_rows_are_told_with_their_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small(tmp_path, ("classify",))
    changed = finished_studies.runner(tmp_path, (task("made/classify", rows=50),), NAMES)
    words = ["report", "kept", "--out", str(tmp_path / "out.html"), "--runs", str(tmp_path / "runs")]
    assert main(words, plugins=changed.plugins) == 0
    said = capsys.readouterr().err
    assert "benchrunner: The report shows no rows of made/classify" in said and "changed since the fit" in said
    assert "The report shows no rows of made/classify" in (tmp_path / "out.html").read_text()


def test_characters_that_hide_or_turn_text_become_visible() -> None:
    assert visible("a\u202eb\x00c\u200bd\u2028") == "a⟨U+202E⟩b⟨U+0000⟩c⟨U+200B⟩d⟨U+2028⟩"
    assert visible("שלום 👩\u200d🔬\n") == "שלום 👩\u200d🔬\n"


def test_long_text_is_cut_and_counted() -> None:
    assert visible("x" * 1_500) == "x" * 1_200 + " … [300 more characters]"
