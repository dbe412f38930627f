"""The output of `compare`: statistics, every format, and options that do not go together."""

import csv
import io
import json
from dataclasses import replace

import pytest

from benchrunner import ACCURACY
from benchrunner.results import compared, run_study
from command_line import Shell
from inline import mood, plugins, runner


def compare(shell: Shell, *options: str) -> str:
    words = ("compare", "words", "--tasks", "mood", "--restarts", "2", "--quiet", "--device", "cpu")
    return shell.done(*words, *shell.folders(), *options)


def test_every_format_has_the_same_mean(shell: Shell) -> None:
    values = json.loads(compare(shell, "--json"))
    mean = values["cells"][0]["scores"][0]["mean"]["value"]
    low, high = values["cells"][0]["scores"][0]["interval_over_examples"]
    assert low <= mean <= high
    assert json.loads(compare(shell, "--format", "json")) == values
    [first, *_] = csv.DictReader(io.StringIO(compare(shell, "--format", "csv", "--long")))
    assert (float(first["score"]), float(first["low"]), float(first["high"])) == (mean, low, high)
    [row] = csv.DictReader(io.StringIO(compare(shell, "--format", "csv")))
    assert (row["system"], float(row["mine/mood accuracy"])) == ("words", mean)
    [*_, last] = json.loads(compare(shell, "--json", "--long"))
    assert (last["system"], last["metric"], len(last["values"])) == ("words", "matthews", 2)
    for form in ("table", "markdown", "latex", "html"):
        assert f"{100 * mean:.1f}" in compare(shell, "--format", form)
    assert values["computing"]["seconds"] > 0 and values["computing"]["devices"][0].startswith("cpu")
    assert "torch" in values["computing"]["versions"]


def test_the_run_ids_are_shown_on_request(shell: Shell) -> None:
    plain, more = compare(shell), compare(shell, "--run-ids")
    assert "runs of words" not in plain and "runs of words on mine/mood: " in more


@pytest.mark.parametrize("form", ["markdown", "latex", "table"])
def test_all_metrics_are_columns_on_request(form: str, shell: Shell) -> None:
    methods = ("--method", "finetune,probe,majority", "--format", form)
    assert "matthews" not in compare(shell, *methods)
    head = compare(shell, *methods, "--metrics", "all")
    assert "accuracy" in head and "matthews" in head


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--dry-run", "--format", "csv"), "--dry-run prints a table or JSON: leave out --format csv."),
        (("--format", "xml"), "there is no choice 'xml'. Choose from table, markdown"),
        (("--study", "x.toml", "--published", "all"), "The study x.toml says what is compared and shown"),
        (("--study", "x.toml", "--metrics", "all"), "choose from it: leave metrics out."),
        (("--metrics", "f1"), "there is no choice 'f1'. Choose from headline, all"),
    ],
)
def test_options_that_do_not_go_together_are_refused(words: tuple[str, ...], reason: str, shell: Shell) -> None:
    backbones = () if "--study" in words else ("words", "--tasks", "mood")
    assert reason in shell.refused("compare", *backbones, *words)


def test_a_notebook_shows_the_table_of_a_result(shell: Shell) -> None:
    made = runner(shell.folder)
    result = run_study(compared(("words",), tuple(made.plugins.tasks.values())), made)
    page = result._repr_html_()
    assert page is not None
    assert page.startswith("<table>\n<caption>") and "mine/mood" in page and "seconds of fitting" in page


@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_every_table_shows_a_metric_on_its_own_scale(scale: float, shell: Shell) -> None:
    shell.plugins = plugins(register_tasks=[mood(metrics=(replace(ACCURACY, scale=scale),))])
    values = json.loads(compare(shell, "--json"))
    mean = values["cells"][0]["scores"][0]["mean"]["value"]
    assert 0.1 < mean <= 1, "machines read a fraction"
    for form in ("table", "markdown", "latex"):
        text = compare(shell, "--format", form)
        assert f"{scale * mean:.1f}" in text and f"{100 * mean:.1f}" not in text, text
