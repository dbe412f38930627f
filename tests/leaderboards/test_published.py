"""Published figures: what they stand beside, and columns that do not agree with the tasks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from benchrunner import Average, Faults, PluginError, PublishedColumn, PublishedRow, Suite, Term
from benchrunner.results import Plugins, discover
from benchrunner_submit import Answers, BoardFile, ExpectedRows, FileKind
from distributions import ROOT
from documents import blocks
from inline import board, mood, plugin

MEAN = Suite("mine", (Average("mean", ((Term("mine/mood", "dev", "accuracy"),),)),))


def columns(**changes: Any) -> PublishedColumn:
    values: dict[str, Any] = {"kind": "test", "metric": "accuracy", "task": "mine/mood", "split": "test"}
    return PublishedColumn(**(values | changes))


def two_dev_splits() -> Any:
    splits = mood().splits
    return mood(splits={"train": splits["train"], "near": splits["dev"], "far": splits["dev"], "test": splits["test"]})


def test_a_test_figure_stands_beside_the_only_dev_split() -> None:
    column = columns()
    assert column.stands_beside(mood(), "dev", "accuracy")
    assert not column.stands_beside(mood(), "dev", "matthews")
    assert not column.stands_beside(mood(), "test", "accuracy")
    assert not column.stands_beside(mood(name="mine/gloom"), "dev", "accuracy")


@pytest.mark.parametrize("column", [columns(beside="far"), columns(kind="dev", split="far")])
def test_of_several_dev_splits_one_is_named(column: PublishedColumn) -> None:
    task = two_dev_splits()
    assert [split for split in task.splits if column.stands_beside(task, split, "accuracy")] == ["far"]


def test_an_average_stands_beside_no_task() -> None:
    column = PublishedColumn("test", "accuracy", suite="mine")
    assert not column.stands_beside(mood(), "dev", "accuracy")


def test_a_hidden_test_set_needs_no_split() -> None:
    assert columns(split="").stands_beside(mood(), "dev", "accuracy")


def test_a_figure_is_written_as_its_source_prints_it() -> None:
    row = PublishedRow("Thermometer", "Nobody 2019", {"Mood": 80, "far": 80.125})
    own = replace(board(), columns={"Mood": columns(), "far": columns()}, published=(row,))
    assert [figure.as_text() for figure in own.figures] == ["80.0", "80.125"]


def discovered(column: PublishedColumn, **changes: Any) -> Plugins:
    own = replace(board(), columns={"Mood": column}, published=(PublishedRow("A", "B", {"Mood": 1.0}),))
    tasks = changes.pop("tasks", [mood(suite=MEAN)])
    hooks = plugin(register_tasks=tasks, register_leaderboards=[replace(own, **changes)])
    return discover(extra=[("own", hooks)], installed=False)


SOUND = {
    "dev": columns(kind="dev", split="dev"),
    "test": columns(),
    "hidden": columns(split=""),
    "average": PublishedColumn("test", "mean", suite="mine"),
    "task of a plugin that is not there": columns(task="other/mood"),
    "average of a plugin that is not there": PublishedColumn("test", "mean", suite="other"),
}


@pytest.mark.parametrize("column", SOUND.values(), ids=SOUND)
def test_a_sound_column_is_used(column: PublishedColumn) -> None:
    plugins = discovered(column)
    assert list(plugins.leaderboards) == ["moods"] and plugins.set_aside == []


WRONG = {
    "task": (columns(task="mine/mod"), "task: there is no task 'mine/mod'. Did you mean mine/mood?"),
    "metric": (columns(metric="acuracy"), "metric: there is no metric of mine/mood 'acuracy'. Did you mean accuracy?"),
    "split": (columns(split="tset"), "split: there is no test split of mine/mood 'tset'. Did you mean test?"),
    "kind": (columns(kind="dev", split="test"), "split: there is no dev split of mine/mood 'test'. Known: dev."),
    "beside": (columns(beside="tst"), "beside: there is no dev or test split of mine/mood 'tst'. Did you mean test?"),
    "average": (PublishedColumn("test", "man", suite="mine"), "average: there is no average of mine 'man'. Did you"),
}


@pytest.mark.parametrize(("column", "reason"), WRONG.values(), ids=WRONG)
def test_a_wrong_column_sets_only_its_board_aside(column: PublishedColumn, reason: str) -> None:
    plugins = discovered(column, origin="moods.toml")
    assert plugins.leaderboards == {} and "mine/mood" in plugins.tasks
    [part] = plugins.set_aside
    assert part.plugin == "own" and part.reason.startswith(f"moods.toml: columns.Mood.{reason}")


@dataclass(frozen=True)
class Spelled(FileKind):
    """Files in which each label stands as it is."""

    labels: tuple[str, ...]

    def write(self, name: str, answers: Answers) -> bytes:
        raise NotImplementedError

    def read(self, content: bytes, expected: ExpectedRows, faults: Faults) -> Sequence[str]:
        raise NotImplementedError

    @property
    def labels_by_text(self) -> Mapping[str, str]:
        return {label: label for label in self.labels}


WRONG_FILES = {
    "task": ({"task": "mine/mod"}, "task: there is no task 'mine/mod'. Did you mean mine/mood?"),
    "split": ({"split": "tset"}, "split: there is no split of mine/mood 'tset'. Did you mean test?"),
    "label": ({"kind": Spelled(("glat", "sad"))}, "labels: there is no label of mine/mood 'glat'. Did you mean glad?"),
    "no label": ({"kind": Spelled(("sad",))}, "labels: give a text for the label 'glad' of mine/mood."),
}


@pytest.mark.parametrize(("changes", "reason"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_a_wrong_file_sets_only_its_board_aside(changes: dict[str, Any], reason: str) -> None:
    file = replace(BoardFile("m.tsv", "mine/mood", "test", 3, Spelled(("sad", "glad"))), **changes)
    plugins = discovered(columns(), archive="m.zip", files=(file,), origin="moods.toml")
    assert plugins.leaderboards == {} and "mine/mood" in plugins.tasks
    assert [part.reason for part in plugins.set_aside] == [f"moods.toml: m.tsv.{reason}"]


def test_a_column_says_beside_which_of_several_dev_splits() -> None:
    plugins = discovered(columns(), tasks=[two_dev_splits()], origin="moods.toml")
    [part] = plugins.set_aside
    assert part.reason == "moods.toml: columns.Mood.beside: is missing; mine/mood has the dev splits near, far."


def test_a_column_of_a_contested_task_is_left_alone() -> None:
    hooks = [plugin(register_tasks=[mood()]), plugin(register_tasks=[mood()])]
    own = replace(board(), columns={"Mood": columns()}, published=(PublishedRow("A", "B", {"Mood": 1.0}),))
    parts = [*hooks, plugin(register_leaderboards=[own])]
    plugins = discover(extra=[(f"plugin{number}", part) for number, part in enumerate(parts)], installed=False)
    assert "mine/mood" not in plugins.tasks and list(plugins.leaderboards) == ["moods"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"kind": "train"}, "A column's kind is dev or test, not 'train'"),
        ({"task": ""}, "either a metric of a task or an average"),
        ({"suite": "mine"}, "either a metric of a task or an average"),
        ({"task": "", "suite": "mine"}, "its column has no split"),
    ],
)
def test_a_column_that_says_too_little_or_too_much_is_refused(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        columns(**wrong)


def test_the_example_of_the_documentation_lists_its_row() -> None:
    [example] = [
        block for block in blocks("python", ROOT / "docs" / "plugins" / "leaderboards.md") if "words-paper" in block
    ]
    names: dict[str, Any] = {}
    exec(compile(example, "leaderboards.md", "exec"), names)
    other = plugin(register_leaderboards=names["register_leaderboards"])
    plugins = discover(extra=[("own", plugin(register_tasks=[mood()])), ("words", other)], installed=False)
    [figure] = plugins.leaderboards.find("words-paper").figures
    assert (figure.row.name, figure.as_text(), figure.measures.kind) == ("Words-LARGE", "91.5", "dev")
