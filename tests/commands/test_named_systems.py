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
    shown = shell.done(*command)
    assert "small (majority)" in shown and "small (finetune): words" in shown


def test_notes_of_a_kind_are_one_line_unless_asked(shell: Shell) -> None:
    command = (*words(shell, "small=words"), "--method", "finetune,majority,probe")
    assert "small (finetune): words (2 more such notes: --notes)" in shell.done(*command)
    every = shell.done(*command, "--notes")
    assert "small (probe): words\n" in every and "more such" not in every
    notes = json.loads(shell.done(*command, "--json"))["notes"]
    assert [note for note in notes if note.endswith(": words")] == [
        f"small ({method}): words" for method in ("finetune", "majority", "probe")
    ]


def test_the_last_line_says_how_to_write_a_report(shell: Shell) -> None:
    [*_, kept, last] = shell.done(*words(shell, "small=words")).splitlines()
    assert last.endswith(f": benchrunner report {kept.split()[-1]}") == ("report" in shell.done("--help"))
