"""`check_leaderboard` names the fault of every broken leaderboard of a table; all of our own leaderboards pass."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Faults, PluginError, PublishedColumn, PublishedRow, RequestError
from benchrunner_kit.testing import check_leaderboard
from benchrunner_submit import Answers, ExpectedRows, FileKind, Labels, Leaderboard
from benchrunner_submit.file_kinds.text_files import Lines
from inline import board, mood


def with_file(**changes: Any) -> Leaderboard:
    """The inline board with a changed file."""
    whole = board()
    return replace(whole, files=(replace(whole.files[0], **changes),))


@dataclass(frozen=True)
class Plain(FileKind):
    """A line for each answer; each broken kind changes a method."""

    def write(self, name: str, answers: Answers) -> bytes:
        return "".join(f"{value}\n" for value in answers.values).encode()

    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        lines = content.decode("utf-8", "replace").splitlines()
        expected.check_count(len(lines), "line", faults)
        for number, line in enumerate(lines, start=1):
            if line not in ("glad", "sad"):
                faults.at(number, line, "expected glad or sad")
        return lines


class FindsNothing(Plain):
    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        return []


class CountsNothing(Plain):
    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        if not set(content.decode("utf-8", "replace").split()) <= {"glad", "sad"}:
            faults.say("expected glad or sad")
        return []


class CrashesOnBytes(Plain):
    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        if b"\0" in content:
            raise LookupError("no such character")
        return super().read(content, expected, faults)


class RefusesItself(Plain):
    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        raise ValueError("always wrong")


class WritesTheTime(Plain):
    def write(self, name: str, answers: Answers) -> bytes:
        return super().write(name, answers) + f"{time.perf_counter_ns()}\n".encode()

    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        expected.check_count(len(content.split(b"\n")) - 2, "line", faults)
        return []


class TakesThreeBytes(Plain):
    def max_bytes(self, rows: int) -> int:
        return 3


class CannotWrite(Plain):
    def write(self, name: str, answers: Answers) -> bytes:
        raise RequestError("no answer can be written")


def published(column: PublishedColumn) -> Leaderboard:
    row = PublishedRow("Coin", "made up", {"mood": 50.0})
    return replace(board(), columns={"mood": column}, published=(row,))


BROKEN: dict[str, tuple[Callable[[], Leaderboard], str]] = {
    "another task": (lambda: with_file(task="mine/moods"), "there is no task 'mine/moods'. Did you mean mine/mood?"),
    "another split": (
        lambda: with_file(split="tests"),
        "moods.tsv.split: there is no split of mine/mood 'tests'",
    ),
    "another number of rows": (lambda: with_file(rows=21), "has 21 rows, and the split 'test' of mine/mood has 20"),
    "a label too many": (
        lambda: with_file(kind=Lines(Labels({"glad": "1", "sad": "0", "calm": "2"}))),
        "moods.tsv.labels: there is no label of mine/mood 'calm'",
    ),
    "an unknown figure": (lambda: with_file(extra_figure="odds"), "moods.tsv: needs the extra figure 'odds'"),
    "a check that finds nothing": (lambda: with_file(kind=FindsNothing()), "passes its check where it is empty"),
    "a check that counts nothing": (lambda: with_file(kind=CountsNothing()), "passes its check where it lost its last"),
    "a check that crashes": (
        lambda: with_file(kind=CrashesOnBytes()),
        "where it is no text failed: LookupError: no such character",
    ),
    "a check that refuses all": (lambda: with_file(kind=RefusesItself()), "does not pass its own check"),
    "a file of the time": (lambda: with_file(kind=WritesTheTime()), "moods.tsv differs from call to call"),
    "a split that fits learn from": (lambda: with_file(split="train", rows=48), "from which fits learn: name a test"),
    "a limit of bytes that is too low": (lambda: with_file(kind=TakesThreeBytes()), r"has \d+ bytes for 20 rows: let"),
    "a kind that cannot write": (lambda: with_file(kind=CannotWrite()), "  - no answer can be written"),
    "figures of an unknown metric": (
        lambda: published(PublishedColumn("dev", metric="f2", task="mine/mood", split="dev")),
        "columns.mood.metric: .*f2",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_leaderboard_is_told_how(name: str, tmp_path: Path) -> None:
    make, fault = BROKEN[name]
    with pytest.raises(PluginError, match=fault) as refusal:
        check_leaderboard(make(), [mood()], tmp_path)
    assert str(refusal.value).startswith("the leaderboard 'moods' breaks its contract:\n  - ")


@pytest.mark.parametrize("make", [board, lambda: with_file(kind=Plain())], ids=["table", "own kind"])
def test_a_whole_leaderboard_passes(make: Callable[[], Leaderboard], tmp_path: Path) -> None:
    check_leaderboard(make(), [mood()], tmp_path)


def test_a_folder_and_a_board_without_files_pass(tmp_path: Path) -> None:
    check_leaderboard(replace(board(), archive="moods/"), [mood()], tmp_path)
    column = PublishedColumn("dev", metric="accuracy", task="mine/mood", split="dev")
    row = PublishedRow("Coin", "made up", {"mood": 50.0})
    bare = Leaderboard("coins", "Coins", "https://example.org", columns={"mood": column}, published=(row,))
    check_leaderboard(bare, [mood()], tmp_path)
