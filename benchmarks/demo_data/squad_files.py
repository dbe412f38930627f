"""Writes small generated files of SQuAD and of TriviaQA in the official layouts, for `benchrunner demo` and tests.

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
ARTICLES = {"train": 60, "dev": 15}
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
        data = [
            {"title": "Tale_1", "paragraphs": paragraphs[: count // 2]},
            {"title": "Tale_2", "paragraphs": paragraphs[count // 2 :]},
        ]
        content = {"version": "1.1" if version == "v1.1" else version, "data": data}
        (home / f"{role}-{version}.json").write_bytes(json.dumps(content).encode())


def _paragraph(at: int, version: str, role: str, draw: random.Random) -> dict[str, Any]:
    """Write a paragraph with questions.

    Every third paragraph has two facts, the others have one. In 2.0, another third has no fact and no answers.
    """
    asked = draw.sample(list(WORDS), 2 if at % 3 == 1 else 1)
    answers = dict[str, str]()
    if version == "v1.1" or at % 3 != 0:
        answers = {kind: _word(kind, draw) for kind in asked}
    sentences = [_fact(kind, word, draw) for kind, word in answers.items()]
    context = _text(sentences, SENTENCES - len(sentences), draw)
    questions = [_question(kind, answers.get(kind), context, version, role, draw) for kind in asked]
    return {"context": context, "qas": questions}


def _word(kind: str, draw: random.Random) -> str:
    return draw.choice(WORDS[kind].split())


def _fact(kind: str, word: str, draw: random.Random) -> str:
    return draw.choice(FACTS[kind]).format(word)


def _text(facts: list[str], fillers: int, draw: random.Random) -> str:
    """Mix facts with other sentences."""
    sentences = facts + draw.sample(FILLERS, fillers)
    draw.shuffle(sentences)
    return " ".join(sentences)


def _question(
    kind: str, answer: str | None, context: str, version: str, role: str, draw: random.Random
) -> dict[str, Any]:
    question: dict[str, Any] = {"question": draw.choice(QUESTIONS[kind]), "id": f"{draw.getrandbits(96):024x}"}
    question["answers"] = [_span(answer, context)] * PEOPLE[role] if answer else []
    if version == "v2.0":
        question["is_impossible"] = answer is None
        if answer is None:
            words = context.rstrip(".").split()
            question["plausible_answers"] = [_span(draw.choice(words), context)]
    return question


def _span(word: str, context: str) -> dict[str, Any]:
    return {"text": word, "answer_start": context.index(word)}


def write_trivia(seed: int, folder: Path) -> None:
    """Write `triviaqa/qa/wikipedia-ROLE.json` and its articles in `triviaqa/evidence`. Equal seeds give equal bytes.

    The demo itself does not fine-tune on these files: studies do that begin with TriviaQA.
    """
    home = folder / "triviaqa"
    for path in ("qa", "evidence/wikipedia"):
        (home / path).mkdir(parents=True, exist_ok=True)
    for role, count in ARTICLES.items():
        draw = random.Random(f"triviaqa {role} {seed}")
        questions = [_trivia_question(f"{role}_{at}", home, draw) for at in range(count)]
        content = {"Domain": "Wikipedia", "Split": role, "VerifiedEval": False, "Data": questions}
        (home / f"qa/wikipedia-{role}.json").write_bytes(json.dumps(content).encode())


def _trivia_question(name: str, home: Path, draw: random.Random) -> dict[str, Any]:
    """Write an article that names the answer among sentences without it, and return the question about it."""
    kind = draw.choice(list(WORDS))
    answer = _word(kind, draw)
    text = _text([_fact(kind, answer, draw)], 3, draw)
    file = f"{name}.txt"
    (home / "evidence/wikipedia" / file).write_bytes(text.encode())
    return {
        "QuestionId": name,
        "Question": draw.choice(QUESTIONS[kind]),
        "Answer": {"Value": answer, "Aliases": [answer], "NormalizedAliases": [answer.lower()], "Type": "FreeForm"},
        "EntityPages": [{"Title": name, "Filename": file}],
        "SearchResults": [],
    }
