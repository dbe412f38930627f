"""Dev figures of what a submission answers with, beside published figures."""

from pathlib import Path

import pytest

from benchrunner import Score, Term
from benchrunner.results import Runner, StudyOptions, answer
from benchrunner_submit import write_submission
from benchrunner_submit.submissions import submission_figures
from benchrunner_submit.submissions.submission import Submission
from benchrunner_submit.submissions.submission_figures import dev_figures
from inline import mood, runner
from made_results import cells, lines
from published_moods import MEAN, choice, published_board

MOOD, MATTHEWS = (Term("mine/mood", "dev", metric) for metric in ("accuracy", "matthews"))
SCORES = {MOOD: Score(0.75), MATTHEWS: Score(0.5)}


def body(table: object, width: int = 100) -> list[list[str]]:
    """Read the cells of a rendered table."""
    return [cells(line) for line in lines(table, width) if line.startswith("│")]


def test_ours_stands_under_dev_and_published_under_both() -> None:
    figures = dev_figures([mood(suite=MEAN)], SCORES, choice("all"))
    assert body(submission_figures.as_table(figures)) == [
        ["mine/mood", "accuracy", "75.0", ""],
        ["Mercury", "", "81.5", "80.5"],
        ["Mercury (ensemble)", "", "82.5", "-"],
        ["mine/mood", "matthews", "50.0", ""],
        ["Mercury", "", "11.1", "-"],
        ["mean", "", "75.0", ""],
        ["Barometer", "", "-", "70.5"],
        ["score", "", "62.5", ""],
        ["Barometer", "", "-", "33.3"],
    ]
    head = lines(submission_figures.as_table(figures), 100)[1]
    assert head.strip("┃").replace("┃", " ").split() == ["task", "metric", "dev", "test"]
    notes = list(submission_figures.footnotes(figures, choice("all")))
    assert notes[0].startswith("published test figures are of other rows than ours, which are of dev: do not compare")
    assert notes[1] == "published: Mercury (dev and test): Nobody 2019, Table 1"


def test_an_absent_score_has_its_reason_and_no_average() -> None:
    figures = dev_figures([mood(suite=MEAN)], SCORES | {MATTHEWS: Score(None, "one class")}, choice("none"))
    assert body(submission_figures.as_table(figures)) == [
        ["mine/mood", "accuracy", "75.0", ""],
        ["mine/mood", "matthews", "-", ""],
        ["mean", "", "75.0", ""],
    ]
    assert list(submission_figures.footnotes(figures, choice("none"))) == ["mine/mood: matthews is absent: one class"]


def test_a_task_that_nothing_answers_has_no_figures() -> None:
    assert dev_figures([mood(suite=MEAN)], {}, choice("all")) == ()


@pytest.fixture
def made(tmp_path: Path) -> Runner:
    return runner(tmp_path, register_tasks=[mood(suite=MEAN)], register_leaderboards=[published_board()])


def scores(submission: Submission) -> dict[str, float | None]:
    return {figure.metric or figure.name: figure.score.value for figure in submission.figures}


def test_the_figures_of_a_study_are_those_of_the_selected_fits(made: Runner, tmp_path: Path) -> None:
    board, options = made.plugins.leaderboards.find("moods"), StudyOptions(restarts=2)
    submission = write_submission(board, tmp_path / "a.zip", made, backbone="words", options=options)
    assert submission.result is not None
    [cell] = submission.result.cells
    assert cell.selected is not None
    own = answer([cell.selected.id], made, split="dev").scores
    assert {name: score.value for name, score in own.items()} == {
        name: value for name, value in scores(submission).items() if name in own
    }
    assert [len(figure.published) for figure in submission.figures] == [2, 1, 1, 1]


def test_the_figures_of_an_ensemble_are_its_own(made: Runner, tmp_path: Path) -> None:
    board, options = made.plugins.leaderboards.find("moods"), StudyOptions(restarts=2, keep="all")
    first = write_submission(board, tmp_path / "a.zip", made, backbone="words", options=options)
    assert first.result is not None
    ids = [fit.id for cell in first.result.cells for fit in cell.cell.fits]
    submission = write_submission(board, tmp_path / "b.zip", made, ensemble=ids, published=choice("Mercury"))
    own = answer(ids, made, split="dev").scores
    assert len(ids) == 2 and {name: score.value for name, score in own.items()} == {
        name: value for name, value in scores(submission).items() if name in own
    }
    assert [len(figure.published) for figure in submission.figures] == [3, 1, 0, 0]


def test_a_failing_dev_score_stops_no_submission(made: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = made.plugins.leaderboards.find("moods")
    first = write_submission(board, tmp_path / "a.zip", made, backbone="words")
    assert first.result is not None and first.result.cells[0].selected is not None

    from benchrunner import RequestError
    from benchrunner_submit.submissions import submission_figures as module

    def refuse(*arguments: object, **options: object) -> None:
        raise RequestError("the weights are gone")

    monkeypatch.setattr(module, "answer", refuse)
    submission = write_submission(board, tmp_path / "b.zip", made, ensemble=[first.result.cells[0].selected.id])
    assert submission.faults == () and scores(submission) == {"accuracy": None, "matthews": None}
    assert {figure.score.reason for figure in submission.figures} == {"the weights are gone"}
