"""A report as a page: the figures, marks, costs, table and title of its result, and the command that writes it."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from small_studies import KINDS, NAMES, draw, small

from benchrunner import PublishedColumn, PublishedRow
from benchrunner.command_line.main import main
from benchrunner.results import CellResult, Prediction, Record, Result, Runner, Study, comparison, read_study
from benchrunner.runs.folder import answer_lines, write_prediction
from benchrunner.studies.entries import Statistics
from benchrunner.studies.pairs import Comparison, Pair, Pairing
from benchrunner.studies.study import Column, System
from benchrunner_report.drawings.chart import Axis
from benchrunner_report.drawings.groups import dot, dots
from benchrunner_report.gathering import Report, gather, headline
from benchrunner_report.rendering import rendered, write_report
from benchrunner_report.table import StudyTable
from benchrunner_statistics import by_pair
from inline import board, mood
from made_results import made_result, said_below


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


def test_three_systems_have_marks_of_the_best(tmp_path: Path) -> None:
    names = ("made/good", "made/poor", "made/poorest")
    made, runner = small(tmp_path, ("classify",), names)
    assert {len(pair) for pair in by_pair(made.statistics)} == {2} and len(by_pair(made.statistics)) == 3
    page = rendered(gather(made, runner))
    assert "Differences from the best figure" in page
    standings = {made.entries[place].standing for place in made.figures}
    assert standings & {"best", "tied"} and not standings & {"better", "worse"}
    best = [name for name in names if made.entries[name, "made/classify accuracy"].is_best]
    assert page.count('<td class="n best">') == len(best) > 0
    for line in said_below(made, "mark"):
        assert f"<li>{html.escape(line)}</li>" in page


def test_costs_add_up_all_fits_of_a_cell(study: tuple[Result, Runner], report: Report) -> None:
    cell = study[0].cells[0]
    records = [study[1].folder(fit).record() for fit in cell.cell.fits]
    line = report.costs[0]
    assert line.fits == 6 and line.tokens == 6 * 12345 * 300
    assert line.seconds == pytest.approx(sum(record.timings["seconds"] for record in records if record))


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


def test_the_title_is_the_verdict_in_a_sentence(study: tuple[Result, Runner], report: Report) -> None:
    result, made = study
    clear = [test for test in result.statistics.tests.values() if test.is_clear]
    assert clear and all(test.comparison.gain < 0 for test in clear)
    assert report.title == f"made/good is better than made/poor on {len(clear)} of 5 tasks"
    assert report.subtitle == "made/good and made/poor on 5 tasks"
    table = replace(result, study=replace(result.study, title="Table 1"))
    assert (gather(table, made).title, gather(table, made).subtitle) == (report.title, "Table 1")
    assert gather(result, made, title="Mine").title == "Mine"


def test_without_tests_the_title_is_the_name_of_the_study(tmp_path: Path) -> None:
    result, made = small(tmp_path, ("classify",), ("made/good",))
    assert gather(result, made).title == "kept"
    assert gather(replace(result, name=""), made).title == "made/good on made/classify"


def test_titles_count_what_is_clear_and_what_is_best() -> None:
    tasks = [mood(name=f"mine/{name}") for name in ("one", "two")]
    for gains, title in (
        ((0.3, -0.3), "b is better than a on 1 of 2 tasks, and worse on 1"),
        ((0.3, 0.3), "b is better than a on 2 of 2 tasks"),
        ((-0.3,), "a is better than b on 1 of 1 task"),
        ((0.0,), "No clear difference between b and a on 1 task"),
    ):
        tests = {}
        for task, gain in zip(tasks, gains, strict=False):
            compared = Comparison(gain, gain - 0.1, gain + 0.1, 0.01 if gain else 0.9, "backbones", "rows", 9, (3, 3))
            tests[Pairing("b", "a", f"{task.name} accuracy")] = Pair(compared, compared.p, 100)
        made = replace(made_result(tasks, ["a", "b"]), given_statistics=Statistics({}, tests, len(tests)))
        assert headline(made) == title


def test_published_figures_fold_away(study: tuple[Result, Runner]) -> None:
    result, made = study
    columns = {"dev": PublishedColumn("dev", "accuracy", task="made/classify", split="dev")}
    rows = (PublishedRow("Bird", "A source", {"dev": 77.5}),)
    published = comparison.choose_published([replace(board(), columns=columns, published=rows)], ["all"])
    page = rendered(gather(result, made, published=published))
    main, folded = page.split("<summary>Published figures</summary>")
    assert "Bird" not in main.partition('id="main"')[2] and "Bird" in folded.partition("</details>")[0]
    assert "<summary>Published" not in rendered(gather(result, made)) and main.count('<figure class="card') == 1


def test_long_names_stand_whole_above_their_lines() -> None:
    long = "owner/a-name-of-forty-two-characters-or-so"
    groups = [dot(long, 0, 0, 1.0, None), dot("short", 1, 1, 2.0, None)]
    [drawing] = draw(dots("d", "Title", Axis("axis"), groups, (long, 1.0)))
    assert drawing.count(f">{long}</text>") == 2 and "…" not in drawing
    [drawing] = draw(dots("d", "Title", Axis("axis"), [dot("n" * 80, 0, 0, 1.0, None)]))
    assert f"<title>{'n' * 80}</title>…{'n' * 63}</text>" in drawing


def test_the_table_is_the_layout_of_the_terminal(tmp_path: Path) -> None:
    """Every text of the layout stands in the table, once."""
    names = ("made/good", "made/poor", "made/poorest")
    result, _ = small(tmp_path, ("classify", "regress"), names)
    for shown in (result, replace(result, study=replace(result.study, systems=result.study.systems[:2]))):
        layout = comparison.layout(shown, comparison.NOTHING_PUBLISHED)
        table = StudyTable.of(layout)
        texts = [table.title, *chain.from_iterable(table.headers)]
        for row in (*chain.from_iterable(table.groups), *table.last):
            texts.append(row.name)
            for cell in row.cells:
                texts += [cell.figure, cell.rest, *cell.below]
        wanted = [layout.title, *layout.headers]
        for line in layout.lines:
            wanted += line.cells
        assert sorted(" ".join(texts).split()) == sorted(" ".join(wanted).split())
    table = StudyTable.of(comparison.layout(result, comparison.NOTHING_PUBLISHED))
    assert [row.name for row in table.last] == ["majority"]


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
