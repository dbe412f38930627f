"""Text of a behaviour recording: files are described as text, and values that change from run to run become labels."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

LARGEST_TEXT = 20_000
"""Characters of a file that are recorded; the rest is a checksum."""

_ID = re.compile(r"(?<![\w.])[0-9a-f]{16}(?!\w)(?!\.\d)|(?<!\w)[0-9a-f]{32,64}(?!\w)")
_STUDY_SUFFIX = re.compile(r"(?<=[a-z0-9])-(?=[0-9a-f]{0,5}[0-9])[0-9a-f]{6}(?![\w-])")
_MEASURED_KEYS = (
    r"\w*seconds\w*|time|elapsed|\w*bytes|bytes_\w+|\w*timestamp|weights|checkpoints|outputs|records|predictions"
)
_VARIABLE = (
    (re.compile(r"\b\d+\.\d+\.\d+(\.?(dev|post|rc)\d+)?(\+[\w.]+)?"), "<version>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"(?<![\w.])\d[\d.,]* (seconds?|s|minutes?|min|ms|hours?|h)\b"), "<time>"),
    (re.compile(r"(?<![\w.])\d[\d.,]* ([kMGT]i?)?B\b"), "<size>"),
    (re.compile(rf'("(?:{_MEASURED_KEYS})": )"?-?[\d.e+-]+"?'), r"\1<measured>"),
)


class _VisibleText(HTMLParser):
    """Collects the texts of a page, without styles and scripts, and counts its tags."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.tags: Counter[str] = Counter()
        self._hidden = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self._hidden += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        words = " ".join(data.split())
        if words and not self._hidden:
            self.lines.append(words)


def text_of_page(html: str) -> str:
    """Return the visible text of a page of HTML, one element a line, and the number of tags of each kind."""
    page = _VisibleText()
    page.feed(html)
    counts = ", ".join(f"{tag} {count}" for tag, count in sorted(page.tags.items()))
    return "\n".join([*page.lines, f"tags: {counts}"])


def described_files(path: Path) -> str:
    """Describe a file, a folder of files or an archive: the name and the content of each file.

    Files are sorted by name and content without ids, so that other ids do not change the order.
    """
    files = [(name, _text_of(name, content)) for name, content in _contents(path)]
    files.sort(key=lambda file: (without_ids(file[0]), without_ids(file[1])))
    return "".join(f"--- file {name}\n{text.rstrip()}\n" for name, text in files)


def checksums(folder: Path) -> str:
    """Return a line for each file of a folder: its name, its bytes and a checksum."""
    lines = [f"{name}: {len(content)} bytes, CRC {zlib.crc32(content):08x}" for name, content in _contents(folder)]
    return "\n".join(lines) + "\n"


def sorted_runs(printed: str) -> str:
    """Sort the runs of 'runs list' by their text without ids and dates."""
    if not printed.startswith("{"):
        return "\n".join(sorted(printed.split("\n"), key=without_ids))
    value = json.loads(printed)
    value["runs"].sort(key=lambda run: without_ids(json.dumps(run)))
    return json.dumps(value, indent=1, ensure_ascii=False)


def without_ids(text: str) -> str:
    """Return a text in which every id and every measured value is the same word."""
    return _ID.sub("<id>", _measured(text))


def normalised(text: str) -> str:
    """Replace ids by labels in the order in which they first appear, and measured values by their kinds."""
    labels: dict[str, str] = {}

    def label(match: re.Match[str]) -> str:
        return labels.setdefault(match.group(), f"<id {len(labels) + 1}>")

    return _measured(_ID.sub(label, text))


def _measured(text: str) -> str:
    return "\n".join(_measured_line(line) for line in text.split("\n"))


def _measured_line(line: str) -> str:
    replaced = _STUDY_SUFFIX.sub("-<suffix>", line)
    for pattern, word in _VARIABLE:
        replaced = pattern.sub(word, replaced)
    if replaced != line:  # the width of columns depends on the value
        replaced = re.sub(r" {2,}", "  ", replaced).rstrip()
    return replaced


def _contents(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of every file of a folder, of an archive, or of one file."""
    if path.is_dir():
        for file in sorted(path.rglob("*")):
            if file.is_file():
                yield file.relative_to(path.parent).as_posix(), file.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield f"{path.name}/{name}", archive.read(name)
    elif path.is_file():
        yield path.name, path.read_bytes()


def _text_of(name: str, content: bytes) -> str:
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return f"binary: {len(content)} bytes, CRC {zlib.crc32(content):08x}"
    if "\0" in text:
        return f"binary: {len(content)} bytes, CRC {zlib.crc32(content):08x}"
    if name.endswith((".html", ".htm")):
        return text_of_page(text)
    if name.endswith(".json") and "\n" not in text.strip():
        text = pretty_json(text)
    if len(text) > LARGEST_TEXT:
        rest = without_ids(text[LARGEST_TEXT:]).encode()
        text = f"{text[:LARGEST_TEXT]}\n... and more with CRC {zlib.crc32(rest):08x}"
    return text


def pretty_json(text: str) -> str:
    """Break JSON of one line into lines; leave a text that is not JSON as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return json.dumps(value, indent=1, ensure_ascii=False)
