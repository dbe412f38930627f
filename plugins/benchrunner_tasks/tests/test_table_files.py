"""Sources of tables: what a Parquet file must have."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from benchrunner import DataError, Workspace
from benchrunner_tasks import table_file

TABLE = pa.table(
    [pa.array([{"b": 1}, None]), pa.array(["x", "y"]), pa.array([1, 2]), pa.array([3, 4])],
    names=["a", "text", "twice", "twice"],
)


def read(path: Path, place: str) -> list[object]:
    parquet.write_table(TABLE, path / "mine.parquet")
    table = table_file("parquet", path / "mine.parquet", {"value": place})
    return table.read(Workspace.from_environment()).table.column("value").to_pylist()


def test_a_place_is_a_column_or_a_part_of_one(tmp_path: Path) -> None:
    assert read(tmp_path, "text") == ["x", "y"] and read(tmp_path, "a.b") == [1, None]


@pytest.mark.parametrize("place", ["none", "a.none", "text.b"])
def test_a_place_that_is_not_there_is_an_error(place: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=rf"mine.parquet has no columns named '{place}'; it has a, text, twice, twice"):
        read(tmp_path, place)


def test_a_column_that_stands_twice_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"mine.parquet has 2 columns named 'twice'; it has a, text"):
        read(tmp_path, "twice")
