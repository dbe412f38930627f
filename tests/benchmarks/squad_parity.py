"""F1 on SQuAD's dev after fine-tuning on a slice, ours beside an independent implementation: is the difference noise?

python tests/benchmarks/squad_parity.py --data DIR --out FOLDER [--rows 5000] [--epochs 2] [--seeds 0,1] [--side ours]

The other side is transformers' BertForQuestionAnswering under its Trainer, with windows, spans and answers by loops
written here from the paper's rules. Same weights, slice and recipe (see peer_trainer.py; length 384, stride 128, bf16);
other draws of order, head and dropout. Both sides' answers are scored by this project's official scorer. FOLDER keeps
what is finished, so that the same command goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import peer_trainer

from benchrunner import Recipe

LONGEST, QUESTION, STRIDE, ANSWER, BEST = 384, 64, 128, 30, 20


def ours(arguments: argparse.Namespace, seed: int) -> dict[str, str]:
    runner = peer_trainer.runner(arguments)
    recipe = Recipe(
        epochs=arguments.epochs,
        max_length=LONGEST,
        precision="bf16",
        schedule="after-warmup",
        limit_train=arguments.rows,
    )
    task = runner.plugins.task("squad/1.1")
    fit = runner.plan(task, str(arguments.model), recipe=recipe, seed=seed)
    answers = runner.predict(fit, "dev").answers
    return dict(zip(runner.rows(task, "dev").table.column("id").to_pylist(), answers, strict=True))


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
    """Rows of a SQuAD file as windows."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer, self.contexts = tokenizer, dict[str, Any]()

    def rows(self, path: Path, limit: int | None = None) -> list[dict[str, Any]]:
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        paragraphs = [paragraph for article in articles for paragraph in article["paragraphs"]]
        return [{"context": one["context"], **question} for one in paragraphs for question in one["qas"]][:limit]

    def windows(self, row: dict[str, Any]) -> list[Window]:
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


def trainer(arguments: argparse.Namespace, seed: int) -> dict[str, str]:
    from transformers import AutoTokenizer, BertForQuestionAnswering

    tokenizer = AutoTokenizer.from_pretrained(arguments.model)
    asker, special = Asker(tokenizer), (tokenizer.cls_token_id, tokenizer.sep_token_id)
    train = []
    for row in asker.rows(arguments.data / "squad" / "train-v1.1.json", arguments.rows):
        for window in asker.windows(row):
            first, last = targets(window, row["answers"][0])
            train.append({**window.inputs(special), "start_positions": first, "end_positions": last})
    loop = peer_trainer.trained(
        lambda: BertForQuestionAnswering.from_pretrained(arguments.model),
        tokenizer,
        train,
        arguments,
        seed=seed,
        epochs=arguments.epochs,
        precision="bf16",
    )
    questions = asker.rows(arguments.data / "squad" / "dev-v1.1.json")
    windows = [asker.windows(row) for row in questions]
    found = scores(loop, windows, special)
    pairs = zip(questions, windows, found, strict=True)
    return {row["id"]: best(some, answers, row["context"]) for row, some, answers in pairs}


def scores(loop: Any, windows: list[list[Window]], special: tuple[int, int]) -> list[list[tuple[Any, Any]]]:
    """Of starts and ends, for each window of each row; windows of like length share a batch."""
    import torch

    model, collator = loop.model, loop.data_collator
    found: list[list[Any]] = [[None] * len(some) for some in windows]
    flat = [(row, at) for row, some in enumerate(windows) for at in range(len(some))]
    flat.sort(key=lambda one: len(windows[one[0]][one[1]].pieces))
    model.eval()
    with torch.inference_mode(), torch.autocast("cpu", torch.bfloat16):
        for at in range(0, len(flat), 32):
            some = flat[at : at + 32]
            outputs = model(**collator([windows[row][one].inputs(special) for row, one in some]))
            starts, ends = (logits.float().numpy() for logits in (outputs.start_logits, outputs.end_logits))
            for (row, one), pair in zip(some, zip(starts, ends, strict=True), strict=True):
                found[row][one] = pair
    return found


def main() -> None:
    parser = peer_trainer.options(__doc__.splitlines()[0], seeds=[0, 1])
    parser.add_argument("--rows", type=int, default=5000)
    parser.add_argument("--epochs", type=int, default=2)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    runner = peer_trainer.runner(arguments)
    task = runner.plugins.task("squad/1.1")
    gold = runner.rows(task, "dev")
    sides: dict[str, list[float]] = {"ours": [], "trainer": []}
    for seed in arguments.seeds:
        for side, run in (("ours", ours), ("trainer", trainer)):
            file = arguments.out / f"{side}-{seed}.json"
            if not file.exists() and arguments.side in (None, side):
                file.write_text(json.dumps(run(arguments, seed)), encoding="utf-8")
            if file.exists():
                assert task.scorer is not None
                figures = task.scorer.score(file, gold, {}).figures
                print(f"{side} seed {seed}: " + ", ".join(f"{name} {one.value:.2f}" for name, one in figures.items()))
                sides[side].append(float(figures["f1"].value or 0.0))
    if min(map(len, sides.values())) > 1:
        means = {side: statistics.fmean(values) for side, values in sides.items()}
        error = math.sqrt(sum(statistics.variance(values) / len(values) for values in sides.values()))
        print(f"difference {means['ours'] - means['trainer']:+.2f}, its standard error {error:.2f}")


if __name__ == "__main__":
    main()
