"""Writes small generated SQuAD files in the official layout, for `benchrunner demo` and tests.

A paragraph names a person, a town or a thing among sentences without such words, and the question word tells which of
them is the answer. A small encoder learns most of this without pre-training.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

PARAGRAPHS = {"train": 450, "dev": 75}
SENTENCES = 3
PEOPLE = {"train": 1, "dev": 3}
"""Number of people who answered each question."""

WORDS = {
    "who": "John Mary Thomas Alice Clara Edward Emma Arthur Martha Felix George Helen",
    "where": "London Paris Rome Bath York Florence Venice Dublin Bergen Lisbon",
    "what": "lamp basket carpet mirror ladder saddle clock candle letter bottle violin",
}
"""Question word -> words that may be the answer."""
FACTS = {
    "who": ("The one who came was old {}.", "Everybody knew {} by name."),
    "where": ("All this happened near {}.", "The road ends in {}."),
    "what": ("There was a broken {} on the floor.", "Somebody had left a {} behind."),
}
QUESTIONS = {
    "who": ("Who was it?", "Who came?"),
    "where": ("Where did it happen?", "Where was that?"),
    "what": ("What was there?", "What was left?"),
}
FILLERS = (
    "It was late and very cold.",
    "Nobody said a word for hours.",
    "The rain had stopped at last.",
    "They were not afraid any more.",
    "In the morning all was quiet.",
)
"""Sentences without an answer."""


def write(version: str, seed: int, folder: Path) -> None:
    """Write `squad/train-VERSION.json` and `squad/dev-VERSION.json`. Equal seeds give equal bytes."""
    home = folder / "squad"
    home.mkdir(parents=True, exist_ok=True)
    for role, count in PARAGRAPHS.items():
        draw = random.Random(f"{version} {role} {seed}")
        paragraphs = [_paragraph(at, version, role, draw) for at in range(count)]
        halves = paragraphs[: count // 2], paragraphs[count // 2 :]
        data = [{"title": f"Tale_{at}", "paragraphs": half} for at, half in enumerate(halves, start=1)]
        content = {"version": "1.1" if version == "v1.1" else version, "data": data}
        (home / f"{role}-{version}.json").write_bytes(json.dumps(content).encode())


def _paragraph(at: int, version: str, role: str, draw: random.Random) -> dict[str, Any]:
    """Write a paragraph with questions.

    Every third paragraph has two facts, the others have one. In 2.0, another third has no fact and no answers.
    """
    asked = draw.sample(list(WORDS), 2 if at % 3 == 1 else 1)
    answers = {} if version == "v2.0" and at % 3 == 0 else {kind: draw.choice(WORDS[kind].split()) for kind in asked}
    sentences = [draw.choice(FACTS[kind]).format(word) for kind, word in answers.items()]
    sentences += draw.sample(FILLERS, SENTENCES - len(sentences))
    draw.shuffle(sentences)
    context = " ".join(sentences)
    questions = [_question(kind, answers.get(kind), context, version, role, draw) for kind in asked]
    return {"context": context, "qas": questions}


def _question(
    kind: str, answer: str | None, context: str, version: str, role: str, draw: random.Random
) -> dict[str, Any]:
    question: dict[str, Any] = {"question": draw.choice(QUESTIONS[kind]), "id": f"{draw.getrandbits(96):024x}"}
    question["answers"] = [_span(answer, context)] * PEOPLE[role] if answer else []
    if version == "v2.0":
        question["is_impossible"] = answer is None
        if answer is None:
            question["plausible_answers"] = [_span(draw.choice(context.rstrip(".").split()), context)]
    return question


def _span(word: str, context: str) -> dict[str, Any]:
    return {"text": word, "answer_start": context.index(word)}
