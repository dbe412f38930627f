"""Writes small generated data sets in the official layouts, for `benchrunner demo` and tests.

In most tasks, a word of each row tells the answer, so that a small encoder learns a task from some hundred rows without
pre-training.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from pathlib import Path
from typing import Any

COUNTS = {"train": 160, "val": 48, "test": 32}
"""File -> its number of objects."""
PERSONS = ("Anna", "Tom", "Ruth", "Peter", "Clara", "George")
PLACES = ("Norwich", "Lisbon", "Bergen", "Trieste", "Galway", "Porto")
THINGS = ("lamp", "basket", "letter", "chair", "rope", "kettle")
LIKELY, UNLIKELY = ("bought", "carried", "found"), ("swallowed", "married", "forgave")
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


def _entailment(number: int, draw: random.Random, names: tuple[str, ...], keys: tuple[str, str]) -> dict[str, Any]:
    label = draw.choice(names)
    verbs = {"entailment": "surely", "not_entailment": "never", "contradiction": "never", "neutral": "perhaps"}
    hypothesis = f"{draw.choice(PERSONS)} {verbs[label]} {draw.choice(LIKELY)} the {draw.choice(THINGS)}."
    return {keys[0]: f"{_fact(draw, likely=True)}.", keys[1]: hypothesis, "label": label, "idx": number}


def _cb(number: int, draw: random.Random) -> dict[str, Any]:
    return _entailment(number, draw, ("contradiction", "entailment", "neutral"), ("premise", "hypothesis"))


def _rte(number: int, draw: random.Random) -> dict[str, Any]:
    return _entailment(number, draw, ("entailment", "not_entailment"), ("premise", "hypothesis"))


def _axb(number: int, draw: random.Random) -> dict[str, Any]:
    row = _entailment(number, draw, ("entailment", "not_entailment"), ("sentence1", "sentence2"))
    return row | {"logic": "Negation"}


def _axg(number: int, draw: random.Random) -> dict[str, Any]:
    row = _entailment(number, draw, ("entailment", "not_entailment"), ("premise", "hypothesis"))
    return row | {"premise": f"{row['premise']} {('He', 'She')[number % 2]} was glad."}


def _copa(number: int, draw: random.Random) -> dict[str, Any]:
    label = draw.randrange(2)
    choices = {f"choice{at + 1}": f"{_fact(draw, likely=at == label)}." for at in (0, 1)}
    question = draw.choice(("cause", "effect"))
    return {
        "premise": f"{draw.choice(PERSONS)} laughed.",
        **choices,
        "question": question,
        "label": label,
        "idx": number,
    }


def _multirc(number: int, draw: random.Random) -> dict[str, Any]:
    questions, answers = [], 0
    for question in range(draw.randint(1, 2)):
        given = []
        for answer in range(draw.randint(2, 3)):
            label = draw.random() < 0.45
            given.append({"text": _fact(draw, likely=label), "idx": answers + answer, "label": int(label)})
        answers += len(given)
        questions.append(
            {"question": f"What did {draw.choice(PERSONS)} do?", "answers": given, "idx": 2 * number + question}
        )
    text = f"{_fact(draw, likely=True)}. {_fact(draw, likely=True)}."
    return {"idx": number, "version": 1.1, "passage": {"text": text, "questions": questions}}


def _record(number: int, draw: random.Random) -> dict[str, Any]:
    persons = draw.sample(PERSONS, draw.randint(2, 4))
    right = draw.choice(persons)
    others = ", ".join(person for person in persons if person != right)
    text = f"{others} slept.\n@highlight\n{right} found the {draw.choice(THINGS)}. {right} sang."
    spans = [(at, at + len(person) - 1) for person in persons for at in _places(text, person)]
    entities = [{"start": start, "end": end} for start, end in sorted(spans)]
    answers = [{**entity, "text": right} for entity in entities if text[entity["start"] : entity["end"] + 1] == right]
    query = {"query": "It was @placeholder who sang.", "idx": number, "answers": answers}
    return {"source": "Daily mail", "passage": {"text": text, "entities": entities}, "idx": number, "qas": [query]}


def _places(text: str, word: str) -> Iterator[int]:
    at = text.find(word)
    while at >= 0:
        yield at
        at = text.find(word, at + 1)


def _wic(number: int, draw: random.Random) -> dict[str, Any]:
    word, label = draw.choice(list(SENSES)), draw.random() < 0.5
    first = draw.randrange(2)
    row: dict[str, Any] = {"word": word, "idx": number, "label": label, "version": 1.1}
    for at, sense in ((1, first), (2, first if label else 1 - first)):
        before = f"the {draw.choice(SENSES[word][sense])} "
        row |= {f"sentence{at}": f"{before}{word} of {draw.choice(PLACES)}", f"start{at}": len(before)}
        row[f"end{at}"] = len(before) + len(word)
    return row


def _wsc(number: int, draw: random.Random) -> dict[str, Any]:
    label = draw.random() < 0.4
    first, second = draw.sample(PERSONS, 2)
    text = f"{first} met {second} because {'he' if label else 'they'} {draw.choice(LIKELY)} a {draw.choice(THINGS)}."
    target = {"span1_index": 0, "span1_text": first, "span2_index": 4, "span2_text": text.split()[4]}
    return {"target": target, "idx": number, "label": label, "text": text}


FILES: Mapping[str, tuple[tuple[str, Make], ...]] = {
    "boolq": (("BoolQ", _boolq),),
    "cb": (("CB", _cb),),
    "copa": (("COPA", _copa),),
    "multirc": (("MultiRC", _multirc),),
    "record": (("ReCoRD", _record),),
    "rte-ax": (("RTE", _rte), ("AX-b", _axb), ("AX-g", _axg)),
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
            pairs = (random.Random(f"{name} {seed} {number // 2}") for number in range(count))
            draws = pairs if name == "AX-g" else repeat(draw)  # the rows of a pair of AX-g differ in the pronoun alone
            objects = [make(number, source) for number, source in zip(range(count), draws, strict=False)]
            lines = (
                json.dumps(_unlabelled(given) if file == "test" else given, ensure_ascii=False) for given in objects
            )
            path = folder / name / f"{file}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes("".join(f"{line}\n" for line in lines).encode())


def _unlabelled(value: Any) -> Any:
    """Return a JSON value without its labels, as the test files are."""
    if isinstance(value, dict):
        is_query = "query" in value
        return {
            key: _unlabelled(inner)
            for key, inner in value.items()
            if key != "label" and not (is_query and key == "answers")
        }
    return [_unlabelled(inner) for inner in value] if isinstance(value, list) else value
