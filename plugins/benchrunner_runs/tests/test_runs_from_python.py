"""What `runs` prints and removes is what Python gives and removes."""

import json
from typing import Any

from benchrunner.engine import decoding
from benchrunner.results import find_study, kept_studies
from benchrunner_runs.details import run_details
from benchrunner_runs.removal import prune_runs, remove_runs
from benchrunner_runs.summaries import list_runs, sorted_runs, with_words
from command_line import Shell


def same_json(value: Any) -> Any:
    """The value as a reader of JSON gets it."""
    return json.loads(json.dumps(decoding.as_json(value)))


def test_every_action_gives_what_python_gives(shell: Shell) -> None:
    runs = shell.folder / "runs"
    words = ("words", "--tasks", "mood", "--restarts", "2", "--name", "two", *shell.folders(), "--device", "cpu")
    assert shell("compare", *words, "--quiet")[0] == 0
    summaries, notes = list_runs(runs, shell.plugins)
    places = ("--runs", str(runs))
    listed = shell.json("runs", *places, "--sort", "id")
    assert listed["runs"] == same_json(sorted_runs(summaries, "id"))
    assert listed["notes"] == notes == []
    [left] = find_study(runs, "two").selected
    [right] = [run.id for run in with_words(summaries, ["words"]) if run.id != left]
    shown = shell.json("runs", "show", left, *places)
    assert shown.pop("selected_by") == ["two"]
    assert shown == same_json(run_details(runs, left))
    printed = shell.json("runs", "studies", *places)
    assert printed["studies"] == same_json(kept_studies(runs)[0])
    prunable = prune_runs(runs, dry_run=True)
    assert shell.json("runs", "prune", "--dry-run", *places) == {**same_json(prunable), "dry_run": True}
    planned = remove_runs(runs, [right], force=True, dry_run=True)
    assert shell.json("runs", "rm", right, "--force", *places)["removed"] == list(planned.removed)
    assert not (runs / right).exists()
