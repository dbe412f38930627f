"""Study files: what a file may contain, and what its parameters and options become."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from benchrunner import discover
from benchrunner.commands.main import main
from benchrunner.errors import RequestError, UnknownName
from benchrunner.plugins.hookspecs import hookimpl
from benchrunner.studies.study_options import StudyOptions
from benchrunner.study_files.reading import read_study_file as read
from inline import mood, own

HEAD = 'title = "Which is better?"\n'
SYSTEM = '[[system]]\nname = "one"\nbackbone = "tiny/words"\n'
COLUMN = '[[column]]\nname = "mood"\ntask = "mine/mood"\n'


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


WHOLE = """
title = "Does width help?"
source = "somebody, 2019"

[parameters.corpus]
about = "what they learn from"
kind = "list"

[parameters.steps]
about = "of each"
default = "1000"

[parameters.warmup]
about = "of them"
default = "{steps/100}"

[parameters.points]
about = "to look at"
kind = "list"
default = "{steps*2/5},{steps}"

[parameters.widths]
about = "to compare"
kind = "list"
default = "4/128,4/256"

[parameters.more]
about = "further words"
kind = "words"
default = ""

[recipe]
restarts = "5"

[[system]]
each = {width = "{widths}", side = "left,right"}
name = "{width} {side}"
make = "learn {width} --from {corpus} --at={points} --warmup={warmup} --out '{side} of {width.file}' {more}"
backbone = "models/{width.file}/{side}"
figures = "models/{width.file}/log.jsonl"

[[column]]
name = "mood"
task = "mine/mood"
recipe = {lr = "1e-3,2e-3"}

[[column]]
name = "words"
figure = "perplexity"
note = "of other text"

[[published]]
system = "4/256 left"
cells = {mood = 91.5}
"""


def test_one_entry_stands_for_every_combination_of_its_variables(tmp_path: Path) -> None:
    study = read(written(tmp_path, WHOLE), {"corpus": "a"})
    assert [system.name for system in study.systems] == ["4/128 left", "4/128 right", "4/256 left", "4/256 right"]
    homes = ["models/4-128/left", "models/4-128/right", "models/4-256/left", "models/4-256/right"]
    assert [system.backbone for system in study.systems] == homes
    assert study.systems[3].figures == Path("models/4-256/log.jsonl")
    assert (study.recipe, study.columns[0].recipe) == ({"restarts": "5"}, {"lr": "1e-3,2e-3"})
    assert study.published_figure("4/256 left", "mood") == 91.5
    assert study.published_figure("4/256 left", "words") is study.published_figure("4/128 left", "mood") is None
    assert study.values == {
        "corpus": "a",
        "steps": "1000",
        "warmup": "10",
        "points": "400,1000",
        "widths": "4/128,4/256",
        "more": "",
    }


def test_values_keep_the_words_that_they_are_given_as(tmp_path: Path) -> None:
    given = {"corpus": "my texts/a b.txt, c.txt", "steps": "7", "widths": "1/2", "more": "--cased --note 'two words'"}
    study = read(written(tmp_path, WHOLE), given)
    assert study.systems[0].make[0] == (
        *("learn", "1/2", "--from", "my texts/a b.txt", "c.txt", "--at=2,7", "--warmup=0"),
        *("--out", "left of 1-2", "--cased", "--note", "two words"),
    )


def test_reading_with_the_shown_values_gives_the_same_study(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE + '[parameters.again]\nabout = "twice"\nkind = "words"\ndefault = "{more} end"\n')
    study = read(path, {"corpus": "a b, c", "more": "naïve 'ü ö.txt' it\\'s"})
    assert study.systems[0].make[0][-3:] == ("naïve", "ü ö.txt", "it's")
    assert shlex.split(study.values["more"]) == ["naïve", "ü ö.txt", "it's"]
    assert shlex.split(study.values["again"]) == ["naïve", "ü ö.txt", "it's", "end"]
    assert read(path, study.values) == study


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
    path = written(tmp_path, SCALED)
    tiny = read(path, {}, scale="tiny")
    words = f"{tmp_path}/some words.txt"
    assert tiny.values == {"corpus": f"'{words}'", "size": "small", "out": "models-small"}
    assert tiny.systems[1].make[0] == (
        *("learn", "small", "--from", words, "--as", "right side"),
        *("--out", "models-small/right"),
    )
    assert (tiny.scale.about, tiny.scale.recipe, tiny.recipe) == ("for a look", {"limit-train": "8"}, {})
    given = read(path, {"corpus": "a", "size": "tall"}, scale="tiny")
    assert given.values == {"corpus": "a", "size": "tall", "out": "models-tall"}, "what the user sets comes first"
    full = read(path, {"corpus": "a"})
    assert (full.scale.name, full.scale.recipe, full.values["size"]) == ("full", {}, "large")
    assert read(path, {"corpus": "a"}, scale="small").values == full.values


def test_a_required_parameter_stays_required_at_other_scales(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="mine needs a value for corpus"):
        read(written(tmp_path, SCALED), {}, scale="small")


def test_an_unknown_scale_is_told_with_the_scales_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as refused:
        read(written(tmp_path, SCALED), {}, name="own/mine", scale="tinny")
    assert str(refused.value) == (
        "There is no scale 'tinny'. Did you mean tiny? The scales of own/mine: tiny, small, full."
    )


def test_extra_columns_are_left_out_unless_they_are_named(tmp_path: Path) -> None:
    study = read(written(tmp_path, SCALED), {"corpus": "a"})
    assert [column.name for column in study.columns_named(None)] == ["mood"]
    assert [column.name for column in study.columns_named(["more moods", "mood"])] == ["mood", "more moods"]


CHOSEN = (
    'title = "Which is better?"\naxis = "steps"\n'
    '[parameters]\ncorpus = {about = "text"}\nout = {about = "folder", default = "of-{corpus}"}\n'
    '[[system]]\nname = "ready"\nbackbone = "tiny/words"\n'
    '[[system]]\neach = {step = "5,10"}\nname = "after {step}"\nmake = "learn {corpus} --out {out}"\n'
    'backbone = "{out}/{step}"\nseries = "learned"\nat = "{step}"\n'
    '[[system]]\nname = "rare"\nbackbone = "tiny/words"\nextra = true\n'
) + COLUMN


def test_a_system_may_need_several_commands(tmp_path: Path) -> None:
    two = '[[system]]\nname = "both"\nmake = ["learn left", "learn right"]\nbackbone = "concat:left,right"\n'
    one = '[[system]]\nname = "left"\nmake = "learn left"\nbackbone = "left"\n'
    study = read(written(tmp_path, HEAD + two + one + COLUMN), {})
    assert study.commands == {("learn", "left"): "both", ("learn", "right"): "both"}


def test_only_the_parameters_of_chosen_systems_need_a_value(tmp_path: Path) -> None:
    path = written(tmp_path, CHOSEN)
    ready = read(path, {}, systems=["READY", " rare"])
    assert [system.name for system in ready.systems] == ["ready", "rare"]
    assert (ready.commands, ready.values) == ({}, {})
    with pytest.raises(RequestError, match=r"mine needs a value for corpus\. Its parameters, for --set"):
        read(path, {}, systems=["after 5"])
    with pytest.raises(
        RequestError, match=r"for corpus for after 5 and after 10 \(--systems A,B chooses others\)\. Its"
    ):
        read(path, {})
    whole = read(path, {"corpus": "a"})
    assert [system.name for system in whole.systems] == ["ready", "after 5", "after 10"], "extra ones must be named"
    assert [(system.series, system.at) for system in whole.systems] == [("", None), ("learned", 5), ("learned", 10)]


def test_a_command_that_two_systems_share_is_one_command(tmp_path: Path) -> None:
    shared = '[[system]]\nname = "{n}"\nmake = "learn it"\nbackbone = "b"\neach = {n = "first,second"}\n'
    study = read(written(tmp_path, HEAD + shared + COLUMN), {})
    assert study.commands == {("learn", "it"): "first"}


def test_columns_are_chosen_by_name_in_the_order_of_the_file(tmp_path: Path) -> None:
    study = read(written(tmp_path, WHOLE), {"corpus": "a"})
    assert [column.name for column in study.columns_named(["WORDS", " mood"])] == ["mood", "words"]
    with pytest.raises(RequestError, match=r"mine has no column 'moods'. Did you mean mood or words\? It has"):
        study.columns_named(["moods"])
    with pytest.raises(RequestError, match="Which columns of mine"):
        study.columns_named([""])


NUMBER = '[parameters.n]\nabout = "count"\ndefault = "x"\n'
BAD = {
    "no TOML": ("title =", "not valid TOML"),
    "no title": (SYSTEM + COLUMN, "mine.toml: title: is missing"),
    "unknown key": (HEAD + 'abuot = "x"\n' + SYSTEM + COLUMN, "abuot: is not a key of this table. Did you mean about?"),
    "unknown key of a system": (HEAD + SYSTEM + 'made = "x"\n' + COLUMN, "[[system]] 1 (one): made: is not a key"),
    "wrong kind": (HEAD + SYSTEM + COLUMN + "metric = 3\n", "metric: expected text, found a whole number: 3."),
    "no system": (HEAD + COLUMN, "mine.toml: system: is missing"),
    "empty systems": (HEAD + "system = []\n" + COLUMN, "a study needs at least one [[system]]"),
    "system without a name": (HEAD + '[[system]]\nbackbone = "b"\n' + COLUMN, "[[system]] 1 (?): name: is missing"),
    "two of a name": (HEAD + SYSTEM + SYSTEM + COLUMN, "two systems are called 'one'"),
    "two columns of a name": (HEAD + SYSTEM + COLUMN + COLUMN, "two columns are called 'mood'"),
    "undefined name": (HEAD + NUMBER + SYSTEM + 'method = "{m}"\n' + COLUMN, "method: {m} is not defined. Known"),
    "misspelt name": (
        HEAD + NUMBER + SYSTEM + 'make = "a {nn}"\n' + COLUMN,
        "make: {nn} is not defined. Did you",
    ),
    "a sum": (HEAD + NUMBER + SYSTEM + 'make = "a {n+1}"\n' + COLUMN, "make: {n+1} is none of {name}, {name.file} and"),
    "no number": (HEAD + NUMBER + SYSTEM + 'make = "a {n/2}"\n' + COLUMN, "{n/2} needs a whole number, and n is 'x'."),
    "open quote": (HEAD + SYSTEM + 'make = "a \'b"\n' + COLUMN, "make: cannot be split into words: No closing"),
    "kind of parameter": (
        HEAD + NUMBER + 'kind = "int"\n' + SYSTEM + COLUMN,
        "kind: expected one of text, list, words",
    ),
    "name of a parameter": (
        HEAD + '[parameters."A b"]\nabout = "x"\n' + SYSTEM + COLUMN,
        "a parameter's name is made of a-z",
    ),
    "variable that is a parameter": (
        HEAD + NUMBER + SYSTEM + 'each = {n = "1,2"}\n' + COLUMN,
        "each.n: the name is taken already",
    ),
    "variable without values": (HEAD + SYSTEM + 'each = {m = ","}\n' + COLUMN, "each.m: nothing to choose from"),
    "value that leaves no file's name": (
        HEAD + '[[system]]\nname = "{m}"\nbackbone = "b/{m.file}"\neach = {m = "a,./"}\n' + COLUMN,
        "backbone: {m.file} is empty: no character of './' may stand in a file name.",
    ),
    "name with a comma": (HEAD + SYSTEM.replace('"one"', '"a, b"') + COLUMN, "system a, b: a name has no comma"),
    "only extra systems": (
        HEAD + SYSTEM + "extra = true\n" + COLUMN,
        "needs at least one [[system]] that is not extra",
    ),
    "point without a line": (HEAD + SYSTEM + 'at = "3"\n' + COLUMN, "series: a point of a figure has both series"),
    "point that is nowhere": (
        HEAD + SYSTEM + 'at = "x"\nseries = "a"\n' + COLUMN,
        "[[system]] 1 (one): at: 'x' is not a number.",
    ),
    "one place for two systems": (
        HEAD + '[[system]]\nname = "{m}"\nmake = "a {m}"\nbackbone = "b/{m.file}"\neach = {m = "1/2,1-2"}\n' + COLUMN,
        "'1/2' and '1-2' are made by different commands, and would share the backbone b/1-2;",
    ),
    "neither task nor figure": (
        HEAD + SYSTEM + '[[column]]\nname = "x"\n',
        "column x shows nothing: give it a task, a figure or a mean, or published figures.",
    ),
    "task and figure": (
        HEAD + SYSTEM + COLUMN + 'figure = "loss"\n',
        "[[column]] 1 (mood): figure: a column shows either a task's metric, a figure or a mean, not also task.",
    ),
    "mean of itself": (
        HEAD + SYSTEM + '[[column]]\nname = "x"\nmean = ["x"]\n',
        "column x: there is no other column 'x'.",
    ),
    "metric of a figure": (
        HEAD + SYSTEM + '[[column]]\nname = "x"\nfigure = "loss"\nmetric = "f1"\n',
        "[[column]] 1 (x): metric: is for columns of a task",
    ),
    "published text": (
        HEAD + SYSTEM + COLUMN + '[[published]]\nsystem = "one"\ncells = {mood = "9"}\n',
        "[[published]] 1 (one): cells.mood: expected a number",
    ),
    "published in no column": (
        HEAD + SYSTEM + COLUMN + '[[published]]\nsystem = "one"\ncells = {mod = 9}\n',
        "mine.toml: one has a cell 'mod'; the columns are mood.",
    ),
    "published with a comma": (
        HEAD + SYSTEM + COLUMN + '[[published]]\nsystem = "a, b"\ncells = {mood = 9}\n',
        "[[published]] 1 (a, b): system: A system's name has no comma",
    ),
    "published twice": (
        HEAD + SYSTEM + COLUMN + '[[published]]\nsystem = "one"\ncells = {mood = 9}\n' * 2,
        "two published rows are called 'one'",
    ),
    "shown with no published row": (
        HEAD + SYSTEM + 'published = "other"\n' + COLUMN,
        "system one: there is no published 'other'.",
    ),
    "extra that is a text": (HEAD + SYSTEM + COLUMN + 'extra = "no"\n', "extra: expected true or false, found text"),
    "template with a parameter's name": (
        HEAD + NUMBER + '[templates]\nn = "x"\n' + SYSTEM + COLUMN,
        "templates.n: the name is taken already",
    ),
    "template in itself": (
        HEAD + '[templates]\nt = "{t} x"\n' + SYSTEM + 'make = "a {t}"\n' + COLUMN,
        "make: {t} is not defined.",
    ),
    "parameter with a reserved name": (
        HEAD + '[parameters.here]\nabout = "x"\ndefault = "x"\n' + SYSTEM + COLUMN,
        "parameters.here: the name stands for the folder of this file already.",
    ),
    "scale called full": (HEAD + '[scale.full]\nabout = "x"\n' + SYSTEM + COLUMN, "scale.full: is the file itself"),
    "scale of no parameter": (
        HEAD + NUMBER + '[scale.tiny]\nabout = "x"\nset = {m = "2"}\n' + SYSTEM + COLUMN,
        "scale.tiny.set.m: there is no such parameter; known: n.",
    ),
    "unknown key of a scale": (
        HEAD + '[scale.tiny]\nabout = "x"\nsets = {}\n' + SYSTEM + COLUMN,
        "scale.tiny.sets: is not a key of this table. Did you mean set?",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_an_error_in_a_file_names_file_and_key(name: str, tmp_path: Path) -> None:
    text, reason = BAD[name]
    path = written(tmp_path, text)
    with pytest.raises(RequestError) as refused:
        read(path, {})
    assert reason in str(refused.value) and str(path) in str(refused.value)


WRONG: list[tuple[dict[str, str], str]] = [
    ({}, "mine needs a value for corpus. Its parameters, for --set"),
    ({"corpus": ""}, "mine needs a value for corpus. Its parameters, for --set"),
    ({"corpus": "a", "step": "3"}, "mine has no parameter 'step' (did you mean steps?). Its parameters, for --set"),
]


@pytest.mark.parametrize(("given", "reason"), WRONG)
def test_a_wrong_or_missing_parameter_error_lists_all_parameters(
    given: dict[str, str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError) as refused:
        read(written(tmp_path, WHOLE), given)
    error = str(refused.value)
    assert error.startswith(reason)
    assert "  corpus  what they learn from (required)\n  steps   of each (default: 1000)\n" in error
    assert error.endswith("  more    further words (default: nothing)")


def test_an_error_names_a_value_that_cannot_be_split(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="more=it's cannot be split into words: No closing quotation"):
        read(written(tmp_path, WHOLE), {"corpus": "a", "more": "it's"})


def test_an_error_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"absent\.toml: cannot be read: No such file"):
        read(tmp_path / "absent.toml", {})


Package = Callable[[str], ModuleType]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    """A plugin that is a package with a folder `studies`."""

    def made(name: str) -> ModuleType:
        folder = tmp_path / name
        (folder / "studies").mkdir(parents=True)
        module = ModuleType(name)
        module.__package__, module.__path__ = name, [str(folder)]
        module.register_tasks = hookimpl(lambda: [mood(name=f"{name}/mood")])  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
        return module

    return made


def test_study_files_in_a_plugin_package_are_named_after_it(
    package: Package, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = [(name, package(name)) for name in ("here", "there")]
    for name in ("here/studies/wide", "here/studies/deep", "there/studies/deep"):
        (tmp_path / f"{name}.toml").write_text(HEAD)
    (tmp_path / "there" / "studies" / "broken.toml").write_text("title = 3")
    plugins = discover(extra=[*modules, ("own", own())], installed=False)
    assert list(plugins.studies) == ["here/deep", "here/wide", "there/broken", "there/deep"]
    assert plugins.study("wide") == ("here/wide", tmp_path / "here" / "studies" / "wide.toml")
    assert plugins.study("some/where.toml") == ("some/where.toml", Path("some/where.toml"))
    with pytest.raises(RequestError, match="'deep' could be here/deep or there/deep: say which"):
        plugins.study("deep")
    with pytest.raises(UnknownName, match=r"no study 'wid'. Did you mean here/wide\? The path of a .toml file"):
        plugins.study("wid")
    assert main(["list", "studies"], plugins=plugins) == 0
    out = capsys.readouterr().out
    assert "  here/wide     Which is better?\n" in out and "there/broken  cannot be used: " in out


def test_options_of_a_file_are_read_like_those_of_a_command() -> None:
    options = StudyOptions.read({"lr": "1e-3,2e-3", "batch-size": "16", "restarts": "3"}, "here")
    assert options.given == {"lr": (1e-3, 2e-3), "batch_size": (16,), "restarts": 3}
    for texts, reason in (
        ({"jobs": "2"}, "here: a recipe has no 'jobs'. It has: lr, epochs"),
        ({"batch_size": "2"}, "a recipe has no 'batch_size'"),
        ({"lr": "low"}, "here: lr: 'low' is not a list of numbers"),
        ({"select": "median"}, "here: select must be mean or best, not 'median'"),
        ({"paper-adam": "yes"}, "here: paper-adam: 'yes' is neither true nor false"),
        ({"grid": "papr"}, "here: There is no grid 'papr'. Did you mean paper"),
    ):
        with pytest.raises(RequestError, match=reason):
            StudyOptions.read(texts, "here")


def test_an_option_hides_those_it_replaces_at_lower_levels() -> None:
    below = StudyOptions(lr=(1.0,), restarts=5, dropout=0.2)
    assert StudyOptions(dropout=0.1).over(below) == StudyOptions(lr=(1.0,), restarts=5, dropout=0.1)
    assert StudyOptions(grid="paper").over(below) == StudyOptions(restarts=5, dropout=0.2, grid="paper")
    assert StudyOptions(seeds=(7,)).over(below) == StudyOptions(lr=(1.0,), dropout=0.2, seeds=(7,))
    assert StudyOptions(lr=(2.0,)).over(StudyOptions(grid="paper")) == StudyOptions(lr=(2.0,), grid="paper")
    assert StudyOptions(paper_adam=False).over(StudyOptions(paper_adam=True)).paper_adam is False
    assert StudyOptions(precision="bf16").over(below).precision == "bf16"
