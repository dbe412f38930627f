"""Readers of leaderboards, of the files of their submissions, of manifests and archives."""

import functools
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchrunner.io.messages import Faults
from benchrunner_submit import ExpectedRows, FileKind
from benchrunner_submit.board_toml import read_leaderboard
from benchrunner_submit.file_kinds.json_file import JsonLines
from benchrunner_submit.file_kinds.spellings import Labels
from benchrunner_submit.submission_files.checking import detect, findings
from benchrunner_submit.submission_files.manifests import (
    FileOrigin,
    Manifest,
    archive_digest,
    find_manifest,
    read_manifest,
)
from board_texts import BOARD_TOML
from file_kinds import CHANCES, CHOICE, COLUMNS, MAYBE, MOODS, QUESTIONS, SENTENCES, TAGGED, TEXTS
from mood_boards import BOARD, FILES, MOOD
from readers.reader import Reader


def board_files() -> Iterator[tuple[str, Reader]]:
    """Checks of the files of leaderboards."""
    kinds: dict[str, tuple[FileKind, int, pa.Table | None, bytes]] = {
        "table": (MOOD, 4, None, FILES["Mood.tsv"]),
        "lines": (CHOICE, 3, None, b"0\n1\n2\n"),
        "lines of several numbers": (CHANCES, 2, None, b"0.1,0.2,0.7\n1,0,0\n"),
        "json texts": (TEXTS, 3, QUESTIONS, b'{"q1": "a", "q2": "", "q3": "\\u00e9"}'),
        "json numbers": (MAYBE, 3, QUESTIONS, b'{"q1": 0.5, "q2": 1, "q3": 0}'),
        "json labels": (MOODS, 3, QUESTIONS, b'{"q1": "0", "q2": "1", "q3": "1"}'),
        "columns": (TAGGED, 3, SENTENCES, COLUMNS.encode()),
        "json lines": (
            JsonLines("id", Labels({"sad": "0", "glad": "1"})),
            3,
            QUESTIONS,
            b'{"idx": "q1", "label": "0"}\n{"idx": "q2", "label": "1"}\n{"idx": "q3", "label": "1"}\n',
        ),
    }
    for name, (kind, rows, table, seed) in kinds.items():
        yield f"board file: {name}", Reader(functools.partial(check_file, kind, rows, table), "answers", [seed])


def check_file(kind: FileKind, rows: int, table: pa.Table | None, path: Path) -> list[str]:
    content = path.read_bytes()
    if len(content) > kind.max_bytes(rows):
        return []
    faults = Faults(path.name, kind.unit)
    kind.answer_texts(content, ExpectedRows(rows, {}, table), faults)
    return faults.sentences()


def boards() -> Iterator[tuple[str, Reader]]:
    """Readers of leaderboards, manifests and whole submissions."""
    yield "board", Reader(read_leaderboard, "moods.toml", [BOARD_TOML.encode()])
    origin = FileOrigin("Mood.tsv", "mine/mood", "test", 4, 4, "", "", "", None, None, {"dev f1": 0.5}, "", "0")
    manifest = Manifest("moods", "0", (origin,), "2025").content()

    def of_manifest(path: Path) -> object:
        archive = path.with_suffix("")
        find_manifest(archive)
        return findings(BOARD, archive, manifest=read_manifest(archive)).faults and None

    zipped = archive(FILES)
    seeds = [json.dumps(manifest, indent=2).encode()]
    yield "manifest", Reader(of_manifest, "moods.zip.json", seeds, further={"moods.zip": zipped})
    yield (
        "archive",
        Reader(
            of_archive,
            "moods.zip",
            [zipped, archive({"__MACOSX/x": b"", "a/b/": b"", "": b"x", "Mood.tsv": b"x"})],
            named=" ",
        ),
    )
    yield "single file", Reader(lambda path: findings(BOARD, path).faults, "Mood.tsv", [FILES["Mood.tsv"]])


def archive(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            entry = zipfile.ZipInfo("x")
            entry.filename = name
            packed.writestr(entry, content)
    return buffer.getvalue()


def of_archive(path: Path) -> list[str]:
    archive_digest(path)
    return list(findings(detect([BOARD], path), path).faults)
