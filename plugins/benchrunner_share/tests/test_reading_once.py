"""What sharing and verifying read: each kept prediction and each file of answers once, and no torch."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import pytest

import finished_studies
from benchrunner.runs.folder import RunFolder
from benchrunner_kinds import MultiLabel
from benchrunner_share.documents.contents import answers_text
from benchrunner_share.kept_answers import KeptAnswers
from benchrunner_share.private_texts import Private
from benchrunner_share.verifying.answer_files import read_answers
from benchrunner_share.verifying.received_folder import ReceivedFolder
from chancy import chancy, compare_rates

ANSWERS: list[Any] = [["é", 'a"\\'], [], ["ü"]]
PROBLEM = MultiLabel(("é", 'a"\\', "ü"))
FIGURES: dict[str, list[Any]] = {
    "probabilities": [[0.25, 1e-30], [1.0, 2], [0.1, -0.0]],
    "ids": ["\u2028\x7f", None, True],
}


def received(path: Path, text: str) -> ReceivedFolder:
    (path / "predictions").mkdir()
    (path / "predictions" / "one.answers.jsonl").write_text(text, newline="\n")
    return ReceivedFolder(path)


@pytest.mark.parametrize("figures", [{}, FIGURES], ids=["answers alone", "with figures"])
def test_each_line_of_answers_is_a_json_object(figures: dict[str, list[Any]]) -> None:
    expected = ""
    for index, answer in enumerate(ANSWERS):
        own = {"figures": {name: values[index] for name, values in figures.items()}} if figures else {}
        expected += json.dumps({"index": index, "answer": answer, **own}, ensure_ascii=False) + "\n"
    assert answers_text(ANSWERS, figures) == expected


def test_answers_as_shared_are_parsed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(folder: ReceivedFolder, name: str) -> NoReturn:
        raise AssertionError("read line by line")

    monkeypatch.setattr(ReceivedFolder, "json_lines", refused)
    folder = received(tmp_path, answers_text(ANSWERS, FIGURES))
    assert read_answers(folder, "one", 3, PROBLEM) == (ANSWERS, FIGURES)


@pytest.mark.parametrize("change", [("{", " {"), (": ", ":"), ("1e-30", "0.1e-29")])
def test_answers_in_other_spelling_are_equal(change: tuple[str, str], tmp_path: Path) -> None:
    text = answers_text(ANSWERS, FIGURES)
    assert change[0] in text
    folder = received(tmp_path, text.replace(*change))
    assert read_answers(folder, "one", 3, PROBLEM) == (ANSWERS, FIGURES)


def test_a_kept_prediction_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = chancy(tmp_path)
    result = compare_rates(made, seeds=(0,))
    task = result.cells[0].cell.task
    read = list[Path]()
    predictions = RunFolder.predictions

    def noted(folder: RunFolder, *asked: str) -> Iterator[Any]:
        read.append(folder.path)
        return predictions(folder, *asked)

    monkeypatch.setattr(RunFolder, "predictions", noted)
    answers = KeptAnswers(made, Private(made.workspace))
    answers.newest(result.cells)
    fits = list(result.cells[0].cell.fits)
    found = [answers.find(fit, task, "dev")[1] for fit in (*fits, *fits)]
    assert sorted(read) == sorted(made.folder(fit).path for fit in fits)
    assert found[0] == found[2] and found[0] is not found[2], "else the answers of all fits would stay in memory"


SHARED = """
import sys
from pathlib import Path
from benchrunner.results import Grid, cells, compared, run_study
from benchrunner_share.share import share_study
from finished_studies import finish, runner, task

work = Path(sys.argv[1])
made = runner(work, [task("made/mood", rows=20)], ["words"])
study = compared(["words"], list(made.plugins.tasks.values()), cells.Fitting(Grid({"epochs": (1, 2)}), seeds=(0, 1)))
finish(study, made, {"words": 0.7})
share_study(run_study(study, made), work / "shared", made)
assert (work / "shared" / "report.html").is_file()
print("torch" in sys.modules)
"""


def test_sharing_kept_answers_loads_no_torch(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(finished_studies.__file__).parent), *sys.path])}
    words = [sys.executable, "-c", SHARED, str(tmp_path)]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
