"""Data files and data sets of a task file: where they may lie, and how their columns become those of the problem."""

from __future__ import annotations

import codecs
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchrunner import (
    DataError,
    DataNotFound,
    Rows,
    Source,
    Workspace,
    did_you_mean,
    quoted,
    some_names,
    sources,
)
from benchrunner.engine import Problem
from benchrunner_files.formats import check_words
from benchrunner_files.shapes import Shape
from benchrunner_files.suites import HOME
from benchrunner_files.toml_text import TomlText, files_beside, shown_path
from benchrunner_kinds import MultiLabel, Tag, WordColumns
from benchrunner_submit import read_user_table
from benchrunner_tasks import TABLE_SUFFIXES, table_file


def inside(folder: Path, name: str) -> Path:
    """Return the path of a data file in the folder of its task file; a `ValueError` says why another is refused.

    A task file may come from anybody: it must not make a program read, and show in errors, what lies elsewhere.
    """
    if not name or not name.isprintable():
        raise ValueError(f"{quoted(name)} is no name of a file")
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or ":" in path.parts[0] or "\\" in name:
        raise ValueError(f"{quoted(name)} leads out of the folder of the task file: put the data beside or below it")
    whole = folder / path
    if not whole.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{quoted(name)} is a link that leads out of the folder of the task file: copy the data there")
    if whole.is_dir():
        raise ValueError(f"{quoted(name)} is a folder: name a file in it, such as {quoted(f'{name}/data.csv')}")
    return whole


@dataclass(frozen=True)
class InColumns(sources.OfSource):
    """A data file or data set, in the columns of a problem."""

    task_file: TomlText
    split: str
    problem: Problem
    shape: Shape
    needs_labels: bool = True
    """Whether a missing label column is an error; splits of the role test and a user's own files may lack labels."""
    is_own: bool = True
    """Whether the file is the task's own, beside the task file, and not one that a user answers."""

    def read(self, workspace: Workspace) -> Rows:
        import pyarrow as pa

        source, shape = self.source, self.shape
        if self.is_own and isinstance(source, sources.FileSource):
            self._check_place(Path(str(source.path)))
        try:
            if not isinstance(source, sources.TableFile):
                rows = source.read(workspace)
            elif self.is_own:
                shape = self._possible(source.column_names(source.file(workspace)))
                rows = replace(source, columns=shape.read_columns).read(workspace)
            else:
                layouts = (shape.read_columns, shape.named.read_columns)
                rows = read_user_table(source.file(workspace), [source], layouts, workspace)
        except DataError as error:
            if "not UTF-8 text" not in str(error):
                raise
            start = Path(getattr(source, "path", "")).read_bytes()[:2]
            encoding = "utf-16" if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "latin-1"
            advice = f'Or name its encoding in {self.task_file.path.name}: [format] with encoding = "{encoding}"'
            raise DataError(f"{error} {advice}, for example.") from None
        if not len(rows):
            needs = f" The split '{self.split}' needs one or more." if self.is_own else ""
            raise DataError(f"{rows.origin}: no rows.{needs}")
        if isinstance(source, WordColumns) and not self.is_own:
            check_words(source, Path(rows.origin), {*shape.labels, *getattr(self.problem, "labels", ())})
        columns = shape.columns_of(rows)
        self._check_labels(rows, columns)
        if isinstance(self.problem, Tag) and not self.is_own and "document" not in columns:
            columns["document"] = list(range(len(rows)))
            alone = "each row is a document of its own: no context of neighbouring rows"
            rows = replace(rows, notes=(*rows.notes, alone))
        table = pa.table({name: rows.column(name, values) for name, values in columns.items()})
        home = self.task_file.path.parent
        suites = workspace.cache / HOME
        if home.is_relative_to(suites):
            rows = replace(rows, notes=(*rows.notes, f"from hub:{home.relative_to(suites)}"))
        return replace(rows, table=table)

    @property
    def has_documents(self) -> bool:
        """Whether the rows say where documents begin; also true of a file that is not there, which tells nothing."""
        source = self.source
        if not isinstance(source, WordColumns):
            return "document" in self.shape.places
        path = Path(str(source.path))
        if not path.is_file():
            return True
        with path.open(encoding=str(source.encoding), errors="replace") as file:
            return any(line.strip().split(source.separator, 1)[0] == source.border for line in file if line.strip())

    def at(self, path: Path) -> Source:
        own = replace(self, needs_labels=False, is_own=False)
        kind = TABLE_SUFFIXES.get(path.suffix.lower())
        table: Any = self.source
        shape = self.shape
        if isinstance(table, WordColumns):
            shape = shape.named
            if kind is None or (kind == "tsv" and "words" not in _header(path)):
                return replace(own, source=table.at(path))
        if not isinstance(table, sources.TableFile):
            table = table_file(kind or "tsv", path, {})
        return replace(own, source=table.at(path), shape=shape)

    def unlabelled(self, label_columns: Collection[str]) -> Source:
        source, shape = self.source.unlabelled(label_columns), self.shape.without(label_columns)
        return replace(self, source=source, shape=shape, needs_labels=False)

    def _check_place(self, path: Path) -> None:
        """Raise an error that names the key if the file is not there, or lies elsewhere through a link."""
        folder = self.task_file.path.parent
        key = self.task_file.place("splits", self.split)
        name = path.relative_to(folder).as_posix()
        try:
            inside(folder, name)
        except ValueError as reason:
            raise DataError(f"{key}: splits.{self.split}: {reason}.") from None
        if not path.is_file():
            meant = did_you_mean(path.name, files_beside(path))
            raise DataNotFound(f"{key}: splits.{self.split}: {name} is not there.{meant}")

    def _possible(self, names: Sequence[str]) -> Shape:
        """Return the shape without labels that the file lacks and need not have; raise an error for other columns."""
        shape = self.shape
        missing = shape.missing(names)
        labels = set(self.problem.label_columns)
        if not self.needs_labels and labels & missing.keys():
            missing = {name: column for name, column in missing.items() if name not in labels}
            shape = shape.without(labels)
        if missing:
            path = shown_path(Path(str(getattr(self.source, "path", ""))), self.task_file.path.parent)
            name, column = next(iter(missing.items()))
            meant = did_you_mean(column, names)
            raise DataError(
                f"{self._key(name)}: {path} has no column {quoted(column)}.{meant} Its columns are {some_names(names)}."
            )
        return shape

    def _key(self, column: str) -> str:
        """Return the place and the name of the key that asks for a column."""
        content = self.task_file.content
        keys: tuple[str, ...] = ("columns", column)
        if column not in content["columns"]:
            keys = next(((key,) for key in ("clusters", "keep") if column in content.get(key, ())), ("metrics",))
        return f"{self.task_file.place(*keys)}: {'.'.join(keys)}"

    def _check_labels(self, rows: Rows, columns: Mapping[str, Sequence[Any]]) -> None:
        """Raise an error with the row and the closest label for a label that the task file does not list."""
        listed = getattr(self.problem, "labels", None)
        column = self.problem.label_columns[0]
        if not isinstance(listed, tuple) or column not in columns or isinstance(self.problem, MultiLabel):
            return
        known = set(listed)
        for row, value in enumerate(columns[column]):
            for label in value if isinstance(value, list) else [value]:
                if label in known or label is None:
                    continue
                meant = did_you_mean(str(label), listed, f" Known: {', '.join(listed[:20])}.")
                place = Path(self.task_file.place("labels")).name
                raise DataError(f"{rows.where(row)}: the label {quoted(label)} is not listed in {place}.{meant}")


def _header(path: Path) -> list[str]:
    """Return the fields of the first line of a TSV file, which may have a fault."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        return file.readline().rstrip("\n").split("\t")
