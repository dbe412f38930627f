"""Labelled test splits are scored besides dev with `--split`, and read again from the kept study."""

from dataclasses import replace

import pytest

from benchrunner import Split, TextTable
from benchrunner.results import Computing
from command_line import Shell
from inline import ROWS, mood, plugins

QUIET = ("--quiet", "--device", "cpu")
RUN = ("run", "mood", "--backbone", "words")
COMPARE = ("compare", "words", "--tasks", "mood")


def with_labelled_test(shell: Shell) -> Shell:
    """The dev file once more, as a test split with labels."""
    file = TextTable("mood/dev.tsv", {"a": "text", "label": "mood"})
    task = mood()
    splits = {**task.splits, "hard": Split("test", (file,), ROWS["dev"])}
    shell.plugins = plugins(register_tasks=[replace(task, splits=splits)])
    return shell


@pytest.mark.parametrize("words", [RUN, COMPARE])
def test_a_labelled_test_split_is_scored_too(words: tuple[str, ...], shell: Shell) -> None:
    with_labelled_test(shell)
    shown = shell.json(*words, *shell.folders(), *QUIET, "--split", "hard")
    scores = {(row["split"], row["metric"]): row["mean"] for row in shown["cells"][0]["scores"]}
    majority = {(row["split"], row["metric"]): row["score"] for row in shown["majority"]}
    assert set(scores) == {(split, metric) for split in ("dev", "hard") for metric in ("accuracy", "matthews")}
    for metric in ("accuracy", "matthews"):  # the two splits have the same rows
        assert scores["dev", metric] == scores["hard", metric]
        assert majority["dev", metric] == majority["hard", metric]
    out = shell.done(*words, *shell.folders(), *QUIET, "--split", "hard")
    assert "mine/mood (hard)" in out and "mine/mood (dev)" in out
    out = shell.done(*words, *shell.folders(), *QUIET)
    assert "hard" not in out


def test_a_kept_study_has_its_test_splits(shell: Shell) -> None:
    with_labelled_test(shell)
    shell.done(*COMPARE, *shell.folders(), *QUIET, "--split", "hard", "--name", "both")
    from benchrunner import Workspace
    from benchrunner.results import Runner, read_study

    runner = Runner(shell.plugins, Workspace(shell.folder / "runs", shell.folder / "cache"), Computing("cpu"))
    result = read_study("both", runner)
    assert {term.split for cell in result.cells for term in cell.figures} == {"dev", "hard"}
    assert {term.split for term in result.baseline} == {"dev", "hard"}


def test_a_split_without_labels_is_refused_before_any_fit(shell: Shell) -> None:
    with_labelled_test(shell)
    error = shell.refused(*RUN, *shell.folders(), *QUIET, "--split", "test")
    assert "mine/mood has no labels in its split test (" in error and "Score dev instead." in error
    error = shell.refused(*RUN, *shell.folders(), *QUIET, "--split", "hrd")
    assert "There is no labelled test split 'hrd' in these tasks. Did you mean hard?" in error
    error = shell.refused("compare", "--study", "x.toml", "--split", "hard")
    assert "The columns of the study x.toml say which splits are scored: leave --split out." in error
    assert not list((shell.folder / "runs").glob("*/record.json"))
