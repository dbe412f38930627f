"""What sharing and verifying read: each kept prediction and each file of answers once, and no torch."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import finished_studies
from benchrunner_kinds import MultiLabel
from benchrunner_share.documents.contents import answers_text
from benchrunner_share.verifying import answer_files
from benchrunner_share.verifying.received_folder import ReceivedFolder, UnreadableFile

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


@pytest.mark.parametrize("block", [1, 2**20])
def test_answers_are_read_as_they_are_shared(block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_files, "BLOCK", block)
    folder = received(tmp_path, answers_text(ANSWERS, FIGURES))
    assert answer_files.read_answers(folder, "one", 3, PROBLEM) == (ANSWERS, FIGURES)


@pytest.mark.parametrize("block", [1, 2**20])
@pytest.mark.parametrize(
    "change", [('{"index": 1', ' {"index": 1'), ('"index": 1', '"index":1'), ('"ids": null', '"id": null')]
)
def test_the_first_line_in_another_spelling_is_named(
    change: tuple[str, str], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_files, "BLOCK", block)
    text = answers_text(ANSWERS, FIGURES)
    assert change[0] in text
    folder = received(tmp_path, text.replace(*change))
    with pytest.raises(UnreadableFile, match=r"one.answers.jsonl, line 2: .* the answer to row 1 is expected"):
        answer_files.read_answers(folder, "one", 3, PROBLEM)


SHARED = """
import sys
from pathlib import Path
from benchrunner.results import Grid, cells, compared, run_study
from benchrunner_share.share import share_study
from finished_studies import finish, runner, task

work = Path(sys.argv[1])
made = runner(work, [task("made/mood", rows=20)], ["words"])
type(made.plugins).kernels = property(lambda plugins: __import__("torch"))  # as to ask for kernels does
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
