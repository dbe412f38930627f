"""The demo data: official layout and quirks, equal bytes for equal seeds, and a task that can be learned."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from conll_samples import workspace

from benchrunner_conll import CONLL2003, demo
from benchrunner_conll.conlleval import evaluate
from benchrunner_kit.testing import check_task

TASK = CONLL2003.task()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    demo.write(1, folder)
    return folder


def test_the_files_have_the_official_quirks(data: Path) -> None:
    text = (data / "conll2003" / "eng.train").read_text()
    assert text.startswith("-DOCSTART- -X- O O\n\n")
    assert text.count("-DOCSTART-") == 60
    assert {len(line.split(" ")) for line in text.splitlines() if line} == {4}
    assert " B-ORG\n" in text and " I-ORG\n" in text and '" " O O\n' in text


@pytest.mark.parametrize("split", CONLL2003.files)
def test_every_split_loads_with_documents_and_every_type(data: Path, split: str) -> None:
    rows = TASK.load(split, workspace(data))
    assert rows.notes[0] == "tags are in IOB1, read as IOB2"
    assert len(set(rows.table.column("document").to_pylist())) == (60 if split == "train" else 20)
    assert {tag for tags in rows.table.column("labels").to_pylist() for tag in tags} == set(CONLL2003.labels)


def test_the_task_keeps_its_contract(tmp_path: Path) -> None:
    check_task(TASK, tmp_path)


def test_each_word_tells_its_tag(data: Path) -> None:
    train, dev = (TASK.load(split, workspace(data)).table.to_pylist() for split in ("train", "dev"))
    seen: dict[str, Counter[str]] = defaultdict(Counter)
    for row in train:
        for word, tag in zip(row["words"], row["labels"], strict=True):
            seen[word][tag] += 1
    predicted = []
    for row in dev:
        predicted.append([seen[word].most_common(1)[0][0] if word in seen else "O" for word in row["words"]])
    assert evaluate([row["labels"] for row in dev], predicted).overall.f1 > 95
