"""Where the text comes from: files and hub data sets as one stream of paragraphs, with the quirks of real files.

A source yields paragraphs without line breaks; an empty one ends a document. In memory are about two blocks of a text
file, whose longer lines are cut; of JSON lines, tables and data sets it is a whole document, however long it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

from benchrunner import DataError, RequestError
from benchrunner_bert.pretraining.corpus.sources import HUB, HubSet, JsonLines, Parquet, Source, TextFile
from benchrunner_bert.pretraining.corpus.text_blocks import unreadable


@final
@dataclass(frozen=True)
class Corpus:
    """All sources, in their order."""

    sources: tuple[Source, ...]
    blank_lines: int = 1
    """How many blank lines in a row end a document of a text file; 0: only the end of the file does."""

    def paragraphs(self) -> Iterator[str]:
        """Of all of them."""
        for source in self.sources:
            yield from source.paragraphs()

    @classmethod
    def named(cls, references: Sequence[str], *, blank_lines: int = 1) -> Self:
        """What the user named: files, folders with all files in them, hub:NAME[,CONFIG[,SPLIT]][@REVISION]."""
        if blank_lines < 0:
            raise RequestError(f"blank_lines counts lines: 0 or more, not {blank_lines}.")
        found = tuple(one for reference in references for one in _sources(reference, blank_lines))
        if not found:
            raise RequestError("A corpus is needed: text files, .jsonl, .parquet, folders of them, or hub:NAME.")
        return cls(found, blank_lines)


def _sources(reference: str, blank_lines: int) -> Iterator[Source]:
    if reference.startswith(HUB):
        yield _hub_set(reference)
        return
    path = Path(reference)
    if path.is_dir():
        yield from (_file(one, one.relative_to(path).as_posix(), blank_lines) for one in _files(path))
    elif path.is_file():
        yield _file(path, path.name, blank_lines)
    else:
        raise DataError(f"{path}: there is no such file or folder. A data set on the hub is written hub:NAME.")


def _files(folder: Path) -> list[Path]:
    """All files below a folder but the hidden ones, in an order that is the same everywhere; links are followed."""
    try:
        found = list(_walked(folder, (folder.resolve(),)))
    except OSError as error:
        raise unreadable(Path(error.filename or folder), error) from None
    if not found:
        raise DataError(f"{folder}: there are no files in this folder.")
    return found


def _walked(folder: Path, above: tuple[Path, ...]) -> Iterator[Path]:
    for one in sorted(folder.iterdir(), key=lambda path: path.name):
        if one.name.startswith("."):
            continue
        if one.is_dir():
            home = one.resolve()
            if home not in above:  # else a link back to what is being walked already
                yield from _walked(one, (*above, home))
        elif one.is_file():
            yield one
        elif one.is_symlink():
            raise DataError(f"{one}: a link to what is not there ({one.readlink()}); mend or remove it.")


def _file(path: Path, name: str, blank_lines: int) -> Source:
    match path.suffix.lower():
        case ".jsonl":
            return JsonLines(path, name)
        case ".parquet":
            return Parquet(path, name)
        case _:
            return TextFile(path, name, blank_lines)


def _hub_set(reference: str) -> HubSet:
    named, pinned, revision = reference.removeprefix(HUB).partition("@")
    parts = named.split(",")
    if not parts[0] or len(parts) > 3 or bool(pinned) != bool(revision) or "," in revision:
        raise RequestError(
            f"'{reference}': expected hub:NAME, hub:NAME,CONFIG or hub:NAME,CONFIG,SPLIT, and @REVISION behind it "
            "where a certain commit, branch or tag is meant."
        )
    configuration, split = [*parts[1:], "", ""][:2]
    return HubSet(parts[0], configuration, split or "train", revision or None)
