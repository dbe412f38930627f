"""The log of a training: all whole lines are read, and half a line of a killed process is skipped."""

from pathlib import Path

import pytest

from benchrunner.training import step_log


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.jsonl"
    for step in (10, 20, 30):
        step_log.append(path, step, {"loss": 1 / step, "note": "naïve"})
    return path


def test_a_line_is_a_step_and_its_figures(log: Path) -> None:
    assert log.read_text(encoding="utf-8").splitlines()[0] == '{"step": 10, "loss": 0.1, "note": "na\\u00efve"}'
    assert step_log.read(log) == [{"step": step, "loss": 1 / step, "note": "naïve"} for step in (10, 20, 30)]


def test_a_missing_log_has_no_lines(tmp_path: Path) -> None:
    assert step_log.read(tmp_path / "log.jsonl") == []


@pytest.mark.parametrize(("step", "left"), [(0, 0), (9, 0), (10, 1), (29, 2), (30, 3), (99, 3)])
def test_cutting_back_keeps_the_lines_up_to_a_step(log: Path, step: int, left: int) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    step_log.cut_back(log, step)
    assert log.read_bytes() == b"".join(lines[:left])
    assert [path.name for path in log.parent.iterdir()] == ["log.jsonl"]


def test_cutting_back_a_missing_log_creates_it(tmp_path: Path) -> None:
    step_log.cut_back(tmp_path / "run" / "log.jsonl", 5)
    assert (tmp_path / "run" / "log.jsonl").read_bytes() == b""


@pytest.mark.parametrize("half", ["{", '{"step": 4', '{"step": 40, "loss": 0.', '"step"', "[40]", '{"loss": 1}'])
def test_half_a_line_is_skipped(log: Path, half: str) -> None:
    whole = log.read_bytes()
    with log.open("a", encoding="utf-8") as file:
        file.write(half)
    assert [line["step"] for line in step_log.read(log)] == [10, 20, 30]
    step_log.cut_back(log, 99)
    assert log.read_bytes() == whole


def test_a_last_line_without_newline_is_kept_and_appended_below(log: Path) -> None:
    log.write_bytes(log.read_bytes().removesuffix(b"\n"))
    step_log.cut_back(log, 30)
    step_log.append(log, 40, {})
    assert [line["step"] for line in step_log.read(log)] == [10, 20, 30, 40]


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"step": 1, "note": "a\u2028b\u2029c\x85d"}\n{"step": 2}\n', encoding="utf-8")
    assert [line["step"] for line in step_log.read(path)] == [1, 2]


def test_damaged_lines_of_a_log_are_skipped(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    step_log.append(log, 1, {"loss": 0.5})
    with log.open("ab") as file:
        file.write(b'{"step": 2, "loss": \xff}\n' + b"[" * 100_000 + b'\n{"step": 3, "loss": 0.25}\n')
    assert step_log.read(log) == [{"step": 1, "loss": 0.5}, {"step": 3, "loss": 0.25}]
