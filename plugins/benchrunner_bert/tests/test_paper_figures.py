"""Figures of Devlin et al. 2019 in the studies of its tables."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchrunner_bert
from benchrunner.results import Study, discover
from benchrunner_studies.reading import read_study_file

FOLDER = Path(benchrunner_bert.__file__).parent / "studies"


def study(name: str) -> Study:
    path = FOLDER / f"{name}.toml"
    given = {key: "a.txt" for key in ("corpus", "held-out") if f"\n{key} = " in path.read_text()}
    return read_study_file(path, given).study


@pytest.mark.parametrize("number", range(1, 9))
def test_each_row_stands_beside_one_system_or_is_shown_alone(number: int) -> None:
    read = study(f"table{number}")
    beside = [system.published_name for system in read.systems]
    assert len(set(beside)) == len(beside), "no figure of the paper stands beside two systems"
    assert set(beside) == {row.name for row in read.published} - {row.name for row in read.published_alone}


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
def test_boards_list_the_same_figures_as_studies(number: int) -> None:
    pytest.importorskip("benchrunner_leaderboards")
    read = study(f"table{number}")
    board = discover().leaderboards[read.board or "conll2003"]
    rows = [row for row in board.published if row.version in ("", "2019") and row.source.endswith(f"Table {number}")]
    listed = {row.name: {name: figure for name, figure in row.cells.items() if name != "score"} for row in rows}
    assert listed == {row.name: dict(row.cells) for row in read.published}
