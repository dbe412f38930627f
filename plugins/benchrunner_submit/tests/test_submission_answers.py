"""Answers of a study for the files of a board: selected fits, checks, and tasks without an answer."""

from pathlib import Path

import pytest

from benchrunner import EXACT_MATCH, JsonTable, RequestError, Split, Task
from benchrunner.results import Grid, Runner, StudyOptions, answer, compared, run_study
from benchrunner.studies.cells import Fitting, selected_fit
from benchrunner.studies.comparison.formats import as_table
from benchrunner_kinds import Span
from benchrunner_kit.testing import tiny_family
from benchrunner_submit import BoardFile, JsonMap, Leaderboard, write_submission
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.manifests import read_manifest
from benchrunner_submit.submission_files.writing import write_answers
from benchrunner_submit.submissions import submission_answers
from benchrunner_submit.submissions.gaps import fill_in, find_gaps
from benchrunner_submit.submissions.submission_answers import answers
from chancy import ACCURACY
from inline import board, runner
from made_results import lines


def test_compare_and_submit_from_python(tmp_path: Path) -> None:
    """Compare two backbones with real fits, then write a submission."""
    made = runner(tmp_path, register_backbones=[tiny_family(), tiny_family("another/words")])
    task = made.plugins.tasks.find("mood")
    result = run_study(
        compared(
            ("tiny/words", "another/words"),
            (task,),
            Fitting(Grid({"lr": (0.02, 0.05)}), seeds=(0, 1), changes={"epochs": 8}),
        ),
        made,
    )
    first, second = (result.of(name, "mine/mood") for name in ("tiny/words", "another/words"))
    assert first.figures == second.figures, "the same weights under two names"
    best = first.figures[ACCURACY].best.value
    majority = result.baseline[ACCURACY].value
    assert best is not None and majority is not None and best > majority
    assert all(name in "".join(lines(as_table(result), 100)) for name in result.study.names)
    collected = answers(board(), submission_answers.selected(board(), result.cells, made), {}, made)
    archive = write_answers(board(), collected, tmp_path)
    assert findings(board(), archive).faults == []
    (origin,) = read_manifest(archive).files
    assert (origin.fit, origin.method, origin.rows) == (selected_fit(first).id, "finetune", 20)


def test_the_manifest_has_the_dev_scores_of_an_ensemble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = runner(tmp_path)
    options = StudyOptions(restarts=2, keep="all")
    first = write_submission(board(), tmp_path / "a.zip", made, backbone="words", options=options)
    assert first.result is not None
    ids = [fit.id for cell in first.result.cells for fit in cell.cell.fits]
    own = {f"dev {name}": score.value for name, score in answer(ids, made, split="dev").scores.items()}
    together = write_submission(board(), tmp_path / "b.zip", made, ensemble=ids)
    assert len(ids) == 2 and together.manifest.files[0].dev == own

    def without_dev(references: list[str], runner: Runner, *, split: str) -> object:
        if split == "dev":
            raise RequestError("the weights are gone")
        return answer(references, runner, split=split)

    monkeypatch.setattr(submission_answers, "answer", without_dev)
    submission = write_submission(board(), tmp_path / "c.zip", made, ensemble=ids)
    assert submission.faults == () and submission.manifest.files[0].dev == {}


def test_a_refusal_without_data_says_why_the_hub_gave_none(tmp_path: Path) -> None:
    made = runner(tmp_path, register_backbones=[tiny_family()])
    assert made.workspace.hub.known_failure is None
    (tmp_path / "data" / "mood" / "dev.tsv").unlink()
    made.workspace.hub.lost("https://hub.example cannot be reached (no route)")
    with pytest.raises(RequestError, match=r"no data for its split dev\nThe hub gave no data: https://hub\.example"):
        write_submission(board(), tmp_path, made, backbone="tiny/words")


def test_gaps_are_given_a_reason_and_filled_by_majority(tmp_path: Path) -> None:
    made = runner(tmp_path)
    mood = ("mine/mood", "test")
    assert find_gaps(board(), ["mine/mood"], made, unchosen="not among --tasks") == {}
    gaps = {mood: "not among --tasks"}
    assert find_gaps(board(), [], made, unchosen="not among --tasks") == gaps
    filled, unfilled = fill_in(board(), gaps, made)
    (only,) = filled.values()
    assert (only.method, only.filled, unfilled) == ("majority", "not among --tasks; the training majority", {})
    (tmp_path / "data" / "mood" / "test.tsv").unlink()
    made = Runner(made.plugins, made.workspace)
    assert find_gaps(board(), ["mine/mood"], made, unchosen="") == {mood: "no data for its split test"}


def test_no_answer_fills_questions_that_may_have_none(tmp_path: Path) -> None:
    """No training rows are needed for it, but the ids of the rows are."""
    asked = tmp_path / "data" / "asked.jsonl"
    asked.parent.mkdir()
    asked.write_text('{"id": "x", "q": "Who?", "c": "Anna sang."}\n{"id": "y", "q": "What?", "c": "A song."}\n')
    columns = {"id": "id", "question": "q", "context": "c"}
    splits = {
        "train": Split("train", (JsonTable("absent.jsonl", columns),)),
        "test": Split("test", (JsonTable("asked.jsonl", columns),)),
    }
    gap = {("mine/asked", "test"): "no data for its split train"}
    files = (BoardFile("answers.json", "mine/asked", "test", 2, JsonMap("id")),)
    asking = Leaderboard("asks", "Asks", "https://example.org", "asks.zip", files)
    for unanswerable in (True, False):
        task = Task("mine/asked", "Who?", Span(unanswerable=unanswerable), splits, (EXACT_MATCH,))
        filled, unfilled = fill_in(asking, gap, runner(tmp_path, register_tasks=[task], register_leaderboards=[]))
        if unanswerable:
            assert filled["mine/asked", "test"].values == ["", ""]
        else:
            assert "it cannot be filled: there are no training rows to count" in unfilled["mine/asked", "test"]
    asked.unlink()
    _, unfilled = fill_in(asking, gap, runner(tmp_path, register_tasks=[task], register_leaderboards=[]))
    assert "answers.json has id of each row, which only the data tell" in unfilled["mine/asked", "test"]
