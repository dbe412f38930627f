"""Check the rows of span tasks: unique ids, contexts that are not empty, answers that are at their offsets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from benchrunner.errors import BadRows, DataError
from benchrunner.io.file_faults import quoted, shown
from benchrunner.problems.row_checks import check_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from benchrunner.data.rows import Rows

BEYOND = 2.0**24
"""Character position after the end of every context. Raw outputs keep positions as fp32, which represents every whole
number up to this limit exactly."""


def checked_rows(rows: Rows, *, labelled: bool, unanswerable: bool) -> pa.Table:
    """Return the rows as a table of the columns of span tasks, or raise `DataError` or `BadRows`.

    `unanswerable` says whether rows without an answer are allowed.
    """
    import pyarrow as pa

    names = rows.table.column_names
    labelled = labelled or ("answers" in names and rows.table.column("answers").null_count < len(rows))
    needed = ["id", "question", "context", *["answers", "starts"] * labelled]
    check_columns(rows, needed)
    types = {"answers": pa.list_(pa.string()), "starts": pa.list_(pa.int64())}
    try:
        table = pa.table({name: rows.table.column(name).cast(types.get(name, pa.string())) for name in needed})
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"{rows.origin}: a column is of the wrong kind: {error}.") from None
    if faults := dict(_faults(table, labelled, unanswerable)):
        raise BadRows({row: rows.where(row) for row in faults}, faults)
    return table


def _faults(table: pa.Table, labelled: bool, unanswerable: bool) -> Iterator[tuple[int, str]]:
    """Yield each bad row with the reason."""
    row_of = dict[str, int]()
    for row, (name, question, context, answers, starts) in enumerate(_values(table)):
        if any(not isinstance(text, str) for text in (name, question, context)):
            yield row, "id, question and context must be texts"
        elif name in row_of:
            yield row, f"the id {quoted(name)} stands at row {row_of[name]} already"
        elif not context.strip():
            yield row, f"{quoted(name)} has an empty context"
        elif len(context) > BEYOND:
            yield row, f"{quoted(name)} has a context of {len(context):,} characters; {BEYOND:,.0f} is the limit"
        elif answers is None or starts is None:
            if labelled:
                yield row, f"{quoted(name)} is not labelled: its list of answers is missing"
        elif not answers and not unanswerable:
            yield row, f"{quoted(name)} has no answer"
        elif reason := _answer_fault(context, answers, starts):
            yield row, f"{quoted(name)} {reason}"
        row_of.setdefault(name, row)


def _answer_fault(context: str, answers: list[Any], starts: list[Any]) -> str:
    """Say what is wrong with the answers of a row, or return an empty text."""
    if len(answers) != len(starts):
        return f"has {len(answers)} answers and {len(starts)} places for them"
    for answer, start in zip(answers, starts, strict=True):
        if not isinstance(answer, str) or not answer or not isinstance(start, int):
            return f"has the answer {shown(answer)} at {shown(start)}; expected a text and a whole number"
        if start < 0 or context[start : start + len(answer)] != answer:
            text = context[max(start, 0) : max(start, 0) + len(answer)]
            return f"has the answer {quoted(answer)} at character {start}, where the context has {quoted(text)}"
    return ""


def _values(table: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield id, question, context, answers and starts of each row, with None for columns that the table lacks."""
    columns = (
        table.column(name).to_pylist() if name in table.column_names else [None] * table.num_rows
        for name in ("id", "question", "context", "answers", "starts")
    )
    return zip(*columns, strict=True)
