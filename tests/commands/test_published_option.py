"""Published figures on the command line: the option `--published`, and `list leaderboards`."""

import json
from dataclasses import replace

import pytest

from command_line import Shell
from inline import board, mood, plugins
from published_moods import MEAN, ROWS, published_board


def published_shell(shell: Shell) -> Shell:
    shell.plugins = plugins(register_tasks=[mood(suite=MEAN)], register_leaderboards=[published_board()])
    return shell


QUIET = ("--quiet", "--device", "cpu")


@pytest.mark.parametrize("words", [("compare", "words", "--tasks", "mood"), ("run", "mood", "--backbone", "words")])
def test_compare_and_run_show_the_rows_by_default(words: tuple[str, ...], shell: Shell) -> None:
    published_shell(shell)
    out = shell.done(*words, *shell.folders(), *QUIET, "--notes")
    assert "test 80.5" in out and "ensemble" not in out
    assert "  published: Mercury (dev and test): Nobody 2019, Table 1\n" in out
    out = shell.done(*words, *shell.folders(), *QUIET, "--published", "none", "--notes")
    assert "published" not in out
    out = shell.done(*words, *shell.folders(), *QUIET, "--published", "mercury (ensemble)", "--json")
    assert [row["figure"] for row in json.loads(out)["published"]] == [82.5]


def test_an_unknown_system_is_an_error_before_any_fit(shell: Shell) -> None:
    published_shell(shell)
    for words in (("compare", "words", "--tasks", "mood"), ("run", "mood", "--backbone", "words")):
        error = shell.refused(*words, *shell.folders(), *QUIET, "--published", "nobody")
        assert "There is no published system 'nobody'. Known: Barometer, Mercury." in error
        error = shell.refused(*words, *shell.folders(), *QUIET, "--published", "Mercury,baromter")
        assert "There is no published system 'baromter'. Did you mean Barometer?" in error
    assert not (shell.folder / "runs").exists()


def test_list_shows_the_whole_table_of_a_board(shell: Shell) -> None:
    published_shell(shell)
    out = shell.done("list", "leaderboards", "moods")
    assert [line.replace("│", " ").split() for line in out.splitlines() if "Mercury" in line] == [
        ["Mercury", "80.5", "81.5", "11.1"],
        ["Mercury", "(ensemble)", "-", "82.5", "-"],
        ["Mercury", "(ensemble):", "7", "of", "them"],
    ]
    for line in (
        "The board of moods (https://example.org)\n\nNobody 2019, Table 1\n",
        "\n  accuracy: test, dev\n  matthews: matthews\n",
        "\n  mean (over the tasks of mine): mean\n",
        "\nNobody 2018\n",
        "\n  never shown beside ours: the weather of 2018\n",
    ):
        assert line in out


def test_list_gives_every_figure_as_json(shell: Shell) -> None:
    published_shell(shell)
    for words in (["list"], ["list", "leaderboards"], ["list", "leaderboards", "moods"]):
        [listed] = json.loads(shell(*words, "--json")[1])["leaderboards"]
        figures = [(row["system"], row["column"], row["figure"], row["source"]) for row in listed["published"]]
        assert figures == [
            (row.system, column, value, row.source) for row in ROWS for column, value in row.cells.items()
        ]


def test_a_board_without_published_results_is_a_line(shell: Shell) -> None:
    assert shell("list", "leaderboards", "moods")[1] == ("The board of moods (https://example.org)\n")


def test_a_name_of_no_board_is_refused(shell: Shell) -> None:
    assert "There is no leaderboard 'mods'. Did you mean moods?" in shell.refused("list", "leaderboards", "mods")
    assert "nothing that mentions 'moods'" in shell.refused("list", "tasks", "moods")


def test_a_board_that_takes_no_files_is_listed_and_refuses_files(shell: Shell) -> None:
    listed = replace(published_board(), name="paper", archive="", files=())
    shell.plugins = plugins(register_tasks=[mood(suite=MEAN)], register_leaderboards=[board(), listed])
    assert "paper  The board of moods" in shell("list", "leaderboards")[1]
    error = shell.refused("submit", "paper", "--backbone", "words", *shell.folders())
    assert "paper takes no files: it only lists published results." in error
    assert "paper takes no files" in shell.refused("check", "data", "--board", "paper")
    assert (
        shell("demo", "--tasks", "mood", "--out", "demo", "--device", "cpu", "--quiet")[1].count("  wrote demo/") == 1
    )


def test_submit_shows_published_figures_in_its_table(shell: Shell) -> None:
    published_shell(shell)
    submit = ("submit", "moods", "--backbone", "words", *shell.folders(), *QUIET)
    out = shell.done(*submit, "--notes")
    assert "Mercury" in out and out.index("[95 %]") < out.index("is ready for moods")
    assert "published test figures are of other rows than ours, which are of dev" in out
    assert "Mercury" not in shell(*submit, "--published", "none")[1]
    assert "no published system 'nobody'" in shell.refused(*submit, "--published", "nobody")
    result = json.loads(shell(*submit, "--published", "all", "--json")[1])["result"]
    assert {row["system"] for row in result["published"]} == {"Mercury", "Barometer"}
    runs = ("--ensemble", result["cells"][0]["selected"], "--published", "all")
    assert "Finished runs have no table" in shell.refused("submit", "moods", *runs, *shell.folders())
