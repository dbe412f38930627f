"""Writes small generated data sets in the official layouts, for `benchrunner demo` and tests.

In most tasks, a word of each row tells the answer, so that a small encoder learns a task from some hundred rows without
pre-training.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

COUNTS = {"train": 160, "val": 48, "test": 32}
"""File -> its number of objects."""
PERSONS = ("Anna", "Tom", "Ruth", "Peter", "Clara", "George")
PLACES = ("Norwich", "Lisbon", "Bergen", "Trieste", "Galway", "Porto")
THINGS = ("lamp", "basket", "letter", "chair", "rope", "kettle")
LIKELY = ("bought", "carried", "found")
UNLIKELY = ("swallowed", "married", "forgave")
ADVERBS = {"entailment": "surely", "not_entailment": "never", "contradiction": "never", "neutral": "perhaps"}
"""Label of a pair of sentences -> word of the second sentence that tells it."""
SENSES = {"bank": (("river", "water"), ("money", "loan")), "bat": (("wing", "cave"), ("ball", "team"))}
"""Ambiguous word -> words beside it in each of its two senses."""
Make = Callable[[int, random.Random], dict[str, Any]]
"""Makes an object with its label from its number."""


def _fact(draw: random.Random, *, likely: bool) -> str:
    return f"{draw.choice(PERSONS)} {draw.choice(LIKELY if likely else UNLIKELY)} the {draw.choice(THINGS)}"


def _boolq(number: int, draw: random.Random) -> dict[str, Any]:
    label = draw.random() < 0.6
    passage = f"{draw.choice(PLACES)} -- {_fact(draw, likely=label)} in {draw.choice(PLACES)}, people say."
    return {"question": f"did {_fact(draw, likely=True).lower()}", "passage": passage, "idx": number, "label": label}


def _entailment(
    number: int,
    draw: random.Random,
    labels: tuple[str, ...] = ("entailment", "not_entailment"),
    keys: tuple[str, str] = ("premise", "hypothesis"),
) -> dict[str, Any]:
    premise, hypothesis = keys
    label = draw.choice(labels)
    text = f"{draw.choice(PERSONS)} {ADVERBS[label]} {draw.choice(LIKELY)} the {draw.choice(THINGS)}."
    return {premise: f"{_fact(draw, likely=True)}.", hypothesis: text, "label": label, "idx": number}


def _cb(number: int, draw: random.Random) -> dict[str, Any]:
    return _entailment(number, draw, ("contradiction", "entailment", "neutral"))


def _axb(number: int, draw: random.Random) -> dict[str, Any]:
    row = _entailment(number, draw, keys=("sentence1", "sentence2"))
    return row | {"logic": "Negation"}


def _axg(number: int, draw: random.Random) -> dict[str, Any]:
    """Make a row of a pair, which is drawn in the same way twice and differs in the pronoun alone."""
    row = _entailment(number, draw)
    pronoun = "He" if number % 2 == 0 else "She"
    return row | {"premise": f"{row['premise']} {pronoun} was glad."}


def _copa(number: int, draw: random.Random) -> dict[str, Any]:
    label = draw.randrange(2)
    first = f"{_fact(draw, likely=label == 0)}."
    second = f"{_fact(draw, likely=label == 1)}."
    question = draw.choice(("cause", "effect"))
    return {
        "premise": f"{draw.choice(PERSONS)} laughed.",
        "choice1": first,
        "choice2": second,
        "question": question,
        "label": label,
        "idx": number,
    }


def _multirc(number: int, draw: random.Random) -> dict[str, Any]:
    questions = []
    answers = 0
    for question in range(draw.randint(1, 2)):
        given = []
        for answer in range(draw.randint(2, 3)):
            label = draw.random() < 0.45
            given.append({"text": _fact(draw, likely=label), "idx": answers + answer, "label": int(label)})
        answers += len(given)
        text = f"What did {draw.choice(PERSONS)} do?"
        questions.append({"question": text, "answers": given, "idx": 2 * number + question})
    text = f"{_fact(draw, likely=True)}. {_fact(draw, likely=True)}."
    return {"idx": number, "version": 1.1, "passage": {"text": text, "questions": questions}}


def _record(number: int, draw: random.Random) -> dict[str, Any]:
    persons = draw.sample(PERSONS, draw.randint(2, 4))
    right = draw.choice(persons)
    others = ", ".join(person for person in persons if person != right)
    text = f"{others} slept.\n@highlight\n{right} found the {draw.choice(THINGS)}. {right} sang."
    entities = []
    answers = []
    for name in re.finditer("|".join(persons), text):
        entity = {"start": name.start(), "end": name.end() - 1}
        entities.append(entity)
        if name[0] == right:
            answers.append({**entity, "text": right})
    query = {"query": "It was @placeholder who sang.", "idx": number, "answers": answers}
    return {"source": "Daily mail", "passage": {"text": text, "entities": entities}, "idx": number, "qas": [query]}


def _wic(number: int, draw: random.Random) -> dict[str, Any]:
    word = draw.choice(list(SENSES))
    label = draw.random() < 0.5
    first = draw.randrange(2)
    second = first if label else 1 - first
    row: dict[str, Any] = {"word": word, "idx": number, "label": label, "version": 1.1}
    for at, sense in enumerate((first, second), start=1):
        before = f"the {draw.choice(SENSES[word][sense])} "
        row[f"sentence{at}"] = f"{before}{word} of {draw.choice(PLACES)}"
        row[f"start{at}"] = len(before)
        row[f"end{at}"] = len(before) + len(word)
    return row


def _wsc(number: int, draw: random.Random) -> dict[str, Any]:
    label = draw.random() < 0.4
    first, second = draw.sample(PERSONS, 2)
    pronoun = "he" if label else "they"
    text = f"{first} met {second} because {pronoun} {draw.choice(LIKELY)} a {draw.choice(THINGS)}."
    target = {"span1_index": 0, "span1_text": first, "span2_index": 4, "span2_text": pronoun}
    return {"target": target, "idx": number, "label": label, "text": text}


FILES: Mapping[str, tuple[tuple[str, Make], ...]] = {
    "boolq": (("BoolQ", _boolq),),
    "cb": (("CB", _cb),),
    "copa": (("COPA", _copa),),
    "multirc": (("MultiRC", _multirc),),
    "record": (("ReCoRD", _record),),
    "rte-ax": (("RTE", _entailment), ("AX-b", _axb), ("AX-g", _axg)),
    "wic": (("WiC", _wic),),
    "wsc": (("WSC", _wsc),),
}
"""Task -> its folders, each with the function that makes its objects."""


def write(task: str, seed: int, folder: Path) -> None:
    """Write the task's files below the folder. Equal seeds give equal bytes."""
    for name, make in FILES[task]:
        counts = {name: COUNTS["test"]} if name.startswith("AX") else COUNTS
        for file, count in counts.items():
            draw = random.Random(f"{name} {file} {seed}")
            lines = list[str]()
            for number in range(count):
                if name == "AX-g":  # the rows of a pair are drawn in the same way
                    draw = random.Random(f"{name} {seed} {number // 2}")
                made = make(number, draw)
                shown = _unlabelled(made) if file == "test" else made
                lines.append(json.dumps(shown, ensure_ascii=False) + "\n")
            path = folder / name / f"{file}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes("".join(lines).encode())


def _unlabelled(value: Any) -> Any:
    """Return a JSON value without its labels, as the test files are."""
    if isinstance(value, list):
        return [_unlabelled(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    hidden = {"label", "answers"} if "query" in value else {"label"}
    return {key: _unlabelled(inner) for key, inner in value.items() if key not in hidden}
