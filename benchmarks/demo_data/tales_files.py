"""Writes two data sets of tales: the right order of words, and words that do not belong in their sentence."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

TALES = Path(__file__).with_name("tales.txt")
"""Six tales that were written for the demo, a sentence in a line: `bert/novels` has not read them."""
DEV_STEP = 4
"""Of so many sentences one is kept from training."""
LONG = 4
"""Fewest letters of a word that does not belong, and of the word that stood in its place."""
ORDER = """\
about = "Which of two sentences has its words in order?"
problem = "choose"
columns = {a = "before", choices = ["one", "two"], label = "right"}
splits = {train = "order-train.csv", dev = "order-dev.csv"}
"""
"""The task file: see docs/files.md."""


def write(folder: Path) -> None:
    """Write `order.toml` with its files, and `squad/ROLE-v1.1.json`, always with the same bytes."""
    text = TALES.read_text(encoding="utf-8").lower()
    known = [word for word in text.replace(".", "").replace(",", "").split() if len(word) >= LONG]
    (folder / "squad").mkdir(parents=True, exist_ok=True)
    (folder / "order.toml").write_text(ORDER, encoding="utf-8")
    for role in ("train", "dev"):
        draw = random.Random(role)
        rows: list[list[Any]] = [["before", "one", "two", "right"]]
        articles = []
        for number, tale in enumerate(text.split("\n\n"), start=1):
            paragraphs = []
            for place, sentence in enumerate(tale.splitlines()):
                if (place % DEV_STEP == 0) == (role == "dev"):
                    rows.append(_pair(sentence, draw))
                    paragraphs.append(_paragraph(sentence, known, draw))
            articles.append({"title": f"Tale_{number}", "paragraphs": paragraphs})
        with (folder / f"order-{role}.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
        content = {"version": "1.1", "data": articles}
        (folder / "squad" / f"{role}-v1.1.json").write_text(json.dumps(content), encoding="utf-8")


def _pair(sentence: str, draw: random.Random) -> list[Any]:
    """Put a sentence beside a copy in which half of its words, which follow each other, are in another order."""
    words = sentence.rstrip(".").split()
    half = len(words) // 2
    place = draw.randrange(len(words) - half)
    mixed = sentence
    while mixed == sentence:
        part = draw.sample(words[place : place + half], half)
        mixed = " ".join([*words[:place], *part, *words[place + half :]]) + "."
    right = draw.randrange(2)
    texts = [mixed, mixed]
    texts[right] = sentence
    return ["", *texts, right]


def _paragraph(sentence: str, known: list[str], draw: random.Random) -> dict[str, Any]:
    """Replace a word of a sentence by one from anywhere in the tales, for which the question asks."""
    words = sentence.rstrip(".").split()
    place = draw.choice([at for at, word in enumerate(words) if len(word) >= LONG])
    start = len(" ".join(["", *words[:place]]))
    word = words[place]
    while word in words:
        word = draw.choice(known)
    words[place] = word
    answer = {"text": word, "answer_start": start}
    question = {"question": "Which word does not belong?", "id": f"{draw.getrandbits(96):024x}", "answers": [answer]}
    return {"context": " ".join(words) + ".", "qas": [question]}
