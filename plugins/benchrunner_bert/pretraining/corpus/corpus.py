"""The corpus: files and hub data sets, in the order in which the user named them, as one stream of paragraphs.

Memory holds about two blocks of a text file at a time, and longer lines are cut. Of JSON lines, tables and data sets,
memory holds a whole document, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self, final

from benchrunner import DataError, RequestError
from benchrunner_bert.pretraining.corpus.manifest import SourceFacts
from benchrunner_bert.pretraining.corpus.sources import (
    HUB,
    WIKIPEDIA,
    HubSet,
    JsonLines,
    Parquet,
    Source,
    TextFile,
    check_passages,
)
from benchrunner_bert.pretraining.corpus.text_blocks import unreadable


@final
@dataclass(frozen=True)
class Corpus:
    """All sources, in order."""

    sources: tuple[Source, ...]
    blank_lines: int = 1
    """Number of blank lines in a row that end a document of a text file; with 0, only the end of the file does."""

    @cached_property
    def facts(self) -> tuple[SourceFacts, ...]:
        """The facts of each source. The first call reads all files; later calls give the same facts."""
        return tuple(replace(source.facts(), passages_only=source.passages_only) for source in self.sources)

    def paragraphs(self) -> Iterator[str]:
        """Give the paragraphs of all sources; raise a `DataError` if only passages are read and there are none."""
        is_empty = True
        for source in self.sources:
            for paragraph in source.paragraphs():
                is_empty = is_empty and not paragraph
                yield paragraph
        if is_empty:
            check_passages(self.sources)

    @classmethod
    def named(cls, references: Sequence[str], *, blank_lines: int = 1, passages_only: bool | None = None) -> Self:
        """Find what the user named: files, folders with all their files, hub:NAME[,CONFIG[,SPLIT]][@REVISION].

        `passages_only` leaves out headings and list lines of extracted Wikipedia; None does so for the Wikipedia of the
        hub alone.
        """
        sources = tuple(
            source for reference in references for source in _sources(reference, blank_lines, passages_only)
        )
        return cls(sources, blank_lines)


def _sources(reference: str, blank_lines: int, passages_only: bool | None) -> Iterator[Source]:
    """Yield the sources of a reference. If `passages_only` is None, data sets of the hub choose, and files keep all."""
    if reference.startswith(HUB):
        yield _hub_set(reference, passages_only)
        return
    in_files = passages_only is True
    path = Path(reference)
    if path.is_dir():
        yield from (_file(file, file.relative_to(path).as_posix(), blank_lines, in_files) for file in _files(path))
    elif path.is_file():
        yield _file(path, path.name, blank_lines, in_files)
    else:
        raise DataError(f"{path}: there is no such file or folder. A data set on the hub is written hub:NAME.")


def _files(folder: Path) -> list[Path]:
    """List all files in a folder except hidden ones, in the same order on every machine. Links are followed."""
    try:
        files = list(_walked(folder, (folder.resolve(),)))
    except OSError as error:
        raise unreadable(Path(error.filename or folder), error) from None
    if not files:
        raise DataError(f"{folder}: there are no files in this folder.")
    return files


def _walked(folder: Path, parents: tuple[Path, ...]) -> Iterator[Path]:
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.startswith("."):
            continue
        if path.is_dir():
            resolved = path.resolve()
            if resolved not in parents:  # otherwise a link to a folder that contains the link
                yield from _walked(path, (*parents, resolved))
        elif path.is_file():
            yield path
        elif path.is_symlink():
            raise DataError(f"{path}: a link to a file that does not exist ({path.readlink()}); repair or remove it.")


def _file(path: Path, name: str, blank_lines: int, passages_only: bool) -> Source:
    match path.suffix.lower():
        case ".jsonl":
            return JsonLines(path, name, passages_only)
        case ".parquet":
            return Parquet(path, name, passages_only)
        case _:
            return TextFile(path, name, passages_only, blank_lines)


def _hub_set(reference: str, passages_only: bool | None) -> HubSet:
    names, sign, revision = reference.removeprefix(HUB).partition("@")
    parts = names.split(",")
    if not parts[0] or len(parts) > 3 or bool(sign) != bool(revision) or "," in revision:
        raise RequestError(
            f"'{reference}': expected hub:NAME, hub:NAME,CONFIG or hub:NAME,CONFIG,SPLIT, and @REVISION at the end "
            "to choose a commit, branch or tag."
        )
    configuration, split = [*parts[1:], "", ""][:2]
    is_wikipedia = parts[0].rpartition("/")[2] == WIKIPEDIA
    filtered = is_wikipedia if passages_only is None else passages_only
    return HubSet(parts[0], configuration, split or "train", revision or None, filtered)
