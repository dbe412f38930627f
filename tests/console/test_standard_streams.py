"""Standard streams that are closed, full or no longer read, and terminals that lack characters."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import errno, os, sys
from benchrunner.console.standard_streams import prepare_streams
prepare_streams()
file = open("file.txt", "w")
print("result \\u00e4 \\udcff")
print("note \\u00e4 \\udcff", file=sys.stderr)
for stream in (1, 2):
    try:  # a library writes past Python's streams, and does not ask whether it worked
        os.write(stream, b"library\\n")
    except OSError as error:
        assert error.errno in (errno.EPIPE, errno.ENOSPC), error
sys.stdin.read()
sys.stdout.flush()
assert file.fileno() > 2
"""
PROGRAMS = {"script": f'{sys.executable} -c "$SCRIPT"', "list": f"{sys.executable} -m benchrunner list"}


def shell(line: str, folder: Path, program: str = "script", **environment: str) -> tuple[int, str, str]:
    """Run a line of a shell in which PROGRAM stands for the program; return exit code, output and errors."""
    result = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line.replace('PROGRAM', PROGRAMS[program])}"],
        cwd=folder,
        env={**os.environ, "SCRIPT": SCRIPT, **environment},
        capture_output=True,
        stdin=subprocess.DEVNULL,
    )
    return result.returncode, result.stdout.decode("latin-1"), result.stderr.decode("latin-1")


LINES = [
    "PROGRAM >&- 2>&- <&-",
    "PROGRAM | true",
    "PROGRAM 2>&1 | true",
    *(
        pytest.param(line, marks=pytest.mark.slow)
        for line in [
            "PROGRAM >&-",
            "PROGRAM 2>&-",
            "PROGRAM <&-",
            "PROGRAM >&- 2>&-",
            "PROGRAM < /dev/null",
            "PROGRAM | head -1 > /dev/null",
            "PROGRAM 2>&1 >&- | true",
            "PROGRAM 2> /dev/full > /dev/null",
        ]
    ),
]


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("program", ["script", pytest.param("list", marks=pytest.mark.slow)])
def test_closed_and_unread_streams_are_no_failure(line: str, program: str, tmp_path: Path) -> None:
    code, _, err = shell(line, tmp_path, program)
    assert (code, err.replace("library\n", "").partition("note")[0]) == (0, "")
    assert program == "list" or (tmp_path / "file.txt").read_bytes() == b""


def test_a_full_disk_behind_standard_output_is_told(tmp_path: Path) -> None:
    code, _, err = shell("PROGRAM > /dev/full", tmp_path, "list")
    assert (code, err.partition(".")[0]) == (1, "benchrunner: standard output: No space left on device")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_characters_that_an_encoding_lacks_are_escaped(encoding: str, tmp_path: Path) -> None:
    code, out, err = shell("PROGRAM", tmp_path, PYTHONIOENCODING=encoding)
    shown = {"ascii": "\\xe4 \\udcff", "latin-1": "\u00e4 \\udcff", "utf-8": "\u00c3\u00a4 \\udcff"}[encoding]
    assert code == 0 and f"result {shown}\n" in out and f"note {shown}\n" in err
