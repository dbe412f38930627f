"""The paper's figures beside ours: each only beside the same metric, in a table that fits into a terminal."""

from __future__ import annotations

import pytest

from benchrunner import PublishedRow, Task
from benchrunner.leaderboards.published_choice import choose_published
from benchrunner.results import discover
from benchrunner.studies.comparison.formats import as_table
from benchrunner.studies.comparison.json_values import as_json
from benchrunner_leaderboards import register_leaderboards
from benchrunner_submit import Leaderboard
from made_results import lines, made_result


def tasks(*names: str) -> list[Task]:
    plugins = discover()
    for name in names:
        if not any(task.startswith(name) for task in plugins.tasks):
            pytest.skip(f"no plugin offers {name}")
    return plugins.tasks_of(names)


BESIDE_BASE = """
glue/cola  dev            matthews test 52.1
glue/mnli  dev_matched    accuracy dev 84.4, test 84.6
glue/mnli  dev_mismatched accuracy test 83.4
glue/mrpc  dev            f1       test 88.9
glue/mrpc  dev            accuracy dev 86.7
glue/qnli  dev            accuracy test 90.5
glue/qqp   dev            f1       test 71.2
glue/qqp   dev            accuracy
glue/rte   dev            accuracy test 66.4
glue/sst2  dev            accuracy dev 92.9, test 93.5
glue/stsb  dev            spearman test 85.8
glue/stsb  dev            pearson
glue/wnli  dev            accuracy
squad/1.1  dev            f1          dev 88.5
squad/1.1  dev            exact_match dev 80.8
squad/2.0  dev            f1
squad/2.0  dev            exact
swag/swag  dev            accuracy dev 81.6
"""
"""What stands beside each figure of ours, of BERT-BASE: figures of Tables 1, 2, 4 and 6."""


def test_each_figure_of_base_stands_beside_the_same_metric() -> None:
    choice, shown = choose_published(register_leaderboards(), ["BERT-BASE"]), []
    for task in tasks("glue", "squad", "swag"):
        for split in task.named("dev"):
            for metric in (metric.name for metric in task.metrics if not metric.detail):
                beside = choice.beside_metric(task, split, metric)
                figures = ", ".join(f"{figure.measures.kind} {figure.as_text()}" for figure in beside)
                shown.append(f"{task.name} {split} {metric} {figures}".strip())
    assert shown == [" ".join(line.split()) for line in BESIDE_BASE.strip().splitlines()]


def test_the_papers_average_never_stands_beside_the_glue_score() -> None:
    choice = choose_published(register_leaderboards(), ["all"])
    for average, figures in (("paper average", [74.0, 71.0, 75.1, 79.6, 82.1]), ("GLUE score", [72.8, 80.5])):
        assert [figure.value for figure in choice.beside_average({"glue"}, average)] == figures


def test_qnli_of_the_first_version_stands_beside_nothing() -> None:
    [task] = tasks("glue/qnli")
    beside = choose_published(register_leaderboards(), ["all"]).beside_metric(task, "dev", "accuracy")
    assert [figure.value for figure in beside if figure.measures.kind == "test"] == [82.3, 79.8, 87.4, 90.5, 92.7]


@pytest.mark.parametrize("names", [None, ["all"]])
def test_a_table_of_all_tasks_fits_into_100_columns(names: list[str] | None) -> None:
    listed = tasks("glue", "squad", "swag", "conll")
    result = made_result(listed, ["bert/base-uncased", "checkpoints/of/mine/final-4/step-1000"])
    choice = choose_published(register_leaderboards(), names)
    shown = lines(as_table(result, choice), 100)
    assert max(len(line) for line in shown[1:]) <= 100
    published = [line for line in shown if " test " in line or " dev " in line]
    expected = as_json(result, choice)["published"]
    assert len(published) == len(expected) > 40
    assert all(f"{row['kind']} {row['figure']}" in line for row, line in zip(expected, published, strict=True))


@pytest.mark.parametrize("board", [*register_leaderboards()], ids=lambda board: board.name)
def test_every_figure_of_a_board_is_shown_in_100_columns(board: Leaderboard) -> None:
    shown = []
    for _, table, _ in board.tables():
        assert max(map(len, lines(table, 100))) <= 100
        shown.append({line.cells[0]: list(line.cells[1:]) for line in table.lines})
    expected: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for row in board.published:
        cells = [f"{row.cells[name]:.1f}" if name in row.cells else "-" for name in shown_columns(board, row)]
        expected.setdefault((row.source, row.version, row.other_data), {})[row.name] = cells
    assert shown == list(expected.values())


def shown_columns(board: Leaderboard, row: PublishedRow) -> list[str]:
    """List the columns of the table in which a row stands."""
    rows = [other for other in board.published if (other.source, other.version) == (row.source, row.version)]
    shown = {name for other in rows for name in other.cells}
    return [name for name in board.columns if name in shown]
