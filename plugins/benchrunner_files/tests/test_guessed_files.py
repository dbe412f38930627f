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
    "a misspelled label": ("d.csv", "text,label\n" + "x y,a\nz w,b\n" * 3 + "q r,bb\n", "classify", {}, "bb"),
    "a pair": (
        "d.tsv",
        "premise\thypothesis\tlabel\n" + "p q\tr s\tyes\np q\tr t\tno\n" * 2,
        "classify",
        {"a": "premise", "b": "hypothesis"},
        "--folds 5",
    ),
    "numbers": ("d.csv", "first,second,score\nx y,z w,1.5\nx z,y,4.0\n", "regress", {"b": "second"}, "range"),
    "grades": ("d.csv", "text,stars\n" + "x y,1\nz w,2\nq r,3\n" * 3, "classify", {"label": "stars"}, "without order"),
    "labels with commas": ("d.csv", "text,topics\n" + 'x y,u\nz,"u,v"\n' * 2, "classify", {}, "multi-label?"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_guess_is_a_task_that_reads_its_file(
    case: str,
    tmp_path: Path,
    plugins: Plugins,
    workspace: Workspace,
    capsys: pytest.CaptureFixture[str],
) -> None:
    name, content, problem, columns, note = CASES[case]
    (tmp_path / name).write_text(content)
    assert main(["new", "task", "mine", "--from", str(tmp_path / name), "--json"], plugins=plugins) == 0
    told: dict[str, Any] = json.loads(capsys.readouterr().out)
    for column, place in columns.items():
        assert f'\n{column} = "{place}"\n' in told["text"]
    assert note in " ".join(told["notes"])
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
    assert 'dev = "x-validation.csv"' in told and 'test = "x-test.csv"' in told
    assert main(["new", "task", "mood", "--from", str(tmp_path / "x-train.csv")], plugins=plugins) == 2
    assert "is there already, and is not overwritten" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["mood --from d.csv", "--from d.csv mood"])
def test_the_name_may_stand_before_or_behind_the_file(
    words: str,
    tmp_path: Path,
    plugins: Plugins,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("text,label\n" + "x y,a\nz w,b\n" * 2)
    assert main(["new", "task", *words.split()], plugins=plugins) == 0
    assert [path.name for path in tmp_path.glob("*.toml")] == ["mood.toml"]
    assert main(["new", "task", "one", "--from", "d.csv", "two"], plugins=plugins) == 2
    assert "Give one name, not one, two." in capsys.readouterr().err


def told_of(text: str, folder: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]) -> tuple[str, list[str]]:
    """Return the task file that `new task --from` writes for a table, and its notes."""
    (folder / "d.csv").write_text(text)
    assert main(["new", "task", "mine", "--from", str(folder / "d.csv"), "--json"], plugins=plugins) == 0
    return (folder / "mine.toml").read_text(), json.loads(capsys.readouterr().out)["notes"]


def test_two_texts_are_a_pair_and_the_range_is_rounded(
    tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "id,first,second,score\nq1,x y,a longer text,0.02\nq2,z w,another long text,5\n"
    file, notes = told_of(text, tmp_path, plugins, capsys)
    assert 'a = "first"\nb = "second"\n' in file and "low = 0.0\nhigh = 5.0\n" in file
    assert "columns that are not used: 'id'" in notes


def test_columns_that_are_no_pair_are_said(
    tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "genre,one,two,three,label\n" + "news,a b,c d,e f g,yes\nbook,a c,d e,f g h,no\n" * 2
    file, notes = told_of(text, tmp_path, plugins, capsys)
    assert 'a = "three"' in file and "\nb = " not in file
    assert "columns that are not used: 'genre', 'one', 'two'" in notes


LABELS = {
    "years of many values": ("released", [str(1990 + row % 14) for row in range(40)], "genre"),
    "years of few values": ("released", ["1998", "2004"] * 20, "genre"),
    "years with a gap": ("released", ["1998", ""] * 20, "genre"),
    "dates by name": ("year", ["1", "2"] * 20, "genre"),
    "grades": ("stars", ["1", "2", "5", "3"] * 10, "stars"),
    "labels": ("mood", ["glad", "sad"] * 20, "mood"),
}


@pytest.mark.parametrize("case", LABELS)
def test_a_label_is_no_year(case: str, tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]) -> None:
    last, values, label = LABELS[case]
    lines = [f"text,genre,{last}"]
    for row, value in enumerate(values):
        lines.append(f"a film number {row},{'crime' if row % 3 else 'love'},{value}")
    file, notes = told_of("\n".join(lines) + "\n", tmp_path, plugins, capsys)
    assert f'label = "{label}"\n' in file
    unused = last if label == "genre" else "genre"
    assert f"columns that are not used: '{unused}'" in notes


def test_years_are_guessed_where_nothing_else_repeats(
    tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["text,year", *(f"a film number {row},{1990 + row % 14}" for row in range(40))]
    file, _ = told_of("\n".join(lines) + "\n", tmp_path, plugins, capsys)
    assert 'label = "year"\n' in file and 'problem = "regress"\n' in file


FAULTS = {
    "nothing there": ("", None, "there is no such file"),
    "no rows": ("a.csv", "text,label\n", "no rows, from which"),
    "empty labels": ("a.csv", "text,label\nx y,\nz w,\n", "'label' has 0 values, which are no labels"),
    "no label": ("a.csv", "id,text\n1,x y\n2,z\n", "no column is named label or repeats few values"),
    "no text": ("a.csv", "id,label\n1,x\n2,z\n1,x\n2,z\n", "besides 'label', no column holds texts"),
    "words on lines": ("a.conll", "Ada B-PER\n", "its suffix is not .csv, .tsv, .jsonl or .parquet"),
    "words in lists": ("a.jsonl", '{"words": ["A"], "labels": ["O"]}\n', "the column 'words' is not one of"),
    "answers": ("a.csv", "title,context,label\n" + "x,it is me,who?\n" * 4, "the column 'context' is not one of"),
    "candidates": ("a.jsonl", '{"query": "q r", "texts": ["a b"], "label": [1]}\n', "the column 'texts' is not one of"),
    "no Parquet": ("a.parquet", "x" * 99, "cannot be read as a Parquet file"),
    "escapes": ("a.csv", "\x1b[31m,z\n1,2\n", "no column is named label"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_no_task_is_refused(
    fault: str, tmp_path: Path, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    name, content, message = FAULTS[fault]
    path = tmp_path / (name or "b.csv")
    if content is not None:
        path.write_text(content)
    assert main(["new", "task", "--from", str(path)], plugins=plugins) == 2
    error = capsys.readouterr().err
    assert message in error and "\x1b" not in error
    assert not list(tmp_path.glob("*.toml"))
    assert ("The problems are classify, " in error) == ("is not guessed" in error)
