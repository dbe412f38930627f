"""Files are read strictly: a mistake is an error that names the file, the line and what to do."""

import errno
import os
import threading
from pathlib import Path

import pytest

from benchrunner import CheckpointError, DataError, RequestError, read_json_object, read_text
from benchrunner.engine import first_line
from benchrunner.io import files
from benchrunner.io.files import full_disk, read_bytes, write_folder_atomically
from benchrunner.io.json_files import parse_json, read_json, read_toml
from benchrunner.io.messages import quoted
from benchrunner.io.output_places import check_place
from benchrunner.io.seals import find_sealed


def written(folder: Path, content: bytes) -> Path:
    path = folder / "file.json"
    path.write_bytes(content)
    return path


def test_json_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    for content in (b'{"a": [1, null]}', b'\xef\xbb\xbf{"a": [1, null]}'):
        path = written(tmp_path, content)
        assert read_json(path) == read_json_object(path) == {"a": [1, None]}
    assert read_json(written(tmp_path, b"[]")) == []


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "file.json:1: not valid JSON at column 1"),
        (b'{"a": 1,\n"b" 2}', "file.json:2: not valid JSON at column 5"),
        (b'{"a": "\n\xff"}', "file.json:2: not UTF-8 text"),
        (b'{"a": {"b": 1, "b": 2}}', "file.json: the key 'b' stands twice in one object"),
        (b"1" * 5000, "file.json: not valid JSON: a number has thousands of digits"),
        (b"[" * 100_000, "file.json: lists and objects are nested more than 100 deep"),
        (b'{"a":' * 100_000, "file.json: lists and objects are nested more than 100 deep"),
        (b"[" * 900 + b"]" * 900, "file.json: lists and objects are nested more than 100 deep"),
        (b"[1, 2", "file.json:1: not valid JSON at column 6"),
        (b"\x00" * 40, "file.json:1: a zero byte, which no text has"),
        (b"[]", "file.json: a JSON object was expected"),
    ],
)
def test_a_broken_json_file_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = written(tmp_path, content)
    for error in (DataError, CheckpointError):
        with pytest.raises(error, match=reason) as raised:
            read_json_object(path, error=error)
        assert type(raised.value) is error


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_infinite_numbers_are_refused_on_request(number: str) -> None:
    content = f'{{"a": [{number}]}}'.encode()
    parse_json(content, "file.json")
    with pytest.raises(DataError, match=f"file.json: '{number}' is no finite number."):
        parse_json(content, "file.json", finite=True)


def test_a_json_file_of_gigabytes_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    with path.open("wb") as file:
        file.truncate(5 << 30)
    with pytest.raises(DataError, match=r"file\.json: larger than 33,554,432 bytes"):
        read_json(path)


@pytest.mark.parametrize(
    "content",
    [
        "a = " + "[" * 100_000,
        "a = " + "{b = " * 100_000,
        ".".join(["a"] * 100_000) + " = 1",
        "[" + " . ".join(['"a"'] * 100_000) + "]",
        "a" * 1_000_000,
        "a = [1, 2",
        "\x00" * 40,
    ],
    ids=["brackets", "tables", "key", "header", "word", "half", "zeros"],
)
def test_a_broken_toml_file_is_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(content)
    with pytest.raises(DataError, match=r"^[^\n]*study\.toml(:1)?: [^\n]{20,200}$"):
        read_toml(path, DataError)


@pytest.mark.parametrize(("error", "line"), [(ValueError("\na\nb"), "a"), (KeyError(), "KeyError")])
def test_an_error_has_a_first_line(error: Exception, line: str) -> None:
    assert first_line(error) == line


def test_a_place_that_cannot_be_written_is_told_before_work(tmp_path: Path) -> None:
    file = written(tmp_path, b"")
    check_place(file, is_file=True)
    check_place(tmp_path / "new" / "newer" / "page.html", is_file=True)
    assert not (tmp_path / "new").exists()
    with pytest.raises(RequestError, match=r"this is a folder\. Remove it, or name a file"):
        check_place(tmp_path, is_file=True)
    with pytest.raises(RequestError, match=f"page.html cannot be written: {file} is not a folder"):
        check_place(file / "page.html", is_file=True)


@pytest.mark.parametrize("content", [b"one\ntwo\0\n", b"one\n" + b"x" * 2**21 + b"\0", b"o\0n\0e\0\n\0\0"])
def test_a_zero_byte_is_refused_with_its_line(tmp_path: Path, content: bytes) -> None:
    line = content[: content.index(b"\0")].count(b"\n") + 1
    with pytest.raises(DataError, match=rf"file.json:{line}: a zero byte, which no text has; convert the file"):
        read_text(written(tmp_path, content))


def test_a_sparse_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "sparse.tsv"
    with path.open("wb") as file:
        file.truncate(10**13)
    with pytest.raises(DataError, match=r"sparse.tsv:1: a zero byte"):
        read_text(path)
    with path.open("r+b") as file:
        file.write(b"text\n" * 2**20)
    with pytest.raises(DataError, match=r"sparse.tsv:1048577: a zero byte"):
        read_text(path)


def test_a_device_without_an_end_is_not_read() -> None:
    with pytest.raises(DataError, match="/dev/zero:1: a zero byte"):
        read_text(Path("/dev/zero"))


def test_a_long_pipe_is_read(tmp_path: Path) -> None:
    pipe, text = tmp_path / "pipe", "a line\n" * 2**19
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(text), daemon=True)
    writer.start()
    assert read_text(pipe) == text


def test_a_limit_is_the_size_of_the_largest_file(tmp_path: Path) -> None:
    path = written(tmp_path, b"12345")
    assert read_bytes(path, 5) == b"12345"
    with pytest.raises(DataError, match="larger than 4 bytes"):
        read_bytes(path, 4)


def test_below_a_file_there_is_no_sealed_file(tmp_path: Path) -> None:
    assert find_sealed(written(tmp_path, b"") / "record.json", "") is None


def test_a_folder_written_by_three_at_once_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second writer puts its folder there, and the third moves it away before the first has noticed it."""
    place, replace = tmp_path / "folder", Path.replace

    def overtaken(part: Path, target: Path) -> Path:
        if target != place:
            return replace(part, target)
        place.mkdir()
        (place / "file").write_text("of the second")
        try:
            return replace(part, target)
        finally:
            replace(place, tmp_path / "moved by the third")

    monkeypatch.setattr(Path, "replace", overtaken)
    write_folder_atomically(place, lambda part: (part / "file").write_text("of the first"))
    assert [path.name for path in tmp_path.iterdir()] == ["moved by the third"]


@pytest.mark.parametrize(
    ("error", "number"),
    [
        (OSError(errno.ENOSPC, "x"), errno.ENOSPC),
        (OSError(errno.EDQUOT, "x"), errno.EDQUOT),
        (OSError(errno.EFBIG, "x"), errno.EFBIG),
        (RuntimeError("write failed: No space left on device"), errno.ENOSPC),
        (RuntimeError("Error while serializing: I/O error: File too large (os error 27)"), errno.EFBIG),
        (OSError(errno.EACCES, "x"), 0),
    ],
)
def test_a_full_disk_is_told_from_other_errors(error: Exception, number: int) -> None:
    assert full_disk(error) == number


def test_values_in_messages_are_cut_to_a_width() -> None:
    assert quoted("x" * 58) == f"'{'x' * 58}'" and quoted("x" * 59) == f"'{'x' * 55}...'"
    assert quoted([1, 2, 3], 9) == "[1, 2, 3]" and quoted([1, 2, 3], 8) == "[1, ...]"
    assert len(quoted("x" * 58)) == len(quoted("x" * 59)) == 60


@pytest.mark.parametrize("part", [1, 4, 1 << 20])
@pytest.mark.parametrize("text", ["\n", "a", "a\nb", "a\r\n\nb\n", "\x0b\n\u2028b\n", "ä\n\ufeffä\n", "\n\n\n"])
def test_lines_in_parts_are_those_of_the_whole(
    text: str, part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_READ_BYTES", part)
    path = written(tmp_path, b"\xef\xbb\xbf" + text.encode())
    assert list(files.text_lines(path)) == text.removesuffix("\n").split("\n")
    assert list(files.text_lines(written(tmp_path, b""))) == []


@pytest.mark.parametrize("fault", ["\xff", "\x00"])
def test_a_fault_of_a_later_part_names_its_line(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_READ_BYTES", 2)
    lines = files.text_lines(written(tmp_path, b"one\n\ntwo\n" + fault.encode("latin-1") + b"\n"))
    with pytest.raises(DataError, match=r"file\.json:4: "):
        list(lines)
