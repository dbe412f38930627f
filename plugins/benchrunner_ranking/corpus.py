"""A corpus in BEIR's layout (Thakur et al. 2021): passages in `corpus.jsonl`, queries in `queries.jsonl`, judgements.

`corpus.jsonl` has an object `{"_id": ..., "title": ..., "text": ...}` on each line, `queries.jsonl` an object `{"_id":
..., "text": ...}`, and each file of `qrels/` is a table with the columns `query-id`, `corpus-id` and `score`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, JsonTable, Rows, Source, TextTable, Workspace, quoted

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(frozen=True)
class Corpus:
    """The folder of a data set in BEIR's layout."""

    folders: tuple[str, ...]
    """Paths below the data folder. The first that has the file is read."""

    def paths(self, file: str) -> tuple[str, ...]:
        """Return the paths at which a file of the data set may be."""
        return tuple(f"{folder}/{file}" for folder in self.folders)

    def read(self, workspace: Workspace) -> Rows:
        """Return the passages with the columns `id` and `a`: the title, if there is one, then the text.

        Raises `DataNotFound` without the file, and a `DataError` if two passages have one id.
        """
        import pyarrow as pa

        keys = {"id": "_id", "title": "title", "text": "text"}
        rows = JsonTable(self.paths("corpus.jsonl"), keys, optional=("title",)).read(workspace)
        ids = list(_by_id(rows))
        texts = [
            f"{title or ''} {text}".strip()
            for title, text in zip(rows.table.column("title").to_pylist(), rows.texts("text"), strict=True)
        ]
        return replace(rows, table=pa.table({"id": ids, "a": texts}))

    def checked(self, workspace: Workspace, table: pa.Table) -> Rows:
        """Return the passages that are those of a table's column `corpus`; raise a `DataError` if they were changed."""
        rows = self.read(workspace)
        if set(table.column("corpus").to_pylist()) - {rows.fingerprint}:
            raise DataError(
                f"{rows.origin}: these are not the passages that belong to the queries: the file was changed since the "
                "queries were read. Repeat the command."
            )
        return rows


@final
@dataclass(frozen=True)
class BeirQueries(Source):
    """The judged queries of a split, in the order of its file of judgements; or a user's own file of queries."""

    corpus: Corpus
    split: str = ""
    """Name of the file below `qrels/`, such as `train`; empty for queries without judgements."""
    has_passages: bool = False
    """Whether rows get the texts of the judged passages, which training needs."""
    own: Path | None = None
    """A user's own file of queries."""

    def where(self, workspace: Workspace) -> str:
        return self._judgements.where(workspace) if self.split else self._queries.where(workspace)

    def at(self, path: Path) -> Source:
        return BeirQueries(self.corpus, own=path)

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        corpus = self.corpus.read(workspace)
        queries = self._queries.read(workspace)
        texts = dict(zip(_by_id(queries), queries.texts("text"), strict=True))
        if not self.split:
            own = {"a": list(texts.values()), "query_id": list(texts), "corpus": [corpus.fingerprint] * len(texts)}
            return replace(queries, table=pa.table(own))
        judgements = self._judgements.read(workspace)
        judged = _judged(judgements, texts, queries.origin)
        columns: dict[str, list[Any]] = {
            "a": [texts[query] for query in judged],
            "query_id": list(judged),
            "label": [_label(grades) for _, grades in judged.values()],
            "corpus": [corpus.fingerprint] * len(judged),
        }
        rows = Rows(pa.table(columns), judgements.origin, [line for line, _ in judged.values()], judgements.notes)
        return _with_passages(rows, corpus) if self.has_passages else rows

    @property
    def _queries(self) -> Source:
        table = JsonTable(self.corpus.paths("queries.jsonl"), {"id": "_id", "text": "text"})
        return table if self.own is None else table.at(self.own)

    @property
    def _judgements(self) -> Source:
        columns = {"query": "query-id", "document": "corpus-id", "grade": "score"}
        return TextTable(self.corpus.paths(f"qrels/{self.split}.tsv"), columns)


def _by_id(rows: Rows) -> dict[str, int]:
    """Return the row of each id; raise a `DataError` for an id that is there twice."""
    row_of = dict[str, int]()
    for row, name in enumerate(rows.texts("id")):
        if name in row_of:
            raise DataError(
                f"{rows.where(row)}: the id {quoted(name)} is there already, at {rows.where(row_of[name])}."
            )
        row_of[name] = row
    return row_of


def _judged(
    judgements: Rows,
    queries: Collection[str],
    origin: str,
) -> dict[str, tuple[int, dict[str, int]]]:
    """Return of each judged query the line of its first judgement, and the grades of its passages by their ids."""
    judged = dict[str, tuple[int, dict[str, int]]]()
    lines = judgements.lines or range(len(judgements))
    for row, judgement in enumerate(judgements.table.to_pylist()):
        query, passage = judgement["query"], judgement["document"]
        where = judgements.where(row)
        if query not in queries:
            raise DataError(f"{where}: {origin} has no query {quoted(query)}.")
        grade = _grade(judgement["grade"], where)
        _, grades = judged.setdefault(query, (lines[row], {}))
        if grades.setdefault(passage, grade) != grade:
            raise DataError(f"{where}: the passage {quoted(passage)} has another score for this query above.")
    return judged


def _label(grades: dict[str, int]) -> list[dict[str, Any]]:
    return [{"id": passage, "grade": grade} for passage, grade in grades.items()]


def _with_passages(rows: Rows, corpus: Rows) -> Rows:
    """Add the texts of the judged passages."""
    import pyarrow as pa

    names, texts = (corpus.table.column(name).to_pylist() for name in ("id", "a"))
    text_of = dict(zip(names, texts, strict=True))
    passages = []
    for row, judged in enumerate(rows.table.column("label").to_pylist()):
        for part in judged:
            if part["id"] not in text_of:
                query = quoted(rows.table.column("query_id")[row].as_py())
                raise DataError(
                    f"{rows.where(row)}: {corpus.origin} has no passage {quoted(part['id'])}, which is judged for the "
                    f"query {query}."
                )
        passages.append([text_of[part["id"]] for part in judged])
    return replace(rows, table=rows.table.append_column("passages", pa.array(passages, pa.list_(pa.string()))))


def _grade(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"{where}: score {quoted(text)} is not a whole number.") from None
