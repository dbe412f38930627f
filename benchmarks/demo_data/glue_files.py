"""Writes small generated data sets in the official file layout, with its quirks."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo_data.glue_layouts import LAYOUTS, Layout

TEXTS = Path(__file__).with_name("glue_texts.toml")
CONTRADICTS_TRAIN = "wnli"
"""The task whose dev repeats texts of train with the opposite answers."""
WRONG_SHARE = 0.04
"""Share of rows with a random answer, because data that people label has wrong answers too."""

Row = tuple[list[str], str]
"""The texts of a row and its answer, as the files spell it."""


def write(task: str, seed: int, folder: Path) -> None:
    """Write the task's files below the folder. Equal seeds give equal bytes."""
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))
    contradicts_train = task == CONTRADICTS_TRAIN
    for layout in LAYOUTS[task]:
        draw = random.Random(f"{layout.folder} {seed}")
        home = folder / layout.folder
        home.mkdir(parents=True, exist_ok=True)
        train_rows: list[Row] = []
        for name, count in layout.files:
            if contradicts_train and name == "dev":
                rows = _contradicting_rows(train_rows, count, draw)
            else:
                words = texts["words"] | texts["elsewhere"] if "mismatched" in name else texts["words"]
                rows = _rows(texts[task], words, count, draw, wrong_share=0 if contradicts_train else WRONG_SHARE)
            train_rows = train_rows or rows
            (home / f"{name}.tsv").write_bytes(_file(layout, name, rows, draw).encode())


def _rows(
    templates: Mapping[str, Any], words: Mapping[str, str], count: int, draw: random.Random, *, wrong_share: float
) -> list[Row]:
    """Make rows with different texts, shuffled, with the labels in their exact proportions."""
    answers = templates["answers"]
    labels = [label for label, of_label in answers.items() for _ in range(-(-of_label["percent"] * count // 100))]
    draw.shuffle(labels)
    rows: dict[tuple[str, ...], str] = {}
    for label in labels[:count]:
        is_wrong = draw.random() < wrong_share
        answer = draw.choice(list(answers)) if is_wrong else label
        choices = [answers[label]["texts"]]
        if "first" in templates:
            choices.insert(0, templates["first"])
        texts: tuple[str, ...] = ()
        while not texts or texts in rows:
            chosen = _words(words, draw)
            texts = tuple(draw.choice(templates_of_text).format_map(chosen) for templates_of_text in choices)
        rows[texts] = answer
    return [(list(texts), answer) for texts, answer in rows.items()]


def _contradicting_rows(rows: list[Row], count: int, draw: random.Random) -> list[Row]:
    """Take rows of train and give them the opposite answers; 40 of 71 rows have the answer 0, as in WNLI."""
    opposite = {"0": "1", "1": "0"}
    flipped = [(texts, opposite[answer]) for texts, answer in rows]
    zeros = [row for row in flipped if row[1] == "0"]
    ones = [row for row in flipped if row[1] == "1"]
    chosen = draw.sample(zeros, count * 40 // 71) + draw.sample(ones, count - count * 40 // 71)
    return draw.sample(chosen, count)


def _words(choices: Mapping[str, str], draw: random.Random) -> dict[str, str]:
    """Choose two different words for every slot of the templates: `slot` and `slot2`."""
    words = {}
    for slot, listed in choices.items():
        words[slot], words[f"{slot}2"] = draw.sample(listed.split("|" if "|" in listed else " "), 2)
    return words


def _file(layout: Layout, name: str, rows: list[Row], draw: random.Random) -> str:
    has_answers = "test" not in name and name != "diagnostic"
    columns = (layout.columns if has_answers else layout.test_columns).split("|")
    if name.startswith("dev_"):  # five people judged each of MNLI's dev rows
        columns = [*columns[:-2], "label1", "label2", "label3", "label4", "label5", columns[-1]]
    lines = [] if layout.no_header and has_answers else ["\t".join(columns)]
    for number, (texts, answer) in enumerate(rows):
        values = _values(number, texts, answer, draw)
        lines.append("\t".join(values[column] for column in columns))
    if layout.folder == "QQP" and name == "train":  # the official file has questions with line ends too
        lines.insert(
            len(lines) // 2, "9001\t601\t602\tIs it too late to learn\n\nto swim?\tCan adults learn to swim?\t1"
        )
    return "\ufeff" * (layout.byte_order_mark and has_answers) + "\n".join(lines) + "\n"


def _values(number: int, texts: list[str], answer: str, draw: random.Random) -> dict[str, str]:
    """Make a row's values of all columns that any of the files has."""
    first, last, random_id = texts[0], texts[-1], draw.randrange(100_000, 999_999)
    answers = dict.fromkeys(("label", "label1", "label2", "label3", "gold_label", "Quality", "is_duplicate"), answer)
    answers |= {f"label{judge}": draw.choice((answer, answer, "neutral")) for judge in (4, 5)}
    texts_of = dict.fromkeys(("sentence1", "question1", "#1 String", "question"), first)
    texts_of |= dict.fromkeys(("sentence", "sentence2", "question2", "#2 String"), last)
    parses = {f"sentence{n}_parse": f"(ROOT (S {text}))" for n, text in ((1, first), (2, last))}
    parses |= {f"sentence{n}_binary_parse": f"( {text} )" for n, text in ((1, first), (2, last))}
    numbers = {"index": number, "id": number, "qid1": 2 * number + 1, "qid2": 2 * number + 2}
    numbers |= {"#1 ID": random_id, "#2 ID": random_id + 7}
    return {
        **answers,
        **texts_of,
        **parses,
        **{name: str(value) for name, value in numbers.items()},
        "score": _grade(answer, draw),
        "source": draw.choice(("gj04", "bc01", "r-67")),
        "star": "*" if answer == "0" else "",
        "genre": draw.choice(("fiction", "government", "slate", "telephone", "travel")),
        "promptID": str(random_id),
        "pairID": f"{random_id}{answer[0]}",
        "filename": "MSRvid",
        "year": "2012test",
        "old_index": f"{number:04}",
        "source1": "none",
        "source2": "none",
    }


def _grade(level: str, draw: random.Random) -> str:
    """Make a mean of several people's grades near the level, with three decimals as in STS-B."""
    if not level.isdigit():
        return ""
    return f"{min(5.0, max(0.0, int(level) + draw.choice((-0.4, -0.2, -0.083, 0.0, 0.0, 0.2, 0.333)))):.3f}"
