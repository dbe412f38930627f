"""Every mistake in a task file or its data is told with file, line and key, and with what may have been meant."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from mood_file import SHOP, TASK

from benchrunner import RequestError, UnknownName, Workspace
from benchrunner.results import Plugins, Runner
from benchrunner_tasks import table_files

ROWS = "text,mood\n" + "sun,glad\n" * 15
FILE_FAULTS = {
    "unknown key": ("problem =", 'metric = ["f1"]\nproblem =', r":1: metric: .* Did you mean metrics"),
    "unknown problem": ("classify", "clasify", r":1: problem: .* Did you mean classify"),
    "no problem": ('problem = "classify"\n', "", r"problem: is missing"),
    "one label": ('"glad", "sad"', '"glad"', r":2: labels: Classify needs two or more"),
    "a text for a list": ('["glad", "sad"]', '"glad"', r":2: labels: expected a list of texts, found text: 'glad'"),
    "column of no problem": ('a = "text"', 'c = "text"', r":5: columns.c: is no column of .* a, b, label"),
    "no column a": ('a = "text"\n', "", r":4: columns: a is missing: the text\. Write a = "),
    "number for a name": ('a = "text"', "a = 1", r"columns of this format are names, and columns.a is 1"),
    "column of no file": (
        'a = "text"',
        'a = "txt"',
        r":5: columns.a: .*train.csv has no column 'txt'. Did you mean",
    ),
    "missing file": ("dev.csv", "dve.csv", r":10: splits.dev: .*dve.csv is not there. Did you mean dev.csv"),
    "unknown suffix": ("dev.csv", "dev.xls", r":10: splits.dev: 'dev.xls' has none of the suffixes .csv, .tsv"),
    "unknown role": ("dev =", "holdout =", r':10: splits.holdout: .*role = "dev"'),
    "no training split": ("dev =", "train_b =", r":8: splits: exactly one split of the role train"),
    "key of a split": ('"dev.csv"', '{fil = "dev.csv"}', r":10: splits.dev.fil: .* Did you mean file"),
    "split of no hub": ('"dev.csv"', '{hub = "dev"}', r':10: splits.dev: .*\[hub\] with id = "OWNER/NAME"'),
    "unknown metric": ("problem", 'metrics = ["acuracy"]\nproblem', r":1: metrics: .* Did you mean accuracy"),
    "metric of a task": ("problem", 'metrics = ["glue/cola:mathews"]\nproblem', r":1: metrics: .*mean matthews"),
    "unknown method": ("problem", 'method = "finetun"\nproblem', r":1: method: .* Did you mean finetune"),
    "unknown split": (
        "problem",
        'select_on = ["dv"]\nproblem',
        r":1: select_on names 'dv', but its dev",
    ),
    "recipe": (
        "[columns]",
        "[recipe]\nepocs = 2\n[columns]",
        r":4: recipe: A recipe has no 'epocs'. Did you",
    ),
    "encoding": ("[columns]", '[format]\nencoding = "latin-99"\n[columns]', r":4: format: There is no encoding"),
    "kept column": ("problem", 'keep = ["id"]\nproblem', r":1: keep: .*train.csv has no column 'id'"),
    "no TOML": ("[columns]", "[columns", r"mood.toml: not valid TOML: .*line 4"),
}
DATA_FAULTS: dict[str, tuple[str | bytes, str]] = {
    "label in row 17": (
        f"{ROWS}rain,sda\n",
        r"dev.csv:17: the label 'sda' is not listed in .*:2. Did you mean sad",
    ),
    "empty split": ("text,mood\n", r"dev.csv: no rows. The split 'dev' needs one or more"),
    "empty file": ("", r"dev.csv:1: the file is empty; a header line was expected"),
    "ragged line": (f"{ROWS}a,b,c\n", r"dev.csv:17: expected 2 columns, found 3"),
    "open quote": (f'{ROWS}"a,glad\n', r"dev.csv:17: not valid CSV"),
    "Latin-1": (f"{ROWS}café,glad\n".encode("latin-1"), r'dev.csv:17: not UTF-8 .*encoding = "latin-1"'),
    "UTF-16": (ROWS.encode("utf-16"), r'dev.csv:1: not UTF-8 text .*encoding = "utf-16"'),
    "binary file": (b"\x00\x01\xff" * 99, r"dev.csv:1: "),
    "a column twice": ("text,text,mood\na,b,glad\n", r"dev.csv:1: the header has the column 'text' twice"),
    "escapes in a label": ("text,mood\na,\x1b[31m\n", r"dev.csv:2: the label '\\x1b\[31m' is not listed"),
    "escapes in a header": ("\x1b[31mtext,mood\na,glad\n", r"no column 'text'. Did you mean '\\x1b\[31mtext'\?"),
}


def load(path: Path, plugins: Plugins, workspace: Workspace) -> None:
    task = plugins.tasks.find(str(path))
    for split in task.splits:
        task.load(split, workspace)


@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_a_fault_of_a_file_names_line_and_key(
    fault: str, task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace
) -> None:
    right, wrong, message = FILE_FAULTS[fault]
    with pytest.raises(RequestError) as error:
        load(task_file(TASK.replace(right, wrong, 1)), plugins, workspace)
    assert re.search(message, str(error.value)), str(error.value)


@pytest.mark.parametrize("fault", DATA_FAULTS)
def test_a_fault_of_data_names_file_and_line(
    fault: str, task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace
) -> None:
    content, message = DATA_FAULTS[fault]
    with pytest.raises(RequestError) as error:
        load(task_file(dev_csv=content), plugins, workspace)
    assert re.search(message, str(error.value)), str(error.value)
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize(
    ("text", "dev", "message"),
    [
        (TASK.replace('"text"', '"txt"'), ROWS, "mood.toml:5: columns.a: train.csv has no column 'txt'."),
        (TASK.replace("dev.csv", "dve.csv"), ROWS, "mood.toml:10: splits.dev: dve.csv is not there."),
        (TASK, "text,mood\na,sda\n", "dev.csv:2: the label 'sda' is not listed in mood.toml:2."),
    ],
)
def test_an_error_names_the_folder_once(
    text: str, dev: str, message: str, task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace
) -> None:
    path = task_file(text, dev_csv=dev)
    with pytest.raises(RequestError) as error:
        load(path, plugins, workspace)
    assert f"{path.parent}/{message}" in str(error.value)
    assert str(error.value).count(str(path.parent)) == 1


def test_a_file_below_the_working_folder_is_named_from_there(
    task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = task_file(TASK.replace('"text"', '"txt"'))
    monkeypatch.chdir(path.parent.parent)
    with pytest.raises(RequestError, match=rf"^{path.parent.name}/mood.toml:5: columns.a: train.csv has no column"):
        load(path, plugins, workspace)


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_byte_order_marks_and_line_ends_change_nothing(
    ending: str, mark: bytes, task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace
) -> None:
    rows = f'text,mood{ending}"a, ""b""",glad{ending}c,sad{ending}'
    path = task_file(dev_csv=mark + rows.encode())
    name = plugins.tasks.find(str(path)).name
    path.write_bytes(mark + TASK.replace("\n", ending).encode())
    task = plugins.tasks.find(str(path))
    assert task.name == name
    assert task.load("dev", workspace).table.to_pydict() == {"a": ['a, "b"', "c"], "label": ["glad", "sad"]}


def test_a_missing_task_file_is_told_with_what_is_there(task_file: Callable[..., Path], plugins: Plugins) -> None:
    path = task_file()
    with pytest.raises(RequestError, match=r"mod.toml: there is no such file. Did you mean mood.toml\?"):
        plugins.tasks.find(str(path.with_name("mod.toml")))


def test_a_folder_is_no_file_of_a_split(task_file: Callable[..., Path], plugins: Plugins, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    with pytest.raises(RequestError, match=r"mood.toml:10: splits.dev: 'texts' is a folder: name a file in it"):
        plugins.tasks.find(str(task_file(TASK.replace("dev.csv", "texts"))))


@pytest.mark.parametrize(
    ("name", "advice"), [("train.csv", "benchrunner new task NAME --from"), ("ner.conll", "docs/files.md shows")]
)
def test_a_data_file_is_no_task(
    name: str, advice: str, task_file: Callable[..., Path], plugins: Plugins, tmp_path: Path
) -> None:
    path = task_file(**{"ner.conll": "Ada B-PER\n"}).with_name(name)
    with pytest.raises(RequestError, match=f"{name}: this is a data file, not a task: .*{advice}"):
        plugins.tasks.find(str(path))
    path.unlink()
    with pytest.raises(UnknownName):
        plugins.tasks.find(str(path))


def test_no_file_leads_out_of_its_folder(
    task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside.csv"
    outside.write_text("text,mood\nsecret,glad\n")
    for name in (f"../{outside.name}", str(outside), "x/../../y.csv", "C:/y.csv", "..\\\\y.csv", "\\u001b[31m.csv", ""):
        with pytest.raises(RequestError, match=r"mood.toml:10: splits.dev: "):
            plugins.tasks.find(str(task_file(TASK.replace("dev.csv", name))))
    (tmp_path / "link.csv").symlink_to(outside)
    path = task_file(TASK.replace("dev.csv", "link.csv"))
    with pytest.raises(RequestError, match="is a link that leads out of the folder"):
        plugins.tasks.find(str(path))
    (tmp_path / "link.csv").unlink()
    task = plugins.tasks.find(str(path))
    (tmp_path / "link.csv").symlink_to(outside)  # after the file was read
    with pytest.raises(RequestError, match="is a link that leads out of the folder"):
        task.load("dev", workspace)


OF_PLUGINS = {
    "metrics": ('metrics = ["ranking/wikiqa:ndcg@10"]\n', "", "name the metrics of the problem 'rank'"),
    "a label column": ('label = "grades"\n', "", "toml:[0-9]+: columns: label is missing"),
    "a problem": ("ng:Rank", "ng:Rang", "has no class 'Rang' that is derived from Problem. Did you mean Rank"),
    "a metric": ("ranking/wikiqa:ndcg@10", "benchrunner_ranking:NDCG", "benchrunner_ranking has no Metric 'NDCG'"),
    "a package": ("ranking/wikiqa:ndcg@10", "os:path", "no installed plugin has the package 'os'"),
}


@pytest.mark.parametrize("name", OF_PLUGINS)
def test_what_a_plugins_problem_lacks_is_named(name: str, task_file: Callable[..., Path], plugins: Plugins) -> None:
    old, new, message = OF_PLUGINS[name]
    with pytest.raises(RequestError, match=message):
        plugins.tasks.find(str(task_file(SHOP.replace(old, new))))


@pytest.mark.parametrize(
    "package", ["os:path", "antigravity:Class", "benchrunner.errors:DataError", "benchrunner_glue:_"]
)
def test_no_code_is_named_but_problems_of_plugins(
    package: str, task_file: Callable[..., Path], plugins: Plugins
) -> None:
    with pytest.raises(RequestError, match=r"mood.toml:1: problem: "):
        plugins.tasks.find(str(task_file(TASK.replace("classify", package))))


@pytest.mark.parametrize(
    "content", [b"\x00\xff" * 9, b"#" + b"x" * (1 << 21), b"x = " + b"[" * 5000, b"a" + b".a" * 99_999 + b" = 1"]
)
def test_a_hostile_file_is_refused_at_once(content: bytes, tmp_path: Path, plugins: Plugins) -> None:
    path = tmp_path / "mood.toml"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=r"mood\.toml"):
        plugins.tasks.find(str(path))


@pytest.mark.parametrize(("limit", "value"), [("_MOST_ROWS", 14), ("_MOST_BYTES", 1 << 20)])
def test_a_parquet_file_that_would_fill_the_memory_is_refused(
    limit: str, value: int, task_file: Callable[..., Path], plugins: Plugins, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value that repeats takes no room in the file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(table_files, limit, value)
    task = plugins.tasks.find(str(path := task_file(TASK.replace("train.csv", "train.parquet"))))
    pq.write_table(pa.table({"text": ["x" * 100_000] * 15, "mood": ["glad"] * 15}), path.parent / "train.parquet")
    with pytest.raises(RequestError, match=r"train.parquet: .* it has 15 rows; at most .* are read"):
        task.load("train", Workspace(path.parent, path.parent))


@pytest.mark.parametrize("name", ["a b.toml", "\x1b[31m.toml", ".toml", "x@3.toml", f"{'x' * 70}.toml"])
def test_a_file_needs_a_name_that_a_task_can_have(name: str, task_file: Callable[..., Path], plugins: Plugins) -> None:
    with pytest.raises(RequestError, match="rename the file"):
        plugins.tasks.find(str(task_file(name=name)))


def test_a_file_with_dev_alone_is_for_answers_from_elsewhere(
    task_file: Callable[..., Path], plugins: Plugins, workspace: Workspace
) -> None:
    path = task_file(TASK.replace('train = "train.csv"\n', ""))
    path.with_name("train.csv").unlink()
    task = plugins.tasks.find(str(path))
    rows = Runner(plugins, workspace).planner.rows(task, "dev")
    assert list(task.splits) == ["dev", "train"] and len(rows) == 2
    assert not any("train" in note for note in rows.notes)
