"""Check the rows of tag tasks, one per sentence: lists of equal lengths, known labels, documents in one piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from benchrunner.data.arrow_arrays import arrow_array
from benchrunner.errors import DataError
from benchrunner.io.file_faults import shown, some_names

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from benchrunner.data.rows import Rows


def checked_rows(rows: Rows, labels: Sequence[str], *, labelled: bool) -> pa.Table:
    """Return the columns `words`, `labels`, `document` and further lists of texts, or raise `DataError`.

    Only `words` is required; `labels` too, if the rows are to be labelled.
    """
    import pyarrow as pa

    names = rows.table.column_names
    if "words" not in names or (labelled and "labels" not in names):
        raise DataError(f"{rows.origin}: columns words, labels are needed; found {some_names(names)}.")
    words = _lists(rows, "words")
    columns: dict[str, pa.Array] = {"words": arrow_array(words, pa.list_(pa.string()))}
    for name in names:
        unlabelled = name == "labels" and not labelled and rows.table.column(name).null_count == len(rows)
        is_kept = name == "labels" or _is_list_of_texts(rows.table.column(name).type)
        if name not in ("words", "document") and is_kept and not unlabelled:
            columns[name] = arrow_array(_lists(rows, name, words), pa.list_(pa.string()))
    if "labels" in columns:
        _check_labels(rows, columns["labels"].to_pylist(), labels)
    if "document" in names:
        columns["document"] = arrow_array(_documents(rows), pa.int64())
    return pa.table(columns)


def _lists(rows: Rows, name: str, words: Sequence[Sequence[str]] | None = None) -> list[list[str]]:
    """Return a column of lists of texts, or raise `DataError`. If `words` is given, the lists must be as long."""
    lists: list[list[str]] = rows.table.column(name).to_pylist()
    for row, texts in enumerate(lists):
        if not isinstance(texts, list) or not texts:
            raise DataError(
                f"{rows.where(row)}: column '{name}' must be a list of one text or more, found {shown(texts)}."
            )
        if wrong := [text for text in texts if not isinstance(text, str)]:
            raise DataError(f"{rows.where(row)}: column '{name}' must hold nothing but texts, found {shown(wrong[0])}.")
        if words is not None and len(texts) != (count := len(words[row])):
            raise DataError(
                f"{rows.where(row)}: column '{name}' has {len(texts)} entries for a sentence of {count} words."
            )
    return lists


def _is_list_of_texts(column_type: pa.DataType) -> bool:
    import pyarrow as pa

    is_list = pa.types.is_list(column_type) or pa.types.is_large_list(column_type)
    return bool(is_list and column_type.value_type in (pa.string(), pa.large_string()))


def _check_labels(rows: Rows, sentences: Sequence[Sequence[str]], labels: Sequence[str]) -> None:
    known = set(labels)
    for row, sentence in enumerate(sentences):
        for number, label in enumerate(sentence, start=1):
            if label not in known:
                raise DataError(
                    f"{rows.where(row)}: word {number} of this sentence has the label {shown(label)}, "
                    f"which is not one of {', '.join(labels)}."
                )


def _documents(rows: Rows) -> list[int]:
    """Return the number of each row's document; the rows of a document must be neighbours."""
    documents: list[int] = rows.table.column("document").to_pylist()
    seen = set[int]()
    for row, document in enumerate(documents):
        if not isinstance(document, int):
            raise DataError(f"{rows.where(row)}: column 'document' must be a whole number, found {shown(document)}.")
        if document in seen and document != documents[row - 1]:
            raise DataError(
                f"{rows.where(row)}: document {document} continues here, after a sentence of document "
                f"{documents[row - 1]}; the sentences of a document must be neighbours."
            )
        seen.add(document)
    return documents


def sentence_starts(table: pa.Table) -> np.ndarray:
    """Return the first word of each sentence, counted over all rows, then the number of words: int64 (rows + 1,)."""
    import numpy as np
    import pyarrow.compute as pc

    counts = pc.list_value_length(table.column("words")).to_numpy()
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
