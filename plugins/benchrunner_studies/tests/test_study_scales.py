"""Scales of a study file: other values of its parameters, other options of its fits."""

from pathlib import Path

import pytest

from benchrunner.errors import RequestError, UnknownName
from benchrunner_studies.checks import columns_named
from benchrunner_studies.reading import read_study_file as read
from study_texts import write_study

SCALED = """
title = "Which is better?"

[parameters]
corpus = {about = "what they learn from", kind = "words"}
size = {about = "of each", default = "large"}
out = {about = "folder", default = "models-{size}"}

[templates]
learning = "--from {corpus} --as '{side} side'"
all = "{learning} --out {out}/{side}"

[scale.tiny]
about = "for a look"
recipe = {limit-train = "8"}

[scale.tiny.set]
corpus = "'{here}/some words.txt'"
size = "small"

[scale.small]
about = "for an afternoon"

[[system]]
each = {side = "left,right"}
name = "{side}"
make = "learn {size} {all}"
backbone = "{out}/{side}"

[[column]]
name = "mood"
task = "mine/mood"

[[column]]
name = "more moods"
task = "mine/mood"
extra = true
"""


def test_a_scale_replaces_defaults_and_brings_its_own_recipe(tmp_path: Path) -> None:
    path = write_study(tmp_path, SCALED)
    file = read(path, {}, scale="tiny")
    tiny = file.study
    words = f"{tmp_path}/some words.txt"
    assert tiny.values == {"corpus": f"'{words}'", "size": "small", "out": "models-small"}
    assert tiny.systems[1].make[0] == (
        *("learn", "small", "--from", words, "--as", "right side"),
        *("--out", "models-small/right"),
    )
    assert (tiny.scale.about, file.scale.recipe, file.recipe) == ("for a look", {"limit-train": "8"}, {})
    given = read(path, {"corpus": "a", "size": "tall"}, scale="tiny").study
    assert given.values == {"corpus": "a", "size": "tall", "out": "models-tall"}, "what the user sets comes first"
    full = read(path, {"corpus": "a"})
    assert (full.study.scale.name, full.scale.recipe, full.study.values["size"]) == ("full", {}, "large")
    assert read(path, {"corpus": "a"}, scale="small").study.values == full.study.values


def test_a_required_parameter_stays_required_at_other_scales(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="mine needs a value for corpus"):
        read(write_study(tmp_path, SCALED), {}, scale="small")


def test_an_unknown_scale_is_told_with_the_scales_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as refused:
        read(write_study(tmp_path, SCALED), {}, name="own/mine", scale="tinny")
    assert str(refused.value) == (
        "There is no scale 'tinny'. Did you mean tiny? The scales of own/mine: tiny, small, full."
    )


def test_extra_columns_are_left_out_unless_they_are_named(tmp_path: Path) -> None:
    study = read(write_study(tmp_path, SCALED), {"corpus": "a"}).study
    assert [column.name for column in columns_named(study, None)] == ["mood"]
    assert [column.name for column in columns_named(study, ["more moods", "mood"])] == ["mood", "more moods"]
