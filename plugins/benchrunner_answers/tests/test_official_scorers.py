"""Scores by official scorers and by rows of a file, through the command `audit`."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import inline
from benchrunner import Reshaped, Rows, RowsFrom, Score, Scored, Scorer, Split, TextTable
from benchrunner.command_line.main import main
from benchrunner_tasks import HubTable


class Counting(Scorer):
    """A scorer that reads files which begin with "official", and counts their words."""

    options = {"weights": "how much each row weighs, 50% at most"}

    def recognizes(self, path: Path) -> bool:
        return path.read_bytes().startswith(b"official")

    def score(self, path: Path, gold: Rows | None, files: Mapping[str, Path]) -> Scored:
        figures = {"words": Score(len(path.read_text().split())), "rows": Score(None, "no gold")}
        if gold is not None:
            figures["rows"] = Score(float(len(gold)))
        return Scored(figures, f"{sorted(files)} beside {path.name}\n", ("An odd file.",) * (len(files) == 0))


class Alone(Counting):
    needs_gold = False
    options = {}


Say = Callable[..., tuple[int, str, str]]


def scores(printed: str) -> Any:
    """The scores of the only file, as --json prints them."""
    (file,) = json.loads(printed)["files"]
    return file["scores"]


@pytest.fixture
def say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run `benchrunner` where a task `mine/mood` has the first scorer and `mine/other` the second."""
    monkeypatch.chdir(tmp_path)
    inline.files(1, tmp_path / "data")
    (tmp_path / "said.txt").write_text("official answers")
    (tmp_path / "weights.txt").write_text("1")

    def run(*words: str, scorers: Sequence[Scorer | None] = (Counting(), None)) -> tuple[int, str, str]:
        tasks = [
            inline.mood(name=name, scorer=scorer)
            for name, scorer in zip(("mine/mood", "mine/other"), scorers, strict=True)
        ]
        code = main(words, plugins=inline.plugins(register_tasks=tasks))
        out, err = capsys.readouterr()
        return code, out, err

    return run


def test_a_file_in_official_layout_uses_the_official_scorer(say: Say) -> None:
    words = ("audit", "said.txt", "--task", "mine/mood", "--data", "data", "--file", "weights=weights.txt")
    assert say(*words) == (0, "['weights'] beside said.txt\nflags: none\n", "")
    assert say(*words[:-2]) == (0, "[] beside said.txt\nflags: none\n", "An odd file.\n")
    code, out, _ = say(*words, "--json")
    assert code == 0 and scores(out) == {"words": {"value": 2}, "rows": {"value": 24.0}}
    assert '"value": 2\n' in out  # a count stays a whole number


def test_any_other_file_is_read_one_answer_a_line(say: Say) -> None:
    Path("said.txt").write_text("glad\n" * 24)
    code, out, _ = say("audit", "said.txt", "--task", "mine/mood", "--data", "data")
    assert code == 0 and "accuracy" in out and "against data/mood/dev.tsv (24 rows)" in out


def test_a_scorer_that_needs_no_gold_gets_only_what_is_named(say: Say) -> None:
    alone = (Alone(), None)
    named = ("--gold", "data/mood/dev.tsv")
    _, out, _ = say("audit", "said.txt", "--task", "mine/mood", "--json", "--offline", scorers=alone)
    assert scores(out)["rows"]["value"] is None
    for more in (named, ("--split", "dev", "--data", "data")):
        _, out, _ = say("audit", "said.txt", "--task", "mine/mood", "--json", *more, scorers=alone)
        assert scores(out)["rows"] == {"value": 24.0}


def test_what_is_unusual_about_the_gold_rows_is_said(say: Say) -> None:
    path = Path("data/mood/dev.tsv")
    path.write_text(path.read_text() + "one more\tglad\n")
    _, _, err = say("audit", "said.txt", "--task", "mine/mood", "--data", "data")
    assert err == "data/mood/dev.tsv: 25 dev rows, where the official count is 24\nAn odd file.\n"


REFUSED = {
    "of another task": (
        ("said.txt", "--task", "mine/other", "--file", "weights=weights.txt"),
        "--file weights=...: the official scorer of mine/other takes no further files.",
    ),
    "nowhere": (
        ("said.txt", "--task", "mine/mood", "--file", "weights=none.txt"),
        "--file weights=none.txt: there is no such file.",
    ),
    "with another layout": (
        ("weights.txt", "--task", "mine/mood", "--file", "weights=weights.txt"),
        "--file weights=... is for files in the",
    ),
}


@pytest.mark.parametrize(("words", "said"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_a_scorer_cannot_use_is_refused(say: Say, words: tuple[str, ...], said: str) -> None:
    code, out, err = say("audit", *words, "--data", "data")
    assert (code, out) == (2, "") and err.startswith(f"benchrunner: {said}")


def test_gold_in_any_layout_is_read_by_the_source_that_knows_it(say: Say, tmp_path: Path) -> None:
    shape = TextTable("nowhere.csv", {"text": "text", "label": "mood"}, separator=",", quoted=True)
    dev = Split(
        "dev", (HubTable("no/where", "", "dev", {}), Reshaped(shape, lambda one: one.rename_columns(["a", "label"])))
    )
    splits = {**inline.mood().splits, "dev": dev}
    (tmp_path / "mine.csv").write_text('text,mood\n"a, b",glad\nc,sad\n')
    (tmp_path / "said.txt").write_text("glad\nglad\n")
    plugins = inline.plugins(register_tasks=[inline.mood(splits=splits)])
    assert main(["audit", "said.txt", "--task", "mood", "--gold", "mine.csv", "--json"], plugins=plugins) == 0


def test_gold_without_a_row_is_refused(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    Path("mine.tsv").write_text("text\tmood\n")
    assert say("audit", "said.txt", "--task", "mine/mood", "--gold", "mine.tsv")[::2] == (
        2,
        "benchrunner: mine.tsv: no rows.\n",
    )


def test_gold_for_a_task_without_files_is_refused(say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    splits = {name: Split(one.role, (RowsFrom(lambda workspace: {}),)) for name, one in inline.mood().splits.items()}
    plugins = inline.plugins(register_tasks=[inline.mood(splits=splits)])
    assert main(["audit", "said.txt", "--task", "mood", "--gold", "weights.txt"], plugins=plugins) == 2
    assert "mine/mood has no file layout for its split dev; leave --gold out." in capsys.readouterr().err
