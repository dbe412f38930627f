"""Completion in a shell: what argcomplete is told, and that the command line works without argcomplete."""

import io
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import benchrunner
import forked
import inline
from benchrunner.command_line.main import main
from benchrunner.plugins.registry import Plugins

PROGRAM = str(Path(inline.__file__))
MARK = b"PYTHON_ARGCOMPLETE_OK"


@pytest.fixture(scope="module")
def plugins() -> Plugins:
    """The inline plugins, for commands that only read their names."""
    return inline.plugins(register_tasks=[inline.mood(), inline.pairs()])


def asking(line: str) -> dict[str, str]:
    """Return the environment of a program that a shell asks to complete a line."""
    return {
        "_ARGCOMPLETE": "1",
        "_ARGCOMPLETE_IFS": "\n",
        "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
        "COMP_LINE": line,
        "COMP_POINT": str(len(line)),
    }


def test_a_shell_asks_the_program(tmp_path: Path) -> None:
    pytest.importorskip("argcomplete")
    output = tmp_path / "completions"
    environment = {**os.environ, **asking("benchrunner do"), "_ARGCOMPLETE_STDOUT_FILENAME": str(output)}
    done = forked.run([PROGRAM], env=environment)
    assert (done.returncode, done.stdout, output.read_text().strip()) == (0, "", "doctor"), done.stderr


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("benchrunner list t", ["tasks"]),
        ("benchrunner run mood --ba", ["--backbone", "--batch-size"]),
        ("benchrunner run mood --backbone t", ["tiny/words"]),
        ("benchrunner run m", ["mine/mood", "mine/pairs"]),
        ("benchrunner submit m", ["moods"]),
        ("benchrunner run mood --method fi", ["finetune", "finetune+bilstm"]),
        ("benchrunner run mood --grid paper-", ["paper-appendix"]),
    ],
)
def test_a_shell_gets_commands_options_and_names(
    line: str, expected: list[str], plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    argcomplete = pytest.importorskip("argcomplete")
    for name, value in asking(line).items():
        monkeypatch.setenv(name, value)
    output = io.StringIO()
    answer = partial(argcomplete.autocomplete, exit_method=sys.exit, output_stream=output)
    monkeypatch.setattr(argcomplete, "autocomplete", answer)
    monkeypatch.setattr(argcomplete.CompletionFinder, "_init_debug_stream", lambda finder: None)  # takes pytest's file
    monkeypatch.setattr(argcomplete.io, "debug_stream", io.StringIO())
    with pytest.raises(SystemExit, match="0"):
        main([], plugins=plugins)
    assert sorted(output.getvalue().splitlines()) == expected


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
