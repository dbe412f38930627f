"""Tasks as transformers' Trainer takes them: a model, examples, batches and answers. Uses no code of this project."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import peer_squad

BATCH = 32
RATE = 5e-5
"""Learning rate of a fit."""
SORTED = 50
"""Batches that the Trainer sorts by length together, where the data set is large enough: its own default."""

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Description:
    """What transformers must know of a task."""

    kind: Literal["sentences", "choices", "spans"]
    length: int
    """Largest number of tokens of a sequence."""
    labels: Sequence[str] = ()
    """The labels; none for a regression."""


class PeerTask(ABC):
    """A task for transformers."""

    def __init__(self, task: Description, model: Path) -> None:
        from transformers import AutoTokenizer

        self.length, self.labels, self.folder = task.length, list(task.labels), model
        self.tokenizer = AutoTokenizer.from_pretrained(model)

    @abstractmethod
    def model(self) -> Any:
        """Load the model with a fresh head."""

    @abstractmethod
    def examples(self, rows: Rows, *, padded: bool = False) -> list[dict[str, Any]]:
        """Return one example for each sequence, or for each row of several sequences."""

    @abstractmethod
    def collator(self, *, padded: bool = False) -> Any:
        """Return what makes a batch of examples; the examples of a batch may have several lengths."""

    @abstractmethod
    def answers(self, loop: Any, rows: Rows, *, precision: str) -> list[Any]:
        """Let the model of a Trainer answer rows."""

    def lengths(self, examples: list[dict[str, Any]]) -> list[int]:
        """Return the lengths by which the Trainer groups examples."""
        return [len(example["input_ids"]) for example in examples]


class _Sentences(PeerTask):
    """Classification and regression of texts and of pairs of texts."""

    def model(self) -> Any:
        from transformers import AutoModelForSequenceClassification

        return AutoModelForSequenceClassification.from_pretrained(self.folder, num_labels=len(self.labels) or 1)

    def examples(self, rows: Rows, *, padded: bool = False) -> list[dict[str, Any]]:
        first, second = [row["a"] for row in rows], [row["b"] for row in rows] if "b" in rows[0] else None
        padding = "max_length" if padded else False
        encoded = self.tokenizer(first, second, truncation=True, max_length=self.length, padding=padding)
        inputs = {name: encoded[name] for name in self.tokenizer.model_input_names}
        return [
            {**{name: values[number] for name, values in inputs.items()}, "label": self._target(row["label"])}
            for number, row in enumerate(rows)
        ]

    def _target(self, label: Any) -> float | int:
        return self.labels.index(label) if self.labels else float(label)

    def collator(self, *, padded: bool = False) -> Any:
        from transformers import DataCollatorWithPadding, default_data_collator

        return default_data_collator if padded else DataCollatorWithPadding(self.tokenizer)

    def answers(self, loop: Any, rows: Rows, *, precision: str) -> list[Any]:
        outputs = loop.predict(self.examples(rows)).predictions
        return [self.labels[best] for best in outputs.argmax(-1)] if self.labels else [float(row[0]) for row in outputs]


class _Choices(PeerTask):
    """One of several continuations of a text."""

    def model(self) -> Any:
        from transformers import AutoModelForMultipleChoice

        return AutoModelForMultipleChoice.from_pretrained(self.folder)

    def examples(self, rows: Rows, *, padded: bool = False) -> list[dict[str, Any]]:
        padding, examples = "max_length" if padded else False, []
        for row in rows:
            first = [row["a"]] * len(row["choices"])
            encoded = self.tokenizer(first, row["choices"], truncation=True, max_length=self.length, padding=padding)
            examples.append(
                {**{name: encoded[name] for name in self.tokenizer.model_input_names}, "label": row["label"]}
            )
        return examples

    def lengths(self, examples: list[dict[str, Any]]) -> list[int]:
        return [max(map(len, example["input_ids"])) for example in examples]

    def collator(self, *, padded: bool = False) -> Any:
        from transformers import DataCollatorForMultipleChoice, default_data_collator

        return default_data_collator if padded else DataCollatorForMultipleChoice(self.tokenizer)

    def answers(self, loop: Any, rows: Rows, *, precision: str) -> list[Any]:
        return [int(best) for best in loop.predict(self.examples(rows)).predictions.argmax(-1)]


class _Spans(PeerTask):
    """Answers cut out of a context; see peer_squad.py."""

    def __init__(self, task: Description, model: Path) -> None:
        super().__init__(task, model)
        self.asker = peer_squad.Asker(self.tokenizer)

    def model(self) -> Any:
        from transformers import AutoModelForQuestionAnswering

        return AutoModelForQuestionAnswering.from_pretrained(self.folder)

    def examples(self, rows: Rows, *, padded: bool = False) -> list[dict[str, Any]]:
        examples = self.asker.examples([_question(row) for row in rows])
        if padded:
            return [dict(self.tokenizer.pad(example, "max_length", self.length)) for example in examples]
        return examples

    def collator(self, *, padded: bool = False) -> Any:
        from transformers import DataCollatorWithPadding, default_data_collator

        return default_data_collator if padded else DataCollatorWithPadding(self.tokenizer)

    def answers(self, loop: Any, rows: Rows, *, precision: str) -> list[Any]:
        return list(self.asker.answers(loop, [_question(row) for row in rows], precision=precision).values())


def peer_task(task: Description, model: Path) -> PeerTask:
    """Return the task for transformers, with the model and the tokenizer of a folder."""
    kinds: dict[str, type[PeerTask]] = {"sentences": _Sentences, "choices": _Choices, "spans": _Spans}
    return kinds[task.kind](task, model)


def grouped_trainer(
    peer: PeerTask,
    examples: list[dict[str, Any]],
    folder: Path,
    *,
    precision: str,
    padded: bool,
    seed: int,
    rate: float = RATE,
    callbacks: Sequence[Any] = (),
) -> Any:
    """Return a Trainer of one epoch with the flags that make it fastest, or with all examples `padded` to one length.

    Its batches come from rows that are sorted by length as it sorts them over a large data set, in parts of 50 batches.
    """
    import torch
    from transformers import Trainer, TrainingArguments, set_seed
    from transformers.trainer_pt_utils import get_length_grouped_indices

    set_seed(seed)
    arguments = TrainingArguments(
        output_dir=str(folder),
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=BATCH,
        num_train_epochs=1,
        learning_rate=rate,
        warmup_steps=0.1,
        weight_decay=0.01,
        seed=seed,
        train_sampling_strategy="random" if padded else "group_by_length",
        bf16=precision == "bf16",
        use_cpu=not torch.cuda.is_available(),
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    loop = Trainer(
        peer.model(),
        arguments,
        train_dataset=examples,
        data_collator=peer.collator(padded=padded),
        processing_class=peer.tokenizer,
        callbacks=list(callbacks),
    )
    if not padded:
        order = get_length_grouped_indices(peer.lengths(examples), BATCH, SORTED)
        loop._get_train_sampler = lambda *_: order
    return loop


def _question(row: dict[str, Any]) -> dict[str, Any]:
    """Return a question in the form of SQuAD's file."""
    pairs = zip(row["answers"], row["starts"], strict=True)
    return {**row, "answers": [{"text": text, "answer_start": start} for text, start in pairs]}
