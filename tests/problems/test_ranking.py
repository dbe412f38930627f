"""A kind of question of a plugin's own is one class: here ranking, taken through every command.

The class uses the public surface alone, and its columns, its labels and its answers are unlike those of the core.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import DataError, Metric, Recipe, Rows, Split, Task, TextTable, Workspace
from benchrunner.engine import Encoder, Features, FlatBatch, HeadShape, Problem
from benchrunner.results import Runner
from benchrunner_kit.testing import check_task
from benchrunner_submit import BoardFile, Leaderboard, Spelling
from benchrunner_submit.file_kinds.json_file import JsonMap
from benchrunner_submit.submissions.gaps import fill_in, find_gaps
from command_line import CommandLine
from inline import plugins

COUNTS = {"train": 64, "dev": 24, "test": 12}
WORDS = (("rainy", "gloomy", "bleak"), ("grey", "plain", "usual"), ("sunny", "merry", "bright"))
"""By relevance: what the question in this test prefers."""


@dataclass(frozen=True)
class Rank(Problem):
    """Candidates in the order of their relevance to a query: an answer is a list of candidates' numbers, best first."""

    candidates: int
    name: str = "rank"
    label_columns = ("relevance",)

    @property
    def head(self) -> HeadShape:
        return HeadShape("sequence", 1)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        columns = {name: rows.table.column(name) for name in ("id", "query")}
        columns["candidates"] = self._lists(rows, "candidates", lambda text: text.split(" | "))
        if "relevance" in rows.table.column_names:
            columns["relevance"] = self._lists(rows, "relevance", lambda text: [int(part) for part in text.split()])
        return pa.table(columns)

    def _lists(self, rows: Rows, name: str, split: Callable[[str], list[Any]]) -> pa.Array:
        lists = [split(text) for text in rows.table.column(name).to_pylist()]
        for row, values in enumerate(lists):
            if len(values) != self.candidates:
                raise DataError(f"{rows.where(row)}: {len(values)} {name}; expected {self.candidates}.")
        return pa.array(lists)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        queries = [query for query in table.column("query").to_pylist() for _ in range(self.candidates)]
        texts = [text for row in table.column("candidates").to_pylist() for text in row]
        gold = self.gold(table)
        return Features.of(
            encoder.assemble(queries, texts, recipe.max_length),
            groups=np.arange(table.num_rows + 1) * self.candidates,
            owner=np.repeat(np.arange(table.num_rows), self.candidates),
            targets=None if gold is None else {"relevance": np.array(gold, dtype=np.float32)},
        )

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Cross-entropy between the softmax of the relevances and that of the scores (ListNet, Cao et al. 2007)."""
        scores = outputs.float().view(-1, self.candidates)
        return -(batch.targets["relevance"].softmax(1) * scores.log_softmax(1)).sum()

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        return outputs.reshape(-1, self.candidates)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        return np.argsort(-outputs, axis=1, kind="stable").tolist()

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return np.asarray(np.mean(np.stack(outputs), axis=0))

    def spell(self, answer: Any) -> str:
        return " ".join(map(str, answer))

    def parse(self, text: str) -> list[int]:
        if sorted(text.split()) != [str(number) for number in range(self.candidates)]:
            raise ValueError(f"the numbers from 0 to {self.candidates - 1} in some order")
        return [int(part) for part in text.split()]

    def best_answer(self, gold: Any) -> list[int]:
        return sorted(range(len(gold)), key=lambda number: -gold[number])

    def majority_output(self, table: pa.Table) -> np.ndarray:
        return np.asarray(np.mean(self.gold(table), axis=0), dtype=np.float32)


@dataclass(frozen=True)
class Order(Spelling):
    """An order of candidates as "2>0>1"."""

    def write(self, answer: Any) -> str:
        return ">".join(map(str, answer))

    def advice(self, text: str) -> str | None:
        return None if text.replace(">", "").isdigit() else "expected numbers with '>' between them"


def first_is_best(gold: Sequence[Any], answers: Sequence[Any]) -> float:
    hits = [relevance[answer[0]] == max(relevance) for relevance, answer in zip(gold, answers, strict=True)]
    return sum(hits) / len(hits)


def files(seed: int, folder: Path) -> None:
    """rank/train.tsv, dev.tsv and test.tsv; test.tsv without relevances."""
    (folder / "rank").mkdir(parents=True)
    for role, count in COUNTS.items():
        draw = random.Random(f"{seed} {role}")
        lines = ["name\tquestion\ttexts" + "\trelevance" * (role != "test")]
        for number in range(count):
            relevance = draw.sample(range(3), 3)
            texts = " | ".join(f"a {draw.choice(WORDS[level])} day" for level in relevance)
            line = f"{role}-{number}\twhich day\t{texts}"
            lines.append(line + f"\t{' '.join(map(str, relevance))}" * (role != "test"))
        (folder / "rank" / f"{role}.tsv").write_text("\n".join(lines) + "\n")


def split(role: Any) -> Split:
    columns = {"id": "name", "query": "question", "candidates": "texts"}
    columns |= {} if role == "test" else {"relevance": "relevance"}
    return Split(role, (TextTable(f"rank/{role}.tsv", columns),), COUNTS[role])


TASK = Task(
    name="mine/days",
    about="Which day is nicest?",
    problem=Rank(3),
    splits={role: split(role) for role in COUNTS},
    metrics=(Metric("first", first_is_best),),
    recipe=Recipe(lr=0.02, epochs=4, batch_size=8, max_length=32),
    demo_files=partial(files, 0),
)
BOARD = Leaderboard(
    "days",
    "The board of days",
    "https://days.example",
    "days.zip",
    (BoardFile("days.json", "mine/days", "test", COUNTS["test"], JsonMap("id", Order())),),
)


@pytest.fixture
def line(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    files(0, tmp_path / "data")
    own = plugins(register_tasks=[TASK], register_leaderboards=[BOARD])
    return CommandLine(tmp_path, own, capsys, monkeypatch)


def test_the_task_keeps_its_contract(tmp_path: Path) -> None:
    check_task(TASK, tmp_path)


def test_a_kind_of_question_of_a_plugin_works_in_every_command(tmp_path: Path, line: CommandLine) -> None:
    line.done("compare", "words", "--tasks", "days", "--seeds", "0,1", "--keep", "all")
    runs = line.fitted()
    assert len(runs) == 2

    line.done("predict", runs[0], "--split", "dev", "--out", tmp_path / "dev.tsv")
    assert (tmp_path / "dev.tsv").read_text().count("\n") == 1 + COUNTS["dev"]

    mine = tmp_path / "mine.tsv"
    mine.write_text("id\tquery\tcandidates\nx\twhich day\ta bleak day | a merry day | a plain day\n")
    line.done("predict", runs[0], mine, "--out", tmp_path / "answers.tsv")
    header, answer = (tmp_path / "answers.tsv").read_text().splitlines()
    assert header == "index\tprediction" and answer.startswith("0\t1 ") and len(answer.split()) == 4

    line.done("predict", "--ensemble", *runs, "--split", "dev", "--out", tmp_path / "dev.tsv")
    (audited,) = line.json("audit", tmp_path / "dev.tsv", "--task", "days", "--split", "dev")["files"]
    assert audited["scores"]["first"]["value"] > 0.8

    code, written = line("runs", "export", runs[0], tmp_path / "out")
    assert code == 2 and "no other library has a head for problems of the kind 'rank'" in written
    assert not (tmp_path / "out").exists()

    written = line.done("submit", "days", "--ensemble", *runs, "--out", tmp_path / "days.zip")
    assert "is ready for days" in written
    assert line("check", tmp_path / "days.zip")[0] == 0


@pytest.mark.parametrize(
    ("lost", "reason"),
    [
        ("dev", "the training majority"),
        ("train", "there are no training rows to count"),
        ("test", "days.json has id of each row, which only the data tell"),
    ],
)
def test_a_file_is_filled_where_its_rows_are_known(lost: str, reason: str, tmp_path: Path, line: CommandLine) -> None:
    (tmp_path / "data" / "rank" / f"{lost}.tsv").unlink()
    workspace = Workspace(tmp_path / "runs", tmp_path / "cache", data=tmp_path / "data")
    made, board = Runner(line.plugins, workspace), line.plugins.leaderboards.find("days")
    filled, unfilled = fill_in(board, find_gaps(board, ["mine/days"], made, unchosen=""), made)
    (told,) = [*(answers.filled for answers in filled.values()), *unfilled.values()]
    assert reason in told


def test_rows_that_do_not_fit_name_their_line(tmp_path: Path, line: CommandLine) -> None:
    table = (tmp_path / "data" / "rank" / "train.tsv").read_text().splitlines()
    table[3] = table[3].replace(" | ", " ", 1)
    (tmp_path / "data" / "rank" / "train.tsv").write_text("\n".join(table) + "\n")
    code, written = line("run", "days", "--method", "majority")
    assert code == 2 and "train.tsv:4: 2 candidates; expected 3." in written


def test_a_task_that_changed_cannot_be_exported(tmp_path: Path, line: CommandLine) -> None:
    assert line("run", "days", "--backbone", "words", "--keep", "all")[0] == 0
    (run,) = line.fitted()
    line.plugins = plugins(register_tasks=[replace(TASK, problem=Rank(4))])
    code, written = line("runs", "export", run, tmp_path / "out")
    assert code == 2 and "the problem of mine/days changed since this fit was made" in written
