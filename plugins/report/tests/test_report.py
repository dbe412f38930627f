"""What a report shows: figures of the result, rows where backbones differ, costs, and why something is absent."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import finished_studies
from benchrunner import PublishedRow
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
    read_study,
    run_study,
)
from benchrunner.runs.folder import answer_lines, write_prediction
from benchrunner.studies.study import Column, System
from benchrunner_report.disagreement import disagreement
from benchrunner_report.gathering import Report, gather
from benchrunner_report.rendering import rendered, write_report
from benchrunner_report.svg import Scale, element
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


def embedded(html: str) -> dict[str, Any]:
    """Read the rows that a page embeds."""
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    rows: dict[str, Any] = json.loads(match[1])
    return rows


def test_the_headline_has_the_means_of_the_result(study: tuple[Result, Runner], report: Report) -> None:
    frame = study[0].to_pandas(long=True).set_index(["task", "metric", "backbone"])["score"]
    page, columns = rendered(report), report.result.study.columns
    assert len(report.rows) == len(columns) == 6
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
        assert {row["n"] for row in part.rows} == set(differing["row"])
        assert part.differing == len(differing) and part.total == len(frame)
        [pair] = part.agreements
        assert pair.only_first == int((right[0] & ~right[1]).sum()) and pair.both == int((right[0] & right[1]).sum())
        assert [row["d"] for row in part.rows] == sorted((row["d"] for row in part.rows), reverse=True)


def test_three_systems_have_marks_of_the_best(tmp_path: Path) -> None:
    names = ("made/good", "made/poor", "made/poorest")
    made, runner = small(tmp_path, ("classify",), names)
    assert {len(pair) for pair in made.statistics.by_pair()} == {2} and len(made.statistics.by_pair()) == 3
    page = rendered(gather(made, runner))
    assert "all others are clearly behind" in page and "Differences from the best figure" in page
    standings = {made.statistics.standing(place) for place in made.figures}
    assert standings & {"best", "tied"} and not standings & {"better", "worse"}
    assert ("★<span" in page) == ("best" in standings) and ("=<span" in page) == ("tied" in standings)


def test_answers_of_all_restarts_are_counted(report: Report) -> None:
    for part in report.differing:
        for row in part.rows:
            assert [sum(count for _, count, _ in given) for given in row["a"]] == [3, 3]


def test_confusion_matrices_count_every_row(report: Report) -> None:
    sections = {section.task.name: section for section in report.sections}
    assert not sections["made/regress"].confusions and not sections["made/span"].confusions
    for name in ("made/classify", "made/choose", "made/tag"):
        totals = [sum(map(sum, matrix.counts)) for matrix in sections[name].confusions]
        assert totals == pytest.approx([60, 60]) if name != "made/tag" else totals[0] == pytest.approx(totals[1])


def test_shares_of_slices_average_to_the_share_of_right_rows(study: tuple[Result, Runner], report: Report) -> None:
    for section in report.sections:
        frame = study[0].rows(section.task.name)
        for slices in filter(None, (section.by_length, section.by_label)):
            assert sum(part.rows for part in slices) == 60
            for name in NAMES:
                mean = sum(part.rows * part.shares[name] for part in slices) / 60
                assert mean == pytest.approx(frame[f"{name} right"].mean())


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
    whole, part = disagreement(rows), disagreement(rows, most_bytes=3_000)
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
    assert "0. [0, 1]\n1. [2, 3]" in disagreement(marked).rows[0]["t"]


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
