"""Texts of files and plugins are escaped and shortened before a terminal shows them."""

import ast
import io
import json
import time
from pathlib import Path

import pytest

import benchrunner
from benchrunner.command_line.main import main
from benchrunner.command_line.output import print_columns, print_json, print_table
from benchrunner.console import printing
from benchrunner.console.printing import LINE_WIDTH, TEXT_LINES, new_console, print_data, printable
from benchrunner.errors import described, first_line
from benchrunner.io.messages import quoted
from inline import mood, plugins

HOSTILE = {
    "colour": "\x1b[31mred",
    "title of the window": "\x1b]0;owned\x07",
    "hyperlink": "\x1b]8;;http://evil\x1b\\here\x1b]8;;\x1b\\",
    "clear": "\x1b[2J\x1b[H",
    "one-byte CSI": "\x9b31m",
    "one-byte OSC": "\x9d0;owned\x9c",
    "carriage return": "wrong\rright",
    "backspace": "wrong\b\b\b\b\bright",
    "delete": "a\x7fb",
    "null": "a\0b",
    "bell": "\a",
    "form feed": "\f\v",
    "next line": "a\x85b",
    "line separator": "a\u2028b\u2029c",
    "right to left": "a\u202egpj.exe",
    "isolate": "\u2066a\u2069",
    "byte order mark": "\ufeffa",
    "tag characters": "\U000e0041\U000e0042",
    "path that is not UTF-8": "caf\udce9",
    "shift out": "\x0e\x0f",
    "device status": "\x1b[6n",
    "sixel": "\x1bPq#0\x1b\\",
}
"""Texts that a terminal would obey, or that would show something else than what is there."""


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_characters_are_shown_and_not_obeyed(name: str) -> None:
    shown = printable(f"before {HOSTILE[name]} after")
    assert shown.isprintable() and shown.isascii() and "\\" in shown
    assert shown.startswith("before ") and shown.endswith(" after")
    assert printable(shown) == shown, "escaping twice is the same as once"


@pytest.mark.parametrize(
    "text", ["Grüße, 世界", "a\tb\nc", "नमस्\u200dते", "می\u200cخواهم", "👩\u200d👩", "1\u00a0000", "a\u3000b", ""]
)
def test_texts_of_any_language_are_printed_as_they_are(text: str) -> None:
    assert printable(text) == text


def test_long_lines_keep_beginning_and_end() -> None:
    started = time.process_time()
    shown = printable(f"data.tsv:1: {'x' * 10_000_000}; a tab is expected.")
    assert len(shown) <= LINE_WIDTH and "(10,000,0" in shown
    assert shown.startswith("data.tsv:1: xx") and shown.endswith("xx; a tab is expected.")
    assert len(printable("\x1b" * 10_000_000)) <= LINE_WIDTH
    assert len(printable("\x1b" * (LINE_WIDTH - 1))) <= LINE_WIDTH
    assert time.process_time() - started < 5
    assert printable("é\x1b" * 3000) == printable(printable("é\x1b" * 3000))


def test_texts_of_many_lines_keep_beginning_and_end() -> None:
    shown = printable("first\n" + "\n" * 10_000_000 + "last").split("\n")
    assert len(shown) < TEXT_LINES and (shown[0], shown[-1]) == ("first", "last")
    assert printable("\n".join("ab")) == "a\nb"


class Wordy:
    def __repr__(self) -> str:
        return "\x1b" + "very " * 1_000_000 + "wordy"


def test_long_values_and_messages_become_one_short_line() -> None:
    assert len(quoted(Wordy())) <= 63 and "\x1b" not in quoted(Wordy())
    for text in (described(ValueError("long " * 1_000_000)), first_line(ValueError("\x1b" * 1_000_000))):
        assert len(text) <= LINE_WIDTH and text.isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_tables_escape_cells_headers_and_titles(name: str) -> None:
    from rich.table import Table

    table = Table(title=HOSTILE[name])
    table.add_column(HOSTILE[name])
    table.add_row(HOSTILE[name])
    file = io.StringIO()
    console = new_console(width=200, file=file)
    console.print(table)
    console.print(HOSTILE[name], markup=False, highlight=False, soft_wrap=True)
    assert file.getvalue().replace("\n", "").isprintable()
    assert file.getvalue().count(printable(HOSTILE[name])) == 4


def test_cells_and_notes_of_a_table_are_shortened() -> None:
    from rich.table import Table

    table = Table()
    table.add_column("words")
    table.add_row("word " * 2_000_000)
    file = io.StringIO()
    console = new_console(width=100, file=file)
    console.print(table)
    console.print("x" * 10_000_000, markup=False, soft_wrap=True)
    assert len(file.getvalue()) < 20_000


def test_json_has_no_character_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "é"})
    assert "é" in capsys.readouterr().out
    print_json(list(HOSTILE.values()))
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable() and json.loads(text) == list(HOSTILE.values())


def test_long_lines_are_broken_at_blanks_on_terminals_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    about = " ".join(["word"] * 30)
    print_columns([("name", about), ("n", "short")])
    assert capsys.readouterr().out == f"  name  {about}\n  n     short\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    print_columns([("name", about), ("n", "short")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["  name  word word word word word word", "        word word word word word word"]
    assert lines[-1] == "  n     short" and len(lines) == 6
    print_table("", [about])
    assert {len(line) for line in capsys.readouterr().out.splitlines()[1:-1]} == {36}


def test_data_is_escaped_on_terminals_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    print_data("\x1b]0;x\a\n")
    assert capsys.readouterr().out == "\x1b]0;x\a\n"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    print_data("\x1b]0;x\a\n")
    assert capsys.readouterr().out == "\\x1b]0;x\\x07\n"


def test_closed_streams_are_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", None)
    monkeypatch.setattr("sys.stderr", None)
    printing.print_line("a")
    printing.print_note("b")
    print_data("c")


@pytest.mark.parametrize("name", list(HOSTILE)[::7])
def test_words_of_the_user_come_back_escaped(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    word = HOSTILE[name]
    for words in ([word], ["list", word], ["list", f"--{word}"], ["run", word], ["data", "status", word]):
        try:
            code = main(words, plugins=plugins(register_backbones=[]))
        except SystemExit as ended:
            code = int(str(ended.code))
        shown = capsys.readouterr()
        assert code == 2 and shown.out == ""
        assert shown.err.replace("\n", "").isprintable() and len(shown.err) < 2 * LINE_WIDTH


@pytest.mark.parametrize("name", list(HOSTILE)[::7])
def test_texts_of_plugins_are_listed_escaped(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    offers = plugins(register_tasks=[mood(about=HOSTILE[name])], register_backbones=[])
    for words in (["list"], ["list", "tasks"], ["list", "--json"], ["doctor"]):
        assert main(words, plugins=offers) == 0
        assert capsys.readouterr().out.replace("\n", "").isprintable()


def test_everything_is_printed_through_one_module() -> None:
    package = Path(benchrunner.__file__).parent
    texts = {path: path.read_text(encoding="utf-8") for path in package.rglob("*.py")}
    printed = [
        f"{path.relative_to(package)}:{node.lineno}"
        for path, text in texts.items()
        for node in ast.walk(ast.parse(text if "print" in text else ""))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert printed == []
