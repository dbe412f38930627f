"""The kinds of question that tasks share: how rows become sequences, what is learned, how outputs become answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from benchrunner.errors import RequestError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.backbones.export_kind import ExportKind
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.metrics import Metric
    from benchrunner.recipes import Recipe


@dataclass(frozen=True)
class HeadShape:
    """The outputs that a problem asks a method to build on top of an encoder."""

    level: Literal["sequence", "token"]
    """One output for each sequence's summary, or one for each token."""
    width: int
    """Numbers in one output."""
    dropout: bool = True
    """Whether dropout is applied to the input of the output layer, as the released code does for all but spans."""
    summary: bool = True
    """At level "sequence", what a linear head reads: True the encoder's summary, False the last state of the sequence's
    first token."""

    @property
    def reads_summary(self) -> bool:
        """Whether a linear head reads summaries; outputs per token never do."""
        return self.summary and self.level == "sequence"


class Problem(ABC):
    """A kind of question. Nothing here knows a benchmark or a model.

    Rows are encoded to features; a head's outputs are gathered to *raw outputs*, which are kept; raw outputs are
    decoded to one answer a row. What comes after gathering needs no model, so it can be done again in other ways.
    """

    name: str
    recipe_fields: tuple[str, ...] = ("max_length",)
    """The fields of a recipe that change how rows are encoded."""

    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Everything of it that decides what is learned, as JSON: the kind, the labels in order, how rows are encoded.

        Part of a fit's identity and of the cache's keys; a head goes on from an earlier fit whose problem is the same.
        """

    @property
    @abstractmethod
    def label_columns(self) -> tuple[str, ...]:
        """Names of the columns that hold the gold answers; `gold` reads the first. A user's own questions lack them."""

    @property
    def export_kind(self) -> ExportKind | None:
        """How other libraries know a linear head for this problem, or None where none does: it is then not exported."""
        return None

    @property
    def tunes(self) -> bool:
        """Whether `tune` has anything to choose."""
        return type(self).tune is not Problem.tune

    @property
    def decoding(self) -> Mapping[str, Any]:
        """What decides how outputs are gathered and decoded, as JSON: part of the identity of what is kept of them."""
        return {}

    @abstractmethod
    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        """The rows with this problem's columns and types, or a `DataError` with the place of the first bad one."""

    @abstractmethod
    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """The rows as flat sequences, with their targets where they are labelled.

        `training` asks for what is learned from, else for what `gather` can turn into answers.
        """

    @property
    @abstractmethod
    def head(self) -> HeadShape:
        """The outputs wanted."""

    @abstractmethod
    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """The sum of the losses of a batch, in fp32; training divides by the whole batch's `Features.loss_weights`.

        Outputs are one a sequence in the units' order, or one a token in the batch's own.
        """

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Turn the head's outputs into `output_count` raw outputs that do not depend on the tokenizer.

        `outputs` holds one output per sequence or per token, in the order of the features. Raw outputs of several fits
        can be averaged, whatever their tokenizers.
        """
        return outputs

    def recurrent_sequences(self, features: Features, table: pa.Table) -> tuple[np.ndarray, Features]:
        """What a recurrent head on frozen states reads: places of tokens in `features`, and these as sequences.

        Every token of every sequence, unless a problem knows shorter ones.
        """
        import numpy as np

        return np.arange(len(features.tokens), dtype=np.int64), features

    def output_count(self, table: pa.Table) -> int:
        """How many raw outputs the rows have: one a row, unless a problem has another measure."""
        return int(table.num_rows)

    @abstractmethod
    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        """Raw outputs to one answer a row, as JSON has it; `settings` is `decoding`, with what was tuned put in."""

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> Mapping[str, Any]:
        """The settings with which these labelled rows' answers score best, as JSON; empty where there is no choice."""
        return {}

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> dict[str, list[Any]]:
        """What else can be said of each row, for files that ask for it: probabilities, by name."""
        return {}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        """Several fits' raw outputs for the same rows as one: what an ensemble answers with."""
        raise RequestError(f"Answers to problems of the kind '{self.name}' cannot be averaged.")

    def spell(self, answer: Any) -> str:
        """An answer as it is written to a prediction file."""
        return str(answer)

    @abstractmethod
    def parse(self, text: str) -> Any:
        """What `spell` wrote, or `ValueError` with what was expected."""

    def gold(self, table: pa.Table) -> list[Any] | None:
        """Return what metrics compare each row's answer with, or None for rows without labels."""
        column = self.label_columns[0]
        return table.column(column).to_pylist() if column in table.column_names else None

    def best_answer(self, gold: Any) -> Any:
        """An answer that is as right as can be."""
        return gold

    def strata(self, table: pa.Table) -> list[Any] | None:
        """Return the label of each row for a stratified sample, or None if rows have no labels to group them by."""
        return None

    @abstractmethod
    def majority_output(self, table: pa.Table) -> np.ndarray:
        """One raw output of the best answer that ignores the question: what `majority` predicts everywhere."""

    def fallback_output(self) -> np.ndarray | None:
        """Return one raw output of some valid answer, to fill a board's file for which there is no data at all.

        None, the default, means that an answer cannot be made without training rows and the rows that are asked.
        """
        return None

    def is_constant(self, answers: Sequence[Any]) -> bool:
        """Say whether the answers are all equal, so that they may have been given without reading the questions."""
        return len(answers) > 1 and all(answer == answers[0] for answer in answers)
