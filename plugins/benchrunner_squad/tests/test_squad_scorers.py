"""The official scorers: published figures to the last digit, thresholds compared with a brute force, bad files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from benchrunner import DataError, Rows, Score, Scored, Workspace
from benchrunner.io.json_form import as_json
from benchrunner.workspace import Settings
from benchrunner_squad import register_tasks
from benchrunner_squad.scorers import best_cut

TASKS = {task.name: task for task in register_tasks()}


def rows(gold: dict[str, list[str]]) -> Rows:
    import pyarrow as pa

    return Rows(pa.table({"id": list(gold), "answers": pa.array(gold.values(), pa.list_(pa.string()))}), "gold.json")


def scored(
    folder: Path, version: str, gold: dict[str, list[str]], answers: object, none: object | None = None
) -> Scored:
    """Score answers and probabilities, given as values or as the texts of files."""
    paths = {"answers": folder / "said.json", "na-prob": folder / "none.json"}
    for path, content in zip(paths.values(), (answers, none), strict=True):
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    files = {} if none is None else {"na-prob": paths["na-prob"]}
    scorer = TASKS[f"squad/{version}"].scorer
    assert scorer is not None
    return scorer.score(paths["answers"], rows(gold), files)


def figures(result: Scored) -> dict[str, float | None]:
    return {name: score.value for name, score in result.figures.items()}


def real_data() -> Path:
    """Find the official files and published predictions, which may not be redistributed; else skip the test."""
    named = os.environ.get("BENCHRUNNER_REAL_DATA")
    folder = Path(named) if named else Path.home() / ".cache" / "benchrunner-real-data"
    if not (folder / "golden" / "squad-scores.json").is_file() or not (folder / "squad").is_dir():
        pytest.skip(f"no SQuAD files with golden scores in {folder}: set BENCHRUNNER_REAL_DATA to their folder")
    return folder


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_the_figures_equal_the_official_scripts(version: str) -> None:
    folder = real_data()
    golden = folder / "golden"
    expected = json.loads((golden / "squad-scores.json").read_text())[version]
    task = TASKS[f"squad/{version}"]
    gold = task.load("dev", Workspace(folder, folder, data=folder, settings=Settings(offline=True)))
    assert task.scorer is not None
    files = {"na-prob": golden / expected["na_prob"]} if "na_prob" in expected else {}
    path = golden / expected["predictions"]
    assert task.scorer.recognizes(path)
    result = task.scorer.score(path, gold, files)
    names = [name for name in expected if name not in ("predictions", "dev", "na_prob")]
    assert figures(result) == {name: expected[name] for name in names}
    assert result.notes == ()
    answer_of = json.loads(path.read_text())
    answers = [answer_of[question] for question in gold.table.column("id").to_pylist()]
    right = task.problem.gold(gold.table)
    assert right is not None
    for metric in task.metrics:
        assert metric.scale * metric.value(right, answers) == pytest.approx(expected[metric.name], rel=1e-12)


def test_1_1_counts_a_missing_answer_as_wrong_and_says_so(tmp_path: Path) -> None:
    result = scored(tmp_path, "1.1", {"q1": ["Paris"], "q2": ["Rome"], "q3": ["Oslo"]}, {"q2": "in Rome"})
    assert figures(result) == {"exact_match": 0.0, "f1": 100.0 * (2 / 3) / 3}
    assert result.notes[0].endswith(
        "said.json: 2 of 3 questions have no answer, the first is 'q1': each counts 0, as in the official script"
    )


def test_2_0_refuses_files_with_missing_questions(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"said\.json: 1 of 2 questions have no entry, the first is 'q1'\. The official"
    ):
        scored(tmp_path, "2.0", {"q1": ["Paris"], "q2": []}, {"q2": ""})
    with pytest.raises(DataError, match=r"none\.json: 1 of 2 questions have no entry, the first is 'q2'"):
        scored(tmp_path, "2.0", {"q1": ["Paris"], "q2": []}, {"q1": "", "q2": ""}, {"q1": 0.5})


def test_2_0_without_probabilities_has_int_totals_no_thresholds(tmp_path: Path) -> None:
    result = scored(tmp_path, "2.0", {"q1": ["Paris"], "q2": []}, {"q1": "Paris", "q2": "Rome"})
    assert figures(result) == {
        "exact": 50.0, "f1": 50.0, "total": 2, "HasAns_exact": 100.0, "HasAns_f1": 100.0, "HasAns_total": 1,
        "NoAns_exact": 0.0, "NoAns_f1": 0.0, "NoAns_total": 1,
    }  # fmt: skip
    assert json.dumps(as_json(result.figures["total"])) == '{"value": 2}'
    assert "HasAns_exact      100.00" in result.text
    assert "total             2\n" in result.text


def test_figures_without_such_questions_are_absent(tmp_path: Path) -> None:
    result = scored(tmp_path, "2.0", {"q1": ["Paris"]}, {"q1": "Paris"}).figures
    assert result["NoAns_f1"] == Score(None, "there are no such questions")
    assert result["NoAns_total"] == Score(0)


def test_best_cut_may_split_equal_probabilities_in_file_order(tmp_path: Path) -> None:
    gold: dict[str, list[str]] = {"right": ["Paris"], "wrong": []}
    answers = {"right": "Paris", "wrong": "Rome"}
    good = scored(tmp_path, "2.0", gold, answers, {"right": 0.5, "wrong": 0.5})
    assert (good.figures["best_f1"].value, good.figures["best_f1_thresh"].value) == (100.0, 0.5)
    bad = scored(tmp_path, "2.0", gold, answers, {"wrong": 0.5, "right": 0.5})
    assert (bad.figures["best_f1"].value, bad.figures["best_f1_thresh"].value) == (50.0, 0.0)


def test_an_empty_answer_costs_nothing_below_the_cut(tmp_path: Path) -> None:
    gold: dict[str, list[str]] = {"a": [], "b": [], "c": ["Paris"]}
    result = scored(tmp_path, "2.0", gold, {"a": "", "b": "the", "c": "Paris"}, {"a": 0.1, "b": 0.4, "c": 0.2})
    assert result.figures["exact"].value == 100.0  # "the" is empty after normalising ...
    assert result.figures["best_exact_thresh"].value == 0.2
    later = scored(tmp_path, "2.0", gold, {"a": "", "b": "the", "c": "Paris"}, {"a": 0.1, "b": 0.1, "c": 0.2})
    assert later.figures["best_exact"].value == pytest.approx(200 / 3)  # ... but is not the empty text


def test_values_above_one_replace_the_answer_and_are_noted(tmp_path: Path) -> None:
    gold: dict[str, list[str]] = {"q1": ["Paris"], "q2": []}
    result = scored(tmp_path, "2.0", gold, {"q1": "Paris", "q2": "Rome"}, {"q1": 7, "q2": 3.5})
    assert (result.figures["HasAns_f1"].value, result.figures["NoAns_f1"].value) == (0.0, 100.0)
    assert result.figures["best_f1"].value == 50.0
    assert result.notes[0].endswith(
        "2 values are not from 0 to 1, the first is 7 for 'q1': above 1, the official script replaces the answer by "
        '"no answer"'
    )


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_answers_to_unknown_questions_are_ignored_and_noted(tmp_path: Path, version: str) -> None:
    result = scored(tmp_path, version, {"q1": ["Paris"]}, {"q1": "Paris", "q9": "Rome"})
    assert result.figures["f1"] == Score(100.0)
    assert result.notes[0].endswith("said.json: 1 of 2 entries are for unknown questions, the first is 'q9': ignored")


@given(st.data())
def test_best_cut_of_distinct_probabilities_equals_brute_force(data: st.DataObject) -> None:
    probabilities = data.draw(st.lists(st.integers(1, 999), unique=True, max_size=12))
    gains = [data.draw(st.sampled_from((-1.0, 0.0, 0.25, 0.5, 1.0))) for _ in probabilities]  # sums of them are exact
    steps = [(number / 1000, gain) for number, gain in zip(probabilities, gains, strict=True)]
    unanswerable = gains.count(-1.0)
    totals = {}
    for cut in (0.0, *sorted(probability for probability, _ in steps)):
        totals[cut] = unanswerable + sum(gain for probability, gain in steps if probability <= cut)
    best = max(totals.values())
    assert best_cut(steps, unanswerable) == (best, next(cut for cut, total in totals.items() if total == best))


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("", r"said\.json:1: not valid JSON at column 1"),
        ('["Paris"]', r"said\.json: expected an object of answers by question id, found \['Paris'\]\."),
        ('{"q1": "Paris", "q1": "Rome"}', r"said\.json: the key 'q1' stands twice in one object; each must stand once"),
        ('{"q1": 3}', r"said\.json: id 'q1': expected an answer as text, found 3\."),
        ('{"q1": NaN}', r"id 'q1': expected an answer as text, found nan\."),
        ('{"q\\u001b[31m": 3}', r"id 'q\\x1b\[31m': expected an answer"),
    ],
)
@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_a_bad_file_of_answers_is_one_error(tmp_path: Path, version: str, answers: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        scored(tmp_path, version, {"q1": ["Paris"]}, answers)


@pytest.mark.parametrize(
    ("none", "message"),
    [
        ('{"q1": "0.5"}', r"none\.json: id 'q1': expected a probability from 0 to 1, found '0\.5'\."),
        ('{"q1": NaN}', r"expected a probability from 0 to 1, found nan\."),
        ('{"q1": 1e999}', r"found inf\."),
        ("[0.5]", r"expected an object of probabilities by question id, found \[0\.5\]\."),
    ],
)
def test_a_bad_file_of_probabilities_is_one_error(tmp_path: Path, none: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        scored(tmp_path, "2.0", {"q1": ["Paris"]}, {"q1": "Paris"}, none)


def test_scoring_without_gold_answers_is_an_error(tmp_path: Path) -> None:
    import pyarrow as pa

    scorer = TASKS["squad/1.1"].scorer
    assert scorer is not None
    (tmp_path / "said.json").write_text('{"q1": "Paris"}')
    with pytest.raises(DataError, match=r"give --gold FILE"):
        scorer.score(tmp_path / "said.json", None, {})
    with pytest.raises(DataError, match=r"asked\.json"):
        scorer.score(tmp_path / "said.json", Rows(pa.table({"id": ["q1"]}), "asked.json"), {})


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("said.json", '{"q1": "Paris"}', True),
        ("said.json", "", True),  # the error is raised where the file is read
        ("answers.txt", '\ufeff \n{"q1": "Paris"}', True),
        ("answers.tsv", "index\tprediction\n0\tParis\n", False),
        ("answers.txt", "Paris\n", False),
    ],
)
def test_a_file_is_recognized_by_name_or_first_character(
    tmp_path: Path, name: str, content: str, expected: bool
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    for version in ("1.1", "2.0"):
        scorer = TASKS[f"squad/{version}"].scorer
        assert scorer is not None
        assert scorer.recognizes(tmp_path / name) == expected
        assert not scorer.recognizes(tmp_path / "absent.json")


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_answers_are_given_to_whoever_flags_them(version: str, tmp_path: Path) -> None:
    assert scored(tmp_path, version, {"q1": ["Paris"], "q2": ["Rome"]}, {"q1": "", "q2": ""}).answers == ["", ""]
