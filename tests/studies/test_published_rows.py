"""Published figures in the table of a comparison: where they stand, and what is said of them."""

import json

from benchrunner.studies.comparison.footnotes import footnotes
from benchrunner.studies.comparison.formats import as_table
from benchrunner.studies.comparison.json_values import as_json
from benchrunner.studies.result import Result
from inline import mood
from made_results import cells, lines, made_result
from published_moods import MEAN, choice


def result(*backbones: str) -> Result:
    return made_result([mood(suite=MEAN)], backbones or ("words",))


def test_published_rows_stand_below_ours_and_say_dev_or_test() -> None:
    shown = lines(as_table(result(), choice("all")), 100)
    body = [cells(line) for line in shown if line.startswith("│")]
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


def test_published_rows_stand_below_three_systems() -> None:
    shown = lines(as_table(result("a", "b", "c"), choice("all")), 100)
    body = [cells(line) for line in shown if line.startswith("│")]
    assert body == [
        ["a", "93.1 ± 1.2", "93.1", "93.1"],
        ["b", "93.1 ± 1.2", "93.1", "93.1"],
        ["c", "93.1 ± 1.2", "93.1", "93.1"],
        ["majority", "50.0", "", ""],
        ["Mercury dev", "81.5", "", ""],
        ["Mercury test", "80.5", "", ""],
        ["Mercury (ensemble) dev", "82.5", "", ""],
        ["Barometer test", "", "70.5", "33.3"],
    ]


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
    others = ("published", "notes", "warnings")
    assert {key: value for key, value in own.items() if key not in others} == {
        key: value for key, value in plain.items() if key not in others
    }
    json.dumps(own)
    shown = own["published"][1]
    assert (shown["system"], shown["figure"], shown["kind"], shown["split"]) == ("Mercury", 80.5, "test", "test")
    assert (shown["source"], shown["board"], shown["column"]) == ("Nobody 2019, Table 1", "moods", "test")
    assert shown["beside"] == {"task": "mine/mood", "split": "dev", "metric": "accuracy"}


def test_json_says_beside_which_average_a_figure_stands() -> None:
    mean, score = as_json(result(), choice("Barometer"))["published"]
    assert (mean["suite"], mean["metric"], mean["task"], mean["figure"]) == ("mine", "mean", None, 70.5)
    assert (mean["beside"], score["beside"]) == ({"average": "mean"}, {"average": "score"})
