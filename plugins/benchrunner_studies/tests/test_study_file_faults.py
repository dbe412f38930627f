"""Faults of a study file are errors that name the file and the key."""

from pathlib import Path

import pytest

from benchrunner.errors import RequestError
from benchrunner_studies.reading import read_study_file as read
from study_texts import COLUMN, HEAD, SYSTEM, write_study

NUMBER = '[parameters.n]\nabout = "count"\ndefault = "x"\n'
ARMS = HEAD + "".join(
    f'[[system]]\nname = "{name}"\nbackbone = "tiny/{name}"\narm = "{arm}"\n'
    for name, arm in (("a1", "a"), ("a2", "a"), ("b1", "b"))
)
"""Two arms, of two systems and of one."""


def study_text(*, before: str = "", system: str = "", column: str = "") -> str:
    """Return a study file with a system and a column: tables before the system, and further keys of both."""
    return HEAD + before + SYSTEM + system + COLUMN + column


FAULTS = {
    "unknown key": (study_text(before='abuot = "x"\n'), "abuot: is not a key of this table. Did you mean about?"),
    "margin of nothing": (study_text(before="margin = 0\n"), "mine.toml: margin must be a number above 0, not 0.0."),
    "margin of a word": (study_text(before='margin = "1"\n'), "mine.toml: margin: expected a number, found text"),
    "method of a column": (study_text(column='methode = "probe"\n'), "methode: is not a key of this table. Did you"),
    "empty systems": (HEAD + "system = []\n" + COLUMN, "a study needs at least one [[system]]"),
    "system without a name": (HEAD + '[[system]]\nbackbone = "b"\n' + COLUMN, "[[system]] 1 (?): name: is missing"),
    "two of a name": (HEAD + SYSTEM + SYSTEM + COLUMN, "two systems are called 'one'"),
    "two columns of a name": (HEAD + SYSTEM + COLUMN + COLUMN, "two columns are called 'mood'"),
    "undefined name": (study_text(before=NUMBER, system='method = "{m}"\n'), "method: {m} is not defined. Known"),
    "misspelt name": (study_text(before=NUMBER, system='make = "a {nn}"\n'), "make: {nn} is not defined. Did you"),
    "a sum": (study_text(before=NUMBER, system='make = "a {n+1}"\n'), "make: {n+1} is none of {name}, {name.file} and"),
    "no number": (study_text(before=NUMBER, system='make = "a {n/2}"\n'), "{n/2} needs a whole number, and n is 'x'."),
    "number of 5,000 digits": (
        study_text(before=NUMBER.replace('"x"', f'"{"9" * 5000}"'), system='make = "a {n*2}"\n'),
        "make: {n*2} needs a whole number",
    ),
    "empty command": (study_text(system='make = ""\n'), "[[system]] 1 (one): make: must not be empty."),
    "metric of a figure": (
        HEAD + SYSTEM + '[[column]]\nname = "x"\nfigure = "loss"\nmetric = "f1"\n',
        "1 (x): metric: is",
    ),
    "option that is a number": (study_text(column="recipe = {lr = 1}\n"), "1 (mood): recipe.lr: expected text"),
    "open quote": (study_text(system='make = "a \'b"\n'), "make: cannot be split into words: No closing"),
    "name of a parameter": (study_text(before='[parameters."A b"]\nabout = "x"\n'), "The parameter 'A b' cannot be"),
    "variable that is a parameter": (
        study_text(before=NUMBER, system='each = {n = "1,2"}\n'),
        "each.n: the name is taken already",
    ),
    "variable without values": (study_text(system='each = {m = ","}\n'), "each.m: nothing to choose from"),
    "value that leaves no file's name": (
        HEAD + '[[system]]\nname = "{m}"\nbackbone = "b/{m.file}"\neach = {m = "a,./"}\n' + COLUMN,
        "backbone: {m.file} is empty: no character of './' may stand in a file name.",
    ),
    "name with a comma": (HEAD + SYSTEM.replace('"one"', '"a, b"') + COLUMN, "system a, b: a name has no comma"),
    "only extra systems": (study_text(system="extra = true\n"), "needs at least one [[system]] that is not extra"),
    "point without a line": (study_text(system='at = "3"\n'), "series: a point of a figure has both series"),
    "point that is nowhere": (study_text(system='at = "x"\nseries = "a"\n'), "[[system]] 1 (one): at: 'x' is not a"),
    "one place for two systems": (
        HEAD + '[[system]]\nname = "{m}"\nmake = "a {m}"\nbackbone = "b/{m.file}"\neach = {m = "1/2,1-2"}\n' + COLUMN,
        "'1/2' and '1-2' are made by different commands, and would share the backbone b/1-2;",
    ),
    "neither task nor figure": (HEAD + SYSTEM + '[[column]]\nname = "x"\n', "column x shows nothing: give it a task"),
    "task and figure": (study_text(column='figure = "loss"\n'), "[[column]] 1 (mood): figure: a column shows either"),
    "mean of itself": (HEAD + SYSTEM + '[[column]]\nname = "x"\nmean = ["x"]\n', "column x: its mean names 'x', and"),
    "published in no column": (
        study_text(column='[[published]]\nsystem = "one"\ncells = {mod = 9}\n'),
        "mine.toml: one has a cell 'mod'; the columns are mood.",
    ),
    "published with a comma": (
        study_text(column='[[published]]\nsystem = "a, b"\ncells = {mood = 9}\n'),
        "[[published]] 1 (a, b): A system's name has no comma",
    ),
    "published twice": (
        study_text(column='[[published]]\nsystem = "one"\ncells = {mood = 9}\n' * 2),
        "two published rows are called 'one'",
    ),
    "shown with no published row": (study_text(system='published = "other"\n'), "system one: there is no published"),
    "template with a parameter's name": (
        study_text(before=NUMBER + '[templates]\nn = "x"\n'),
        "templates.n: the name is taken already",
    ),
    "template in itself": (
        study_text(before='[templates]\nt = "{t} x"\n', system='make = "a {t}"\n'),
        "make: {t} is not defined.",
    ),
    "parameter with a reserved name": (
        study_text(before='[parameters.here]\nabout = "x"\ndefault = "x"\n'),
        "parameters.here: the name stands for the folder of this file already.",
    ),
    "contrast with nobody": (
        'contrast = ["one - other"]\n' + study_text(),
        "contrast: 'one - other' is not SYSTEM - SYSTEM; the systems are one.",
    ),
    "contrast with itself": ('contrast = ["one - one"]\n' + study_text(), "'one - one' is not SYSTEM - SYSTEM"),
    "against nobody": ('against = "other"\n' + study_text(), "against: there is no system or arm 'other'."),
    "arm of some systems": (ARMS + SYSTEM + COLUMN, "system one: arm: is missing, and others have one. Give every"),
    "arm of a system's name": (
        ARMS.replace('arm = "b"', 'arm = "a1"') + COLUMN,
        "system b1: arm: a system is called 'a1': give the arm another name.",
    ),
    "arm of a series' name": (
        ARMS.replace('arm = "b"', 'arm = "b"\nseries = "a"\nat = "1"') + COLUMN,
        "system a1: arm: a series is called 'a': give the arm another name.",
    ),
    "one backbone twice in an arm": (
        ARMS.replace("tiny/a2", "tiny/a1") + COLUMN,
        "'a1' and 'a2' of the arm a are the same backbone tiny/a1: the systems of an arm are different pre-trainings",
    ),
    "contrast with no arm": (
        'contrast = ["a - c"]\n' + ARMS + COLUMN,
        "'a - c' is not ARM - ARM or SYSTEM - SYSTEM; the arms are a, b; the systems are a1, a2, b1.",
    ),
    "contrast of an arm with its system": (
        'contrast = ["a2 - a"]\n' + ARMS + COLUMN,
        "contrast: of a2 and a, one is an arm that contains the other.",
    ),
    "scale called full": (study_text(before='[scale.full]\nabout = "x"\n'), "scale.full: is the file itself"),
    "scale of no parameter": (
        study_text(before=NUMBER + '[scale.tiny]\nabout = "x"\nset = {m = "2"}\n'),
        "scale.tiny.set.m: there is no such parameter; known: n.",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_an_error_in_a_file_names_file_and_key(name: str, tmp_path: Path) -> None:
    text, reason = FAULTS[name]
    path = write_study(tmp_path, text)
    with pytest.raises(RequestError) as refused:
        read(path, {})
    assert reason in str(refused.value) and str(path) in str(refused.value)


def test_an_error_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"absent\.toml: cannot be read: No such file"):
        read(tmp_path / "absent.toml", {})
