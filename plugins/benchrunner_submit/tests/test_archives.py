"""Archives that anybody wrote: every fault is reported, none is a traceback, and the archive tells its board."""

import stat
import struct
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner_submit.submission_files.checking import detect, findings
from mood_boards import BOARD, FILES, zipped


def test_a_plain_folder_of_files_is_checked_like_an_archive(tmp_path: Path) -> None:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    assert findings(BOARD, tmp_path).faults == []
    (tmp_path / "Mood.tsv").unlink()
    (tmp_path / "notes").mkdir()
    assert findings(BOARD, tmp_path).faults == [
        "Mood.tsv is missing; every file must be there.",
        "Not files of this leaderboard: 'notes/'; servers refuse extra files (zip -D -X avoids most).",
    ]


ARCHIVES: dict[str, tuple[dict[str, bytes], str]] = {
    "missing": (
        {name: content for name, content in FILES.items() if name != "Mood.tsv"},
        "Mood.tsv is missing; every file must be there.",
    ),
    "extra": (
        FILES | {"log.txt": b"x"},
        "Not files of this leaderboard: 'log.txt'; servers refuse extra files (zip -D -X avoids most).",
    ),
    "case": ({name.replace("Mood", "mood"): content for name, content in FILES.items()}, "'mood.tsv' must be called"),
    "hyphen": ({name.replace("-", ""): content for name, content in FILES.items()}, "'Verdict.tsv' must be called"),
    "folder": ({f"moods/{name}": content for name, content in FILES.items()}, "Inside a folder: 'moods/Mood.tsv"),
    "backslash": (
        {name.replace("Mood", "moods\\Mood"): content for name, content in FILES.items()},
        "Inside a folder: 'moods\\\\Mood.tsv'; pack the files themselves, at the top level.",
    ),
    "macOS": (
        FILES | {"__MACOSX/._Mood.tsv": b"x", ".DS_Store": b"x"},
        "Not files of this leaderboard: '__MACOSX/._Mood.tsv', '.DS_Store'; servers refuse extra files (zip -D",
    ),
    "nothing": ({}, "other.zip holds no files: Mood.tsv, Ver-dict.tsv, Warmth.tsv are missing; every file must be"),
    "empty folder": (
        FILES | {"notes/": b""},
        "Not files of this leaderboard: 'notes/'; servers refuse extra files (zip -D -X avoids most).",
    ),
}


@pytest.mark.parametrize(("files", "message"), ARCHIVES.values(), ids=ARCHIVES)
def test_a_fault_of_an_archive_is_reported(tmp_path: Path, files: dict[str, bytes], message: str) -> None:
    [fault] = findings(BOARD, zipped(tmp_path, files)).faults
    assert fault.startswith(message)


def test_a_folder_in_place_of_a_file_is_no_file(tmp_path: Path) -> None:
    files = {name: content for name, content in FILES.items() if name != "Mood.tsv"}
    assert findings(BOARD, zipped(tmp_path, files | {"Mood.tsv/": b""})).faults == [
        "Mood.tsv is missing; every file must be there.",
        "Not files of this leaderboard: 'Mood.tsv/'; servers refuse extra files (zip -D -X avoids most).",
    ]


def test_misplaced_and_misnamed_files_are_checked_too(tmp_path: Path) -> None:
    files = {"moods/mood.tsv": FILES["Mood.tsv"].replace(b"0\t0", b"0\tsad"), **FILES}
    del files["Mood.tsv"]
    problems = findings(BOARD, zipped(tmp_path, files)).faults
    assert "Mood.tsv:2: found 'sad'; expected 0 or 1: write 0 for sad." in problems
    assert len(problems) == 3


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_file_that_is_there_twice_is_a_fault(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("Mood.tsv", b"another")
    assert findings(BOARD, path).faults[0] == "In the archive already: 'Mood.tsv'; each file must be there once."


@pytest.mark.parametrize("name", ["moods.zip", "moods.tar.gz", "moods.7z"])
def test_a_file_that_is_no_zip_archive_is_a_fault(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(FILES["Mood.tsv"])
    assert findings(BOARD, path).faults == [f"{name} cannot be read (File is not a zip file); write or pack it again."]


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"There is no file or folder .*none.zip"):
        findings(BOARD, tmp_path / "none.zip")


def test_an_encrypted_file_is_a_fault(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")  # the first entry of the central directory; its flags stand 8 bytes on
    content[at + 8] |= 1
    path.write_bytes(content)
    (fault,) = findings(BOARD, path).faults
    assert fault.startswith("Mood.tsv cannot be read (") and "is encrypted, password required for extraction" in fault


def test_a_rare_compression_method_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "moods.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content)
    assert findings(BOARD, path).faults[0] == (
        "Mood.tsv is compressed by a method that servers seldom read; pack the file with the method 'deflate'."
    )


def test_a_damaged_member_is_a_fault(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    path.write_bytes(path.read_bytes().replace(b"prediction", b"predictiom", 1))
    (problem,) = findings(BOARD, path).faults
    assert problem.startswith("Mood.tsv cannot be read (Bad CRC-32")


def test_of_a_member_that_is_too_large_only_the_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "moods.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in FILES.items():
            archive.writestr(name, content if name != "Mood.tsv" else b"0" * 2**24)
    (problem,) = findings(BOARD, path).faults
    assert problem == "Mood.tsv is larger than 1,048,832 bytes, more than its rows can need; it may be another file."


def test_an_archive_with_false_sizes_is_a_fault(tmp_path: Path) -> None:
    path = zipped(tmp_path, FILES)
    content = bytearray(path.read_bytes())
    at = content.index(b"PK\x01\x02")
    content[at + 20 : at + 28] = struct.pack("<II", 2**31, 2**31)  # compressed and plain size of the first entry
    path.write_bytes(content)
    (problem,) = findings(BOARD, path).faults
    assert problem.startswith("Mood.tsv is larger than ")


@pytest.mark.skipif(not hasattr(stat, "S_ISFIFO"), reason="no named pipes here")
def test_a_named_pipe_is_not_read(tmp_path: Path) -> None:
    import os

    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "Mood.tsv").unlink()
    os.mkfifo(tmp_path / "Mood.tsv")
    assert findings(BOARD, tmp_path).faults == ["Mood.tsv is not a plain file."]
    with pytest.raises(RequestError, match=r"Mood\.tsv is not a plain file or folder"):
        findings(BOARD, tmp_path / "Mood.tsv")


# Finding the board of an archive


OTHER = replace(BOARD, name="other", archive="other.zip", files=(replace(BOARD.files[0], name="Answers.tsv"),))


def test_the_names_of_the_files_tell_the_board(tmp_path: Path) -> None:
    assert detect([OTHER, BOARD], zipped(tmp_path, FILES)) is BOARD
    assert detect([OTHER, BOARD], zipped(tmp_path, {"x/answers.tsv": b""})) is OTHER


def test_the_name_of_a_damaged_archive_tells_the_board(tmp_path: Path) -> None:
    (tmp_path / "other.zip").write_bytes(b"?")
    assert detect([OTHER, BOARD], tmp_path / "other.zip") is OTHER


def test_an_archive_of_no_board_is_an_error(tmp_path: Path) -> None:
    zipped(tmp_path, {"a.txt": b""}).rename(tmp_path / "mine.zip")
    with pytest.raises(RequestError, match=r"no leaderboard has any of its files.*Known: moods, other"):
        detect([OTHER, BOARD], tmp_path / "mine.zip")


def test_an_archive_of_two_boards_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"moods and twin fit equally well. Name it with --board"):
        detect([BOARD, replace(BOARD, name="twin")], zipped(tmp_path, FILES))
