"""Retrieval: pairs, the loss over a batch, exact search, names in outputs, and BEIR's files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch

from benchrunner import DataError, DataNotFound, PluginError, Recipe, RequestError, Rows, Workspace
from benchrunner.engine import collate
from benchrunner_kit.testing import TinyEncoder
from benchrunner_ranking import Corpus, Retrieve, beir_task
from benchrunner_ranking.search import as_names, as_numbers, search

CORPUS = Corpus(("small",))
PROBLEM = Retrieve(CORPUS)
PASSAGES = {"p1": "a red lamp", "p2": "a blue boat", "p3": "a ship", "p4": "a stone"}
QUERIES = {"q1": "red ?", "q2": "boat ?", "q3": "stone ?"}
JUDGED = {"q1": {"p1": 1, "p4": 0}, "q2": {"p3": 1, "p2": 2}, "q3": {"p4": 1, "p2": 1}}
TASK = beir_task("mine/small", "Which?", {"train": None, "dev": None, "test": 9}, problem=PROBLEM)


def write(folder: Path, **lines: str) -> Workspace:
    """Write the small data set; `lines` are added to files by the names of these without suffix."""
    home = folder / "small"
    (home / "qrels").mkdir(parents=True)
    corpus = [json.dumps({"_id": name, "title": "", "text": text}) for name, text in PASSAGES.items()]
    queries = [json.dumps({"_id": name, "text": text}) for name, text in QUERIES.items()]
    judged = ["query-id\tcorpus-id\tscore"]
    for query, grades in JUDGED.items():
        judged += [f"{query}\t{passage}\t{grade}" for passage, grade in grades.items()]
    files = {"corpus.jsonl": corpus, "queries.jsonl": queries}
    files |= {f"qrels/{split}.tsv": judged for split in ("train", "dev", "test")}
    for name, content in files.items():
        added = lines.get(Path(name).stem, "")
        (home / name).write_text("\n".join(content) + "\n" + added)
    return Workspace(runs=folder / "runs", cache=folder / "cache", data=folder)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return write(tmp_path)


def pairs_loss(problem: Retrieve, workspace: Workspace, outputs: torch.Tensor, units: list[int]) -> float:
    table = TASK.load("train", workspace).table
    features = problem.encode(table, TinyEncoder(), Recipe(), training=True)
    places = torch.tensor([place for unit in units for place in (2 * unit, 2 * unit + 1)])
    batch = collate(features, np.array(units), torch.device("cpu"))
    return problem.loss(outputs[places], batch).item()


# --- training


def test_training_pairs_queries_with_their_best_passages(workspace: Workspace) -> None:
    table = TASK.load("train", workspace).table
    encoder = TinyEncoder()
    features = PROBLEM.encode(table, encoder, Recipe(), training=True)
    texts = ["red ?", "a red lamp", "boat ?", "a blue boat", "boat ?", "a ship"]
    texts += ["stone ?", "a stone", "stone ?", "a blue boat"]
    assert features.tokens.tolist() == encoder.assemble(texts, None, 128).tokens.tolist()
    assert features.owner.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    first = replace(PROBLEM, positives=1).encode(table, encoder, Recipe(), training=True)
    assert first.owner.tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_the_loss_is_written_out_by_hand(workspace: Workspace, similarity: Any) -> None:
    """Pairs are q1-p1, q2-p2, q2-p3, q3-p4, q3-p2."""
    outputs = torch.randn((10, 3), generator=torch.Generator().manual_seed(0))
    vectors = outputs.double().numpy()
    if similarity == "cosine":
        vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    candidates = {0: (0, 1, 2, 3, 4), 1: (0, 1, 3), 2: (0, 2, 3), 3: (0, 2, 3), 4: (0, 2, 4)}
    expected = 0.0
    for pair, passages in candidates.items():
        scores = {other: 3.0 * vectors[2 * pair] @ vectors[2 * other + 1] for other in passages}
        expected -= scores[pair] - math.log(sum(map(math.exp, scores.values())))
    problem = replace(PROBLEM, similarity=similarity, scale=3.0)
    assert pairs_loss(problem, workspace, outputs, [0, 1, 2, 3, 4]) == pytest.approx(expected, rel=1e-5)


def test_a_single_pair_has_no_loss(workspace: Workspace) -> None:
    assert pairs_loss(PROBLEM, workspace, torch.randn((10, 3)), [2]) == pytest.approx(0.0, abs=1e-6)


def test_a_head_without_vectors_is_refused(workspace: Workspace) -> None:
    with pytest.raises(RequestError, match="choose --method two-tower or frozen-towers"):
        pairs_loss(PROBLEM, workspace, torch.zeros((10, PROBLEM.head.width)), [0, 1])


@pytest.mark.parametrize("fields", [{"similarity": "l2"}, {"scale": 0.0}, {"depth": 0}, {"positives": 0}])
def test_impossible_fields_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(PluginError, match="Retrieve"):
        Retrieve(CORPUS, **fields)


# --- answers


@pytest.mark.parametrize("block", [1, 3, 100])
def test_search_in_blocks_is_the_sort_of_all_products(block: int) -> None:
    draw = np.random.default_rng(0)
    queries, passages = (draw.integers(-2, 3, size=(count, 4)).astype(np.float32) for count in (5, 40))
    numbers, products = search(queries, passages, 7, block=block)
    for query, row in enumerate(queries):
        every = [(-float(row @ passage), number) for number, passage in enumerate(passages)]
        expected = sorted(every)[:7]
        assert [(-product, number) for product, number in zip(products[query], numbers[query], strict=True)] == expected


def test_search_returns_all_of_a_small_corpus() -> None:
    numbers, _ = search(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), 100)
    assert numbers.tolist() == [[0, 1], [1, 0]]


def test_names_survive_as_numbers() -> None:
    names = ["1", "MED-10", "test-environment-aeghhgwpe-pro02b", "größe", "文"]
    assert as_names(as_numbers(names)) == names
    assert as_numbers(names).dtype == np.float64


def test_answers_name_the_nearest_passages(workspace: Workspace) -> None:
    queries = np.array([[1.0, 0.0], [0.0, 1.0]])
    passages = np.array([[0.1, 0.9], [0.7, 0.3], [0.7, 0.2]])
    table = TASK.load("dev", workspace).table.slice(0, 2)
    problem = replace(PROBLEM, depth=2)
    answers = problem.decode(problem.found(queries, passages, ["x", "long name", "z"]), table, {})
    assert answers == [[["long name", 0.7], ["z", 0.7]], [["x", 0.9], ["long name", 0.3]]]


def test_the_majority_ranks_passages_by_their_queries(workspace: Workspace) -> None:
    table = TASK.load("train", workspace).table
    output = PROBLEM.majority_output(table)
    answer = PROBLEM.decode(np.repeat(output[None], len(table), axis=0), table, {})[2]
    assert answer == [["p2", 2.0], ["p1", 1.0], ["p3", 1.0], ["p4", 1.0]]


# --- files


def test_rows_are_the_judged_queries_of_a_split(workspace: Workspace) -> None:
    rows = TASK.load("train", workspace)
    assert [row["query_id"] for row in rows.table.to_pylist()] == ["q1", "q2", "q3"]
    assert rows.table.column("label").to_pylist()[1] == [{"id": "p3", "grade": 1}, {"id": "p2", "grade": 2}]
    assert rows.table.column("passages").to_pylist()[1] == ["a ship", "a blue boat"]
    assert rows.where(1).endswith("train.tsv:4")
    assert TASK.load("test", workspace).notes == ("3 test rows, where the official count is 9",)


def test_a_title_stands_before_the_text(tmp_path: Path) -> None:
    workspace = write(tmp_path, corpus='{"_id": "p5", "title": "Title", "text": "text"}\n')
    assert CORPUS.read(workspace).table.to_pylist()[4] == {"id": "p5", "a": "Title text"}


def test_equal_judgements_count_once(tmp_path: Path) -> None:
    workspace = write(tmp_path, train="q1\tp1\t1\n")
    assert TASK.load("train", workspace).table.column("label").to_pylist()[0][0] == {"id": "p1", "grade": 1}


FAULTS = {
    "unknown query": ({"train": "q9\tp1\t1\n"}, r"train\.tsv:8: .*queries\.jsonl has no query 'q9'"),
    "unknown passage": (
        {"train": "q2\tp9\t1\n"},
        r"train\.tsv:4: .*has no passage 'p9', which is judged",
    ),
    "two scores": ({"train": "q1\tp1\t2\n"}, r"train\.tsv:8: the passage 'p1' has another score for this query above"),
    "no number": ({"train": "q1\tp2\thigh\n"}, r"train\.tsv:8: score 'high' is not a whole number"),
    "one id twice": (
        {"corpus": '{"_id": "p1", "text": "x"}\n'},
        r"corpus\.jsonl:5: the id 'p1' is there already",
    ),
    "no text": ({"corpus": '{"_id": "p5"}\n'}, r"corpus\.jsonl:5: no key 'text'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_line_is_named(tmp_path: Path, fault: str) -> None:
    lines, message = FAULTS[fault]
    with pytest.raises(DataError, match=message):
        TASK.load("train", write(tmp_path, **lines))


def test_an_unknown_passage_may_be_judged_in_dev(tmp_path: Path) -> None:
    assert len(TASK.load("dev", write(tmp_path, dev="q2\tp9\t1\n"))) == 3


def test_without_files_the_error_says_where_they_were_sought(tmp_path: Path) -> None:
    with pytest.raises(DataNotFound, match=r"small/corpus\.jsonl"):
        TASK.load("train", Workspace(runs=tmp_path, cache=tmp_path, data=tmp_path))


def test_a_corpus_that_was_changed_is_not_searched(workspace: Workspace) -> None:
    table = TASK.load("dev", workspace).table
    assert len(CORPUS.checked(workspace, table)) == 4
    assert workspace.data is not None
    with (workspace.data / "small" / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "p5", "text": "new"}\n')
    with pytest.raises(DataError, match="the file was changed since the queries were read"):
        CORPUS.checked(workspace, table)


def test_a_users_own_queries_need_no_judgements(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"_id": "m1", "text": "which ?"}\n')
    source = TASK.splits["dev"].sources[0].at(path)
    assert source is not None
    rows = source.unlabelled(("label",)).read(workspace)
    table = PROBLEM.check(rows, labelled=False)
    assert table.column_names == ["a", "corpus"]
    assert PROBLEM.encode(table, TinyEncoder(), Recipe(), training=False).units == 1


def test_training_rows_need_passages(workspace: Workspace) -> None:
    table = TASK.load("dev", workspace).table
    with pytest.raises(RequestError, match="need the column 'passages'"):
        PROBLEM.encode(table, TinyEncoder(), Recipe(), training=True)


def test_plain_lines_do_not_say_what_is_searched() -> None:
    rows = Rows(pa.table({"a": ["which ?"]}), "mine.txt")
    with pytest.raises(DataError, match=r"mine\.txt: no column 'corpus', .* without --lines"):
        PROBLEM.check(rows, labelled=False)
