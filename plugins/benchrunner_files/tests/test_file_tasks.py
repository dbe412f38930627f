"""What task files can describe, and how a task is found again: by other processes, later, and after an edit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mood_file import TASK

from benchrunner import RequestError, Task, UnknownName, Workspace
from benchrunner.command_line.main import main
from benchrunner.results import Computing, Plugins, Runner, discover
from benchrunner_clusters import RemoteOrder
from distributions import ROOT
from documents import blocks

ROWS = [("sun", "glad"), ('a "b", c', "sad"), ("new\nline", "glad")]
Write = Callable[..., Path]


def rows(task: Task, workspace: Workspace, split: str = "train") -> dict[str, list[Any]]:
    values: dict[str, list[Any]] = task.load(split, workspace).table.to_pydict()
    return values


def write_format(suffix: str, folder: Path) -> None:
    """Write the same rows as `rows.SUFFIX`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / f"rows{suffix}"
    table = pa.table({"text": [text for text, _ in ROWS], "mood": [label for _, label in ROWS]})
    if suffix == ".parquet":
        pq.write_table(table, path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        separator = "," if suffix == ".csv" else "\t"
        fields = [["text", "mood"], *ROWS]
        lines = [separator.join(f'"{text.replace(chr(34), chr(34) * 2)}"' for text in line) for line in fields]
        path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_formats_give_equal_rows(
    suffix: str, task_file: Write, plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    write_format(suffix, tmp_path)
    quoted = "[format]\nquoted = true\n" if suffix == ".tsv" else ""
    task = plugins.tasks.find(str(task_file(TASK.replace("train.csv", f"rows{suffix}") + quoted)))
    assert rows(task, workspace) == {"a": [text for text, _ in ROWS], "label": [label for _, label in ROWS]}


OTHERS: dict[str, tuple[str, str, dict[str, list[Any]]]] = {
    "numbers as labels": (
        'problem = "classify"\nlabels = [0, 1]\n[columns]\na = "t"\nlabel = "y"',
        '{"t": "x", "y": 1}\n',
        {"a": ["x"], "label": ["1"]},
    ),
    "spelled labels": (
        'problem = "classify"\nlabels = {true = "yes", false = "no"}\n[columns]\na = "t"\nlabel = "y"',
        '{"t": "x", "y": true}\n',
        {"a": ["x"], "label": ["yes"]},
    ),
    "keys inside of objects": (
        'problem = "regress"\nlow = 0\nhigh = 5\n[columns]\na = "t.one"\nb = "t.two"\nlabel = "y"',
        '{"t": {"one": "x", "two": "z"}, "y": 3}\n',
        {"a": ["x"], "b": ["z"], "label": [3.0]},
    ),
    "columns that make a list": (
        'problem = "choose"\n[columns]\na = "t"\nchoices = ["one", "two"]\nlabel = "y"',
        '{"t": "x", "one": "p", "two": "q", "y": 1}\n',
        {"a": ["x"], "choices": [["p", "q"]], "label": [1]},
    ),
    "several labels": (
        'problem = "multi-label"\nlabels = ["u", "v"]\n[columns]\na = "t"\nlabels = "y"',
        '{"t": "x", "y": "u, v"}\n{"t": "z", "y": ""}\n',
        {"a": ["x", "z"], "labels": [["u", "v"], []]},
    ),
    "words in a text": (
        'problem = "tag"\nlabels = ["O", "B-X"]\n[columns]\nwords = "t"\nlabels = "y"',
        '{"t": "p q", "y": "O B-X"}\n',
        {"words": [["p", "q"]], "labels": [["O", "B-X"]]},
    ),
    "an answer without its place": (
        'problem = "span"\n[columns]\nquestion = "q"\ncontext = "t"\nanswers = "y"',
        '{"q": "who?", "t": "it is me", "y": "me"}\n',
        {"id": ["0"], "question": ["who?"], "context": ["it is me"], "answers": [["me"]], "starts": [[6]]},
    ),
    "no answer": (
        'problem = "span"\nunanswerable = true\n[columns]\nquestion = "q"\ncontext = "t"\nanswers = "y"',
        '{"q": "who?", "t": "it is", "y": ""}\n',
        {"id": ["0"], "question": ["who?"], "context": ["it is"], "answers": [[]], "starts": [[]]},
    ),
    "candidates": (
        'problem = "candidates"\n[columns]\na = "t"\nchoices = "c"\nlabel = "y"',
        '{"t": "x", "c": ["p", "q", "r"], "y": "2"}\n',
        {"a": ["x"], "choices": [["p", "q", "r"]], "label": [2]},
    ),
    "marked words": (
        'problem = "classify-words"\nlabels = ["same", "other"]\nmarks = 1\n[columns]\n'
        'a = "t"\nmarks = "m"\nlabel = "y"',
        '{"t": "a bank", "m": [[0, 2, 6]], "y": "same"}\n',
        {"a": ["a bank"], "label": ["same"], "marks": [[[0, 2, 6]]]},
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_problem_reads_its_columns(
    name: str, task_file: Write, plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    text, lines, expected = OTHERS[name]
    (tmp_path / "rows.jsonl").write_text(lines)
    task = plugins.tasks.find(str(task_file(f'{text}\n[splits]\ntrain = "rows.jsonl"\n')))
    assert rows(task, workspace) == expected
    assert task.metrics


def test_the_shop_of_the_documentation_is_ranked(
    task_file: Write, plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    page = ROOT / "docs" / "files.md"
    [text] = [block for block in blocks("toml", page) if "benchrunner_ranking:Rank" in block]
    line = '{"query": "red hat", "products": ["a red hat", "a cap"], "grades": [2, 0]}'
    assert line in page.read_text()
    for role in ("train", "dev"):
        (tmp_path / f"{role}.jsonl").write_text(f"{line}\n")
    task = plugins.tasks.find(str(task_file(text)))
    assert rows(task, workspace)["choices"] == [["a red hat", "a cap"]]
    assert [metric.name for metric in task.metrics] == ["ndcg@10", "map"]


def test_a_value_and_no_comment_makes_another_task(task_file: Write, plugins: Plugins) -> None:
    first = plugins.tasks.find(str(task_file()))
    assert plugins.tasks.find(str(task_file(f"# moods\n\n{TASK}"))) is first
    board = '\n[board]\ntitle = "Moods"\n'
    assert plugins.tasks.find(str(task_file(TASK + board))) is first
    other = plugins.tasks.find(str(task_file(TASK.replace('"glad", "sad"', '"sad", "glad"'))))
    assert other.name != first.name and other.name.startswith("file/mood-")


def test_equal_files_with_other_data_are_not_mixed_up(task_file: Write, plugins: Plugins, tmp_path: Path) -> None:
    path = task_file()
    (tmp_path / "other").mkdir()
    twin = tmp_path / "other" / "mood.toml"
    twin.write_text(path.read_text())
    plugins.tasks.find(str(path))
    with pytest.raises(RequestError, match="could not be told apart: rename one"):
        plugins.tasks.find(str(twin))


def test_a_task_is_found_by_its_name_from_anywhere(
    task_file: Write, plugins: Plugins, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = task_file()
    name = plugins.tasks.find(str(path)).name
    monkeypatch.chdir("/")
    monkeypatch.setenv("BENCHRUNNER_TASKS", "")
    assert rows(discover().tasks.find(name), workspace)["label"] == ["glad", "sad"]
    path.write_text(TASK.replace('"glad", "sad"', '"x", "y"'))  # the old version stays known
    assert rows(discover().tasks.find(name), workspace)["label"] == ["glad", "sad"]
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "empty"))
    with pytest.raises(UnknownName):
        discover().tasks.find(name)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match=r"mood.toml: the task file/mood-\w+ was read from another version"):
        discover().tasks.find(name)
    path.write_text(TASK)
    assert discover().tasks.find(name).name == name


@pytest.mark.parametrize("form", ["{path}", "{name}", "tasks {name}"])
def test_a_task_of_a_file_is_listed_by_path_and_name(
    form: str, task_file: Write, plugins: Plugins, capsys: pytest.CaptureFixture[str]
) -> None:
    path = task_file()
    name = plugins.tasks.find(str(path)).name
    assert main(["list", *form.format(path=path, name=name).split()], plugins=discover()) == 0
    assert capsys.readouterr().out.startswith(f"tasks\n  {name}  ")


def test_an_order_for_another_machine_names_the_file(
    task_file: Write, plugins: Plugins, workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    runner = Runner(plugins, workspace, Computing(device="cpu"))
    fit = runner.planner.plan(plugins.tasks.find(str(task_file())), "", method="majority")
    monkeypatch.chdir("/")
    order = RemoteOrder.of(fit, runner.fit_runner, cores=torch.get_num_threads(), gpus=0, files="shared", mark="")
    monkeypatch.setenv("BENCHRUNNER_TASKS", "")  # as on the other machine, whose cache is another one, too
    order.environment.update(BENCHRUNNER_CACHE=str(tmp_path / "empty"))  # type: ignore[attr-defined]
    answer = order.run(lambda fit, event: None)
    assert answer.record_in(workspace.runs).status == "done"


def test_folds_need_no_dev_split(task_file: Write, plugins: Plugins, workspace: Workspace) -> None:
    path = task_file(TASK.replace('dev = "dev.csv"\n', ""), train_csv="text,mood\n" + "a,glad\nb,sad\n" * 6)
    [task] = plugins.tasks_of([f"{path}@3"])
    runner = Runner(plugins, workspace, Computing(device="cpu"))
    assert len(runner.planner.rows(task, "folds")) == 12


def test_a_file_stands_beside_suites_in_a_list_of_tasks(task_file: Write, plugins: Plugins) -> None:
    path = task_file(name="glue.toml")
    names = [task.name for task in plugins.tasks_of([str(path), "glue/rte"])]
    assert names[0].startswith("file/glue-") and names[1] == "glue/rte"
    assert not any(task.name.startswith("file/") for task in plugins.tasks_of(["glue"]))


def test_test_files_may_lack_labels(task_file: Write, plugins: Plugins, workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "test.csv").write_text("text\nfog\n")
    task = plugins.tasks.find(str(task_file(TASK + 'test = "test.csv"\n')))
    assert rows(task, workspace, "test") == {"a": ["fog"]}


def test_a_hub_data_set_is_read_by_its_columns(
    task_file: Write, plugins: Plugins, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    asked = []
    features = datasets.Features({"text": datasets.Value("string"), "y": datasets.ClassLabel(names=["neg", "pos"])})
    rows_of_hub = datasets.Dataset.from_dict({"text": ["fog", "sun"], "y": [0, 1]}, features=features)

    def load(*words: Any, **options: Any) -> Any:
        asked.append((words, options))
        return rows_of_hub

    monkeypatch.setattr(datasets, "load_dataset", load)
    text = TASK.replace('"glad", "sad"', '"pos", "neg"').replace('"mood"', '"y"').replace(".csv", "")
    task = plugins.tasks.find(str(task_file(f'{text}[hub]\nid = "somebody/moods"\nconfig = "en"\n')))
    assert rows(task, workspace) == {"a": ["fog", "sun"], "label": ["neg", "pos"]}
    assert asked == [(("somebody/moods", "en"), {"split": "train", "revision": None})]


BOARD = """
[[board.file]]
name = "mood.tsv"
kind = "table"
header = ["id", "mood"]
split = "dev"
rows = 2
labels = {glad = "1", sad = "0"}
"""


def test_a_board_stands_in_the_file_or_beside_it(task_file: Write, plugins: Plugins, tmp_path: Path) -> None:
    path = task_file(TASK + BOARD)
    inside = plugins.leaderboards.find(str(path))
    task = plugins.tasks.find(str(path))
    beside = tmp_path / "moods.toml"
    own = BOARD.replace("board.file", "file").replace('name = "mood.tsv"', 'name = "mood.tsv"\ntask = "mood.toml"')
    beside.write_text(f'title = "Moods"\nurl = "https://example.org"\n{own}')
    other = plugins.leaderboards.find(str(beside))
    assert [file.pair for file in (*inside.files, *other.files)] == [(task.name, "dev")] * 2
    assert (inside.name, other.name) == ("mood", "moods")
    with pytest.raises(RequestError, match=r"mood.toml: this task has no leaderboard: add a table \[board\]"):
        plugins.leaderboards.find(str(task_file()))
    with pytest.raises(RequestError, match=r"mood.toml: .*rows: expected a whole number"):
        plugins.leaderboards.find(str(task_file(TASK + BOARD.replace("rows = 2", 'rows = "2"'))))


@pytest.mark.parametrize("page", ["README.md", "docs/files.md"])
def test_the_file_that_is_documented_is_a_task(
    page: str, task_file: Write, plugins: Plugins, workspace: Workspace
) -> None:
    first, *_ = blocks("toml", ROOT / page)
    task = plugins.tasks.find(str(task_file(first)))
    assert [rows(task, workspace, split)["label"] for split in ("train", "dev")] == [["glad", "sad"]] * 2


SENTENCES = "Ada B-PER\nLovelace I-PER\nlives O\n\nShe O\nwrites O\n"
BORDER = "-DOCSTART- O\n\n"


def tag_task() -> str:
    """Return the task of words that docs/files.md shows."""
    [text] = [text for text in blocks("toml", ROOT / "docs/files.md") if 'problem = "tag"' in text]
    return text


def test_the_documented_task_of_words_reads_its_files(
    task_file: Write, plugins: Plugins, workspace: Workspace, tmp_path: Path
) -> None:
    for split in ("train", "dev"):
        (tmp_path / f"{split}.conll").write_text(SENTENCES)
    task = plugins.tasks.find(str(task_file(tag_task())))
    assert rows(task, workspace)["labels"] == [["B-PER", "I-PER", "O"], ["O", "O"]]
    assert [metric.name for metric in task.metrics] == ["f1", "accuracy"]


@pytest.mark.parametrize(
    ("train", "dev", "recipe", "context"),
    [
        ("", "", "", "sentence"),
        (BORDER, BORDER, "", "document"),
        (BORDER, "", "", "sentence"),
        ("", "", '[recipe]\ncontext = "window"\n', "window"),
        (BORDER, BORDER, "[recipe]\nepochs = 2\n", "document"),
    ],
)
def test_sentences_stand_alone_where_no_documents_begin(
    train: str, dev: str, recipe: str, context: str, task_file: Write, plugins: Plugins, tmp_path: Path
) -> None:
    (tmp_path / "train.conll").write_text(train + SENTENCES)
    (tmp_path / "dev.conll").write_text(dev + SENTENCES)
    assert plugins.tasks.find(str(task_file(tag_task() + recipe))).recipe.context == context


@pytest.mark.parametrize(("document", "context"), [("", "sentence"), ('document = "d"\n', "document")])
def test_a_column_of_documents_keeps_their_context(
    document: str, context: str, task_file: Write, plugins: Plugins, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text('{"t": "p q", "y": "O B-X", "d": 0}\n')
    text = f'problem = "tag"\nlabels = ["O", "B-X"]\n[columns]\nwords = "t"\nlabels = "y"\n{document}'
    task = plugins.tasks.find(str(task_file(f'{text}[splits]\ntrain = "rows.jsonl"\n')))
    assert task.recipe.context == context
