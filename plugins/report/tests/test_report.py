"""What a report shows: figures of the result, rows where backbones differ, costs, and why something is absent."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from sklearn.metrics import confusion_matrix

import finished_studies
from benchrunner import Metric, PublishedRow
from benchrunner.command_line.main import main
from benchrunner.results import (
    AnsweredRows,
    CellResult,
    Grid,
    Prediction,
    Record,
    Result,
    Runner,
    Study,
    compared,
    comparison,
    read_study,
    run_study,
)
from benchrunner.runs.folder import answer_lines, write_prediction
from benchrunner.studies.study import Column, System
from benchrunner_report.disagreement import disagreement
from benchrunner_report.drawings.charts import cards
from benchrunner_report.drawings.study_charts import study_cards
from benchrunner_report.drawings.svg import Scale, element, marker, style
from benchrunner_report.fit_figures import GridPoint
from benchrunner_report.gathering import Report, gather
from benchrunner_report.grading import graded
from benchrunner_report.rendering import rendered, write_report
from benchrunner_report.table import table_of
from benchrunner_report.visible_text import visible
from finished_studies import finish, task

NAMES = ("made/good", "made/poor")
KINDS = ("classify", "regress", "choose", "tag", "span")


def small(folder: Path, kinds: tuple[str, ...] = KINDS, names: tuple[str, ...] = NAMES) -> tuple[Result, Runner]:
    """Finish a study of some backbones on a task of each kind."""
    tasks = tuple(task(f"made/{kind}", kind) for kind in kinds)
    made = finished_studies.runner(folder, tasks, names)
    study = compared(names, tasks, Grid({"lr": (3e-5, 2e-5)}), seeds=(0, 1, 2))
    finish(study, made, dict(zip(names, (0.8, 0.5, 0.6), strict=False)))
    return run_study(study, made, keep_as="kept"), made


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Runner]:
    return small(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def report(study: tuple[Result, Runner]) -> Report:
    return gather(*study)


def embedded(page: str) -> dict[str, Any]:
    """Read the rows that a page embeds."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    rows: dict[str, Any] = json.loads(match[1])
    return rows


def test_the_headline_has_the_means_of_the_result(study: tuple[Result, Runner], report: Report) -> None:
    frame = study[0].to_pandas(long=True).set_index(["task", "metric", "backbone"])["score"]
    page, columns = rendered(report), report.result.study.columns
    assert len(columns) == 6
    for column in columns:
        for name in NAMES:
            mean = frame[column.task, column.metric, name]
            interval = report.result.statistics.intervals[name, column.name]
            assert len(report.result.figures[name, column.name].values) == 3
            assert interval.low <= mean <= interval.high
            assert f'<span class="score">{100 * mean:.1f}</span>' in page


def test_differing_rows_are_those_of_the_rows_of_the_result(study: tuple[Result, Runner], report: Report) -> None:
    for part in report.differing:
        frame = study[0].rows(part.task)
        right = [frame[f"{name} right"] > 0.5 for name in NAMES]
        differing = frame[right[0] != right[1]]
        assert [row["d"] for row in part.rows] == sorted((row["d"] for row in part.rows), reverse=True)
        if part.unit:
            continue
        assert {row["n"] for row in part.rows} == set(differing["row"])
        assert part.differing == len(differing) and part.total == len(frame)
        assert part.agreement is not None
        (_, first), (_, second) = part.agreement.lines
        assert (first[0].value, second[0].value) == (right[0].sum(), right[1].sum())
        assert (first[2].value, second[1].value) == ((right[0] & ~right[1]).sum(), (right[1] & ~right[0]).sum())


def test_rows_of_numbers_differ_by_their_distance_from_gold(study: tuple[Result, Runner], report: Report) -> None:
    [part] = [part for part in report.differing if part.unit]
    frame = study[0].rows("made/regress")
    distances = {}
    for name in NAMES:
        of_seeds = [abs(frame[f"{name} seed {seed}"] - frame["gold"]) for seed in (0, 1, 2)]
        distances[name] = sum(of_seeds) / 3
    difference = abs(distances["made/good"] - distances["made/poor"])
    assert (part.task, part.unit, part.differing) == ("made/regress", "from gold", (difference > 1e-9).sum())
    assert part.rows[0]["n"] == difference.idxmax()
    [of_seed_0, *_] = frame.loc[difference.idxmax(), ["made/good seed 0"]]
    assert f"{of_seed_0:.2f}" in [answer for answer, _, _ in part.rows[0]["a"][0]]


def test_grades_between_right_and_wrong_are_compared(study: tuple[Result, Runner]) -> None:
    """Half of the right words are better than none, though both answers are wrong."""
    half = Metric("f1", lambda gold, answers: 0.0, per_row=lambda gold, answer: 0.5 * (answer == "half"))
    result, _ = study
    rows = AnsweredRows.kept(result.cells[:2], "dev")
    answers = {"made/good": (["half"] * 60,), "made/poor": (["none"] * 60,)}
    rows = replace(rows, task=replace(rows.task, metrics=(half,)), answers=answers, gold=["whole"] * 60)
    rows.__dict__["rule"] = replace(rows.rule, _least=[1.0] * 60)
    grading = graded(rows)
    part = disagreement(rows, grading)
    assert (grading.unit, grading.mean("made/good"), grading.mean("made/poor")) == ("f1", 50.0, 0.0)
    assert part.differing == 60 and part.rows[0]["a"] == [[["half", 1, 50.0]], [["none", 1, 0.0]]]


def test_three_systems_have_marks_of_the_best(tmp_path: Path) -> None:
    names = ("made/good", "made/poor", "made/poorest")
    made, runner = small(tmp_path, ("classify",), names)
    assert {len(pair) for pair in made.statistics.by_pair()} == {2} and len(made.statistics.by_pair()) == 3
    page = rendered(gather(made, runner))
    assert "Differences from the best figure" in page
    standings = {made.statistics.standing(place) for place in made.figures}
    assert standings & {"best", "tied"} and not standings & {"better", "worse"}
    best = [name for name in names if made.statistics.standing((name, "made/classify accuracy")) in ("best", "tied")]
    assert page.count('<td class="n best">') == len(best) > 0
    for line in comparison.Marks.of(made).legend():
        assert f"<li>{html.escape(line)}</li>" in page


def test_answers_of_all_restarts_are_counted(report: Report) -> None:
    for part in report.differing:
        for row in part.rows:
            assert [sum(count for _, count, _ in given) for given in row["a"]] == [3, 3]


def test_confusion_matrices_are_those_of_scikit_learn(study: tuple[Result, Runner], report: Report) -> None:
    sections = {section.task.name: section for section in report.sections}
    assert not sections["made/regress"].confusions and not sections["made/span"].confusions
    for name in ("made/classify", "made/choose", "made/tag"):
        frame = study[0].rows(name)
        for matrix in sections[name].confusions:
            gold, answers = [], []
            for seed in (0, 1, 2):
                gold += frame["gold"].tolist()
                answers += frame[f"{matrix.title} seed {seed}"].tolist()
            if name == "made/tag":
                gold, answers = list(chain.from_iterable(gold)), list(chain.from_iterable(answers))
            labels = [int(label) for label in matrix.columns] if name == "made/choose" else list(matrix.columns)
            wanted = confusion_matrix(gold, answers, labels=labels) / 3
            counts = [[entry.value for entry in entries] for _, entries in matrix.lines]
            assert np.allclose(counts, wanted) and [label for label, _ in matrix.lines] == list(matrix.columns)


def test_slices_average_to_the_mean_grade(study: tuple[Result, Runner], report: Report) -> None:
    for section in report.sections:
        frame = study[0].rows(section.task.name)
        for slices in filter(None, (section.by_length, section.by_label)):
            assert sum(part.rows for part in slices) == 60
            for name in NAMES:
                mean = sum(part.rows * part.means[name] for part in slices) / 60
                if section.graded == "mean distance from gold":
                    distances = [abs(frame[f"{name} seed {seed}"] - frame["gold"]).mean() for seed in (0, 1, 2)]
                    assert mean == pytest.approx(sum(distances) / 3)
                else:
                    assert mean == pytest.approx(100 * frame[f"{name} right"].mean())


def test_costs_add_up_all_fits_of_a_cell(study: tuple[Result, Runner], report: Report) -> None:
    cell = study[0].cells[0]
    records = [study[1].folder(fit).record() for fit in cell.cell.fits]
    line = report.costs[0]
    assert line.fits == 6 and line.tokens == 6 * 12345 * 300
    assert line.seconds == pytest.approx(sum(record.timings["seconds"] for record in records if record))
    assert line.flops == pytest.approx((6 * 1.8e6 + 4 * 3e5) * line.tokens)


def test_the_page_loads_nothing_and_allows_only_its_script(report: Report) -> None:
    page = rendered(report)
    assert not re.findall(r"""(?:src|href)=["'](?:https?:)?//""", page) and "@import" not in page
    assert "default-src 'none'" in page and page.count("<script") == 2


def test_embedded_rows_are_read_back_as_they_were(report: Report) -> None:
    values = embedded(rendered(report))
    assert [part["rows"] for part in values["tasks"]] == [list(part.rows) for part in report.differing]


def test_the_same_study_gives_the_same_page(study: tuple[Result, Runner], tmp_path: Path) -> None:
    first, second = (write_report(*pair, study[1]) for pair in ((study[0], tmp_path / f"{n}.html") for n in "ab"))
    assert first.read_bytes() == second.read_bytes()


def test_a_report_shows_the_predictions_that_were_scored(tmp_path: Path) -> None:
    """Each fit answers other data later, with the same settings."""
    result, made = small(tmp_path, ("classify",))
    scored = gather(read_study("kept", made), made)
    for fit in result.cells[0].cell.fits:
        prediction = Prediction(fit.id, "made/classify", "dev", "0" * 64, {})
        home = made.folder(fit).prediction(prediction.id)
        home.mkdir()
        write_prediction(home, prediction, Record(prediction.id, "done"), answer_lines(["no"]))
    assert gather(read_study("kept", made), made) == scored
    assert scored.differing and not scored.sections[0].absent


def test_rows_beyond_the_limit_are_counted(study: tuple[Result, Runner]) -> None:
    result, _ = study
    rows = AnsweredRows.kept(result.cells[:2], "dev")
    grading = graded(rows)
    whole, part = disagreement(rows, grading), disagreement(rows, grading, most_bytes=3_000)
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
    assert "0. [0, 1]\n1. [2, 3]" in disagreement(marked, graded(marked)).rows[0]["t"]


def test_one_backbone_shows_the_rows_it_gets_wrong(tmp_path: Path) -> None:
    result, made = small(tmp_path, ("classify",), NAMES[1:])
    report = gather(result, made)
    [part] = report.differing
    frame = result.rows()
    assert {row["n"] for row in part.rows} == set(frame[frame["made/poor right"] <= 0.5]["row"])
    assert "Rows answered wrong" in rendered(report)


def test_changed_data_leaves_out_single_rows(tmp_path: Path) -> None:
    small(tmp_path, ("classify",))
    changed = finished_studies.runner(tmp_path, (task("made/classify", rows=50),), NAMES)
    report = gather(read_study("kept", changed), changed)
    assert "changed" in report.sections[0].absent and report.differing == []
    assert "Single rows cannot be shown" in rendered(report)


def test_a_removed_log_leaves_out_learning_curves(tmp_path: Path) -> None:
    result, made = small(tmp_path, ("classify",))
    for log in made.workspace.runs.glob("*/log.jsonl"):
        log.unlink()
    assert gather(result, made).sections[0].curves == ()


def test_the_command_writes_a_kept_study(
    study: tuple[Result, Runner], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, runs = tmp_path / "out.html", str(study[1].workspace.runs)
    words = ["report", "kept", "--out", str(path), "--runs", runs]
    assert main(words, plugins=study[1].plugins) == 0
    assert "Wrote" in capsys.readouterr().out and len(embedded(path.read_text())["tasks"]) == len(KINDS)


def test_the_command_writes_runs_by_their_ids(study: tuple[Result, Runner], tmp_path: Path) -> None:
    ids = [fit.id for cell in study[0].cells[:2] for fit in cell.cell.fits]
    path = tmp_path / "out.html"
    assert (
        main(["report", *ids, "--out", str(path), "--runs", str(study[1].workspace.runs)], plugins=study[1].plugins)
        == 0
    )
    assert [part["name"] for part in embedded(path.read_text())["tasks"]] == ["made/classify"]


@pytest.mark.parametrize(
    ("words", "wanted"),
    [(["ketp"], "Did you mean kept"), (["kept", "--out", "report.pdf"], "ends in .html")],
)
def test_wrong_words_are_answered_in_one_sentence(
    words: list[str], wanted: str, study: tuple[Result, Runner], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *words, "--runs", str(study[1].workspace.runs)], plugins=study[1].plugins) == 2
    assert wanted in capsys.readouterr().err


def test_the_title_is_the_name_of_the_study(study: tuple[Result, Runner], report: Report) -> None:
    result, made = study
    assert (report.title, report.subtitle) == ("kept", "made/good and made/poor on 5 tasks")
    assert gather(replace(result, study=replace(result.study, title="Table 1")), made).title == "Table 1"
    unnamed = gather(replace(result, name=""), made)
    assert (unnamed.title, unnamed.subtitle) == ("made/good and made/poor on 5 tasks", "")


def test_the_table_is_the_layout_of_the_terminal(tmp_path: Path) -> None:
    """Every text of the layout stands in the table, once."""
    names = ("made/good", "made/poor", "made/poorest")
    result, _ = small(tmp_path, ("classify", "regress"), names)
    for shown in (result, replace(result, study=replace(result.study, systems=result.study.systems[:2]))):
        layout = comparison.layout(shown, comparison.NOTHING_PUBLISHED)
        table = table_of(layout)
        texts = [table.title, *chain.from_iterable(table.headers)]
        for row in (*chain.from_iterable(table.groups), *table.last):
            texts.append(row.name)
            for cell in row.cells:
                texts += [cell.figure, cell.rest, *cell.below]
        wanted = [layout.title, *layout.headers]
        for line in layout.lines:
            wanted += line.cells
        assert sorted(" ".join(texts).split()) == sorted(" ".join(wanted).split())
    assert [row.name for row in table_of(comparison.layout(result, comparison.NOTHING_PUBLISHED)).last] == ["majority"]


def test_each_column_has_its_own_differences(tmp_path: Path) -> None:
    """Two splits of a task have the same title."""
    names = ("made/good", "made/poor", "made/poorest")
    result, _ = small(tmp_path, ("classify", "choose"), names)
    columns = [replace(column, label="same") for column in result.study.columns]
    study = replace(result.study, columns=tuple(columns))
    [card] = [card for card in study_cards(replace(result, study=study)) if card.title.startswith("Differences")]
    assert len(card.drawings) == 2 and all("made/poorest" in drawing for drawing in card.drawings)


def test_equal_values_are_said_in_words(study: tuple[Result, Runner], report: Report) -> None:
    """Rounding makes values differ by 1e-14."""
    section = report.sections[0]
    column = section.column
    equal = {(name, column): [0.98, 0.98 + 1e-14] for name in NAMES}
    result = replace(study[0], given_statistics=replace(study[0].statistics, trials=equal))
    [card] = [card for card in cards(replace(section, result=result)) if card.title == "Expected best"]
    assert not card.drawings and "all grid points of a system have the same score" in card.words


@pytest.mark.parametrize(("lengths", "drawn"), [((1, 2), 0), ((3, 1, 2), 1)])
def test_three_lengths_of_training_make_a_curve(report: Report, lengths: Sequence[int], drawn: int) -> None:
    grid = []
    for name in NAMES:
        for epochs in lengths:
            at_chosen = GridPoint(name, f"epochs {epochs}", (10.0 * epochs,), epochs == 2, epochs, True)
            elsewhere = GridPoint(name, f"epochs {epochs}, lr 1", (99.0,), False, epochs, False)
            grid += [at_chosen, elsewhere]
    found = [card for card in cards(replace(report.sections[0], grid=tuple(grid))) if card.title == "Dev by epochs"]
    assert len(found) == drawn
    for card in found:
        assert "made/poor: 10 at 1 to 30 at 3" in "".join(card.drawings)


def test_curves_are_means_at_equal_steps(tmp_path: Path) -> None:
    """The last line of a log, of step 295, is left out: the others are ten steps apart."""
    result, made = small(tmp_path, ("classify",))
    logs = [made.folder(fit).log for fit in result.cells[0].restarts]
    for place, log in enumerate(logs):
        steps = [*range(10, 291, 10), 295]
        lines = [json.dumps({"step": step, "loss": step / 100 + place}) for step in steps]
        log.write_text("\n".join(lines) + "\n")
    curve = gather(result, made).sections[0].curves[0]
    assert curve.restarts == 3
    assert list(curve.points) == [(step, pytest.approx(step / 100 + 1)) for step in range(10, 291, 10)]


def test_absent_rows_are_told_with_their_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small(tmp_path, ("classify",))
    changed = finished_studies.runner(tmp_path, (task("made/classify", rows=50),), NAMES)
    words = ["report", "kept", "--out", str(tmp_path / "out.html"), "--runs", str(tmp_path / "runs")]
    assert main(words, plugins=changed.plugins) == 0
    said = capsys.readouterr().err
    assert "benchrunner: The report shows no rows of made/classify" in said and "changed since the fit" in said
    assert "The report shows no rows of made/classify" in (tmp_path / "out.html").read_text()


def test_thirty_six_series_differ_in_colour_or_shape() -> None:
    styles = {style(series) for series in range(36)}
    drawn = {marker(0, 0, series) for series in range(36)}
    assert len(styles) == len(drawn) == 36


def test_characters_that_hide_or_turn_text_become_visible() -> None:
    assert visible("a\u202eb\x00c\u200bd\u2028") == "a⟨U+202E⟩b⟨U+0000⟩c⟨U+200B⟩d⟨U+2028⟩"
    assert visible("שלום 👩\u200d🔬\n") == "שלום 👩\u200d🔬\n"


def test_long_text_is_cut_and_counted() -> None:
    assert visible("x" * 1_500) == "x" * 1_200 + " … [300 more characters]"


def test_attributes_and_texts_of_drawings_are_escaped() -> None:
    assert element("text", "<b>", class_='a"b') == '<text class="a&#34;b">&lt;b&gt;</text>'


def test_ticks_are_round_and_within_the_scale() -> None:
    assert list(Scale(0.0, 100.0, 0, 1).ticks()) == [0, 20, 40, 60, 80, 100]
    assert list(Scale(-0.3, 0.31, 0, 1).ticks(4)) == [-0.2, 0, 0.2]


def test_a_study_file_shows_its_table_and_curves(study: tuple[Result, Runner]) -> None:
    """Two points of one line, a published figure, and the sections of the fits behind the table."""
    result, made = study
    systems = tuple(System(name, name, at=float(at), series="MLM") for at, name in zip((1, 2), NAMES, strict=True))
    columns = (Column("pairs", "made/classify"), Column("pairs again", "made/classify", metric="matthews"))
    cells = [cell for cell in result.cells if cell.cell.task.name == "made/classify"]
    one, two = ([_shown_in(cell, column.name) for cell in cells] for column in columns)
    published = (PublishedRow(NAMES[0], "A source", {"pairs": 77.5}),)
    asked = tuple(cell.cell for cell in one)
    file = Study(systems, columns[:1], asked, title="Curves of a study", about="About it.", published=published,
                 axis="steps", systems_down=True)  # fmt: skip
    page = rendered(gather(replace(result, study=file, cells=tuple(one)), made))
    assert "<title>Curves of a study</title>" in page and "About it." in page
    assert "pairs along steps" in page and "paper 77.5" in page and "task-0-made-classify" in page
    assert "<small><bdi>pairs" not in page
    twice = replace(file, columns=columns, cells=tuple(cell.cell for cell in (*one, *two)))
    page = rendered(gather(replace(result, study=twice, cells=(*one, *two)), made))
    assert page.count("made/classify</bdi> <small><bdi>pairs again</bdi></small>") == 2, "a link and a heading"


def _shown_in(cell: CellResult, column: str) -> CellResult:
    return replace(cell, cell=replace(cell.cell, columns=(column,)))
