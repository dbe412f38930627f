"""Checks of rows that several problems share: columns that must be there, and columns of texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from benchrunner.errors import DataError
from benchrunner.io.file_faults import shown, some_names

if TYPE_CHECKING:
    from benchrunner.data.rows import Rows


def check_columns(rows: Rows, needed: Iterable[str]) -> None:
    """Raise a `DataError` with the names of the needed columns that the rows lack."""
    names = rows.table.column_names
    if missing := [name for name in needed if name not in names]:
        raise DataError(f"{rows.origin}: no column {', '.join(missing)}; found {some_names(names)}.")


def checked_texts(rows: Rows, column: str) -> list[str]:
    """Return the values of a column, or raise a `DataError` for the first value that is no text."""
    texts: list[str] = rows.table.column(column).to_pylist()
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise DataError(f"{rows.where(row)}: column '{column}' must be text, found {shown(text)}.")
    return texts
