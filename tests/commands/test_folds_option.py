"""`--folds` on the command line: what is counted, shared and refused."""

import pytest

from command_line import Shell

COMPARE = ("compare", "words", "--tasks", "mood", "--quiet", "--device", "cpu", "--max-length", "16")


def test_what_needs_a_model_is_refused(shell: Shell) -> None:
    found = shell.json(*COMPARE, *shell.folders(), "--folds", "3", "--name", "cv")
    run = found["cells"][0]["selected"]
    for words in (("runs", "export", run, "out"), ("compare", f"run:{run}", "--tasks", "mood")):
        error = shell.refused(*words, *shell.folders())
        assert "has no model: it consists of 3 fits" in error and "benchrunner run mine/mood --backbone words" in error
    error = shell.refused("submit", "moods", "--study", "cv", *shell.folders())
    assert "The study cv is cross-validated: none of its fits has learned from all rows" in error
    error = shell.refused("submit", "moods", "--backbone", "words", "--folds", "3", *shell.folders())
    assert "A submission is answered by a fit to all rows" in error
    assert not list((shell.folder / "runs").glob("*/model/*.safetensors"))
    listed = shell.done("runs", "list", "--only", "mine/mood@3", *shell.folders()[2:])
    assert "mine/mood@3" in listed and "left out" not in listed


def test_a_cross_validated_study_is_shared_and_verified(shell: Shell) -> None:
    shell.done(*COMPARE, *shell.folders(), "--folds", "3", "--name", "cv")
    shell.done("share", "cv", "--out", "shared", *shell.folders())
    verified = shell.done("check", "shared", *shell.folders()[:2])
    assert "shared: everything is equal." in verified


def test_a_dry_run_counts_the_trainings(shell: Shell) -> None:
    plan = shell.done(*COMPARE, *shell.folders(), "--folds", "4x3", "--dry-run")
    assert "3 different fit(s)" in plan and "these fits are 12 trainings" in plan
    assert "432 rows" in plan, "36 rows x 12"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--folds", "1"), "mine/mood@1: give one number of folds from 2 up"),
        (("--folds", "0"), "a whole number from 1 up, not 0"),
        (("--folds", "five"), "whole number"),
        (("--folds", "49"), "train.tsv has 48 row(s), or groups of rows that belong together, too few for 49 folds"),
        (("--folds", "5x3", "--restarts", "2"), "Give the restarts once: by seeds, restarts"),
        (("--folds", "5x3x2"), "folds 5x3"),
        (("--folds", "5", "--limit-dev", "3"), "every row is answered where fits are cross-validated"),
        (("--folds", "5", "--split", "test"), "--split test: none of these tasks has a test split."),
    ],
)
def test_wrong_options_are_refused_before_any_fit(words: tuple[str, ...], said: str, shell: Shell) -> None:
    assert said in " ".join(shell.refused(*COMPARE, *shell.folders(), *words).split())
    assert not list((shell.folder / "runs").glob("*/fit.json"))


def test_a_study_file_names_tasks_in_folds(shell: Shell) -> None:
    file = shell.folder / "look.toml"
    words = ("compare", "--study", str(file), *shell.folders(), "--quiet", "--device", "cpu", "--max-length", "16")
    system, column = 'name = "tiny"\nbackbone = "words"', 'name = "mood"\ntask = "mine/mood@3"'
    text = f'title = "look"\n[[system]]\n{system}\n[[column]]\n{column}\n'
    file.write_text(text)
    assert "is answered by one of 3 fits" in shell.done(*words, "--notes")
    assert "leave folds out" in shell.refused(*words, "--folds", "3")
    file.write_text(text.replace("[[system]]", 'recipe = {folds = "3"}\n[[system]]'))
    assert "recipe: a task is named in folds" in shell.refused(*words)
