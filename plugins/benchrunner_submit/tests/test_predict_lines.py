"""`predict` on lines of plain text, from a file and from standard input, as a table and as JSON lines."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from benchrunner import EXACT_MATCH, Rows, Split, Task
from benchrunner.data.sources import RowsFrom
from benchrunner.io import files
from benchrunner.results import Fit, Runner
from benchrunner.runs import ensembles, predicting
from benchrunner_kinds import Tag
from benchrunner_submit.own_questions import user_files
from command_line import Shell
from inline import QUICK, plugins

TEXTS = "A sunny day.\n\nA bleak morning.\n"


def given(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Put a text on standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_lines_are_read_from_files_and_standard_input(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shell.fitted()
    for name in ("mine.txt", "mine"):
        Path(name).write_text(TEXTS)
    given(monkeypatch, TEXTS)
    written = [
        shell.done("predict", run, "mine.txt", *shell.folders()),
        shell.done("predict", run, "--lines", "mine", *shell.folders()),
        shell.done("predict", run, "--lines", "-", *shell.folders()),
    ]
    assert written[0] == written[1] == written[2] and written[0].count("\n") == 3


def test_json_lines_hold_the_text_and_the_answer(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shell.fitted()
    given(monkeypatch, TEXTS)
    out = shell.done("predict", run, "-", "--lines", "--json-lines", "--probabilities", *shell.folders())
    first, second = map(json.loads, out.splitlines())
    assert first["text"] == "A sunny day." and second["text"] == "A bleak morning."
    assert list(first["probabilities"]) == ["glad", "sad"] and first["answer"] in ("glad", "sad")
    Path("mine.txt").write_text(TEXTS)
    out = shell.done("predict", run, "mine.txt", "--json-lines", *shell.folders())
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["A sunny day.", "A bleak morning."]
    out = shell.done("predict", run, "--json-lines", "--split", "dev", *shell.folders())
    assert list(json.loads(out.splitlines()[0])) == ["index", "answer"]


@pytest.mark.parametrize("form", [[], ["--probabilities"], ["--json-lines"]])
def test_blocks_of_lines_have_the_same_answers(form: list[str], shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shell.fitted()
    Path("mine.txt").write_text("A sunny day.\n\nA bleak morning.\nSun\n \nRain\nA gloomy day\n")
    words = ["predict", run, "mine.txt", *form, *shell.folders()]
    whole = shell.done(*words)
    monkeypatch.setattr(user_files, "LINES_AT_ONCE", 2)
    assert shell.done(*words) == whole
    assert shell.done(*words, "--out", "answers.csv") == "5 answers in answers.csv\n"
    assert len(Path("answers.csv").read_text().splitlines()) == 6 - ("--json-lines" in form)
    shown = shell.json(*words[:3], *shell.folders())
    assert shown["rows"] == len(shown["answers"]) == 5


def test_a_stopped_call_goes_on_from_the_kept_blocks(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shell.fitted()
    Path("mine.txt").write_text("A sunny day.\nA bleak morning.\nSun\nRain\n")
    words = ["predict", run, "mine.txt", *shell.folders()]
    whole = shell.done(*words)
    monkeypatch.setattr(user_files, "LINES_AT_ONCE", 2)
    computed = list[int]()
    compute = predicting._computed_outputs

    def failing(fit: Fit, rows: Rows, runner: Runner) -> Any:
        computed.append(len(rows))
        if len(computed) == 2:
            raise KeyboardInterrupt
        return compute(fit, rows, runner)

    monkeypatch.setattr(predicting, "_computed_outputs", failing)
    assert shell(*words)[0] == 130 and shell.done(*words) == whole
    assert computed == [2, 2, 2], "the first block is read"


def test_a_fault_of_a_late_line_is_found_first(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    run = shell.fitted()
    Path("mine.txt").write_bytes(b"A sunny day.\nRain\nSun\n\xff\n")
    monkeypatch.setattr(user_files, "LINES_AT_ONCE", 1)
    monkeypatch.setattr(files, "_READ_BYTES", 1)
    monkeypatch.setattr(ensembles, "answer_together", None)
    assert "mine.txt:4" in shell.refused("predict", run, "mine.txt", *shell.folders())


@pytest.mark.parametrize("context", ["sentence", "window", "document"])
def test_tagged_words_have_their_places_in_the_line(context: str, shell: Shell) -> None:
    rows = {"words": [["Anna", "sang"], ["Tom", "ran"]] * 4, "labels": [["B-X", "O"], ["B-X", "O"]] * 4}
    rows["document"] = [0] * 8  # type: ignore[assignment]
    splits = {role: Split(role, (RowsFrom(lambda workspace: rows),)) for role in ("train", "dev")}  # type: ignore[arg-type]
    names = Task(
        "mine/names", "Who?", Tag(("O", "B-X", "I-X")), splits, (EXACT_MATCH,), recipe=QUICK.changed(context=context)
    )
    shell.plugins = plugins(register_tasks=[names], register_leaderboards=[])
    where = ["--runs", str(shell.folder / "runs")]
    shown = shell.json("run", "names", "--backbone", "words", *where, "--quiet", "--device", "cpu")
    Path("mine").write_text(" Anna  sang,\ttoo\n")
    _, out, err = shell("predict", shown["cells"][0]["selected"], "mine", "--lines", "--json-lines", *where)
    assert "mine: each line is a document of its own" in err
    line = json.loads(out)
    assert [line["text"][first:end] for first, end in line["words"]] == ["Anna", "sang,", "too"]
    assert len(line["answer"]) == 3


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--lines", "--split", "dev"], "--lines says how a file is read: name the file, or - for standard input."),
        (["--json", "--json-lines"], "give one of the three"),
        (["--board", "moods", "--out", "x", "--json-lines"], "give one of the three"),
    ],
)
def test_options_that_contradict_each_other_are_refused(words: list[str], reason: str, shell: Shell) -> None:
    assert reason in shell.refused("predict", shell.fitted(), *words, *shell.folders())
