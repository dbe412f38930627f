"""Every figure of Tables 1 to 8 of Devlin et al. 2019 stands in the study of its table, and no other figure does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import benchrunner_bert
from benchrunner.results import Study, discover
from benchrunner_studies.reading import read_study_file

FOLDER = Path(benchrunner_bert.__file__).parent / "studies"

TABLES = {
    "table1": """
        row                | MNLI-m | MNLI-mm | QQP  | QNLI | SST-2 | CoLA | STS-B | MRPC | RTE  | average
        Pre-OpenAI SOTA    | 80.6   | 80.1    | 66.1 | 82.3 | 93.2  | 35.0 | 81.0  | 86.0 | 61.7 | 74.0
        BiLSTM+ELMo+Attn   | 76.4   | 76.1    | 64.8 | 79.8 | 90.4  | 36.0 | 73.3  | 84.9 | 56.8 | 71.0
        OpenAI GPT         | 82.1   | 81.4    | 70.3 | 87.4 | 91.3  | 45.4 | 80.0  | 82.3 | 56.0 | 75.1
        BERT-BASE          | 84.6   | 83.4    | 71.2 | 90.5 | 93.5  | 52.1 | 85.8  | 88.9 | 66.4 | 79.6
        BERT-LARGE         | 86.7   | 85.9    | 72.1 | 92.7 | 94.9  | 60.5 | 86.5  | 89.3 | 70.1 | 82.1
        """,
    "table2": """
        row                              | dev EM | dev F1 | test EM | test F1
        Human                            | -      | -      | 82.3    | 91.2
        nlnet (#1 ensemble)              | -      | -      | 86.0    | 91.7
        QANet (#2 ensemble)              | -      | -      | 84.5    | 90.5
        BiDAF+ELMo (single)              | -      | 85.6   | -       | 85.8
        R.M. Reader (ensemble)           | 81.2   | 87.9   | 82.3    | 88.5
        BERT-BASE (single)               | 80.8   | 88.5   | -       | -
        BERT-LARGE (single)              | 84.1   | 90.9   | -       | -
        BERT-LARGE (ensemble)            | 85.8   | 91.8   | -       | -
        BERT-LARGE (single + TriviaQA)   | 84.2   | 91.1   | 85.1    | 91.8
        BERT-LARGE (ensemble + TriviaQA) | 86.2   | 92.2   | 87.4    | 93.2
        """,
    "table3": """
        row                         | dev EM | dev F1 | test EM | test F1
        Human                       | 86.3   | 89.0   | 86.9    | 89.5
        MIR-MRC (F-Net) (#1 single) | -      | -      | 74.8    | 78.0
        nlnet (#2 single)           | -      | -      | 74.2    | 77.1
        unet (ensemble)             | -      | -      | 71.4    | 74.9
        SLQA+ (single)              | -      | -      | 71.4    | 74.4
        BERT-LARGE (single)         | 78.7   | 81.9   | 80.0    | 83.1
        """,
    "table4": """
        row                   | dev  | test
        ESIM+GloVe            | 51.9 | 52.7
        ESIM+ELMo             | 59.1 | 59.2
        OpenAI GPT            | -    | 78.0
        BERT-BASE             | 81.6 | -
        BERT-LARGE            | 86.6 | 86.3
        Human (expert)        | -    | 85.0
        Human (5 annotations) | -    | 88.0
        """,
    "table5": """
        row          | MNLI-m | QNLI | MRPC | SST-2 | SQuAD
        BERT         | 84.4   | 88.4 | 86.7 | 92.7  | 88.5
        no NSP       | 83.9   | 84.9 | 86.5 | 92.6  | 87.9
        LTR & no NSP | 82.1   | 84.3 | 77.5 | 92.1  | 77.8
        + BiLSTM     | 82.1   | 84.1 | 75.7 | 91.6  | 84.9
        """,
    "table6": """
        row        | LM perplexity | MNLI-m | MRPC | SST-2
        3/768/12   | 5.84          | 77.9   | 79.8 | 88.4
        6/768/3    | 5.24          | 80.6   | 82.2 | 90.7
        6/768/12   | 4.68          | 81.9   | 84.8 | 91.3
        12/768/12  | 3.99          | 84.4   | 86.7 | 92.9
        12/1024/16 | 3.54          | 85.7   | 86.9 | 93.3
        24/1024/16 | 3.23          | 86.6   | 87.8 | 93.7
        """,
    "table7": """
        row                                      | dev  | test
        ELMo                                     | 95.7 | 92.2
        CVT                                      | -    | 92.6
        CSE                                      | -    | 93.1
        BERT-LARGE                               | 96.6 | 92.8
        BERT-BASE                                | 96.4 | 92.4
        BERT-BASE (embeddings)                   | 91.0 | -
        BERT-BASE (second-to-last hidden)        | 95.6 | -
        BERT-BASE (last hidden)                  | 94.9 | -
        BERT-BASE (weighted sum last four hidden)| 95.9 | -
        BERT-BASE (concat last four hidden)      | 96.1 | -
        BERT-BASE (weighted sum all 12 layers)   | 95.5 | -
        """,
    "table8": """
        row      | MNLI | NER fine-tuned | NER features
        80/10/10 | 84.2 | 95.4           | 94.9
        100/0/0  | 84.3 | 94.9           | 94.0
        80/0/20  | 84.1 | 95.2           | 94.6
        80/20/0  | 84.4 | 95.2           | 94.7
        0/20/80  | 83.7 | 94.8           | 94.6
        0/0/100  | 83.6 | 94.9           | 94.6
        """,
}
"""The paper's tables. The rows of Table 8 are MASK/SAME/RND, in its order."""


NOT_RUN = {
    "table1": {"Pre-OpenAI SOTA", "BiLSTM+ELMo+Attn"},
    "table2": {"Human", "nlnet (#1 ensemble)", "QANet (#2 ensemble)", "BiDAF+ELMo (single)", "R.M. Reader (ensemble)"},
    "table3": {"Human", "MIR-MRC (F-Net) (#1 single)", "nlnet (#2 single)", "unet (ensemble)", "SLQA+ (single)"},
    "table4": {"ESIM+GloVe", "ESIM+ELMo", "OpenAI GPT", "Human (expert)", "Human (5 annotations)"},
    "table7": {"ELMo", "CVT", "CSE"},
}
"""Published rows that no system of ours stands beside."""


def paper(name: str) -> dict[tuple[str, str], float]:
    """Read a table of the paper: (row, column) -> figure."""
    head, *lines = [re.split(r" *\| *", line.strip()) for line in TABLES[name].strip().splitlines()]
    return {
        (line[0], column): float(figure)
        for line in lines
        for column, figure in zip(head[1:], line[1:], strict=True)
        if figure != "-"
    }


def study(name: str) -> Study:
    values = {"corpus": "a.txt", "held-out": "b.txt"}
    path = FOLDER / f"{name}.toml"
    given = {key: value for key, value in values.items() if f"\n{key} = " in path.read_text()}
    return read_study_file(path, given).study


@pytest.mark.parametrize("name", TABLES)
def test_every_cell_of_the_paper_stands_in_its_study(name: str) -> None:
    cells = {(row.name, column): figure for row in study(name).published for column, figure in row.cells.items()}
    if name == "table8":  # our rows are MASK/RND/SAME
        cells = {(re.sub("/(.*)/(.*)", r"/\2/\1", row), name): figure for (row, name), figure in cells.items()}
    assert cells == paper(name)


@pytest.mark.parametrize("name", TABLES)
def test_each_row_stands_beside_a_system_or_is_shown_alone(name: str) -> None:
    read = study(name)
    assert {row.name for row in read.published_alone} == NOT_RUN.get(name, set())
    beside = [system.published_name for system in read.systems]
    assert len(set(beside)) == len(beside), "no figure of the paper stands beside two systems"
    assert set(beside) == {row.name for row in read.published} - NOT_RUN.get(name, set())


@pytest.mark.parametrize("name", ["table1", "table2", "table3", "table4", "table7"])
def test_boards_list_the_same_figures_as_studies(name: str) -> None:
    pytest.importorskip("benchrunner_leaderboards")
    board = discover().leaderboards[study(name).board or "conll2003"]
    rows = [row for row in board.published if row.version in ("", "2019") and row.source.endswith(f"Table {name[-1]}")]
    listed = {(row.name, column): figure for row in rows for column, figure in row.cells.items() if column != "score"}
    assert listed == paper(name)
