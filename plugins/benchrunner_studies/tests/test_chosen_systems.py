"""Systems and columns of a study file that are chosen by name, and the commands that the systems need."""

from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner_studies.checks import columns_named
from benchrunner_studies.reading import read_study_file as read
from study_texts import COLUMN, HEAD, WHOLE, write_study

CHOSEN = (
    'title = "Which is better?"\naxis = "steps"\n'
    '[parameters]\ncorpus = {about = "text"}\nout = {about = "folder", default = "of-{corpus}"}\n'
    '[[system]]\nname = "ready"\nbackbone = "tiny/words"\n'
    '[[system]]\neach = {step = "5,10"}\nname = "after {step}"\nmake = "learn {corpus} --out {out}"\n'
    'backbone = "{out}/{step}"\nseries = "learned"\nat = "{step}"\n'
    '[[system]]\nname = "rare"\nbackbone = "tiny/words"\nextra = true\n'
) + COLUMN


def test_a_system_may_need_several_commands(tmp_path: Path) -> None:
    both = '[[system]]\nname = "both"\nmake = ["learn left", "learn right"]\nbackbone = "right"\n'
    left = '[[system]]\nname = "left"\nmake = "learn left"\nbackbone = "left"\n'
    study = read(write_study(tmp_path, HEAD + both + left + COLUMN), {}).study
    assert study.commands == {("learn", "left"): "both", ("learn", "right"): "both"}


def test_only_the_parameters_of_chosen_systems_need_a_value(tmp_path: Path) -> None:
    path = write_study(tmp_path, CHOSEN)
    ready = read(path, {}, systems=["READY", " rare"]).study
    assert [system.name for system in ready.systems] == ["ready", "rare"]
    assert (ready.commands, ready.values) == ({}, {})
    with pytest.raises(RequestError, match=r"mine needs a value for corpus\. Its parameters, for --set"):
        read(path, {}, systems=["after 5"])
    with pytest.raises(
        RequestError, match=r"for corpus for after 5 and after 10 \(--systems A,B chooses others\)\. Its"
    ):
        read(path, {})
    study = read(path, {"corpus": "a"}).study
    assert [system.name for system in study.systems] == ["ready", "after 5", "after 10"], "extra ones must be named"
    assert [(system.series, system.at) for system in study.systems] == [("", None), ("learned", 5), ("learned", 10)]


def test_a_command_that_two_systems_share_is_one_command(tmp_path: Path) -> None:
    shared = '[[system]]\nname = "{n}"\nmake = "learn it"\nbackbone = "b"\neach = {n = "first,second"}\n'
    study = read(write_study(tmp_path, HEAD + shared + COLUMN), {}).study
    assert study.commands == {("learn", "it"): "first"}


def test_columns_are_chosen_by_name_in_the_order_of_the_file(tmp_path: Path) -> None:
    study = read(write_study(tmp_path, WHOLE), {"corpus": "a"}).study
    assert [column.name for column in columns_named(study, ["WORDS", " mood"])] == ["mood", "words"]
    with pytest.raises(RequestError, match=r"mine has no column 'moods'. Did you mean mood or words\? It has"):
        columns_named(study, ["moods"])
    with pytest.raises(RequestError, match="Name one or more of the columns of mine"):
        columns_named(study, [""])
