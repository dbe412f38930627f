"""`compare NAME=BACKBONE`: names stand in tables, options and JSON, and are no part of a fit."""

import json
from typing import Any

from command_line import Shell

QUIET = ("--quiet", "--device", "cpu", "--max-length", "16")


def words(shell: Shell, *systems: str) -> tuple[str, ...]:
    return ("compare", *systems, "--tasks", "mood", *shell.folders(), *QUIET)


def fits(values: Any) -> list[str]:
    return [fit["id"] for cell in values["cells"] for fit in cell["fits"]]


def test_a_name_is_no_part_of_a_fit(shell: Shell) -> None:
    plain = json.loads(shell.done(*words(shell, "words"), "--json"))
    named = json.loads(shell.done(*words(shell, "small=words"), "--json"))
    assert fits(named) == fits(plain)
    [system] = named["systems"]
    assert (system["name"], system["backbone"]) == ("small", "words")
    assert named["kept_as"].startswith("small-on-mood-")


def test_names_with_methods_contrasts_and_submissions(shell: Shell) -> None:
    command = (*words(shell, "small=words"), "--method", "finetune,majority")
    values = json.loads(shell.done(*command, "--against", "small (majority)", "--json"))
    assert values["contrasts"] == [["small (finetune)", "small (majority)"]]
    shown = shell.done(*command, "--notes")
    assert "small (majority)" in shown and "small (finetune): words" in shown


def test_notes_are_counted_unless_asked(shell: Shell) -> None:
    command = (*words(shell, "small=words"), "--method", "finetune,majority,probe")
    *_, kept, last = shell.done(*command).splitlines()
    every = shell.done(*command, "--notes")
    assert "small (probe): words\n" in every
    notes = json.loads(shell.done(*command, "--json"))["notes"]
    assert [note for note in notes if note.endswith(": words")] == [
        f"small ({method}): words" for method in ("finetune", "majority", "probe")
    ]
    assert kept.split()[-1] in every and last.endswith(" notes: --notes")


def test_the_lines_below_say_how_to_write_a_report(shell: Shell) -> None:
    [*_, then, _] = shell.done(*words(shell, "small=words")).splitlines()
    has_report = "report" in shell.done("--help")
    runs = shell.folders()[shell.folders().index("--runs") + 1]
    says = f"  next: benchrunner report --runs {runs} small" if has_report else "  kept as the study small"
    assert then.startswith(says)
