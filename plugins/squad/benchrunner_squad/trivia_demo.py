"""Writes small generated files of TriviaQA's Wikipedia part, for studies that begin with TriviaQA.

The demo itself does not fine-tune on them: they are written with the files of SQuAD 1.1.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from benchrunner_squad.demo import FACTS, FILLERS, QUESTIONS, WORDS

ARTICLES = {"train": 60, "dev": 15}


def write(seed: int, folder: Path) -> None:
    """Write `triviaqa/qa/wikipedia-ROLE.json` and its articles in `triviaqa/evidence`. Equal seeds give equal bytes."""
    for path in ("triviaqa/qa", "triviaqa/evidence/wikipedia"):
        (folder / path).mkdir(parents=True, exist_ok=True)
    for role, count in ARTICLES.items():
        draw = random.Random(f"triviaqa {role} {seed}")
        questions = [_question(f"{role}_{at}", folder, draw) for at in range(count)]
        content = {"Domain": "Wikipedia", "Split": role, "VerifiedEval": False, "Data": questions}
        (folder / f"triviaqa/qa/wikipedia-{role}.json").write_bytes(json.dumps(content).encode())


def _question(name: str, folder: Path, draw: random.Random) -> dict[str, Any]:
    """Write an article that names the answer among sentences without it, and return the question about it."""
    kind = draw.choice(list(WORDS))
    answer = draw.choice(WORDS[kind].split())
    sentences = [draw.choice(FACTS[kind]).format(answer), *draw.sample(FILLERS, 3)]
    draw.shuffle(sentences)
    file = f"{name}.txt"
    (folder / "triviaqa/evidence/wikipedia" / file).write_bytes(" ".join(sentences).encode())
    return {
        "QuestionId": name,
        "Question": draw.choice(QUESTIONS[kind]),
        "Answer": {"Value": answer, "Aliases": [answer], "NormalizedAliases": [answer.lower()], "Type": "FreeForm"},
        "EntityPages": [{"Title": name, "Filename": file}],
        "SearchResults": [],
    }
