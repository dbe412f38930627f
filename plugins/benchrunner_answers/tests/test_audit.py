"""The command `audit`: scores and flags of files, their faults, and what it says of wrong requests."""

from pathlib import Path

import pytest

from command_line import Shell
from inline import ROWS

MOOD = ("--task", "mood", "--data", "data")


def write(name: str, answers: list[str]) -> None:
    Path("given", name).write_text("\n".join(answers) + "\n", encoding="utf-8")


def gold() -> list[str]:
    return [line.split("\t")[1] for line in Path("data/mood/dev.tsv").read_text().splitlines()[1:]]


def test_answers_of_a_task_are_scored_and_flagged(shell: Shell) -> None:
    swapped = {"glad": "sad", "sad": "glad"}
    write("right.txt", gold())
    write("sad.txt", ["sad"] * ROWS["dev"])
    write("wrong.txt", [swapped[answer] for answer in gold()])
    files = shell.json("audit", "given/right.txt", "given/sad.txt", "given/wrong.txt", *MOOD, "--json")["files"]
    assert [[flag["code"] for flag in file["flags"]] for file in files] == [[], ["C1", "C2"], ["C2"]]
    assert [file["scores"]["accuracy"]["value"] for file in files][::2] == [1.0, 0.0]
    assert not Path("runs").exists()
    out = shell.done("audit", "given/sad.txt", *MOOD)
    assert "flags: C1 constant predictions; C2 no better than majority" in out


def test_a_file_that_cannot_be_read_is_invalid(shell: Shell) -> None:
    write("few.txt", ["glad", "sad"])
    code, out, _ = shell("audit", "given/few.txt", "given", "nowhere", *MOOD)
    assert code == 1 and "few.txt: 2 answers in the order of the rows, and data/mood/dev.tsv has 24 rows.\n" in out
    assert "given: this is a folder.\n" in out and "nowhere: there is no such file.\n" in out


def test_unlabelled_rows_are_counted_and_not_scored(shell: Shell) -> None:
    write("1.txt", ["sad", "glad"] * 10)
    code, out, err = shell("audit", "given/1.txt", *MOOD, "--split", "test")
    assert (code, out) == (0, "flags: none\n") and "has no labels: nothing is scored." in err


def test_without_training_rows_no_majority_is_compared(shell: Shell) -> None:
    write("1.txt", ["sad"] * ROWS["dev"])
    Path("data/mood/train.tsv").unlink()
    audit = shell.json("audit", "given/1.txt", *MOOD, "--json", "--offline")
    assert [flag["code"] for flag in audit["files"][0]["flags"]] == ["C1"]
    assert audit["notes"] == ["No training rows of mine/mood: nothing is compared with their majority answer."]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["--task", "mod"], "There is no task 'mod'."),
        (["--task", "mood", "--split", "deb"], "mine/mood has no split 'deb'; it has train, dev, test."),
        (["--task", "mood", "--data", "nowhere"], "No data for mine/mood, split dev"),
    ],
)
def test_wrong_requests_say_what_to_do(words: list[str], text: str, shell: Shell) -> None:
    Path("nowhere").mkdir()
    assert text in shell.refused("audit", "data/mood/dev.tsv", *words, "--offline")
