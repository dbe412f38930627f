"""The parser: versions, suggestions for mistyped words, and commands that are only parsed."""

import argparse
import re
import subprocess
import sys
from types import ModuleType
from typing import Any

import pytest

import benchrunner
from benchrunner.command_line.parser import Parser
from benchrunner.results import discover
from command_line import Shell
from inline import own, plugin

MISTYPED: dict[str, tuple[list[str], str]] = {
    "command": (["comapre", "words"], "there is no command 'comapre'. Did you mean compare?"),
    "strange command": (["xyzzy"], "there is no command 'xyzzy'. Choose from list, doctor, run, compare"),
    "word that says nothing": (["a"], "there is no command 'a'. Choose from list, doctor, run, compare"),
    "command of another name": (
        ["score"],
        "there is no command 'score'. 'audit' is to score and flag prediction files",
    ),
    "option": (["run", "mood", "--bakbone", "words"], "there is no option --bakbone. Did you mean --backbone?"),
    "option with a value": (["run", "mood", "--epoch5=3"], "there is no option --epoch5. Did you mean --epochs?"),
    "option before what it needs": (["submit", "moods", "--bakbone", "b"], "there is no option --bakbone. Did you"),
    "strange option": (["list", "--xyzzy"], "there is no option --xyzzy.\n"),
    "option of another command": (["list", "--tasks", "mood"], "there is no option --tasks."),
    "option of no command": (["--versoin"], "there is no option --versoin. Did you mean --version?"),
    "option before the command": (["--runs", "d", "list"], "there is no option --runs. Options of a command stand "),
    "short option": (["list", "-x"], "too many words, or options that it does not have: -x.\n"),
    "choice": (["run", "mood", "--keep", "selcted"], "--keep must be one of selected, all, none, not 'selcted'. Did"),
    "strange choice": (["data", "look"], "argument action: there is no choice 'look'. Choose from status, fetch."),
    "word too many": (["doctor", "please"], "too many words, or options that it does not have: please.\n"),
    "no whole number": (
        ["run", "mood", "--jobs", "1.5"],
        "--jobs must be a whole number from 1 to 1,024, not '1.5'.\n",
    ),
    "no number": (
        ["run", "mood", "--checkpoint-every", "x"],
        "--checkpoint-every must be a number from 0 up, not 'x'.\n",
    ),
    "option without a value": (["run", "mood", "--lr"], "argument --lr: expected one argument."),
}


@pytest.mark.parametrize("name", MISTYPED)
def test_a_mistyped_word_is_answered_with_the_closest(name: str, shell: Shell) -> None:
    words, reason = MISTYPED[name]
    error = shell.refused(*words)
    command = words[0] if words[0] in ("run", "submit", "list", "data", "doctor") else ""
    program = f"benchrunner {command}".strip()
    assert error.startswith(f"{program}: {reason}"[: len(error)])
    assert error.endswith(f"\nSee '{program} --help'.\n")
    assert len(error.splitlines()) == 2


def test_a_word_of_several_helps_names_two_commands(shell: Shell) -> None:
    def commands(cli: Any) -> None:
        for name in ("one", "two", "moodz"):
            cli.add_parser(name, help=f"weigh all moods of {name}").set_defaults(run=lambda arguments: None)

    shell.plugins = discover(extra=[("mine", plugin(register_commands=commands))], installed=False)
    two = "'one' is to weigh all moods of one. 'two' is to weigh all moods of two.\n"
    assert shell.refused("weigh").startswith(f"benchrunner: there is no command 'weigh'. {two}")
    assert "there is no command 'moods'. Did you mean moodz?\n" in shell.refused("moods")


def test_abbreviated_options_and_values_with_dashes_work(shell: Shell) -> None:
    assert shell("--parse-only", "run", "mood", "--back", "words", "--checkpoint-every", "0.5") == (0, "", "")
    assert "--checkpoint-every must be a number from 0 up, not -0.5." in shell.refused("run", "mood", "--ch", "-0.5")


@pytest.mark.parametrize(
    "words",
    [
        ["--out", "x", "RUN", "FILE", "--split", "dev"],
        ["RUN", "--out", "x", "FILE", "--split", "dev"],
        ["RUN", "--out=x", "--split", "dev", "FILE"],
    ],
)
def test_options_may_stand_anywhere_among_the_words(words: list[str]) -> None:
    parser = Parser(prog="mine")
    parser.add_argument("given", nargs="*")
    for name in ("--out", "--split"):
        parser.add_argument(name)
    parsed = parser.parse_args(words)
    assert (parsed.given, parsed.out, parsed.split) == (["RUN", "FILE"], "x", "dev")


def test_words_of_two_commands_are_not_mixed_up(shell: Shell) -> None:
    assert shell("--parse-only", "compare", "a", "--restarts", "2", "b", "--tasks", "mood") == (0, "", "")
    assert "there is no option --restrats" in shell.refused("compare", "a", "--restrats", "2", "b", "--tasks", "mood")


def test_words_behind_two_dashes_are_no_options() -> None:
    parser = Parser(prog="mine")
    parser.add_argument("words", nargs="*")
    assert parser.parse_args(["--", "--strange"]).words == ["--strange"]


def test_a_command_that_passes_words_on_gets_them_all() -> None:
    parser = Parser(prog="mine")
    commands = parser.add_subparsers()
    commands.add_parser("launch").add_argument("words", nargs=argparse.REMAINDER)
    assert parser.parse_args(["launch", "train.py", "--strange", "1"]).words == ["train.py", "--strange", "1"]


def test_commands_of_plugins_suggest_too(shell: Shell) -> None:
    def hello(cli: Any) -> None:
        command = cli.add_parser("hello")
        command.add_argument("--loudly", action="store_true")
        command.set_defaults(run=lambda arguments: 0)

    greeter = plugin(register_commands=hello)
    shell.plugins = discover(extra=[("own", own()), ("greeter", greeter)], installed=False)
    assert shell("hello", "--loudly")[0] == 0
    assert "benchrunner hello: there is no option --loudy. Did you mean --loudly?" in shell.refused("hello", "--loudy")
    assert "Did you mean hello?" in shell.refused("helo")


def test_only_the_chosen_command_is_imported() -> None:
    """A command has one line in the help of all; its own file is read when somebody asks for the command."""
    code = "from benchrunner.command_line.main import main; main(['list', 'tasks'])"
    code += "; import sys; print([name for name in sys.modules if name.startswith('benchrunner.commands.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "['benchrunner.commands.list_command']"


def test_a_plugins_command_may_live_in_a_module(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    later = ModuleType("later")
    later.add_options = lambda parser: parser.add_argument("--times", type=int)  # type: ignore[attr-defined]
    later.run = lambda arguments: arguments.times  # type: ignore[attr-defined]

    def hook(cli: Any) -> None:
        cli.add_parser("later", help="in a module", module="later")

    shell.plugins = discover(extra=[("own", plugin(register_commands=hook))], installed=False)
    code, out, err = shell("later")
    assert (code, out) == (1, "")
    assert "The module later of 'benchrunner later' failed: ModuleNotFoundError: No module named 'later'." in err
    monkeypatch.setitem(sys.modules, "later", later)
    assert shell("later", "--times", "3")[0] == 3
    assert "argument --times: 'x' is not a whole number" in shell.refused("later", "--times", "x")


def test_the_version_is_the_one_that_fits_are_identified_by(shell: Shell) -> None:
    code, out, err = shell("--version")
    assert (code, out, err) == (0, f"benchrunner {shell.plugins.core.version}\n", "")
    assert re.match(rf"benchrunner ({re.escape(benchrunner.__version__)}|0)\b", out)


def test_a_command_can_be_parsed_without_being_run(shell: Shell) -> None:
    assert shell("--parse-only", "run", "mood", "--backbone", "words") == (0, "", "")
    assert not (shell.folder / "runs").exists()
    assert "there is no option --bakbone" in shell.refused("--parse-only", "run", "mood", "--bakbone", "words")
