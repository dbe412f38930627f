"""A task, a backbone and a board that live nowhere but here; `python inline.py WORDS` is a command line of them alone.

What the core's tests work with: no network, and of the installed plugins those that know no benchmark.
"""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import benchrunner_answers
import benchrunner_calibration
import benchrunner_kit
import benchrunner_methods
import benchrunner_report
import benchrunner_runs
import benchrunner_search
import benchrunner_share
import benchrunner_statistics
import benchrunner_studies
import benchrunner_submit
import benchrunner_tasks
from benchrunner import (
    ACCURACY,
    Classify,
    PluginError,
    Recipe,
    Regress,
    Split,
    Suite,
    Task,
    TextTable,
    Workspace,
    hookimpl,
)
from benchrunner.results import Computing, Plugins, Runner, Study, discover
from benchrunner_submit import BoardFile, Labels, Leaderboard, Number, Table
from benchrunner_tasks import MATTHEWS, PEARSON

ROWS = {"train": 48, "dev": 24, "test": 20}
QUICK = Recipe(lr=0.02, epochs=1, batch_size=8, bilstm_width=32)
SUITE = Suite("mine")
ANSWERS = ("answers", benchrunner_answers)
CALIBRATION = ("calibration", benchrunner_calibration)
METHODS = ("methods", benchrunner_methods)
KIT = ("kit", benchrunner_kit)
REPORT = ("report", benchrunner_report)
RUNS = ("runs", benchrunner_runs)
SEARCH = ("search", benchrunner_search)
SHARE = ("share", benchrunner_share)
STATISTICS = ("statistics", benchrunner_statistics)
STUDIES = ("studies", benchrunner_studies)
SUBMIT = ("submit", benchrunner_submit)
TASKS = ("tasks", benchrunner_tasks)
"""First-party plugins, for `discover`."""


def files(seed: int, folder: Path) -> None:
    """mood/train.tsv, dev.tsv and test.tsv."""
    from benchrunner_kit.testing import sentences

    (folder / "mood").mkdir(parents=True, exist_ok=True)
    for at, (name, count) in enumerate(ROWS.items()):
        found = sentences(count, seed=10 * seed + at)
        if name == "test":
            lines = ["text", *found["a"]]
        else:
            lines = ["text\tmood", *(f"{a}\t{label}" for a, label in zip(found["a"], found["label"], strict=True))]
        (folder / "mood" / f"{name}.tsv").write_text("\n".join(lines) + "\n")


DEMO_FILES = partial(files, 0)


def mood(**changes: Any) -> Task:
    """Glad or sad?"""

    def split(role: Any) -> Split:
        columns = {"a": "text"} if role == "test" else {"a": "text", "label": "mood"}
        return Split(role, (TextTable(f"mood/{role}.tsv", columns),), ROWS[role])

    row: dict[str, Any] = {
        "name": "mine/mood",
        "about": "Is the text glad or sad?",
        "problem": Classify(("glad", "sad")),
        "splits": {role: split(role) for role in ROWS},
        "metrics": (ACCURACY, MATTHEWS),
        "recipe": QUICK,
        "suite": SUITE,
        "demo_files": DEMO_FILES,
    }
    return Task(**(row | changes))


def pairs(name: str = "mine/pairs") -> Task:
    """Two texts, one number; its data is nowhere."""
    columns = {"a": "one", "b": "two", "label": "grade"}
    splits = {role: Split(role, (TextTable(f"pairs/{role}.tsv", columns),)) for role in ("train", "dev", "test")}  # type: ignore[arg-type]
    return Task(name, "How alike are they?", Regress(0, 5), splits, (PEARSON,), suite=SUITE)


def board() -> Leaderboard:
    """Wants the mood of twenty texts."""
    kind = Table(("id", "mood"), Labels({"glad": "1", "sad": "0"}))
    file = BoardFile("moods.tsv", "mine/mood", "test", ROWS["test"], kind)
    return Leaderboard("moods", "The board of moods", "https://example.org", "moods.zip", (file,))


def wide_board() -> Leaderboard:
    """Wants the grades of five pairs, too, whose data is nowhere."""
    grades = BoardFile("grades.tsv", "mine/pairs", "test", 5, Table(("id", "grade"), Number(low=0, high=5)))
    texts = replace(board().files[0], name="texts.tsv")
    return replace(board(), name="wide", title="The wide board", archive="wide.zip", files=(texts, grades))


def plugin(**hooks: Any) -> SimpleNamespace:
    """A plugin of functions, each marked as the hook whose name it is given; a value is what the hook gives."""

    def function(value: Any) -> Any:
        return value if callable(value) else lambda: value

    return SimpleNamespace(**{name: hookimpl(function(value)) for name, value in hooks.items()})


def own(**hooks: Any) -> SimpleNamespace:
    """The task, the backbone and the board as one plugin; without the board if it does not fit other tasks."""
    offers: dict[str, Any] = {"register_tasks": [mood()], "register_leaderboards": [board()]} | hooks
    tasks = offers["register_tasks"]
    if isinstance(tasks, list) and "register_leaderboards" not in hooks:
        named = {task.name: task for task in tasks if isinstance(task, Task)}
        try:
            board().check_tasks(named, named)
        except PluginError:
            offers["register_leaderboards"] = []
    if "register_backbones" not in hooks:
        from benchrunner_kit.testing import tiny_family  # with torch, which takes its time

        offers["register_backbones"] = [tiny_family()]
    return plugin(**offers)


def own_and(*others: tuple[str, object]) -> Plugins:
    """That plugin and others, each with its name; no first-party plugin."""
    return discover(extra=[("own", own()), *others], installed=False)


def plugins(**hooks: Any) -> Plugins:
    """That plugin, its hooks replaced by those given, and the first-party plugins that know no benchmark."""
    first_party = [ANSWERS, CALIBRATION, METHODS, KIT, REPORT, RUNS, SEARCH, SHARE, STATISTICS, STUDIES, SUBMIT, TASKS]
    found = discover(extra=[("own", own(**hooks)), *first_party], installed=False)
    assert not found.set_aside, found.set_aside
    return found


def runner(folder: Path, *, seed: int = 1, **hooks: Any) -> Runner:
    """Everything below a folder, the data written."""
    files(seed, folder / "data")
    return Runner(
        plugins(**hooks), Workspace(folder / "runs", folder / "cache", data=folder / "data"), Computing("cpu")
    )


if __name__ == "__main__":
    from benchrunner.command_line.main import main

    sys.exit(main(plugins=plugins(register_tasks=[mood(), pairs()])))


def study_with(backbones: Any, tasks: Any, **options: Any) -> Study:
    """Build a study by fields of `Fitting` and arguments of `compared`."""
    from benchrunner.results import cells, compared

    of_fits = {name: options.pop(name) for name in cells.Fitting.__dataclass_fields__ if name in options}
    return compared(backbones, tasks, cells.Fitting(**of_fits), **options)
