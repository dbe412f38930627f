"""Writing submissions: a whole archive or none, and each written archive passes the check."""

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings

from benchrunner.errors import PluginError, RequestError
from benchrunner.io.messages import Faults
from benchrunner_submit import Answers, ExpectedRows, FileKind
from benchrunner_submit.submission_files.checking import findings
from benchrunner_submit.submission_files.manifests import manifest_path
from benchrunner_submit.submission_files.writing import write_answers
from mood_boards import BOARD, FILES, LABELS, NUMBERS, VERDICTS, answers


def test_answers_become_the_files_of_the_board(tmp_path: Path) -> None:
    path = write_answers(BOARD, answers(), tmp_path / "moods.zip")
    with zipfile.ZipFile(path) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == FILES
    assert findings(BOARD, path).faults == []


def test_equal_answers_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (write_answers(BOARD, answers(), tmp_path / name) for name in ("a.zip", "b.zip"))
    assert first.read_bytes() == second.read_bytes()


def test_in_a_folder_the_archive_gets_its_usual_name(tmp_path: Path) -> None:
    assert write_answers(BOARD, answers(), tmp_path) == tmp_path / "moods.zip"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["moods.zip", "moods.zip.json"]


def test_all_problems_of_a_submission_are_one_error(tmp_path: Path) -> None:
    wrong = answers(verdict=["yes", "no", "no"], warmth=[1.0, 2.0])
    del wrong["mine/mood", "test"]
    with pytest.raises(RequestError) as error:
        write_answers(BOARD, wrong, tmp_path / "moods.zip")
    assert str(error.value).splitlines() == [
        "No submission to Moods can be written:",
        "  - Mood.tsv: no answers to mine/mood, split test.",
        "  - Ver-dict.tsv, answer 1: found 'no'; expected one of the task's labels: yes, not_yes or maybe. "
        "Also answer 2 ('no'): 2 answers in all.",
        "  - Warmth.tsv: 2 answers to mine/warmth, split test; expected 3.",
    ]
    assert list(tmp_path.iterdir()) == []


def test_an_answer_that_is_not_finite_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"Warmth.tsv, answer 1: found 'nan'; expected a finite number"):
        write_answers(BOARD, answers(warmth=[1.0, float("nan"), 2.0]), tmp_path / "moods.zip")


def test_answers_of_other_tasks_are_ignored(tmp_path: Path) -> None:
    path = write_answers(BOARD, answers() | {("mine/other", "test"): Answers(["x"])}, tmp_path)
    assert findings(BOARD, path).faults == []


def test_a_refused_submission_keeps_the_last_one_unchanged(tmp_path: Path) -> None:
    path = write_answers(BOARD, answers(), tmp_path)
    before = path.read_bytes(), manifest_path(path).read_bytes()
    with pytest.raises(RequestError):
        write_answers(BOARD, answers(mood=["sad"]), path)
    assert (path.read_bytes(), manifest_path(path).read_bytes()) == before


def test_a_path_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RequestError, match="cannot be written"):
        write_answers(BOARD, answers(), tmp_path / "file" / "moods.zip")


def test_a_kind_that_fails_its_own_check_writes_nothing(tmp_path: Path) -> None:
    class Odd(FileKind):
        def write(self, name: str, answers: Answers) -> bytes:
            return b"?"

        def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
            raise ValueError("nothing is ever right")

    board = replace(BOARD, files=(replace(BOARD.files[0], kind=Odd()),))
    with pytest.raises(PluginError, match=r"does not pass its own check: Mood.tsv: nothing is ever right"):
        write_answers(board, answers(), tmp_path)
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=60, deadline=None)
@given(moods=LABELS, verdicts=VERDICTS, numbers=NUMBERS)
def test_a_written_submission_always_passes_the_check(
    tmp_path_factory: pytest.TempPathFactory, moods: list[str], verdicts: list[str], numbers: list[float]
) -> None:
    sizes = zip(BOARD.files, (len(moods), len(verdicts), len(numbers)), strict=True)
    board = replace(BOARD, files=tuple(replace(file, rows=rows) for file, rows in sizes))
    path = write_answers(board, answers(mood=moods, verdict=verdicts, warmth=numbers), tmp_path_factory.mktemp("clean"))
    assert findings(board, path).faults == []


def test_writing_and_checking_import_no_heavy_library() -> None:
    program = (
        "import sys, benchrunner_submit.submission_files.writing, benchrunner_submit.submission_files.checking; "
        "import benchrunner_submit.submissions.submission_check; "
        "print(sorted(set(sys.modules) & set(sys.argv[1:])))"
    )
    heavy = ["torch", "numpy", "pyarrow", "sklearn", "scipy", "datasets"]
    process = subprocess.run([sys.executable, "-c", program, *heavy], capture_output=True, text=True, check=True)
    assert process.stdout.strip() == "[]"
