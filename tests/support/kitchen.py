"""A folder in which tests run study files: `compare`, its data, and a command `bake` that builds backbones."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchrunner import Task, Workspace
from benchrunner.command_line.main import main
from benchrunner.results import discover
from benchrunner_kit.testing import TinyBackbone, tiny_family
from inline import METHODS, REPORT, STATISTICS, STUDIES, files, mood, own, pairs

BAKE = """
import os, sys

def bake(name, out):
    with open("made.txt", "a") as made:
        print(name, os.environ["BENCHRUNNER_RUNS"], file=made)
    print("baked", name)
    if not os.path.exists(out):
        import shutil
        shutil.copytree("model", out)
        lines = ('{"step": 1, "loss": 3.0}', '{"step": 2, "loss": 2.25}', '{"step": 3}', '{"loss": 1')
        with open(os.path.join(out, "log.jsonl"), "w") as log:
            log.write(chr(10).join(lines))

words = [word for word in sys.argv[1:] if word != "--estimate"]
if words[:2] in (["bake", "rye"], ["bake", "spelt"]):  # done without benchrunner, whose start takes most of the time
    if len(words) == len(sys.argv) - 1:
        bake(*words[1:3])
    elif os.path.exists(words[2]):
        print('{"left": ""}')
    else:
        print('{"left": "an hour of baking", "flops": 2e9, "seconds": 3600.0}')
    sys.exit()

from benchrunner import CommandEstimate, RequestError
from benchrunner.results import discover
from benchrunner.command_line.main import main
from inline import plugin

def register_commands(cli):
    parser = cli.add_parser("bake")
    parser.add_argument("name")
    parser.add_argument("out")
    parser.add_argument("code", nargs="?", type=int)
    parser.set_defaults(run=burn, estimate=estimate)

def estimate(arguments):
    if arguments.name == "stone":
        raise RequestError("stones cannot be baked")
    return CommandEstimate("an hour of baking", flops=2e9, seconds=3600.0)

def burn(arguments):
    bake(arguments.name, arguments.out)
    print("it burns", file=sys.stderr)
    return arguments.code

baker = plugin(register_commands=register_commands)
sys.exit(main(plugins=discover(extra=[("baker", baker)], installed=False)))
"""
"""The program of the command `bake`, which builds `rye` and `spelt`, burns `burnt` and refuses `stone`."""


def baking(folder: Path) -> tuple[str, ...]:
    """Return the program of a study's commands; PYTHONPATH names the packages that `site` would look for."""
    return sys.executable, "-S", str(folder / "bake.py")


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

[scale.crumb]
about = "for a mouse"
set = {doughs = "rye"}
recipe = {limit-train = "8", restarts = "1"}

[[system]]
each = {dough = "{doughs}"}
name = "{dough}"
make = "bake {dough} out/{dough} {more}"
backbone = "out/{dough}"
figures = "out/{dough}/log.jsonl"

[[system]]
name = "rye (sliced)"
make = "bake rye out/rye {more}"
backbone = "out/rye"
method = "finetune+bilstm"
published = "toast"
recipe = {epochs = "2", restarts = "3"}

[[column]]
name = "taste"
task = "mood"
recipe = {lr = "2e-3"}
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

[[column]]
name = "mean"
mean = ["taste", "crust"]
extra = true

[[column]]
name = "price"
published-on = "market"

[[published]]
system = "rye"
cells = {taste = 99.5, price = 3}

[[published]]
system = "toast"
source = "a cookery book"
cells = {taste = 88.5}
notes = "from yesterday"

[[published]]
system = "stone"
cells = {taste = 0.5}

[[published]]
system = "spelt"
cells = {loss = 2.5}
"""


class Kitchen:
    """Runs `compare` in one folder; the command `bake` of study files copies a model."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.plugins = discover(
            extra=[METHODS, REPORT, STATISTICS, STUDIES, ("own", own(register_tasks=[mood(), pairs()]))],
            installed=False,
        )
        files(1, folder / "data")
        (folder / "bake.py").write_text(BAKE)
        (folder / "study.toml").write_text(STUDY)
        (folder / "model").mkdir()
        TinyBackbone().load(Workspace(folder, folder), seed=0).save(folder / "model")

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Run `compare` with words of the command line; return its exit code, output and errors."""
        workspace = ["--data", "data", "--runs", "fits", "--device", "cpu"]
        code = main(["compare", *workspace, *words], plugins=self.plugins)
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def done(self, *words: str) -> str:
        """Run `compare` with words that it accepts; return its output."""
        code, out, err = self(*words)
        assert code == 0, err
        return out

    def json(self, *words: str) -> Any:
        """Run `compare` with words that it accepts and --json; return the value that it printed."""
        return json.loads(self.done(*words, "--json"))

    def refused(self, *words: str) -> str:
        """Return the error of a study that is refused before anything is printed."""
        code, out, err = self("--study", "study.toml", *words)
        assert (code, out) == (2, ""), (code, out, err)
        return err

    def made(self) -> list[str]:
        """Return the names of the backbones that `bake` was run for, in order."""
        path = self.folder / "made.txt"
        return [line.split()[0] for line in path.read_text().splitlines()] if path.exists() else []


def labelled_test() -> Task:
    """Return a task whose test split has the labelled rows of dev."""
    splits = mood().splits
    return mood(name="mine/known", splits={**splits, "test": replace(splits["dev"], role="test")})


STAGED = """
title = "Does a first task help?"

[[system]]
name = "at once"
backbone = "tiny/words"

[[system]]
name = "in two stages"
backbone = "tiny/words"
first = {task = "known", recipe = {lr = "5e-3", limit-train = "24"}}

[[system]]
name = "three together"
backbone = "tiny/words"
ensemble = true
recipe = {restarts = "3"}

[[column]]
name = "mood"
task = "mood"
recipe = {lr = "2e-3"}
"""


def staged(kitchen: Kitchen, *words: str) -> tuple[int, str, str]:
    """Run the study of two stages and an ensemble, with further words of the command line."""
    kitchen.plugins = discover(
        extra=[
            METHODS,
            REPORT,
            STATISTICS,
            STUDIES,
            ("own", own(register_tasks=[mood(), labelled_test()], register_backbones=[tiny_family()])),
        ],
        installed=False,
    )
    (kitchen.folder / "study.toml").write_text(STAGED)
    return kitchen("--study", "study.toml", *words)
