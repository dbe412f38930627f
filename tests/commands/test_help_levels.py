"""`--help` shows everyday options on one screen; `--help-all` shows the rest, and what only `--set` sets."""

import pytest

from benchrunner.parameters.recipes import RECIPE_FIELDS
from command_line import Shell


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def options(text: str) -> list[str]:
    """Return the options whose lines a help has."""
    return [line.split()[0].rstrip(",") for line in text.splitlines() if line.startswith("  -")]


@pytest.mark.parametrize("command", ["compare", "run"])
def test_everyday_options_fit_on_one_screen(shell: Shell, command: str) -> None:
    text = shell.done(command, "--help")
    assert len(text.splitlines()) <= 40 and len(options(text)) <= 26
    assert "  --batch-size N        examples in one optimizer step (32)\n" in text
    assert (
        "--trust-code" not in text and f"show {len(options(every(shell, command))) - len(options(text))} more" in text
    )


def every(shell: Shell, command: str) -> str:
    return shell.done(command, "--help-all")


def test_all_options_and_parameters_are_in_help_all(shell: Shell) -> None:
    text = every(shell, "compare")
    assert set(options(shell.done("compare", "--help"))) < set(options(text))
    for name in RECIPE_FIELDS:
        written = name.replace("_", "-")
        assert f"\n  --{written}" in text or f"\n  {written} " in text, name


def test_a_parameter_without_an_option_is_set_by_its_name(shell: Shell) -> None:
    error = shell.refused("run", "mood", "--weight-decay", "0")
    assert "there is no option --weight-decay. Write --set weight-decay=VALUE.\n" in error
    words = ("run", "mood", "--data", "data", "--backbone", "words", "--dry-run")
    line = shell.json(*words, "--set", "weight-decay=0", "--lr", "1e-3")["fits"][0]
    assert shell.json(*words, "--set", "weight_decay=0", "lr=1e-3")["fits"][0] == line
    assert "lr is given twice: by its option, and by --set." in shell.refused(*words, "--set", "lr=1", "--lr", "1")
    assert "lr must be a number from 0 up, not 'far'" in shell.refused(*words, "--set", "lr=far")
