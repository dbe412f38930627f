"""The GLUE board: its files, its published rows, and the tasks that it names."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner_leaderboards import register_leaderboards
from benchrunner_submit import Answers, BoardFile, Labels, Leaderboard, Table, read_leaderboard, write_answers
from benchrunner_submit.file_kinds.spellings import Number
from benchrunner_submit.submission_files.checking import detect, findings
from distributions import ROOT
from documents import blocks


@pytest.fixture(scope="module")
def glue() -> Leaderboard:
    return {board.name: board for board in register_leaderboards()}["glue"]


def file_named(board: Leaderboard, name: str) -> BoardFile:
    return next(file for file in board.files if file.name == name)


def labels(*texts: str) -> dict[str, str]:
    return {text: text for text in texts}


THREE = labels("entailment", "neutral", "contradiction")
TWO = labels("entailment", "not_entailment")
FILES: dict[str, tuple[str, str, int, dict[str, str] | None]] = {
    "CoLA.tsv": ("glue/cola", "test", 1063, {"unacceptable": "0", "acceptable": "1"}),
    "SST-2.tsv": ("glue/sst2", "test", 1821, {"negative": "0", "positive": "1"}),
    "MRPC.tsv": ("glue/mrpc", "test", 1725, {"not_equivalent": "0", "equivalent": "1"}),
    "STS-B.tsv": ("glue/stsb", "test", 1379, None),
    "QQP.tsv": ("glue/qqp", "test", 390965, {"not_duplicate": "0", "duplicate": "1"}),
    "MNLI-m.tsv": ("glue/mnli", "test_matched", 9796, THREE),
    "MNLI-mm.tsv": ("glue/mnli", "test_mismatched", 9847, THREE),
    "QNLI.tsv": ("glue/qnli", "test", 5463, TWO),
    "RTE.tsv": ("glue/rte", "test", 3000, TWO),
    "WNLI.tsv": ("glue/wnli", "test", 146, {"not_entailment": "0", "entailment": "1"}),
    "AX.tsv": ("glue/mnli", "ax", 1104, THREE),
}


@pytest.mark.parametrize("name", FILES)
def test_each_file_has_the_servers_rows_header_and_spelling(glue: Leaderboard, name: str) -> None:
    task, split, rows, texts = FILES[name]
    file = file_named(glue, name)
    spelling = Number(0, 5, 3) if texts is None else Labels(texts)
    assert (file.task, file.split, file.rows) == (task, split, rows)
    assert file.kind == Table(("index", "prediction"), spelling)


FIRST_VERSION = """
                  QNLI average
BiLSTM+ELMo+Attn  79.9 71.0
OpenAI_GPT        88.1 75.2
BERT-BASE         90.1 79.6
BERT-LARGE        91.1 81.9"""
"""What differs in the paper's first version."""
TABLE_6 = """
            dev_MNLI-m dev_MRPC dev_SST-2
BERT-BASE   84.4       86.7     92.9
BERT-LARGE  86.6       87.8     93.7"""
"""Devlin et al. 2019, Table 6: the two published sizes; accuracy on dev."""


def cells(text: str) -> dict[tuple[str, str], float]:
    """Read a table as (system, column) -> figure; a blank inside of a name is written as _."""
    [columns, *rows] = [line.split() for line in text.strip("\n").splitlines()]
    return {
        (row[0].replace("_", " "), column.replace("_", " ")): float(figure)
        for row in rows
        for column, figure in zip(columns, row[1:], strict=True)
    }


def published(board: Leaderboard, source: str) -> dict[tuple[str, str], float]:
    """Collect the figures of one source as (system, column) -> figure."""
    return {(figure.row.name, figure.column): figure.value for figure in board.figures if figure.row.source == source}


def test_the_official_scores_stand_beside_table_1(glue: Leaderboard) -> None:
    figures = published(glue, "Devlin et al. 2019, Table 1")
    scores = {system: value for (system, column), value in figures.items() if column == "score"}
    assert scores == {"OpenAI GPT": 72.8, "BERT-LARGE": 80.5}
    assert {row.version for row in glue.published if row.source.endswith("2019, Table 1")} == {"2019"}


def test_the_first_version_differs_in_qnli_and_the_average(glue: Leaderboard) -> None:
    assert published(glue, "Devlin et al. 2018, Table 1") == cells(FIRST_VERSION)
    rows = [row for row in glue.published if row.version == "2018"]
    assert all("108k training rows, not comparable" in row.other_data for row in rows) and len(rows) == 4
    assert not any(row.other_data for row in glue.published if row.version != "2018")


def test_dev_figures_and_the_majority_of_wnli_are_there(glue: Leaderboard) -> None:
    assert published(glue, "Devlin et al. 2019, Table 6") == cells(TABLE_6)
    assert published(glue, "Devlin et al. 2019, Appendix B.1") == {("Majority class", "WNLI"): 65.1}
    assert len({row.source for row in glue.published}) == 4


# Four averages are the rounded mean of the cells. For ELMo the mean is 70.94, and the paper prints 71.0.
def test_the_average_is_over_the_nine_columns(glue: Leaderboard) -> None:
    figures = published(glue, "Devlin et al. 2019, Table 1")
    for system in {system for system, _ in figures}:
        own = {column: value for (name, column), value in figures.items() if name == system and column != "score"}
        average = own.pop("average")
        assert len(own) == 9 and average == pytest.approx(sum(own.values()) / 9, abs=0.06)


@pytest.fixture(scope="module")
def small(glue: Leaderboard) -> Leaderboard:
    """The board with at most 3,000 rows in each file: QQP has 390,965."""
    return replace(glue, files=tuple(replace(file, rows=min(file.rows, 3000)) for file in glue.files))


@pytest.fixture(scope="module")
def answers(small: Leaderboard) -> dict[tuple[str, str], Answers]:
    """Make a whole submission: each label in turn, and numbers on both sides outside of the range."""
    whole = {}
    for file in small.files:
        values: list[Any] = list(FILES[file.name][3] or [-0.5, 2.34567, 5.5])
        whole[file.pair] = Answers([values[index % len(values)] for index in range(file.rows)])
    return whole


def test_a_whole_submission_passes_the_check(
    small: Leaderboard, answers: dict[tuple[str, str], Answers], tmp_path: Path
) -> None:
    path = write_answers(small, answers, tmp_path)
    assert findings(small, path).faults == []
    assert detect([small], path) is small
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == list(FILES)
        assert archive.read("CoLA.tsv")[:25] == b"index\tprediction\n0\t0\n1\t1\n"
        assert archive.read("STS-B.tsv").splitlines()[1:4] == [b"0\t0.000", b"1\t2.346", b"2\t5.000"]
        assert archive.read("AX.tsv").splitlines()[-1] == b"1103\tcontradiction"
        assert [len(archive.read(name).splitlines()) - 1 for name in FILES] == [file.rows for file in small.files]


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("CoLA.tsv", b"\n1\t1\n", b"\n1\tacceptable\n", "CoLA.tsv:3: found 'acceptable'; expected 0 or 1: write 1"),
        ("RTE.tsv", b"\n1\tnot_entailment\n", b"\n1\t1\n", "RTE.tsv:3: found '1'; expected entailment or"),
        ("STS-B.tsv", b"2\t5.000", b"2\t5.100", "STS-B.tsv:4: found '5.100'; expected a number from 0 to 5: clip"),
    ],
)
def test_common_mistakes_of_other_tools_are_faults(
    glue: Leaderboard, answers: dict[tuple[str, str], Answers], name: str, old: bytes, new: bytes, message: str
) -> None:
    file = file_named(glue, name)
    content = file.kind.write(name, answers[file.pair])
    assert old in content
    (fault,) = file.kind.check(name, content.replace(old, new, 1), file.rows)
    assert fault.startswith(message)


def test_the_older_qnli_test_set_is_known_by_its_count(glue: Leaderboard) -> None:
    file = file_named(glue, "QNLI.tsv")
    content = file.kind.write(file.name, Answers(["entailment"] * 5740))
    faults = file.kind.check(file.name, content, file.rows, file.other_rows)
    assert "QNLI.tsv: 5,740 answers (the older QNLI test set), expected 5,463." in faults


def test_the_board_names_splits_labels_and_metrics_of_the_tasks(glue: Leaderboard) -> None:
    plugin = pytest.importorskip("benchrunner_glue")
    tasks = {task.name: task for task in plugin.register_tasks()}
    for file in glue.files:
        task = tasks[file.task]
        assert task.splits[file.split].rows == file.rows
        assert task.splits[file.split].role == "test"
        assert set(file.kind.labels_by_text.values()) == set(task.problem.identity().get("labels", []))
    glue.check_tasks(tasks, tasks)
    assert glue.columns["MNLI-m"].dev_split(tasks["glue/mnli"]) == "dev_matched"
    assert glue.columns["MNLI-mm"].dev_split(tasks["glue/mnli"]) == "dev_mismatched"


def test_the_documented_board_can_be_read(tmp_path: Path) -> None:
    (block,) = blocks("toml", ROOT / "docs" / "reference" / "boards.md")
    (tmp_path / "moods.toml").write_text(block)
    assert read_leaderboard(tmp_path / "moods.toml").name == "moods"


def test_the_readme_lists_every_board() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text()
    for board in register_leaderboards():
        listed = f"`{board.archive}` | {len(board.files)} " if board.files else "- | takes no files "
        assert f"| `{board.name}` | {listed}" in readme
