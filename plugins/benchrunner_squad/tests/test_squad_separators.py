"""Contexts with unusual line separators such as U+2028: answers stay whole, from the data file to the score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchrunner.command_line.main import main
from benchrunner.results import discover
from benchrunner.runs.folder import RunFolder, read_answers

MARKS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e"
BOARD = "squad-1.1"


def separated(folder: Path) -> None:
    """Write the demo's files and replace the spaces of their contexts by separators."""
    discover().tasks.find("squad/1.1").demo_files(folder)  # type: ignore[misc]
    for path in (folder / "squad").glob("*.json"):
        content = json.loads(path.read_bytes())
        for article in content["data"]:
            for at, paragraph in enumerate(article["paragraphs"]):
                paragraph["context"] = paragraph["context"].replace(" ", MARKS[at % len(MARKS)])
        path.write_bytes(json.dumps(content, ensure_ascii=False).encode())


def test_answers_go_from_prediction_to_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Uses the majority, whose answer to a question of SQuAD 1.1 is the whole context."""
    plugins = discover()
    separated(tmp_path)

    def output(*words: str, fits: bool = True) -> str:
        where = ["--runs", str(tmp_path / "runs"), "--device", "cpu"] if fits else []
        assert main([*words, "--data", str(tmp_path), *where], plugins=plugins) == 0
        return capsys.readouterr().out

    def f1(path: Path) -> float:
        audited = json.loads(output("audit", str(path), "--task", "squad/1.1", "--json", fits=False))["files"][0]
        return float(audited["scores"]["f1"]["value"])

    output("run", "squad/1.1", "--method", "majority", "--quiet")
    (path,) = (tmp_path / "runs").glob("*/predictions/*/answers.jsonl")
    folder = RunFolder(path.parents[3], path.parents[2].name)
    record = folder.prediction_record(path.parent.name)
    assert record is not None
    answers = read_answers(path.parent, record)
    assert set(MARKS) <= set("".join(answers))
    run = path.parents[2].name
    output("predict", run, "--out", str(tmp_path / "answers.tsv"))
    lines = (tmp_path / "answers.tsv").read_bytes().decode().split("\n")
    assert len(lines) == 1 + len(answers) + 1, "one line each, below the header"
    if BOARD not in plugins.leaderboards:
        pytest.skip(f"needs a plugin with the board {BOARD}")
    output("predict", run, "--board", BOARD, "--out", str(tmp_path / "out"))
    written = json.loads((tmp_path / "out" / "predictions.json").read_bytes())
    assert list(written.values()) == answers
    official = f1(tmp_path / "out" / "predictions.json")  # on the script's own scale
    assert official == pytest.approx(100 * f1(tmp_path / "answers.tsv")) and official > 0
