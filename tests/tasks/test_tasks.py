"""Tasks: their checks, the loading of their data, and averages over their figures."""

from pathlib import Path

import pytest

from benchrunner.data.delimited import TextTable
from benchrunner.data.sources import RowsFrom
from benchrunner.errors import DataError, PluginError, RequestError
from benchrunner.metrics.metric import ACCURACY
from benchrunner.problems.sentences import Classify
from benchrunner.tasks.task import Average, Split, Task, Term
from benchrunner.workspace import Workspace

MOOD = Classify(("glad", "sad"))


def split(role: str, rows: int | None = None) -> Split:
    columns = {"a": "text"} if role == "test" else {"a": "text", "label": "mood"}
    workspace = tuple(TextTable(f"{folder}/{role}.tsv", columns) for folder in ("first", "second"))
    return Split(role, workspace, rows)  # type: ignore[arg-type]


def mood(**changes: object) -> Task:
    row: dict[str, object] = {
        "name": "mine/mood",
        "about": "Glad or sad?",
        "problem": MOOD,
        "splits": {role: split(role) for role in ("train", "dev", "test")},
        "metrics": (ACCURACY,),
    }
    return Task(**(row | changes))  # type: ignore[arg-type]


def workspace(folder: Path) -> Workspace:
    return Workspace(runs=folder, cache=folder, data=folder)


def write(folder: Path, name: str, content: str) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content)


def test_the_first_source_that_has_the_rows_gives_them(tmp_path: Path) -> None:
    write(tmp_path, "second/train.tsv", "text\tmood\nyes\tglad\n")
    assert mood().load("train", workspace(tmp_path)).origin == str(tmp_path / "second" / "train.tsv")
    write(tmp_path, "first/train.tsv", "text\tmood\nno\tsad\n")
    assert mood().load("train", workspace(tmp_path)).origin == str(tmp_path / "first" / "train.tsv")


def test_bad_rows_are_an_error_without_trying_the_next_source(tmp_path: Path) -> None:
    write(tmp_path, "first/train.tsv", "text\tmood\nyes\tgald\n")
    write(tmp_path, "second/train.tsv", "text\tmood\nyes\tglad\n")
    with pytest.raises(DataError, match=r"first.train\.tsv:2: label 'gald' is not one of glad, sad"):
        mood().load("train", workspace(tmp_path))


def test_no_data_names_every_place_that_was_tried(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        mood().load("dev", workspace(tmp_path))
    text = str(caught.value)
    assert text.startswith("No data for mine/mood, split dev:")
    assert text.count("dev.tsv") == 2


def test_a_count_that_is_not_the_official_one_is_said(tmp_path: Path) -> None:
    write(tmp_path, "first/train.tsv", "text\tmood\nyes\tglad\n")
    short = mood(splits={"train": split("train", 1234)}).load("train", workspace(tmp_path))
    assert short.notes == ("1 train rows, where the official count is 1,234",)
    assert mood(splits={"train": split("train", 1)}).load("train", workspace(tmp_path)).notes == ()


def test_an_unknown_split_is_answered_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(RequestError, match="has no split 'devel'; it has train, dev, test"):
        mood().load("devel", workspace(tmp_path))


def test_splits_are_found_by_role_in_the_order_of_the_row() -> None:
    splits = {"train": split("train"), "near": split("dev"), "far": split("dev"), "blind": split("test")}
    task = mood(splits=splits)
    assert (task.train, task.named("dev"), task.named("test")) == ("train", ["near", "far"], ["blind"])


@pytest.mark.parametrize("name", ["mood", "Mine/mood", ""])
def test_a_name_has_a_suite_and_is_lower_case(name: str) -> None:
    with pytest.raises(PluginError, match="'suite/task' in lower case"):
        mood(name=name)


def test_a_task_has_one_training_split_and_a_metric() -> None:
    with pytest.raises(PluginError, match="exactly one split of the role 'train'"):
        mood(splits={"dev": split("dev")})
    with pytest.raises(PluginError, match="at least one metric"):
        mood(metrics=())


def test_every_dev_split_selects_unless_the_task_says_which() -> None:
    splits = {"train": split("train"), "near": split("dev"), "far": split("dev")}
    assert mood(splits=splits).selection_splits == ("near", "far")
    assert mood(splits=splits, select_on=("far",)).selection_splits == ("far",)


@pytest.mark.parametrize(
    ("select_on", "reason"),
    [
        (("near", "test"), "select_on names 'test', but its dev splits are near, far"),
        ("near", r"select_on is a tuple, such as \('near',\), not a text"),
    ],
)
def test_select_on_names_dev_splits(select_on: tuple[str, ...], reason: str) -> None:
    splits = {"train": split("train"), "near": split("dev"), "far": split("dev"), "test": split("test")}
    with pytest.raises(PluginError, match=reason):
        mood(splits=splits, select_on=select_on)


def test_rows_from_a_function_are_checked_as_any_others(tmp_path: Path) -> None:
    def numbers(where: Workspace) -> dict[str, list[object]]:
        return {"a": [1], "label": ["glad"]}

    task = mood(splits={"train": Split("train", (RowsFrom(numbers),))})
    with pytest.raises(DataError, match="row 0: column 'a' must be text, found 1"):
        task.load("train", workspace(tmp_path))


ONE, TWO, THREE = Term("x/one", "dev", "accuracy"), Term("x/two", "dev", "f1"), Term("x/two", "dev", "accuracy")
MEAN = Average("mean", ((ONE,), (TWO, THREE)))


def test_dev_rows_without_the_column_of_clusters_say_so(tmp_path: Path) -> None:
    rows = RowsFrom(lambda where: {"a": ["fine"], "label": ["glad"]})
    task = mood(splits={role: Split(role, (rows,)) for role in ("train", "dev")}, clusters="autor")
    assert task.load("train", workspace(tmp_path)).notes == ()
    (note,) = task.load("dev", workspace(tmp_path)).notes
    assert note.startswith("no column 'autor', which says what rows belong together")


def test_figures_in_one_group_are_averaged_first() -> None:
    assert MEAN.of({ONE: 10.0, TWO: 20.0, THREE: 40.0}) == 20.0


def test_an_average_with_a_missing_figure_is_absent() -> None:
    assert MEAN.of({ONE: 10.0, TWO: 20.0}) is None
