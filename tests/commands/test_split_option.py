"""Test splits are answered, and scored if they have labels, besides dev with `--split`."""

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


def test_a_split_without_labels_is_answered_without_a_figure(shell: Shell) -> None:
    words = (*COMPARE, *shell.folders(), *QUIET, "--split", "test", "--name", "sealed", "--restarts", "2")
    code, out, err = shell(*words, "--notes")
    said = "the answers are kept, and whoever has the labels scores them"
    assert code == 0 and f"mine/mood (test): {said} (there are none in " in err
    assert f"no figure: 2 of 2 restarts: {said}" in out
    first = shell.json(*words)
    figures = {figure["column"]: figure["mean"] for figure in first["figures"]}
    assert figures["mine/mood (test) accuracy"] is None and figures["mine/mood (dev) accuracy"] is not None
    assert {row["split"] for row in first["majority"]} == {"dev"}
    answers = list((shell.folder / "runs").glob("*/predictions/*/prediction.json"))
    assert sum('"split": "test"' in path.read_text() for path in answers) == 3, "two restarts and the majority"


def test_a_split_that_no_task_has_is_refused_before_any_fit(shell: Shell) -> None:
    with_labelled_test(shell)
    error = shell.refused(*RUN, *shell.folders(), *QUIET, "--split", "hrd")
    assert "There is no test split 'hrd' in these tasks. Did you mean hard?" in error
    error = shell.refused("compare", "--study", "x.toml", "--split", "hard")
    assert (
        "The study x.toml says what is compared and shown, and --systems and --columns choose from it: leave split out."
        in error
    )
    assert not list((shell.folder / "runs").glob("*/record.json"))
