"""Completion in a shell: what argcomplete is told, and that the command line works without argcomplete."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import benchrunner
import forked
import inline

PROGRAM = str(Path(inline.__file__))
MARK = b"PYTHON_ARGCOMPLETE_OK"


def completions(line: str, folder: Path) -> list[str]:
    """Return what a shell gets that asks to complete a line."""
    output = folder / "completions"
    environment = {
        **os.environ,
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "_ARGCOMPLETE_STDOUT_FILENAME": str(output),
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }
    done = forked.run([PROGRAM], env=environment)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return sorted(word.strip() for word in output.read_text().splitlines())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("benchrunner do", ["doctor"]),
        ("benchrunner list t", ["tasks"]),
        ("benchrunner run mood --ba", ["--backbone", "--batch-size", "--batch-unit"]),
        ("benchrunner run mood --backbone t", ["tiny/words"]),
        ("benchrunner run m", ["mine/mood", "mine/pairs"]),
        ("benchrunner submit m", ["moods"]),
        ("benchrunner run mood --method fea", ["features", "features+attention"]),
        ("benchrunner run mood --grid paper-", ["paper-appendix"]),
    ],
)
def test_a_shell_gets_commands_options_and_names(line: str, expected: list[str], tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    assert completions(line, tmp_path) == expected


def test_argcomplete_finds_its_mark_where_it_looks() -> None:
    """It reads the first 1,024 bytes of the module of the console script, and of `python -m benchrunner`."""
    folder = Path(benchrunner.__file__).parent
    for name in ("command_line/main.py", "__main__.py"):
        assert MARK in (folder / name).read_bytes()[:1024]


def test_the_command_line_works_without_argcomplete() -> None:
    code = "import sys; sys.modules['argcomplete'] = None; import benchrunner.__main__"
    environment = {**os.environ, "_ARGCOMPLETE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code, "list", "methods"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "majority" in done.stdout, done.stderr
