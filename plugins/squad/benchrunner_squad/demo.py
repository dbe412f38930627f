"""Writes small SQuAD files of our own making in the official layout, for `benchrunner demo` and tests.

Words alone tell the answer: a paragraph names a person, a town or a thing among sentences that name none, and the
question word says which of them is wanted. A small encoder learns most of that without pre-training.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

PARAGRAPHS = {"train": 450, "dev": 75}
SENTENCES = 3
PEOPLE = {"train": 1, "dev": 3}
"""How many people answered each question."""

WORDS = {
    "who": "John Mary Thomas Alice Clara Edward Emma Arthur Martha Felix George Helen",
    "where": "London Paris Rome Bath York Florence Venice Dublin Bergen Lisbon",
    "what": "lamp basket carpet mirror ladder saddle clock candle letter bottle violin",
}
"""A question word -> what may be the answer."""
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
"""Sentences that answer nothing."""


def write(version: str, seed: int, folder: Path) -> None:
    """`squad/train-VERSION.json` and `dev`: the same bytes for the same seed."""
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
    """Every third paragraph tells two facts, the others one; in 2.0 another third tells none, and has no answer."""
    asked = draw.sample(list(WORDS), 2 if at % 3 == 1 else 1)
    told = {} if version == "v2.0" and at % 3 == 0 else {kind: draw.choice(WORDS[kind].split()) for kind in asked}
    sentences = [draw.choice(FACTS[kind]).format(word) for kind, word in told.items()]
    sentences += draw.sample(FILLERS, SENTENCES - len(sentences))
    draw.shuffle(sentences)
    context = " ".join(sentences)
    return {"context": context, "qas": [_question(one, told.get(one), context, version, role, draw) for one in asked]}


def _question(
    kind: str, answer: str | None, context: str, version: str, role: str, draw: random.Random
) -> dict[str, Any]:
    found: dict[str, Any] = {"question": draw.choice(QUESTIONS[kind]), "id": f"{draw.getrandbits(96):024x}"}
    found["answers"] = [_span(answer, context)] * PEOPLE[role] if answer else []
    if version == "v2.0":
        found["is_impossible"] = answer is None
        if answer is None:
            found["plausible_answers"] = [_span(draw.choice(context.rstrip(".").split()), context)]
    return found


def _span(word: str, context: str) -> dict[str, Any]:
    return {"text": word, "answer_start": context.index(word)}
