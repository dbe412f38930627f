"""Reads folders of JSON lines with minimal pairs: the layouts of BLiMP, EWoK and COMPS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataNotFound, JsonTable, Reshaped, Rows, Source, Workspace, quoted

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = {name: name for name in ("a", "choices", "label", "ending", "paradigm", "phenomenon", "item")}
"""Columns of a row: those of `Choose`, the text at the end of both choices that alone is scored, and groups of rows."""
JsonObject = Mapping[str, Any]
RowsOfObject = Callable[[str, JsonObject], Iterator[dict[str, Any]]]
"""Makes the rows of an object from (name of its file without the end, object); the right text stands first."""


@final
@dataclass(frozen=True)
class PairFiles(Source):
    """All files of JSON lines in a folder below the user's data folder, in the order of their names."""

    folders: tuple[str, ...]
    """Folders that are searched; the first that has such files is read."""
    rows: RowsOfObject

    def where(self, workspace: Workspace) -> str:
        more = len(self.folders) - 1
        others = f" (or in {more} other usual folders)" if more else ""
        return f"{self._places(workspace)[0]}/*.jsonl{others}"

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        if workspace.data is None:
            raise DataNotFound(f"no data folder with {self.folders[0]}: give --data DIR or set BENCHRUNNER_DATA")
        for folder in self._places(workspace):
            if files := sorted(folder.glob("*.jsonl")):
                tables = [self.at(file).read(workspace).table for file in files]
                return Rows(pa.concat_tables(tables), str(folder))
        raise DataNotFound(f"no files {self.where(workspace)}")

    def at(self, path: Path) -> Source:
        source = JsonTable(str(path), COLUMNS, rows=partial(self.rows, path.stem), is_in_data_folder=False)
        return Reshaped(source, in_turns)

    def _places(self, workspace: Workspace) -> list[Path]:
        return [(workspace.data or Path()) / folder for folder in self.folders]


def in_turns(table: pa.Table) -> pa.Table:
    """Let the texts of every second row change places, so that the first text is right no more often than the second.

    Rows without labels, which are a user's own questions, stay as they are.
    """
    import pyarrow as pa

    if "label" not in table.column_names:
        return table
    labels = [row % 2 for row in range(table.num_rows)]
    choices = [
        texts[::-1] if label else texts
        for label, texts in zip(labels, table.column("choices").to_pylist(), strict=True)
    ]
    changed = {"choices": pa.array(choices, pa.list_(pa.string())), "label": pa.array(labels, pa.int64())}
    columns = {name: changed.get(name, table.column(name)) for name in table.column_names}
    return pa.table(columns)


def blimp_rows(file: str, given: JsonObject) -> Iterator[dict[str, Any]]:
    """Yield the pair of an object of BLiMP: a good and a bad sentence. BabyLM's supplement has no further keys."""
    paradigm = str(given.get("UID", file))
    phenomenon = str(given.get("linguistics_term", paradigm))
    texts = [text_at(given, "sentence_good"), text_at(given, "sentence_bad")]
    yield _row(texts, paradigm, phenomenon=phenomenon, item=paradigm)


def ewok_rows(file: str, given: JsonObject, *, targets: tuple[int, ...] = (1, 2)) -> Iterator[dict[str, Any]]:
    """Yield, for each target of an object of EWoK, the target after its own and after the other context."""
    contexts = {number: text_at(given, f"Context{number}") for number in (1, 2)}
    concepts = [str(given.get(key, "")) for key in ("ConceptA", "ConceptB")]
    domain = str(given.get("Domain", file))
    for number in targets:
        target = text_at(given, f"Target{number}")
        texts = [f"{contexts[own]} {target}" for own in (number, 3 - number)]
        item = " ".join([domain, *sorted(concepts)])
        yield _row(texts, domain, phenomenon=str(given.get("ContextType", domain)), item=item, ending=target)


def comps_rows(file: str, given: JsonObject) -> Iterator[dict[str, Any]]:
    """Yield the pair of an object of COMPS: a property after a concept that has it, and after one that has it not."""
    ending = text_at(given, "property_phrase")
    texts = [f"{text_at(given, f'prefix_{kind}')} {ending}" for kind in ("acceptable", "unacceptable")]
    subset = file.removeprefix("comps_").replace("-", "_")
    kind = str(given.get("negative_sample_type", subset))
    yield _row(texts, subset, phenomenon=kind, item=str(given.get("property", ending)), ending=ending)


def _row(texts: list[str], paradigm: str, *, phenomenon: str, item: str, ending: str = "") -> dict[str, Any]:
    groups = {"paradigm": paradigm, "phenomenon": phenomenon, "item": item}
    return {"a": "", "choices": texts, "label": 0, "ending": ending, **groups}


def text_at(given: JsonObject, key: str) -> str:
    """Return the text at a key; raise a `ValueError` for anything else, and for an empty text."""
    value = given[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{quoted(key)} is {quoted(value)}, and a text was expected")
    return value.strip()
