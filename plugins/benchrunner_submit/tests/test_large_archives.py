"""Small archives that would take gigabytes are refused with a sentence, in little memory."""

import functools
import io
import json
import struct
import warnings
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import forked

NAME = "moods.tsv"
MEMORY = 100
"""Megabytes that `check` may take beyond what the started program has."""
EXTRA = "Not files of this leaderboard: "
TOO_MANY = "moods.zip lists too many files to be a submission: the list alone takes"


def packed(names: Iterable[str], content: bytes = b"") -> bytes:
    """Pack files whose names the module would refuse or change."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the module warns of names that are there twice
        for name in names:
            entry = zipfile.ZipInfo("x")
            entry.filename, entry.compress_type = name, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return buffer.getvalue()


def listing(entries: int) -> bytes:
    """Make an archive that is nothing but a list of so many files of one name."""
    one = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", 20, 3, 20, 0, *[0] * 14)
    place = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 65535, 65535, entries * len(one), 0, 0)
    return one * entries + place


def lying_size(archive: bytes, size: int) -> bytes:
    """Change the size of the only file's content in the archive's list."""
    at = archive.index(b"PK\x01\x02") + 24
    return archive[:at] + struct.pack("<L", size) + archive[at + 4 :]


def manifest(rows: int) -> dict[str, Any]:
    entry = {
        "file": NAME,
        "task": "mine/mood",
        "split": "test",
        "rows": rows,
        "official_rows": 20,
        "fit": "",
        "method": "majority",
        "backbone": "",
        "limit_train": None,
        "limit_dev": None,
        "dev": {},
        "filled": "",
        "sha256": "0",
    }
    return {"format": 2, "board": "moods", "archive_sha256": "0", "date": "2025", "files": [entry]}


@functools.cache
def bomb() -> bytes:
    """Pack 130 MB in less than a megabyte; a larger archive would only make the test slower."""
    buffer, part = io.BytesIO(), b"0\n" * 500_000
    with (
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(NAME, "w") as file,
    ):
        for _ in range(130):
            file.write(part)
    return buffer.getvalue()


CASES: dict[str, tuple[Callable[[], bytes], str]] = {
    "a name of 65,000 slashes": (lambda: packed(["a/" * 32_000]), EXTRA),
    "3,000 files of one name": (
        lambda: packed([NAME] * 3_000),
        "'moods.tsv' and 2,996 more; each file must be there once",
    ),
    "3,000 other files": (lambda: packed(map(str, range(3_000))), "'0', '1', '2' and 2,997 more; servers refuse"),
    "half a million entries": (lambda: listing(500_000), f"{TOO_MANY} 23,000,000 bytes"),
    "an entry without a name": (lambda: packed(["", "/", "\\"]), "Not files of this leaderboard: '', '/', '\\\\'"),
    "a bomb": (bomb, "moods.tsv is larger than 1,049,856 bytes, more than its rows can need"),
    "a bomb that says it is small": (lambda: lying_size(bomb(), 100), "moods.tsv "),
    "many lines": (lambda: packed([NAME], b"0\n" * 500_000), "moods.tsv: 500,000 lines, where 20 rows are expected"),
    "a line of a megabyte": (lambda: packed([NAME], b"x" * 10**6), "expected the header 'id\\tmood'"),
}
"""Name of a case -> function that makes the archive, and what the error says."""
PROGRAM = """
import contextlib, io, json, resource, sys
from benchrunner.command_line.main import main
from inline import mood, pairs, plugins

found = plugins(register_tasks=[mood(), pairs()])
main(["list"], plugins=found)
print()
for place in sys.argv[1:]:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words, out = json.loads(place), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(words, plugins=found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"code": code, "text": out.getvalue(), "megabytes": (peak - before) // 1024}))
"""


def checked(words: list[list[str]]) -> list[dict[str, Any]]:
    """Run commands one after the other in a process of their own."""
    support = Path(__file__).parents[3] / "tests" / "support"
    ran = forked.run(["-c", PROGRAM, *map(json.dumps, words)], cwd=support, timeout=300)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()[-len(words) :]]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Check every archive in one process: without a manifest, and with one that says there are 10^9 rows."""
    words = []
    for number, (content, _) in enumerate(CASES.values()):
        path = tmp_path_factory.mktemp(f"case{number}") / "moods.zip"
        path.write_bytes(content())
        path.with_name("moods.zip.json").write_text(json.dumps(manifest(10**9)))
        words += [["check", "--board", "moods", str(path)], ["check", "--counts-from-manifest", str(path)]]
    names = [f"{name}{suffix}" for name in CASES for suffix in ("", ", with a manifest")]
    return dict(zip(names, checked(words), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_an_archive_is_refused_in_little_memory(name: str, results: dict[str, dict[str, Any]]) -> None:
    result = results[name]
    assert (result["code"], CASES[name][1] in result["text"]) == (1, True), result["text"][:500]
    assert result["megabytes"] < MEMORY and len(result["text"]) < 2_000


@pytest.mark.parametrize("name", CASES)
def test_a_manifest_raises_no_limit(name: str, results: dict[str, dict[str, Any]]) -> None:
    result = results[f"{name}, with a manifest"]
    reason = "The manifest says that moods.tsv has 1,000,000,000 rows, which cannot be: the most is 1,000,000."
    if name in ("an entry without a name", "half a million entries") or "slashes" in name or "other" in name:
        reason = "cannot tell which leaderboard" if result["code"] == 2 else reason
    assert result["code"] in (1, 2) and reason in result["text"], result["text"][:500]
    assert result["megabytes"] < MEMORY
