"""Published figures in the table of a comparison: where they stand, and what is said of them."""

from __future__ import annotations

import json

import pytest

from benchrunner.studies.comparison.formats import as_table
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.comparison.remarks import footnotes
from benchrunner.studies.result import Result
from inline import mood
from made_results import lines, made_result
from published_moods import MEAN, choice


def result(*backbones: str) -> Result:
    return made_result([mood(suite=MEAN)], backbones or ("words",))


def test_published_rows_stand_below_ours_and_say_dev_or_test() -> None:
    shown = lines(as_table(result(), choice("all")), 100)
    body = [[cell.strip() for cell in line.split("│")[1:-1]] for line in shown if line.startswith("│")]
    assert body == [
        ["mine/mood", "accuracy", "50.0", "93.1 ± 1.2"],
        ["Mercury", "", "dev 81.5", ""],
        ["Mercury", "", "test 80.5", ""],
        ["Mercury (ensemble)", "", "dev 82.5", ""],
        ["mine/mood", "matthews", "50.0", "93.1 ± 1.2"],
        ["Mercury", "", "dev 11.1", ""],
        ["mean", "", "", "93.1"],
        ["Barometer", "", "test 70.5", ""],
        ["score", "", "", "93.1"],
        ["Barometer", "", "test 33.3", ""],
    ]
    assert not any(figure in "".join(shown) for figure in ("22.2", "44.4"))


def test_published_rows_are_dim() -> None:
    from rich.console import Console

    console = Console(width=100, force_terminal=True, color_system="truecolor")
    with console.capture() as capture:
        console.print(as_table(result(), choice()))
    dim = [line for line in capture.get().splitlines() if "\x1b[2m" in line]
    assert len(dim) == 5 and all("Mercury" in line or "Barometer" in line for line in dim)


def test_without_published_rows_the_table_has_no_trace_of_them() -> None:
    shown = "\n".join(lines(as_table(result(), choice("none")), 100))
    assert "published" not in shown and "majority" in shown
    assert not any("published" in note for note in footnotes(result(), choice("none")))


def test_the_sources_stand_below_the_table() -> None:
    notes = [note for note in footnotes(result(), choice("all")) if "published" in note]
    assert notes == [
        "published test figures are of other rows than ours, which are of dev: do not compare them one to one",
        "published: Mercury (dev and test): Nobody 2019, Table 1",
        "published: Mercury (ensemble) (dev): Nobody 2019, Table 1; 7 of them",
        "published: Barometer (test): Somebody 2020",
    ]
    dev_only = [note for note in footnotes(result(), choice("Mercury (ensemble)")) if "publ" in note]
    assert dev_only == ["published: Mercury (ensemble) (dev): Nobody 2019, Table 1; 7 of them"]


def test_a_requested_system_without_a_figure_here_is_told() -> None:
    gloom = made_result([mood(name="mine/gloom")], ["words"])
    notes = list(footnotes(gloom, choice("Mercury")))
    assert notes == ["published: no figure of Mercury is of these tasks and metrics"]
    assert list(footnotes(gloom, choice())) == []


def test_json_has_published_figures_under_their_own_key() -> None:
    plain, own = (as_json(result(), choice(names)) for names in ("none", "Mercury"))
    assert plain["published"] == []
    assert {key: value for key, value in own.items() if key not in ("published", "notes")} == {
        key: value for key, value in plain.items() if key not in ("published", "notes")
    }
    json.dumps(own)
    assert own["published"][1] == {
        "system": "Mercury",
        "variant": None,
        "figure": 80.5,
        "kind": "test",
        "task": "mine/mood",
        "split": "test",
        "suite": None,
        "metric": "accuracy",
        "source": "Nobody 2019, Table 1",
        "version": None,
        "notes": None,
        "other_data": None,
        "by_default": True,
        "board": "moods",
        "column": "test",
        "beside": {"task": "mine/mood", "split": "dev", "metric": "accuracy"},
    }


def test_json_says_beside_which_average_a_figure_stands() -> None:
    mean, score = as_json(result(), choice("Barometer"))["published"]
    assert (mean["suite"], mean["metric"], mean["task"], mean["figure"]) == ("mine", "mean", None, 70.5)
    assert (mean["beside"], score["beside"]) == ({"average": "mean"}, {"average": "score"})


@pytest.mark.parametrize("width", [100, 120, 140])
def test_two_backbones_fit_into_a_terminal(width: int) -> None:
    table = as_table(result("bert/base-uncased", "checkpoints/of/mine/final-4/step-1000"), choice())
    shown = lines(table, width)
    assert max(map(len, shown)) <= width and len({len(line) for line in shown[1:]}) == 1
    assert sum("93.1 ± 1.2" in line for line in shown) == 2
