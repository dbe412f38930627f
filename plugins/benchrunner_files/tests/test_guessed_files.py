"""`new task --from FILE` writes a file that is a task, says what it guessed, and overwrites nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Workspace
from benchrunner.command_line.main import main
from benchrunner.results import Plugins

CASES: dict[str, tuple[str, str, str, dict[str, str], str]] = {
    "labels": ("train.csv", "text,mood\n" + "a fine day,glad\na gray day,sad\n" * 3, "classify", {"a": "text"}, ""),
    "a misspelled label": (
        "d.csv",
        "text,label\n" + "x y,a\nz w,b\n" * 3 + "q r,bb\n",
        "classify",
        {"a": "text"},
        "bb",
    ),
    "a pair": (
        "d.tsv",
        "premise\thypothesis\tlabel\n" + "p q\tr s\tyes\np q\tr t\tno\n" * 2,
        "classify",
        {"a": "premise", "b": "hypothesis"},
        "--folds 5",
    ),
    "numbers": ("d.csv", "sentence1,sentence2,score\nx y,z,1.5\nx,z y,4.0\n", "regress", {"b": "sentence2"}, "range"),
    "grades": ("d.csv", "text,stars\n" + "x y,1\nz w,2\nq r,3\n" * 3, "classify", {"label": "stars"}, "without order"),
    "semicolons": ("d.csv", "text;label\n" + "x, y;a\nz w;b\n" * 2, "classify", {"a": "text"}, "separated by ';'"),
    "Latin-1": ("d.csv", "text,label\n" + "café x,a\nz w,b\n" * 2, "classify", {"a": "text"}, "latin-1"),
    "words": (
        "d.jsonl",
        '{"tokens": ["A", "B", "C"], "tags": ["O", "O", "B-X"]}\n' * 2,
        "tag",
        {"words": "tokens", "labels": "tags"},
        "",
    ),
    "answers": (
        "d.jsonl",
        '{"id": "1", "question": "who?", "context": "it is me", "answers": {"text": ["me"], "answer_start": [6]}}\n',
        "span",
        {"answers": "answers.text", "starts": "answers.answer_start"},
        "",
    ),
    "choices": (
        "d.csv",
        "text,ending0,ending1,label\nx y,a b,c d,1\nz w,a b,c d,0\n",
        "choose",
        {"a": "text"},
        "",
    ),
    "labels with commas": (
        "d.csv",
        "text,topics\n" + 'x y,u\nz,v\nq,\nx,"u,v"\n' * 2,
        "multi-label",
        {"labels": "topics"},
        "",
    ),
    "names with commas": (
        "d.csv",
        "text,country\n" + 'x y,Chile\nz w,"Korea, North"\nq r,"Korea, South"\n' * 2,
        "classify",
        {"label": "country"},
        "",
    ),
    "graded candidates": (
        "d.jsonl",
        '{"query": "red", "products": ["a red hat", "a hat"], "grades": [2, 0]}\n' * 2,
        "rank",
        {"a": "query", "choices": "products", "label": "grades"},
        "benchrunner[ranking]",
    ),
    "lists of labels": (
        "d.jsonl",
        '{"text": "x y", "labels": ["u", "v"]}\n{"text": "z", "labels": []}\n',
        "multi-label",
        {"labels": "labels"},
        "",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_guess_is_a_task_that_reads_its_file(
    case: str,
    tmp_path: Path,
    plugins: Plugins,
    workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, content, problem, columns, unsure = CASES[case]
    (tmp_path / name).write_bytes(content.encode("latin-1"))
    assert main(["new", "task", "mine", "--from", str(tmp_path / name), "--json"], plugins=plugins) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert 'problem = "' in told["guessed"][0]
    for column, place in columns.items():
        assert f'columns.{column} = "{place}"' in told["guessed"]
    assert unsure in " ".join(told["unsure"])
    task = plugins.tasks.find(str(tmp_path / "mine.toml"))
    assert task.problem.name == problem
    assert len(task.load("train", workspace)) > 0


def test_files_that_differ_in_the_role_are_the_splits(
    tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    for role in ("train", "validation", "test"):
        (tmp_path / f"x-{role}.csv").write_text("text,label\n" + "x y,a\nz w,b\n" * 2)
    assert main(["new", "task", "mood", "--from", str(tmp_path / "x-train.csv")], plugins=plugins) == 0
    told = capsys.readouterr().out
    assert 'splits.dev = "x-validation.csv"' in told and 'splits.test = "x-test.csv"' in told
    assert main(["new", "task", "mood", "--from", str(tmp_path / "x-train.csv")], plugins=plugins) == 2
    assert "is there already, and is not overwritten" in capsys.readouterr().err


def told_of(text: str, folder: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]) -> tuple[list[str], str]:
    """Return what `new task --from` guesses from a text, and the task file."""
    (folder / "d.csv").write_text(text)
    assert main(["new", "task", "mine", "--from", str(folder / "d.csv"), "--json"], plugins=plugins) == 0
    told = json.loads(capsys.readouterr().out)
    return [*told["guessed"], *told["unsure"]], (folder / "mine.toml").read_text()


def test_two_texts_are_a_pair_and_the_range_is_rounded(
    tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "id,first,second,score\nq1,x y,a longer text,0.02\nq2,z w,another long text,5\n"
    told, file = told_of(text, tmp_path, plugins, capsys)
    assert 'columns.a = "first"' in told and 'columns.b = "second"' in told
    assert "column 'id' is not used" in told
    assert "the range is that of this file, rounded outwards: low = 0, high = 5" in told
    assert "low = 0.0\nhigh = 5.0\n" in file


def test_columns_that_are_no_pair_are_said(
    tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "genre,one,two,three,label\n" + "news,a b,c d,e f g,yes\nbook,a c,d e,f g h,no\n" * 2
    told, file = told_of(text, tmp_path, plugins, capsys)
    assert 'columns.a = "three"' in told and "\nb = " not in file
    assert [line for line in told if "not used" in line] == [
        f"column '{name}' is not used" for name in ("genre", "one", "two")
    ]


FAULTS = {
    "nothing there": ("", None, "there is no such file"),
    "no rows": ("a.csv", b"text,label\n", "no rows, from which"),
    "no label": ("a.csv", b"id,text\n1,x y\n2,z\n", "no column looks like a label"),
    "no text": ("a.csv", b"id,label\n1,x\n2,z\n1,x\n2,z\n", "besides 'label', no column holds texts"),
    "words on lines": ("a.conll", b"Ada B-PER\n", "files with a word on each line are not guessed"),
    "binary": ("a.csv", b"\x00\x01" * 9, "not a text file"),
    "no Parquet": ("a.parquet", b"x" * 99, "cannot be read as a Parquet file"),
    "escapes": ("a.csv", b"\x1b[31m,z\n1,2\n", "no column looks like a label"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_task_is_refused(
    fault: str, tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content, message = FAULTS[fault]
    path = tmp_path / (name or "b.csv")
    if content is not None:
        path.write_bytes(content)
    assert main(["new", "task", "--from", str(path)], plugins=plugins) == 2
    error = capsys.readouterr().err
    assert message in error and "\x1b" not in error
    assert not list(tmp_path.glob("*.toml"))
