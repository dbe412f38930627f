"""Tiny files with the official files' quirks, and files that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from benchrunner import DataError, Rows, Workspace
from benchrunner_xlingual import register_tasks

TASKS = {task.name: task for task in register_tasks()}
XNLI_HEAD = (
    "language gold_label sentence1_binary_parse sentence2_binary_parse sentence1_parse sentence2_parse sentence1 "
    "sentence2 promptID pairID genre label1 label2 label3 label4 label5 sentence1_tokenized sentence2_tokenized match"
).replace(" ", "\t")


def read(folder: Path, task: str, split: str, path: str, content: str) -> Rows:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content.encode())
    return TASKS[task].load(split, Workspace(folder, folder, data=folder))


def load(folder: Path, task: str, split: str, path: str, content: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = read(folder, task, split, path, content).table.to_pylist()
    return rows


def xnli_row(language: str, label: str, first: str, second: str) -> str:
    judges = "\t".join(["neutral"] * 5)
    return f"{language}\t{label}\t\t\t\t\t{first}\t{second}\t1\t2\tgenre\t{judges}\t{first} .\t{second} .\tTrue\n"


def test_xnli_dev_has_all_languages_and_quotes_are_text(tmp_path: Path) -> None:
    rows = [xnli_row("ar", "neutral", "مرحبا", "لا"), xnli_row("de", "contradiction", '"Ja', 'Nein".')]
    content = f"{XNLI_HEAD}\n{''.join(rows)}"
    path = "XNLI-1.0/xnli.dev.tsv"
    assert load(tmp_path, "en/xnli", "dev_de", path, content) == [{"a": '"Ja', "b": 'Nein".', "label": "contradiction"}]
    assert load(tmp_path, "en/xnli", "dev_ar", path, content) == [{"a": "مرحبا", "b": "لا", "label": "neutral"}]


def test_a_bad_row_of_xnli_is_named_by_its_line(tmp_path: Path) -> None:
    content = f"{XNLI_HEAD}\n{xnli_row('ar', 'neutral', 'a', 'b')}{xnli_row('de', 'maybe', 'a', 'b')}"
    with pytest.raises(DataError, match=r"xnli\.test\.tsv:3: .*'maybe'"):
        load(tmp_path, "en/xnli", "test_de", "XNLI-1.0/xnli.test.tsv", content)


def test_a_file_without_the_language_names_what_it_has(tmp_path: Path) -> None:
    content = f"{XNLI_HEAD}\n{xnli_row('fr', 'neutral', 'a', 'b')}{xnli_row('ar', 'neutral', 'a', 'b')}"
    with pytest.raises(DataError, match=r"xnli\.dev\.tsv: no rows in the language 'de'; it has ar, fr\."):
        load(tmp_path, "en/xnli", "dev_de", "XNLI-1.0/xnli.dev.tsv", content)


def test_xnli_train_spells_contradiction_differently(tmp_path: Path) -> None:
    content = 'premise\thypo\tlabel\nA man .\tHe "is\tcontradictory\nHi .\tHello .\tentailment\n'
    assert load(tmp_path, "en/xnli", "train", "XNLI-MT-1.0/multinli/multinli.train.en.tsv", content) == [
        {"a": "A man .", "b": 'He "is', "label": "contradiction"},
        {"a": "Hi .", "b": "Hello .", "label": "entailment"},
    ]


def test_pawsx_keeps_rows_that_nobody_translated(tmp_path: Path) -> None:
    content = 'id\tsentence1\tsentence2\tlabel\n1\tDie "Straße .\tNS\t0\n2\t\t\t1\n'
    assert load(tmp_path, "en/paws-x", "test_de", "x-final/de/test_2k.tsv", content) == [
        {"a": 'Die "Straße .', "b": "NS", "label": "different"},
        {"a": "", "b": "", "label": "paraphrase"},
    ]


WORDS = [{"words": ["R.H.", "12:30", "Paris"], "labels": ["B-PER", "O", "B-LOC"]}, {"words": ["Ende"], "labels": ["O"]}]


@pytest.mark.parametrize("prefix", ["de:", ""])
@pytest.mark.parametrize("path", ["wikiann/de/dev", "panx/dev-de.tsv"])
def test_wikiann_words_may_begin_with_their_language(path: str, prefix: str, tmp_path: Path) -> None:
    lines = [f"{prefix}R.H.\tB-PER", f"{prefix}12:30\tO", f"{prefix}Paris\tB-LOC", "", "", f"{prefix}Ende\tO", ""]
    assert load(tmp_path, "en/wikiann", "dev_de", path, "\n".join(lines)) == WORDS


def test_wikiann_words_may_have_blanks_inside_or_be_empty(tmp_path: Path) -> None:
    rows = load(tmp_path, "en/wikiann", "dev_vi", "wikiann/vi/dev", "vi:Hà\u00a0Nội x\tB-LOC\nvi:\tO\n\n")
    assert rows == [{"words": ["Hà\u00a0Nội x", ""], "labels": ["B-LOC", "O"]}]


def test_wikiann_test_files_of_xtreme_have_no_labels(tmp_path: Path) -> None:
    rows = load(tmp_path, "en/wikiann", "test_de", "panx/test-de.tsv", "Paris\nist\n\nEnde\n")
    assert rows == [{"words": ["Paris", "ist"]}, {"words": ["Ende"]}]


def test_sib200_fields_are_quoted_as_pandas_does(tmp_path: Path) -> None:
    content = 'index_id\tcategory\ttext\n1\thealth\t"""Er sagte ""so"" ."""\n7\tscience/technology\tDas\tAtom\n'
    with pytest.raises(DataError, match=r"dev\.tsv:3: expected 3 columns, found 4"):
        load(tmp_path, "en/sib200", "dev_deu_Latn", "data/annotated/deu_Latn/dev.tsv", content)
    assert load(
        tmp_path, "en/sib200", "dev_deu_Latn", "data/annotated/deu_Latn/dev.tsv", content.replace("Das\tA", "Das A")
    ) == [{"a": '"Er sagte "so" ."', "label": "health"}, {"a": "Das Atom", "label": "science/technology"}]


def test_official_counts_are_compared(tmp_path: Path) -> None:
    content = f"{XNLI_HEAD}\n{xnli_row('sw', 'neutral', 'a', 'b')}"
    notes = read(tmp_path, "en/xnli", "test_sw", "xnli/xnli.test.tsv", content).notes
    assert notes == ("1 test rows, where the official count is 5,010",)


TAGS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC"]
NLI_LABELS = datasets.ClassLabel(names=["entailment", "neutral", "contradiction"])
TEXT = datasets.Value("string")
ON_HUB = {
    "en/xnli": ("dev_sw", {"premise": TEXT, "hypothesis": TEXT, "label": NLI_LABELS}, ("p", "h", 2)),
    "en/paws-x": (
        "dev_ko",
        {
            "id": datasets.Value("int32"),
            "sentence1": TEXT,
            "sentence2": TEXT,
            "label": datasets.ClassLabel(names=["0", "1"]),
        },
        (1, "s", "t", 1),
    ),
    "en/wikiann": (
        "dev_th",
        {"tokens": datasets.List(TEXT), "ner_tags": datasets.List(datasets.ClassLabel(names=TAGS))},
        (["x", "y"], [5, 0]),
    ),
    "en/sib200": (
        "dev_tur_Latn",
        {"index_id": datasets.Value("int64"), "category": TEXT, "text": TEXT},
        (3, "travel", "t"),
    ),
}
"""Task -> a dev split, the columns of its data set on the hub, and a row."""
ROWS_ON_HUB = {
    "en/xnli": {"a": "p", "b": "h", "label": "contradiction"},
    "en/paws-x": {"a": "s", "b": "t", "label": "paraphrase"},
    "en/wikiann": {"words": ["x", "y"], "labels": ["B-LOC", "O"]},
    "en/sib200": {"a": "t", "label": "travel"},
}


@pytest.mark.parametrize("task", ON_HUB)
def test_the_hub_is_asked_for_a_language_at_a_commit(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    split, features, row = ON_HUB[task]
    columns = {name: [value] for name, value in zip(features, row, strict=True)}
    asked = []

    def load_dataset(repository: str, configuration: str, *, split: str, revision: str) -> datasets.Dataset:
        asked.append((configuration, split, len(revision)))
        return datasets.Dataset.from_dict(columns, datasets.Features(features))

    monkeypatch.setattr("datasets.load_dataset", load_dataset)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    rows = TASKS[task].load(split, Workspace(tmp_path, tmp_path, data=tmp_path))
    assert rows.table.to_pylist() == [ROWS_ON_HUB[task]]
    assert asked == [(split.removeprefix("dev_"), "validation", 40)]
