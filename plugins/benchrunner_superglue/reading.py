"""How the objects of the official files become rows. Objects without labels, such as those of test, have rows too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from benchrunner import DataError

if TYPE_CHECKING:
    import pyarrow as pa

JsonObject = Mapping[str, Any]
QUESTIONS = {"cause": "What was the cause of this?", "effect": "What happened as a result?"}
"""The questions of COPA, as its authors ask them (Roemmele et al. 2011)."""
PLACEHOLDER = "@placeholder"
"""The text in a query of ReCoRD that an entity replaces."""


def _with_label(row: dict[str, Any], given: JsonObject) -> dict[str, Any]:
    return {**row, "label": given["label"]} if "label" in given else row


def copa(given: JsonObject) -> Iterator[JsonObject]:
    """Ask for the cause or the effect after the premise."""
    first = f"{given['premise']} {QUESTIONS[given['question']]}"
    row = {"idx": given["idx"], "first": first, "choices": [given["choice1"], given["choice2"]]}
    yield _with_label(row, given)


def multirc(given: JsonObject) -> Iterator[JsonObject]:
    """Make a row of each answer to each question about a passage. Its numbers are those of the official file."""
    passage = given["passage"]
    for question in passage["questions"]:
        for answer in question["answers"]:
            numbers = {"passage": given["idx"], "question": question["idx"], "answer": answer["idx"]}
            texts = {"first": passage["text"], "second": f"{question['question']} {answer['text']}"}
            yield _with_label(numbers | texts, answer)


def record(given: JsonObject) -> Iterator[JsonObject]:
    """Make a row of each query about a passage: its candidates are the passage's entities, each text once."""
    passage = given["passage"]
    text: str = passage["text"]
    names = [text[entity["start"] : entity["end"] + 1] for entity in passage["entities"]]
    entities = list(dict.fromkeys(names))
    for query in given["qas"]:
        choices = [query["query"].replace(PLACEHOLDER, entity) for entity in entities]
        row = {"idx": query["idx"], "first": text, "choices": choices, "names": entities}
        if "answers" in query:
            answers = [answer["text"] for answer in query["answers"]]
            row["answers"] = answers
            row["label"] = [at for at, entity in enumerate(entities) if entity in answers]
        yield row


def wic(given: JsonObject) -> Iterator[JsonObject]:
    """Mark the word in both sentences."""
    marks = [[at, given[f"start{at + 1}"], given[f"end{at + 1}"]] for at in (0, 1)]
    row = {"idx": given["idx"], "first": given["sentence1"], "second": given["sentence2"], "marks": marks}
    yield _with_label(row, given)


def wsc(given: JsonObject) -> Iterator[JsonObject]:
    """Mark the noun phrase and the pronoun. The file numbers the words between white space, from 0."""
    words = [match.span() for match in re.finditer(r"\S+", given["text"])]
    target = given["target"]
    marks = []
    for name in ("span1", "span2"):
        first = target[f"{name}_index"]
        if not 0 <= first < len(words):
            raise ValueError(f"{name}_index is {first}, and the text has {len(words)} words")
        length = len(target[f"{name}_text"].split())
        last = min(first + max(1, length), len(words)) - 1
        marks.append([0, words[first][0], words[last][1]])
    yield _with_label({"idx": given["idx"], "first": given["text"], "marks": marks}, given)


def winogender_pairs(table: pa.Table) -> pa.Table:
    """Add the column `pair`: two neighbours with one hypothesis, whose premises differ in the gender of a pronoun.

    The toolkit of the benchmark's authors counts pairs in the same way: rows 2k and 2k + 1 of the file, which must have
    equal hypotheses (https://github.com/nyu-mll/jiant-v1-legacy at 8be1fad, jiant/metrics/winogender_metrics.py).
    """
    import pyarrow as pa

    if "label" not in table.column_names:  # a user's own questions are no pairs
        return table
    hypotheses = table.column("b").to_pylist()
    for first in range(0, len(hypotheses), 2):
        if hypotheses[first : first + 1] != hypotheses[first + 1 : first + 2]:
            raise DataError(
                f"rows {first + 1} and {first + 2} of AX-g must be a pair with one hypothesis. Is the file reordered "
                "or cut?"
            )
    return table.append_column("pair", pa.array([row // 2 for row in range(len(hypotheses))], pa.int64()))
