"""Readers of rows in the core's own layouts, and of predictions."""

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchrunner import JsonTable, TextTable
from benchrunner.data.rows import Rows
from benchrunner.plugins.registry import Plugins
from benchrunner.tasks.task import Task
from benchrunner_answers.layouts import answers_in
from benchrunner_answers.logs import read_log
from benchrunner_submit.own_questions.user_files import read_questions
from inline import mood, pairs, plugins
from readers.reader import NOWHERE, Reader


def table_reader(source: Any, file: str, *seeds: bytes, task: Task | None = None) -> Reader:
    def read(path: Path) -> object:
        rows: Rows = source.at(path).read(NOWHERE)
        return (task or mood()).checked(rows, NOWHERE, labelled=True)

    return Reader(read, file, seeds)


def sources() -> Iterator[tuple[str, Reader]]:
    """Readers of the core's own layouts of rows."""
    tsv = b'text\tmood\nI am glad.\tglad\nI am "sad.\tsad\n'
    columns, labels = {"a": "text", "label": "mood"}, {"1": "glad", "0": "sad"}
    yield "tsv", table_reader(TextTable("x.tsv", columns), "x.tsv", tsv)
    counted = TextTable("x.tsv", columns, counted="no", labels=labels, breaks_inside_fields=True)
    yield "counted tsv", table_reader(counted, "x.tsv", b"no\ttext\tmood\n0\tone\t1\n1\ttwo\t0\n2\tthr\nee\t1\n")
    csv = TextTable("x.csv", columns, separator=",", quoted=True)
    yield "csv", table_reader(csv, "x.csv", b'text,mood\r\n"I, am ""glad"".",glad\r\n"two\nlines",sad\r\n')
    plain = TextTable("x.csv", columns, names=("text", "mood"), separator=",", quoted=True, encoding="latin-1")
    yield "csv without header", table_reader(plain, "x.csv", b"one,glad\n\xe9t\xe9,sad\n")
    nested = JsonTable("x.jsonl", {"a": "in.text", "label": "mood"}, labels={"true": "glad", "false": "sad"})
    lines = b'{"in": {"text": "one"}, "mood": true}\n{"in": {"text": "\\u00e9"}, "mood": false, "more": [1]}\n'
    yield "jsonl", table_reader(nested, "x.jsonl", lines)
    number = TextTable("x.tsv", {"a": "one", "b": "two", "label": "grade"})
    yield "numbers", table_reader(number, "x.tsv", b"one\ttwo\tgrade\na\tb\t3.5\nc\td\t0\n", task=pairs())
    for suffix, content in {
        "tsv": b"text\nI am glad.\nI am sad.\n",
        "csv": b'text\n"I am, glad"\n',
        "txt": b"I am glad.\nI am sad.\n",
    }.items():
        yield (
            f"questions in {suffix}",
            Reader(lambda path: next(read_questions(mood(), path, NOWHERE)), f"my.{suffix}", [content]),
        )


def predictions() -> Iterator[tuple[str, Reader]]:
    """Readers of prediction files, and of logs of other programs."""
    known = plugins()
    glad = Rows(pa.table({"a": ["x"] * 3, "label": ["glad", "sad", "glad"]}), "rows")
    grades = Rows(pa.table({"a": ["x"] * 3, "b": ["x"] * 3, "label": [1.0, 2.0, 5.0]}), "rows")
    for name, task, rows, answers in (
        ("labels", mood(), glad, ["glad", "sad", "sad"]),
        ("numbers", pairs(), grades, "123"),
    ):
        indexed = "index\tprediction\n" + "".join(f"{at}\t{answer}\n" for at, answer in enumerate(answers))
        seeds = [indexed.encode(), "".join(f"{answer}\n" for answer in answers).encode()]
        yield f"predicted {name}", Reader(functools.partial(read_answers, task, rows, known), "answers.tsv", seeds)
    log = b'{"eval": {"task": "toy"}, "samples": [{"id": "1", "scores": {"match": {"value": "C"}}}]}'
    samples = b'{"doc_id": 0, "filter": "none", "metrics": ["acc"], "doc_hash": "h", "acc": 1.0}\n'
    for file, content in (("log.json", log), ("samples_toy_1.jsonl", samples), ("toy.csv", b"id,score\n1,0.5\n")):
        yield f"log {file}", Reader(functools.partial(read_log, plugins=known), file, [content])


def read_answers(task: Task, rows: Rows, plugins: Plugins, path: Path) -> None:
    answers_in(path, task, rows, plugins)
