"""Writes small SQuAD files of our own making in the official layout, for `benchrunner demo` and tests.

What is asked for tells the answer by words alone: a paragraph names one person, one town and so on, and the question
word says which of them is wanted. So a small encoder learns it without pre-training.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

PARAGRAPHS = {"train": 60, "dev": 20}
QUESTIONS = 4
"""Of one paragraph."""

WORDS = {
    "who": "John Mary Thomas Alice Clara Edward Emma Arthur Martha Felix George Helen",
    "where": "London Paris Rome Bath York Florence Venice Dublin",
    "when": "Monday Tuesday Thursday Saturday Sunday March June August",
    "what": "lamp basket carpet mirror ladder saddle clock candle letter bottle",
    "why": "hunger envy curiosity thirst fear love pride pity",
}
"""A question word -> what may be the answer."""
FACTS = {
    "who": ("The one who came was old {} .", "Everybody knew {} by name ."),
    "where": ("All this happened near {} .", "The road ends in {} ."),
    "when": ("The year was {} .", "It was told first in {} ."),
    "what": ("There was a broken {} on the table .", "Somebody had left a {} behind ."),
    "why": ("They say it was done out of {} .", "The reason was plain {} ."),
}
ASKED = {
    "who": ("Who was it ?", "Who came ?"),
    "where": ("Where did it happen ?", "Where was that ?"),
    "when": ("When did it happen ?", "When was that ?"),
    "what": ("What was there ?", "What was left ?"),
    "why": ("Why was it done ?", "Why did it happen ?"),
}


def write(version: str, seed: int, folder: Path) -> None:
    """`squad/train-VERSION.json` and `dev`: the same bytes for the same seed."""
    home = folder / "squad"
    home.mkdir(parents=True, exist_ok=True)
    for role, count in PARAGRAPHS.items():
        draw = random.Random(f"{version} {role} {seed}")
        paragraphs = [_paragraph(version, role, draw) for _ in range(count)]
        halves = paragraphs[: count // 2], paragraphs[count // 2 :]
        data = [{"title": f"Tales_{at}", "paragraphs": half} for at, half in enumerate(halves, start=1)]
        content = {"version": version.removeprefix("v") if version == "v1.1" else version, "data": data}
        (home / f"{role}-{version}.json").write_bytes(json.dumps(content, ensure_ascii=False).encode())


def _paragraph(version: str, role: str, draw: random.Random) -> dict[str, Any]:
    """Four of the five facts; where questions may be unanswerable, one of them asks for the fifth."""
    kinds = draw.sample(list(WORDS), len(WORDS))
    told = {kind: draw.choice(WORDS[kind].split()) for kind in kinds[:QUESTIONS]}
    context = " ".join(draw.choice(FACTS[kind]).format(word) for kind, word in told.items())
    wanted = kinds[:QUESTIONS] if version == "v1.1" else kinds[1:]
    draw.shuffle(wanted)
    qas = [_question(kind, told.get(kind), context, version, role, draw) for kind in wanted]
    return {"context": context, "qas": qas}


def _question(
    kind: str, answer: str | None, context: str, version: str, role: str, draw: random.Random
) -> dict[str, Any]:
    found: dict[str, Any] = {"question": draw.choice(ASKED[kind]), "id": f"{draw.getrandbits(96):024x}"}
    start = context.find(f" {answer} ") + 1
    people = 3 if role == "dev" else 1  # dev questions were put to several people
    found["answers"] = [{"text": answer, "answer_start": start}] * people if answer else []
    if version == "v2.0":
        found["is_impossible"] = answer is None
        if answer is None:
            near = context.split()[-2]
            found["plausible_answers"] = [{"text": near, "answer_start": context.rindex(near)}]
    return found
