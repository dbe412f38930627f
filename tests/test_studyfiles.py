"""Study files: what a file may say, what its parameters become, and the way from its commands to its table."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchrunner import Places, discover
from benchrunner.commands import main, options, studying
from benchrunner.errors import RequestError, UnknownName
from benchrunner.hookspecs import hookimpl
from benchrunner.studyfiles import read, title
from benchrunner.testing import TinyBackbone
from inline import files, mood, own, pairs, plugin

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
backbone = "models/{width.file}"
figures = "models/{width.file}/log.jsonl"

[[column]]
name = "mood"
task = "mine/mood"
recipe = {lr = "1e-3,2e-3"}
published = {"4/256 left" = 91.5}

[[column]]
name = "words"
figure = "perplexity"
note = "of other text"
"""


def test_one_entry_stands_for_every_combination_of_its_variables(tmp_path: Path) -> None:
    study = read(written(tmp_path, WHOLE), {"corpus": "a"})
    assert [one.name for one in study.systems] == ["4/128 left", "4/128 right", "4/256 left", "4/256 right"]
    assert [one.backbone for one in study.systems] == ["models/4-128"] * 2 + ["models/4-256"] * 2
    assert study.systems[3].figures == Path("models/4-256/log.jsonl")
    assert (study.recipe, study.columns[0].recipe) == ({"restarts": "5"}, {"lr": "1e-3,2e-3"})
    assert study.columns[0].published == {"4/256 left": 91.5}
    assert study.values == {
        "corpus": "a",
        "steps": "1000",
        "warmup": "10",
        "points": "400,1000",
        "widths": "4/128,4/256",
        "more": "",
    }


def test_values_stay_the_words_that_they_were_given_as(tmp_path: Path) -> None:
    given = {"corpus": "my texts/a b.txt, c.txt", "steps": "7", "widths": "1/2", "more": "--cased --note 'two words'"}
    study = read(written(tmp_path, WHOLE), given)
    assert study.systems[0].make == (
        *("learn", "1/2", "--from", "my texts/a b.txt", "c.txt", "--at=2,7", "--warmup=0"),
        *("--out", "left of 1-2", "--cased", "--note", "two words"),
    )


def test_a_command_that_two_systems_share_is_one_command(tmp_path: Path) -> None:
    shared = '[[system]]\nname = "{n}"\nmake = "learn it"\nbackbone = "b"\neach = {n = "first,second"}\n'
    study = read(written(tmp_path, HEAD + shared + COLUMN), {})
    assert study.made == {("learn", "it"): "first"}


def test_columns_are_chosen_by_name_in_the_order_of_the_file(tmp_path: Path) -> None:
    study = read(written(tmp_path, WHOLE), {"corpus": "a"})
    assert [one.name for one in study.only(["WORDS", " mood"])] == ["mood", "words"]
    with pytest.raises(RequestError, match=r"mine has no column 'moods'. It has: mood, words\."):
        study.only(["moods"])
    with pytest.raises(RequestError, match="Which columns of mine"):
        study.only([""])


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
    "undefined name": (HEAD + NUMBER + SYSTEM + 'method = "{m}"\n' + COLUMN, "method: nothing says what {m} is. Known"),
    "misspelt name": (
        HEAD + NUMBER + SYSTEM + 'make = "a {nn}"\n' + COLUMN,
        "make: nothing says what {nn} is. Did you",
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
        "each.n: the name is a parameter's already",
    ),
    "variable without values": (HEAD + SYSTEM + 'each = {m = ","}\n' + COLUMN, "each.m: nothing to choose from"),
    "neither task nor figure": (HEAD + SYSTEM + '[[column]]\nname = "x"\n', "give one of task and figure"),
    "task and figure": (HEAD + SYSTEM + COLUMN + 'figure = "loss"\n', "give one of task and figure"),
    "metric of a figure": (
        HEAD + SYSTEM + '[[column]]\nname = "x"\nfigure = "loss"\nmetric = "f1"\n',
        "[[column]] 1 (x): metric: is for columns of a task",
    ),
    "published text": (HEAD + SYSTEM + COLUMN + 'published = {one = "9"}\n', "published.one: expected a number"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_mistake_in_a_file_is_told_with_file_and_key(name: str, tmp_path: Path) -> None:
    text, reason = BAD[name]
    path = written(tmp_path, text)
    with pytest.raises(RequestError) as refused:
        read(path, {})
    assert reason in str(refused.value) and str(path) in str(refused.value)


WRONG: list[tuple[dict[str, str], str]] = [
    ({}, "mine must be told corpus. With --set"),
    ({"corpus": ""}, "mine must be told corpus. With --set"),
    ({"corpus": "a", "step": "3"}, "mine has no parameter 'step'. With --set"),
]


@pytest.mark.parametrize(("given", "reason"), WRONG)
def test_a_wrong_or_missing_parameter_is_answered_with_all_of_them(
    given: dict[str, str], reason: str, tmp_path: Path
) -> None:
    with pytest.raises(RequestError) as refused:
        read(written(tmp_path, WHOLE), given)
    said = str(refused.value)
    assert said.startswith(reason)
    assert "  corpus  what they learn from (must be set)\n  steps   of each (1000)\n" in said
    assert said.endswith("  more    further words (nothing)")


def test_a_value_that_cannot_be_split_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="more=it's cannot be split into words: No closing quotation"):
        read(written(tmp_path, WHOLE), {"corpus": "a", "more": "it's"})


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match=r"absent\.toml: cannot be read: No such file"):
        title(tmp_path / "absent.toml")


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


def test_the_files_in_a_plugins_package_are_studies_under_its_name(
    package: Package, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    modules = [(name, package(name)) for name in ("here", "there")]
    for name in ("here/studies/wide", "here/studies/deep", "there/studies/deep"):
        (tmp_path / f"{name}.toml").write_text(HEAD)
    (tmp_path / "there" / "studies" / "broken.toml").write_text("title = 3")
    found = discover(extra=[*modules, ("own", own())], installed=False)
    assert list(found.studies) == ["here/deep", "here/wide", "there/broken", "there/deep"]
    assert found.study("wide") == ("here/wide", tmp_path / "here" / "studies" / "wide.toml")
    assert found.study("some/where.toml") == ("some/where.toml", Path("some/where.toml"))
    with pytest.raises(RequestError, match="'deep' could be here/deep or there/deep: say which"):
        found.study("deep")
    with pytest.raises(UnknownName, match=r"no study 'wid'. Did you mean here/wide\? The path of a .toml file"):
        found.study("wid")
    assert main(["list", "studies"], plugins=found) == 0
    said = capsys.readouterr().out
    assert "  here/wide     Which is better?\n" in said and "there/broken  cannot be used: " in said


def test_options_of_a_file_are_read_as_if_they_were_typed() -> None:
    found = options.recipe_of({"lr": "1e-3,2e-3", "batch-size": "16", "restarts": "3"}, "here")
    assert found == {"lr": (1e-3, 2e-3), "batch_size": (16,), "restarts": 3}
    for texts, reason in (
        ({"jobs": "2"}, "here: a recipe has no 'jobs'. It has: lr, epochs"),
        ({"batch_size": "2"}, "a recipe has no 'batch_size'"),
        ({"lr": "low"}, "here: argument --lr: 'low' is not a list of numbers"),
        ({"grid": "papr"}, "here: argument --grid: invalid choice: 'papr'"),
    ):
        with pytest.raises(RequestError, match=reason):
            options.recipe_of(texts, "here")


def test_an_option_hides_what_it_stands_for_in_those_below_it() -> None:
    below = {"lr": (1.0,), "restarts": 5, "dropout": 0.2}
    assert options.over({"dropout": 0.1}, below) == {"lr": (1.0,), "restarts": 5, "dropout": 0.1}
    assert options.over({"grid": "paper"}, below) == {"restarts": 5, "dropout": 0.2, "grid": "paper"}
    assert options.over({"seeds": (7,)}, below) == {"lr": (1.0,), "dropout": 0.2, "seeds": (7,)}
    assert options.over({"lr": (2.0,)}, {"grid": "paper"}) == {"lr": (2.0,), "grid": "paper"}


BAKE = """
import json, os, pathlib, shutil, sys
name, out = sys.argv[2:4]
with open("made.txt", "a") as made:
    print(name, os.environ["BENCHRUNNER_RUNS"], file=made)
print("baked", name)
if name == "burnt":
    print("it burns", file=sys.stderr)
    sys.exit(int(sys.argv[4]))
if not pathlib.Path(out).exists():
    shutil.copytree("model", out)
    lines = [{"step": 1, "loss": 3.0}, {"step": 2, "loss": 2.25}, {"step": 3}]
    pathlib.Path(out, "log.jsonl").write_text("".join(json.dumps(one) + "\\n" for one in lines) + '{"loss": 1')
"""

STUDY = """
title = "Which dough rises?"
about = "Nothing here is to eat."
source = "the baker's own book"

[parameters.doughs]
about = "to bake"
kind = "list"
default = "rye,spelt"

[parameters.more]
about = "further words"
kind = "words"
default = ""

[recipe]
restarts = "2"
epochs = "1"

[[system]]
each = {dough = "{doughs}"}
name = "{dough}"
make = "bake {dough} out/{dough} {more}"
backbone = "out/{dough}"
figures = "out/{dough}/log.jsonl"

[[system]]
name = "rye, sliced"
make = "bake rye out/rye {more}"
backbone = "out/rye"
method = "finetune+bilstm"

[[column]]
name = "taste"
task = "mood"
recipe = {lr = "2e-3"}
published = {rye = 99.5}
note = "asked of few"

[[column]]
name = "crust"
task = "mood"
metric = "matthews"
method = "features"
recipe = {features = "last", restarts = "1"}

[[column]]
name = "loss"
figure = "loss"
published = {spelt = 2.5}
"""


class Kitchen:
    """A command line that knows how to bake, below one folder."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.home, self._capsys = home, capsys

        def bake(cli: Any) -> None:
            parser = cli.add_parser("bake", help="a model")
            parser.add_argument("name")
            parser.add_argument("out")
            parser.add_argument("code", nargs="?", type=int)
            parser.set_defaults(run=lambda arguments: 0)

        baker = plugin(register_commands=bake)
        extra = [("own", own(register_tasks=[mood(), pairs()])), ("baker", baker)]
        self.plugins = discover(extra=extra, installed=False)
        files(1, home / "data")
        (home / "bake.py").write_text(BAKE)
        (home / "study.toml").write_text(STUDY)
        (home / "model").mkdir()
        TinyBackbone().load(Places(home, home), seed=0).save(home / "model")

    def __call__(self, *words: str) -> tuple[int, str, str]:
        places = ["--data", "data", "--runs", "fits", "--device", "cpu"]
        code = main(["compare", *places, *words], plugins=self.plugins)
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def asked(self, *words: str) -> str:
        code, out, err = self("--study", "study.toml", *words)
        assert (code, out) == (2, ""), (code, out, err)
        return err

    def made(self) -> list[str]:
        path = self.home / "made.txt"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


@pytest.fixture
def kitchen(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(studying, "PROGRAM", (sys.executable, str(tmp_path / "bake.py")))
    return Kitchen(tmp_path, capsys)


def test_a_study_makes_its_systems_once_fits_them_and_shows_what_was_published(kitchen: Kitchen) -> None:
    code, out, err = kitchen("--study", "study.toml", "--json", "--limit-train", "16")
    assert code == 0, err
    assert (kitchen.home / "made.txt").read_text() == "rye fits\nspelt fits\n"
    assert "1 of 2, rye: benchrunner bake rye out/rye" in err
    found = json.loads(out)
    assert found["parameters"] == {"doughs": "rye,spelt", "more": ""}
    cells = {(one["system"], one["column"]): one for one in found["cells"]}
    assert len(cells) == 9
    assert len(cells["rye", "taste"]["restarts"]) == 2 and len(cells["rye", "crust"]["restarts"]) == 1
    for same in (("restarts", "taste"), ("restarts", "crust"), ("mean", "loss")):
        assert cells["rye", same[1]][same[0]] == cells["spelt", same[1]][same[0]], "the same weights twice"
    assert (cells["rye", "taste"]["published"], cells["spelt", "taste"]["published"]) == (99.5, None)
    assert (cells["rye", "loss"]["mean"], cells["rye, sliced", "loss"]["mean"]) == (2.25, None)
    assert "rye, sliced on loss: no figure: the study names no log of it" in found["notes"]
    recipes = {
        (cell["method"], cell["recipe"]["lr"], cell["recipe"]["epochs"], cell["recipe"]["limit_train"])
        for result in found["results"]
        for cell in result["cells"]
    }
    assert recipes == {("finetune", 2e-3, 1, 16), ("finetune+bilstm", 2e-3, 1, 16), ("features", 1e-3, 1, 16)}
    mean = cells["rye", "taste"]["mean"]
    code, shown, _ = kitchen("--study", "study.toml", "--limit-train", "16", "--quiet")
    assert code == 0 and kitchen.made() == ["rye", "spelt"] * 2
    assert f"{mean:.1f} ± " in shown and "(2)" in shown and "paper 99.5" in shown and "paper 2.50" in shown
    assert "  paper: the baker's own book\n" in shown and "  taste: asked of few\n" in shown


def test_what_is_typed_goes_before_what_the_file_says(kitchen: Kitchen) -> None:
    typed = ["--restarts", "1", "--lr", "1e-3", "--columns", "taste", "--set", "doughs=rye"]
    code, out, _ = kitchen("--study", "study.toml", "--json", "--quiet", *typed)
    found = json.loads(out)
    assert code == 0
    assert [one["name"] for one in found["systems"]] == ["rye", "rye, sliced"]
    assert {one["recipe"]["lr"] for result in found["results"] for one in result["cells"]} == {1e-3}
    assert [len(one["restarts"]) for one in found["cells"]] == [1, 1]


def test_a_system_without_a_finished_fit_leaves_a_gap_and_the_reason(kitchen: Kitchen) -> None:
    words = ["--study", "study.toml", "--quiet", "--lr", "1e38", "--columns", "taste,loss", "--restarts", "1"]
    code, out, _ = kitchen(*words, "--set", "doughs=spelt")
    assert code == 1
    assert "  taste: no figure: no fit finished\n" in out and "diverged: the loss was not a finite" in out
    assert "2.25" in out, "the other columns are there"


@pytest.mark.parametrize(("number", "code"), [(1, 1), (2, 2), (7, 1)])
def test_a_command_that_fails_ends_the_study_with_its_name(number: int, code: int, kitchen: Kitchen) -> None:
    asked = ["--study", "study.toml", "--set", "doughs=rye,burnt", f"more={number}", "--quiet"]
    ended, out, err = kitchen(*asked)
    assert (ended, out) == (code, "")
    assert "it burns" in err and f"ended with exit code {number}, as said above: benchrunner bake burnt" in err
    assert not (kitchen.home / "fits").exists()


def test_a_command_that_was_stopped_stops_the_study(kitchen: Kitchen) -> None:
    code, _, err = kitchen("--study", "study.toml", "--set", "doughs=burnt", "more=130")
    assert code == 130 and "The same command goes on from here" in err


REFUSED: dict[str, tuple[list[str], str]] = {
    "backbones": (["words"], "--study study.toml says which backbones there are."),
    "tasks": (["--tasks", "mood"], "says which tasks there are. Part of its columns is --columns A,B."),
    "method": (["--method", "features"], "says which method there are."),
    "parameter": (["--set", "dough=rye"], "study.toml has no parameter 'dough'. With --set"),
    "no value": (["--set", "doughs"], "--set takes NAME=VALUE, not 'doughs'"),
    "twice": (["--set", "doughs=a", "doughs=b"], "--set names doughs twice"),
    "column": (["--columns", "price"], "has no column 'price'. It has: taste, crust, loss."),
    "unread": (["--stride", "3"], "--stride is for tasks of another kind"),
    "executor": (["--jobs", "0"], "--jobs must be at least 1"),
    "bad recipe": (["--epochs", "0"], "epochs must be above zero, not 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_study_that_cannot_be_understood_is_refused_before_anything_is_made(name: str, kitchen: Kitchen) -> None:
    words, reason = REFUSED[name]
    assert reason in kitchen.asked(*words)
    assert kitchen.made() == []


FAULTY = {
    "no such task": ('task = "mood"', 'task = "moods"', "column taste: There is no task 'moods'. Did you mean mine/mo"),
    "no such metric": (
        'metric = "matthews"',
        'metric = "f1"',
        "column crust: mine/mood has no metric 'f1'; it has acc",
    ),
    "no such split": (
        'task = "mood"',
        'task = "mood"\nsplit = "test"',
        "no split of the role 'dev' 'test'; it has dev",
    ),
    "no data": ('task = "mood"', 'task = "pairs"', "column taste: No data for mine/pairs"),
    "no such method": ('"features"\n', '"feature"\n', "There is no method 'feature'. Did you mean features"),
    "bad option": ('lr = "2e-3"', 'lr = "low"', "study.toml: column taste: argument --lr: 'low' is not a list"),
    "bad command": ("bake {dough}", "bark {dough}", "'rye' is made by a command that cannot be understood, as said"),
    "no such backbone": (
        'make = "bake rye out/rye {more}"\nbackbone = "out/rye"',
        'backbone = "out/wheat"',
        "system rye, sliced: There is no backbone 'out/wheat'",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_what_a_file_asks_for_and_is_not_there_is_said_before_anything_is_made(name: str, kitchen: Kitchen) -> None:
    old, new, reason = FAULTY[name]
    (kitchen.home / "study.toml").write_text(STUDY.replace(old, new, 1))
    said = kitchen.asked()
    assert reason in said
    assert name != "no data" or "Leave it out: --columns takes the others" in said
    assert kitchen.made() == []


def test_a_command_that_leaves_no_backbone_is_found_out(kitchen: Kitchen) -> None:
    (kitchen.home / "study.toml").write_text(STUDY.replace('backbone = "out/{dough}"', 'backbone = "in/{dough}"'))
    assert "study.toml, system rye: There is no backbone 'in/rye'" in kitchen.asked("--quiet")


def test_compare_says_what_it_needs(kitchen: Kitchen) -> None:
    for words, reason in (
        ([], "Say the backbones: 'compare B1 B2 --tasks TASK', or 'compare --study NAME'"),
        (["words"], "Say --tasks: "),
        (["words", "--tasks", "mood", "--set", "a=b"], "--set and --columns are for a study file"),
        (["--study", "stuudy"], "There is no study 'stuudy'"),
    ):
        code, out, err = kitchen(*words)
        assert (code, out) == (2, "") and reason in err


COUNT = """
import signal, sys, time
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
print("ready", flush=True)
while not heard:
    time.sleep(0.01)
time.sleep(0.3)
sys.exit(40 + len(heard))
"""


def test_what_asks_us_to_stop_reaches_the_command_once() -> None:
    """As from a terminal, which signals a whole group of processes."""
    process = subprocess.Popen([sys.executable, "-c", COUNT], stdout=subprocess.PIPE, process_group=0)
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        stopped = studying._waited(process)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        timer.join()
        process.stdout.close()
        signal.signal(signal.SIGINT, outside)
    assert (stopped, process.returncode) == (True, 41)
