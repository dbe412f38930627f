"""Parameters of a study file: their values, what they become in its entries, and their errors."""

import shlex
from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner_studies.reading import read_study_file as read
from study_texts import WHOLE, write_study


def test_one_entry_stands_for_every_combination_of_its_variables(tmp_path: Path) -> None:
    file = read(write_study(tmp_path, WHOLE), {"corpus": "a"})
    study = file.study
    assert [system.name for system in study.systems] == ["4/128 left", "4/128 right", "4/256 left", "4/256 right"]
    homes = ["models/4-128/left", "models/4-128/right", "models/4-256/left", "models/4-256/right"]
    assert [system.backbone for system in study.systems] == homes
    assert study.systems[3].figures == Path("models/4-256/log.jsonl")
    assert (file.recipe, file.columns["mood"]) == ({"restarts": "5"}, {"lr": "1e-3,2e-3"})
    assert study.published_figure("4/256 left", "mood") == 91.5
    assert study.published_figure("4/256 left", "words") is study.published_figure("4/128 left", "mood") is None
    given = {"corpus": "a", "steps": "1000", "warmup": "10", "points": "400,1000", "widths": "4/128,4/256", "more": ""}
    assert study.values == given


def test_values_keep_the_words_that_they_are_given_as(tmp_path: Path) -> None:
    given = {
        "corpus": "my texts/a b.txt, c.txt",
        "steps": "7",
        "widths": "1/2",
        "more": "--recompute --note 'two words'",
    }
    study = read(write_study(tmp_path, WHOLE), given).study
    assert study.systems[0].make[0] == (
        *("learn", "1/2", "--from", "my texts/a b.txt", "c.txt", "--at=2,7", "--warmup=0"),
        *("--out", "left of 1-2", "--recompute", "--note", "two words"),
    )


def test_reading_with_the_shown_values_gives_the_same_study(tmp_path: Path) -> None:
    path = write_study(
        tmp_path, WHOLE + '[parameters.again]\nabout = "twice"\nkind = "words"\ndefault = "{more} end"\n'
    )
    study = read(path, {"corpus": "a b, c", "more": "naïve 'ü ö.txt' it\\'s"}).study
    assert study.systems[0].make[0][-3:] == ("naïve", "ü ö.txt", "it's")
    assert shlex.split(study.values["more"]) == ["naïve", "ü ö.txt", "it's"]
    assert shlex.split(study.values["again"]) == ["naïve", "ü ö.txt", "it's", "end"]
    assert read(path, study.values).study == study


WRONG: list[tuple[dict[str, str], str]] = [
    ({}, "mine needs a value for corpus. Its parameters, for --set"),
    ({"corpus": ""}, "mine needs a value for corpus. Its parameters, for --set"),
    ({"corpus": "a", "step": "3"}, "mine has no parameter 'step' (did you mean steps?). Its parameters, for --set"),
]


@pytest.mark.parametrize(("given", "reason"), WRONG)
def test_a_wrong_or_missing_parameter_lists_all_of_them(given: dict[str, str], reason: str, tmp_path: Path) -> None:
    with pytest.raises(RequestError) as refused:
        read(write_study(tmp_path, WHOLE), given)
    error = str(refused.value)
    assert error.startswith(reason)
    assert "  corpus  what they learn from (required)\n  steps   of each (default: 1000)\n" in error
    assert error.endswith("  more    further words (default: nothing)")


def test_an_error_names_a_value_that_cannot_be_split(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="more=it's cannot be split into words: No closing quotation"):
        read(write_study(tmp_path, WHOLE), {"corpus": "a", "more": "it's"})


LINES = """
title = "Which line is higher?"
contrast = ["right - left", "left at {last} - left at {last/2}"]

[parameters.points]
about = "where"
kind = "list"
default = "2,4"

[parameters.last]
about = "the last of them"
default = "4"

[[system]]
each = {line = "left,right", point = "{points}"}
name = "{line} at {point}"
series = "{line}"
at = "{point}"
backbone = "models/{line}/{point}"

[[column]]
name = "mood"
task = "mine/mood"
"""


def test_series_are_compared_point_by_point(tmp_path: Path) -> None:
    path = write_study(tmp_path, LINES)
    study = read(path, {}).study
    assert study.contrasts == (("right", "left"), ("left at 4", "left at 2"))
    assert study.lines["right"] == {2.0: "right at 2", 4.0: "right at 4"}
    some = read(path, {}, systems=["left at 2", "right at 2", "right at 4"]).study
    assert some.contrasts == (("right", "left"),) and some.lines["left"] == {2.0: "left at 2"}
    assert read(path, {"points": "3,4"}).study.lines["right"] == {3.0: "right at 3", 4.0: "right at 4"}


def test_a_name_in_a_contrast_may_have_a_minus(tmp_path: Path) -> None:
    text = LINES.replace('"right - left", ', '"right - at 2 - left - at 2", ').replace("{line} at", "{line} - at")
    assert read(write_study(tmp_path, text), {}).study.contrasts == (("right - at 2", "left - at 2"),)
