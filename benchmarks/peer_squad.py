"""SQuAD without this project's code: windows, targets and answers by loops written from the rules of the BERT paper."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONGEST, QUESTION, STRIDE, ANSWER, BEST = 384, 64, 128, 30, 20


@dataclass(frozen=True)
class Window:
    """A question with a part of its context."""

    question: list[int]
    pieces: list[int]
    places: list[tuple[int, int]]
    """Characters of each piece."""
    first: int
    """The first piece, counted over the context's."""

    @property
    def lead(self) -> int:
        """Tokens before the context: [CLS], the question, [SEP]."""
        return len(self.question) + 2

    def inputs(self, special: tuple[int, int]) -> dict[str, list[int]]:
        start, between = special
        a, b = [start, *self.question, between], [*self.pieces, between]
        return {
            "input_ids": a + b,
            "token_type_ids": [0] * len(a) + [1] * len(b),
            "attention_mask": [1] * (len(a) + len(b)),
        }

    def context(self, piece: int) -> float:
        """How much of the text a piece sees here, by the released code's rule."""
        place = piece - self.first
        inside = 0 <= place < len(self.pieces)
        return min(place, len(self.pieces) - 1 - place) + 0.01 * len(self.pieces) if inside else -1.0


class Asker:
    """Cuts the contexts of questions into windows."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.contexts = tokenizer, dict[str, Any]()
        self.special = (tokenizer.cls_token_id, tokenizer.sep_token_id)

    def rows(self, path: Path, limit: int | None = None) -> list[dict[str, Any]]:
        """Return the first questions of a SQuAD file, each with its context and its answers."""
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        return [{"context": part["context"], **question} for part in paragraphs for question in part["qas"]][:limit]

    def examples(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the windows of questions as training examples."""
        examples = []
        for row in rows:
            for window in self.windows(row):
                first, last = targets(window, row["answers"][0])
                examples.append({**window.inputs(self.special), "start_positions": first, "end_positions": last})
        return examples

    def answers(self, loop: Any, rows: list[dict[str, Any]], *, precision: str = "bf16") -> dict[str, str]:
        """Return the answers of a Trainer's model to questions, by their ids."""
        windows = [self.windows(row) for row in rows]
        pairs = zip(rows, windows, scores(loop, windows, self.special, precision), strict=True)
        return {row["id"]: best(parts, outputs, row["context"]) for row, parts, outputs in pairs}

    def windows(self, row: dict[str, Any]) -> list[Window]:
        """Cut the context of a question."""
        text = row["context"]
        if text not in self.contexts:
            made = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
            self.contexts[text] = made["input_ids"], made["offset_mapping"]
        pieces, places = self.contexts[text]
        question = self.tokenizer(row["question"], add_special_tokens=False)["input_ids"][:QUESTION]
        room, at, found = LONGEST - len(question) - 3, 0, list[Window]()
        while True:
            size = min(room, len(pieces) - at)
            found.append(Window(question, pieces[at : at + size], places[at : at + size], at))
            if at + size >= len(pieces):
                return found
            at += min(size, STRIDE)


def targets(window: Window, answer: dict[str, Any]) -> tuple[int, int]:
    """The answer's first and last token, or [CLS] twice where the window does not hold it."""
    left = answer["answer_start"]
    right = left + len(answer["text"])
    if not window.places or window.places[0][0] > left or window.places[-1][1] < right:
        return 0, 0
    first = next(at for at, (_, end) in enumerate(window.places) if end > left)
    last = max(at for at, (begin, _) in enumerate(window.places) if begin < right)
    return window.lead + first, window.lead + last


def best(windows: list[Window], scores: list[tuple[Any, Any]], context: str) -> str:
    """The best span among the best starts and ends of each window."""
    return max(spans(windows, scores, context), default=(0.0, ""))[1]


def spans(windows: list[Window], scores: list[tuple[Any, Any]], context: str) -> Iterator[tuple[float, str]]:
    for at, (window, (starts, ends)) in enumerate(zip(windows, scores, strict=True)):
        borders = range(window.lead, window.lead + len(window.pieces))
        for i in (-starts).argsort()[:BEST]:
            seen = [one.context(window.first + i - window.lead) for one in windows]
            if i not in borders or seen.index(max(seen)) != at:
                continue
            for j in (-ends).argsort()[:BEST]:
                if j in borders and i <= j < i + ANSWER:
                    first, last = window.places[i - window.lead][0], window.places[j - window.lead][1]
                    yield float(starts[i] + ends[j]), context[first:last]


def scores(
    loop: Any, windows: list[list[Window]], special: tuple[int, int], precision: str
) -> list[list[tuple[Any, Any]]]:
    """Compute the scores of starts and ends for each window of each row; windows of like length share a batch."""
    import torch

    model, collator = loop.model, loop.data_collator
    found: list[list[Any]] = [[None] * len(some) for some in windows]
    flat = [(row, at) for row, some in enumerate(windows) for at in range(len(some))]
    flat.sort(key=lambda one: len(windows[one[0]][one[1]].pieces))
    model.eval()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        for at in range(0, len(flat), 32):
            some = flat[at : at + 32]
            outputs = model(**collator([windows[row][one].inputs(special) for row, one in some]))
            starts, ends = (logits.float().numpy() for logits in (outputs.start_logits, outputs.end_logits))
            for (row, one), pair in zip(some, zip(starts, ends, strict=True), strict=True):
                found[row][one] = pair
    return found
