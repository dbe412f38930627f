"""Writes small generated data sets in the real layouts of BEIR and WikiQA, for `benchrunner demo` and tests.

A query names a thing and a colour by other words than the passages do. An encoder learns which words belong together
from some hundred pairs; its random twin does not know.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from itertools import product
from pathlib import Path

THINGS = {
    "car": "vehicle", "lamp": "light", "boat": "ship", "coat": "jacket",
    "letter": "message", "rope": "line", "knife": "blade", "stone": "rock",
}  # fmt: skip
"""Word of queries -> word of passages."""
COLOURS = {"red": "scarlet", "blue": "azure", "green": "emerald", "white": "pale", "black": "dark", "brown": "chestnut"}
"""Word of queries -> word of passages."""
PLACES = ("the harbour", "the kitchen", "the garden", "the office", "the park", "the old street")
PERSONS = ("Anna", "Tom", "Ruth", "Peter", "Clara", "George")
OTHERS = 150
"""Number of passages that are relevant to no query."""
QUERIES = {"train": 320, "dev": 80, "test": 60}
"""Split -> its number of queries."""
NO_ANSWER = 0.2
"""Share of the questions of WikiQA without a right sentence; the real share is larger."""


def write_corpus(folder: str, splits: Sequence[str], seed: int, home: Path) -> None:
    """Write corpus.jsonl, queries.jsonl and qrels/*.tsv below a folder. Equal seeds give equal bytes.

    A passage about the thing and the colour of the query has the grade 2, another about the thing alone the grade 1.
    """
    draw = random.Random(f"{folder} {seed}")
    place = home / folder
    (place / "qrels").mkdir(parents=True, exist_ok=True)
    passages = list[dict[str, object]]()
    for thing, colour in product(THINGS, COLOURS):
        name = f"{folder}-{len(passages) + 1}"
        text = f"{draw.choice(PERSONS)} found the {COLOURS[colour]} {THINGS[thing]} in {draw.choice(PLACES)}."
        passages.append({"_id": name, "title": f"The {THINGS[thing]}", "text": text, "metadata": {}})
    for _ in range(OTHERS):
        text = f"{draw.choice(PERSONS)} slept in {draw.choice(PLACES)}."
        passages.append({"_id": f"{folder}-{len(passages) + 1}", "title": "", "text": text, "metadata": {}})
    numbers = {pair: number for number, pair in enumerate(product(THINGS, COLOURS))}
    queries = list[dict[str, object]]()
    for split in splits:
        lines = ["query-id\tcorpus-id\tscore"]
        for number in range(QUERIES[split]):
            pair = draw.choice(list(numbers))
            query = f"{split}-{number}"
            text = f"Who has the {pair[1]} {pair[0]} of {draw.choice(PERSONS)}?"
            queries.append({"_id": query, "text": text, "metadata": {}})
            near = draw.choice([other for other in numbers if other[0] == pair[0] and other != pair])
            lines.append(f"{query}\t{passages[numbers[pair]]['_id']}\t2")
            lines.append(f"{query}\t{passages[numbers[near]]['_id']}\t1")
        (place / "qrels" / f"{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    _write_lines(place / "corpus.jsonl", passages)
    _write_lines(place / "queries.jsonl", queries)


def _write_lines(path: Path, objects: Iterable[object]) -> None:
    text = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in objects)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_wikiqa(seed: int, home: Path) -> None:
    """Write the three files of WikiQA. Equal seeds give equal bytes.

    A question asks where a thing is; the right sentence has a place, wrong sentences have none.
    """
    place = home / "WikiQACorpus"
    place.mkdir(parents=True, exist_ok=True)
    for split, count in QUERIES.items():
        draw = random.Random(f"wikiqa {split} {seed}")
        lines = ["QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel"]
        for number in range(count):
            lines += _question(number, draw)
        (place / f"WikiQA-{split}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


def _question(number: int, draw: random.Random) -> list[str]:
    thing = draw.choice(list(THINGS))
    candidates = draw.randint(3, 7)
    right = None if draw.random() < NO_ANSWER else draw.randrange(candidates)
    lines = []
    for candidate in range(candidates):
        text = f"{draw.choice(PERSONS)} painted the {thing} {draw.choice(list(COLOURS))}."
        if candidate == right:
            text = f'The {thing} is in {draw.choice(PLACES)}, said "{draw.choice(PERSONS)}".'
        names = (f"Q{number}", f"where is the {thing} ?", f"D{number}", thing.title(), f"D{number}-{candidate}")
        lines.append("\t".join((*names, text, str(int(candidate == right)))))
    return lines
