"""The command `audit`: its flags, its faults, and what it says of wrong requests."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Rows, Score, Scored, Scorer
from command_line import Shell
from inline import ROWS, mood, plugins as inline_plugins

MOOD = ("--task", "mood", "--data", "data", "--json")


def write(path: str, answers: Sequence[str], *, indexed: bool = False) -> None:
    """Write a prediction file below the folder `given`."""
    lines = [f"{row}\t{answer}" for row, answer in enumerate(answers)]
    lines = ["index\tprediction", *lines] if indexed else list(answers)
    file = Path("given", path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def gold() -> list[str]:
    return [line.split("\t")[1] for line in Path("data/mood/dev.tsv").read_text().splitlines()[1:]]


def flags(audit: Any) -> dict[str, list[tuple[str, str]]]:
    """Map the name of each audited file to its flags."""
    found = {}
    for file in audit["files"]:
        found[Path(file["path"]).name] = [(flag["name"], flag["detail"]) for flag in file["flags"]]
    return found


def test_answers_of_a_task_are_flagged_and_scored(shell: Shell) -> None:
    right = gold()
    swapped = {"glad": "sad", "sad": "glad"}
    write("right.tsv", right, indexed=True)
    write("sad.txt", ["sad"] * len(right))
    write("wrong.txt", [swapped[answer] for answer in right])
    audit = shell.json("audit", "given", *MOOD)
    assert flags(audit) == {
        "right.tsv": [],
        "sad.txt": [("constant predictions", ""), ("no better than majority", "")],
        "wrong.txt": [("no better than majority", "")],
    }
    assert [file["scores"]["accuracy"]["value"] for file in audit["files"]][::2] == [1.0, 0.0]
    assert [file["rows"] for file in audit["files"]] == [ROWS["dev"]] * 3
    assert audit["counts"] == {"constant predictions": 1, "no better than majority": 2}
    assert not Path("runs").exists()


def test_equal_files_and_equal_answers_are_told_apart(shell: Shell) -> None:
    answers = ["a", "b", "b", "c"]
    write("1.txt", answers)
    write("2.txt", answers)
    write("3.tsv", answers, indexed=True)
    write("4.txt", ["a", "b", "c", "c"])
    write("5.txt", ["c"] * 4)
    write("6.txt", ["c"] * 4)
    found = flags(shell.json("audit", "given", "--json"))
    first = str(Path("given/1.txt"))
    assert found["1.txt"] == found["4.txt"] == []
    assert found["2.txt"] == [("same answers", first)]
    assert found["3.tsv"] == [("same answers", first)]
    assert found["5.txt"] == found["6.txt"] == [("constant predictions", "")]


def test_flags_have_codes_in_json(shell: Shell) -> None:
    for name, answers in {"1.txt": "ab", "2.txt": "ab", "3.txt": "ax", "4.txt": "aa"}.items():
        write(name, list(answers))
    _, out, _ = shell("audit", "given", "--labels", "a,b,c", "--json")
    codes = [[flag["code"] for flag in file["flags"]] for file in json.loads(out)["files"]]
    assert codes == [["A2"], ["A2", "A1"], ["A3"], ["C1"]]


def test_spellings_of_a_board_are_the_same_answers(shell: Shell) -> None:
    answers = gold()
    write("1.txt", answers)
    write("2.txt", [{"glad": "1", "sad": "0"}[answer] for answer in answers])
    assert flags(shell.json("audit", "given", *MOOD))["2.txt"] == [("same answers", str(Path("given/1.txt")))]


def test_labels_never_used_and_unknown_answers_are_flagged(shell: Shell) -> None:
    write("1.txt", ["a", "b", "a"])
    write("2.txt", ["a", "x", "c"])
    code, out, _ = shell("audit", "given", "--labels", "a,b,c")
    assert code == 1
    assert f"{Path('given/2.txt')}:2: found 'x'; expected one of a, b, c." in out
    assert "A2 label never used (c)" in out and "invalid; A3 answers out of the label set (1 of 3 rows)" in out
    assert "1 of 2 files: answers out of the label set." in out and "1 of 2 files: invalid." in out


def test_a_wrong_number_of_rows_is_invalid(shell: Shell) -> None:
    write("few.txt", ["glad", "sad"])
    code, out, _ = shell("audit", "given", "--task", "mood", "--data", "data")
    assert code == 1 and "few.txt: 2 answers, one on each line; expected 24, one for each row." in out
    Path("given/few.txt").write_bytes("glad\n".encode("utf-16"))
    _, out, _ = shell("audit", "given", "--task", "mood", "--data", "data")
    assert "few.txt:1: not UTF-8 text (invalid start byte); UTF-16: save it as UTF-8.\n" in out
    Path("given/few.txt").write_bytes(b"\xff\x00")
    code, out, _ = shell("audit", "given", "--task", "mood", "--data", "data")
    assert code == 1 and "few.txt" in out


def test_without_data_flags_that_need_none_still_work(shell: Shell) -> None:
    Path("empty").mkdir()
    write("1.txt", ["sad", "sad"])
    code, out, err = shell("audit", "given", "--task", "mood", "--data", "empty", "--offline")
    assert code == 0 and "constant predictions" in out and "accuracy" not in out
    assert "No data for mine/mood, split dev: only what needs no rows is told." in err


def test_unlabelled_rows_are_counted_and_not_scored(shell: Shell) -> None:
    write("1.txt", ["sad", "glad"] * 10)
    code, out, err = shell("audit", "given", "--task", "mood", "--split", "test", "--data", "data")
    assert code == 0 and "has no labels: nothing is scored." in err and "0 of 1 file have a flag." in out


def test_without_training_rows_no_majority_is_compared(shell: Shell) -> None:
    write("1.txt", ["sad"] * ROWS["dev"])
    Path("data/mood/train.tsv").unlink()
    audit = shell.json("audit", "given", *MOOD, "--offline")
    assert flags(audit)["1.txt"] == [("constant predictions", "")]
    assert audit["notes"] == ["No training rows of mine/mood: nothing is compared with their majority answer."]


def test_folders_are_read_recursively_and_files_once(shell: Shell) -> None:
    write("deep/er/1.txt", ["a", "a"])
    write("2.tsv", ["a", "b"])
    write("scores.json", ["{}"])
    out = shell.done("audit", "given", str(Path("given/2.tsv")))
    assert "1 of 2 files: constant predictions." in out and "scores.json" not in out
    assert "scores.json" in shell.done("audit", "given", "--name", "*.json", "--name", "*.tsv")


def test_the_table_has_a_line_for_each_file(shell: Shell) -> None:
    write("right.txt", gold())
    write("sad.txt", ["sad"] * ROWS["dev"])
    head, right, sad, *summary = shell.done("audit", "given", "--task", "mood", "--data", "data").splitlines()
    assert head.split() == ["file", "rows", "accuracy", "flags"]
    assert right.split() == [str(Path("given/right.txt")), "24", "100.00"]
    assert sad.endswith("C1 constant predictions; C2 no better than majority")
    assert summary == [
        "1 of 2 files: constant predictions.",
        "1 of 2 files: no better than majority.",
    ]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["nowhere"], "nowhere: cannot be read: No such file or directory."),
        (["empty"], "empty: no file below this folder is named *.tsv or *.txt. Give --name PATTERN."),
        (["data", "--task", "mod"], "There is no task 'mod'."),
        (["data", "--task", "mood", "--split", "deb"], "mine/mood has no split 'deb'; it has train, dev, test."),
        (["data", "--task", "mood", "--labels", "a,b"], "--labels is for files without a task"),
        (["data", "--split", "dev"], "--split has no meaning without a task"),
        (["data", "--data", "data"], "--data has no meaning without a task"),
        (["data", "--gold", "data"], "--gold has no meaning without a task"),
        (["data", "--labels", "a,a"], "--labels a,a: give two or more different labels"),
        (["data", "--labels", "a"], "--labels a: give two or more different labels"),
        (["data", "--labels", ""], "--labels is empty"),
    ],
)
def test_wrong_requests_say_what_to_do(words: list[str], text: str, shell: Shell) -> None:
    Path("empty").mkdir()
    assert text in shell.refused("audit", *words)


class Stars(Scorer):
    """Reads files that begin with a star; such a file is half right."""

    def recognizes(self, path: Path) -> bool:
        return path.read_bytes().startswith(b"*")

    def score(self, path: Path, gold: Rows | None, files: Any) -> Scored:
        return Scored({"stars": Score(50.0)}, "stars 50", answers=path.read_text().split())


def test_files_of_an_official_scorer_are_scored_by_it(shell: Shell) -> None:
    shell.plugins = inline_plugins(register_tasks=[mood(scorer=Stars())])
    write("1.txt", ["*"])
    write("2.txt", ["*"])
    assert shell.done("audit", "given/1.txt", "--task", "mood", "--data", "data") == "stars 50\nflags: none\n"
    out = shell.done("audit", "given", "--task", "mood", "--data", "data")
    assert "stars" in out and "50.00" in out and f"same answers ({Path('given/1.txt')})" in out
    write("3.txt", ["* *"])
    assert "1 of 3 files: constant predictions." in shell.done("audit", "given", "--task", "mood", "--data", "data")
