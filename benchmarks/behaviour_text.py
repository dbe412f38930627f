"""Text of a behaviour recording: files are described as text, and values that change from run to run become labels."""

from __future__ import annotations

import itertools
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
_KEY_WITH_ID = re.compile(r'(\s*"[\w/.-]*?)[0-9a-f]{16}[\w.-]*": ')
_PROGRESS = re.compile(r"^(--- stderr\n)?(?: *\d+%, about .*(?:\n|\Z))+(?(1)(?=---|\Z))", re.MULTILINE)
_STUDY_SUFFIX = re.compile(r"(?<=[a-z0-9])-(?=[0-9a-f]{0,5}[0-9])[0-9a-f]{6}(?![\w-])")
_MEASURED_KEYS = (
    r"\w*seconds\w*|\w*_per_second|time|elapsed|\w*bytes|bytes_\w+|\w*timestamp"
    r"|weights|checkpoints|outputs|records|predictions"
)
_VARIABLE = (
    (re.compile(r"\b\d+\.\d+\.\d+(\.?(dev|post|rc)\d+)?(\+[\w.]+)?"), "<version>"),
    (re.compile(r"(?<=/)\d{10}(?=\")"), "<timestamp>"),
    (re.compile(r"(?<=/)tmp[a-z0-9_]{8}\b"), "<tmp>"),
    (re.compile(r"\b\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?"), "<date>"),
    (re.compile(r"\b(\w*seconds|\w+_per_second) \d[\d.e+-]*"), r"\1 <measured>"),
    (re.compile(r"(?<![\w.])\d+([.,]\d+)* (seconds?|s|minutes?|min|ms|hours?|h)\b"), "<time>"),
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
    """Describe a file, a folder of files or an archive: the name and the content of each file."""
    files = [(name, _text_of(name, content)) for name, content in _contents(path)]
    return "".join(f"--- file {name}\n{text.rstrip()}\n" for name, text in files)


def checksums(folder: Path) -> str:
    """Return a line for each file of a folder: its name, its bytes and a checksum."""
    lines = [f"{name}: {len(content)} bytes, CRC {zlib.crc32(content):08x}" for name, content in _contents(folder)]
    return "\n".join(lines) + "\n"


def sorted_runs(block: str) -> str:
    """Sort the runs that 'runs list' printed by their texts without ids: runs of one second are in the order of ids."""
    head, title, printed = block.partition("--- stdout\n")
    try:
        value = json.loads(printed)
        value["runs"].sort(key=lambda run: without_ids(json.dumps(run)))
        return head + title + json.dumps(value, indent=1, ensure_ascii=False)
    except (ValueError, KeyError):
        return head + title + "\n".join(sorted(printed.split("\n"), key=without_ids))


def without_ids(text: str) -> str:
    """Return a text in which every id and every measured value is the same word."""
    return _ID.sub("<id>", _measured(text))


def normalised(text: str) -> str:
    """Replace ids by labels, and measured values by their kinds; sort the files, so that ids do not change their order.

    Labels are numbered in the order in which the ids first appear. Later come files that differ in nothing but ids,
    in the order of the labels that they have by then, and last files that list things in the order of their ids.
    """
    text = _PROGRESS.sub("", text)
    printed, *files = re.split(r"^(?=--- file )", text, flags=re.MULTILINE)
    masked = {file: (without_ids(file.partition("\n")[0]), without_ids(file)) for file in files}
    equals = Counter(masked.values())
    labels: dict[str, int] = {}

    def place(file: str) -> tuple[bool, list[int], tuple[str, str]]:
        known = _labels_in(file, labels)
        return not known, known, masked[file]

    _labelled(printed, labels)
    unique = [file for file in sorted(files, key=lambda file: masked[file]) if equals[masked[file]] == 1]
    for file in unique:
        if not _is_sorted_by_ids(file):
            _labelled(file, labels)
    equal = [file for file in files if equals[masked[file]] > 1]
    for file in sorted(equal, key=place):
        if _labels_in(file, labels):
            _labelled(file, labels)
    for file in [*sorted(equal, key=place), *unique]:
        _labelled(file, labels)
    files.sort(key=lambda file: (masked[file], _labels_in(file, labels)))
    return _measured("".join(_labelled(part, labels) for part in [printed, *files]))


def _labels_in(text: str, labels: dict[str, int]) -> list[int]:
    """Return the labels that ids of a text have already, smallest first."""
    return sorted({labels[found] for found in _ID.findall(text) if found in labels})


def _is_sorted_by_ids(text: str) -> bool:
    """Return whether neighbouring lines differ only in ids, or are keys of JSON that begin with ids."""
    groups = itertools.groupby(text.split("\n"), key=_without_order)
    return any(_ID.search(lines[0]) and len(set(lines)) > 1 for lines in (list(group) for _, group in groups))


def _without_order(line: str) -> str:
    """Return what neighbouring lines share if their order says nothing: for a key of JSON, its text before an id."""
    key = _KEY_WITH_ID.match(line)
    return key.group(1) if key else without_ids(line)


def _labelled(text: str, labels: dict[str, int]) -> str:
    """Replace each id by its label, and add new ids to `labels`; sort neighbouring lines whose order says nothing."""
    result: list[str] = []
    for _, group in itertools.groupby(text.split("\n"), key=_without_order):
        for line in sorted(group, key=lambda line: (_known(line, labels)[:1], without_ids(line))):
            for found in _ID.findall(line):
                labels.setdefault(found, len(labels) + 1)
            result.append(_ID.sub(lambda match: f"<id {labels[match.group()]}>", line))
    return "\n".join(result)


def _known(text: str, labels: dict[str, int]) -> list[int]:
    """Return the labels of the ids of a text; ids without a label come last."""
    return [labels.get(found, len(labels) + 1) for found in _ID.findall(text)]


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
