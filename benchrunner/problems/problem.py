"""The interface of a kind of question: how rows become sequences, what is learned, how outputs become answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from typing import TYPE_CHECKING, Any, Literal

from benchrunner.errors import RequestError
from benchrunner.io.identity import class_name, description_of
from benchrunner.problems.probabilities import majority_scores, mean_probability, softmax

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor, nn

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.backbones.export_kind import ExportKind
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.metrics import Metric
    from benchrunner.parameters.recipes import Recipe

Settings = Mapping[str, Any]
"""Settings of `Problem.decode` by name, as JSON."""
Figures = dict[str, list[Any]]
"""Further figures by name, with a value for each row."""

LABEL_FIELDS = ("label_smoothing", "class_weights")
"""Recipe fields of problems whose loss is `FlatBatch.cross_entropy` over the target "label"."""


@dataclass(frozen=True)
class HeadShape:
    """The outputs that a problem needs from the head that a method puts on an encoder."""

    level: Literal["sequence", "token"]
    """Whether there is one output per sequence or one per token."""
    width: int
    """How many numbers an output has; 0 if the methods of the problem need no head."""
    dropout: bool = True
    """Whether dropout is applied to the input of the output layer, as the released code does for all but spans."""
    summary: bool = True
    """At level "sequence", what a linear head reads: True the encoder's summary, False the last state of the token at
    the encoder's `summary_place`."""

    @property
    def reads_summary(self) -> bool:
        """Whether a linear head reads summaries; outputs per token never do."""
        return self.summary and self.level == "sequence"


class Problem(ABC):
    """A kind of question that tasks share. A problem knows no benchmark and no model.

    The way of the data: `check` and `encode` turn rows into features; a head gives outputs, and `gather` turns these
    into raw outputs, which are kept on disk; `decode` turns raw outputs into one answer per row. No step after `gather`
    needs the model, so the same raw outputs can be decoded again with other settings.
    """

    name: str
    """The kind of question, for people and for `identity`."""
    recipe_fields: tuple[str, ...] = ("max_length",)
    """Names of the recipe fields that change how rows are encoded."""
    batch_fields: tuple[str, ...] = ()
    """Names of the recipe fields that change how training in steps forms batches, and their loss."""
    line_columns: tuple[str, ...] = ()
    """Columns of a line of plain text, with TABs between them; empty means `a` and `b`, or the task's text columns. The
    last may be a list: `words`, with white space between them, or `choices`, with TABs."""
    of_whole_batches: bool = False
    """Whether `loss` compares the units of a batch with each other: it then gets whole ones. Not at level "token"."""
    decoding_fields: tuple[str, ...] = ()
    """Names of the fields of the dataclass that training never sees: they are part of the identity of predictions."""

    def identity(self) -> dict[str, Any]:
        """Describe as JSON what decides what is learned: the class, and all its fields but `decoding_fields`.

        The description is part of the identity of fits and of the keys of the feature cache. A fit that starts from
        another fit takes over its head if both problems have the same identity.
        """
        fields: dict[str, Any] = description_of(self) if is_dataclass(self) else {}
        for name in ("name", *self.decoding_fields):
            fields.pop(name, None)
        return {"kind": self.name, "class": class_name(type(self)), **fields}

    @property
    def decoded_with(self) -> dict[str, Any]:
        """The values of `decoding_fields`, as JSON."""
        return {name: description_of(getattr(self, name)) for name in self.decoding_fields}

    @property
    @abstractmethod
    def label_columns(self) -> tuple[str, ...]:
        """Names of the columns with the gold answers. Rows without labels lack all of them.

        `gold` returns the first of these columns; metrics may read the others.
        """

    @property
    def optional_columns(self) -> tuple[str, ...]:
        """Names of columns that either all splits of a task have, or none of them: a model reads them or does not."""
        return ()

    @property
    def export_kind(self) -> ExportKind | None:
        """How other libraries know a linear head for this problem. None: no library does, and `runs export` refuses."""
        return None

    @property
    @abstractmethod
    def head(self) -> HeadShape:
        """Shape of the outputs that the problem needs from a head: how many numbers, and per sequence or per token."""

    def own_layers(self, seed: int) -> nn.Module | None:
        """Make layers of the problem's own, such as thresholds, with fresh weights drawn from the seed.

        They read the head's outputs, (n, width). `loss` and `gather` get what they give in place of these outputs. They
        are trained, kept and handed on with the head. None: the problem has no weights.
        """
        return None

    @property
    def owns_weights(self) -> bool:
        """Whether `own_layers` makes layers."""
        return type(self).own_layers is not Problem.own_layers

    @property
    def tunes(self) -> bool:
        """Whether `tune` chooses settings on dev."""
        return type(self).tune is not Problem.tune

    @property
    def decoding(self) -> Settings:
        """Default settings of `gather` and `decode`, as JSON; part of the identity of kept outputs and predictions."""
        return {}

    @abstractmethod
    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        """Return a table of the rows, in their order, with the problem's columns and types.

        `labelled` says whether labels are required. Raises a `DataError` with the place of a bad row.
        """

    @abstractmethod
    def encode(
        self,
        table: pa.Table,
        encoder: Encoder,
        recipe: Recipe,
        *,
        training: bool,
    ) -> Features:
        """Turn rows into token sequences, with targets if the rows are labelled.

        Features to train on (`training` True) and features whose outputs `gather` reads (False) may differ.
        """

    @abstractmethod
    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        """Return the sum of the losses of a batch, in fp32; training divides it by the batch's `loss_weight`.

        `outputs` holds one output per sequence in the order of the units, or one per token in the order of the batch.
        """

    def gather(
        self,
        outputs: np.ndarray,
        features: Features,
        table: pa.Table,
    ) -> np.ndarray:
        """Turn the head's outputs into `output_count` raw outputs that do not depend on the tokenizer.

        `outputs` holds one output per sequence or per token, in the order of the features. Raw outputs of several fits
        can be averaged, whatever their tokenizers.
        """
        return outputs

    def recurrent_sequences(self, features: Features, table: pa.Table) -> tuple[np.ndarray, Features]:
        """Return the sequences that a recurrent head on frozen states reads.

        The first value is the index in `features` of each token that the head reads, the second the sequences that
        these tokens form. By default, the head reads every token of every sequence.
        """
        import numpy as np

        return np.arange(len(features.tokens), dtype=np.int64), features

    def output_count(self, table: pa.Table) -> int:
        """Return the number of raw outputs for the rows; by default one per row.

        Raw outputs stand in the order of the rows, those of a row together.
        """
        return int(table.num_rows)

    @abstractmethod
    def decode(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: Settings,
    ) -> list[Any]:
        """Turn raw outputs into one answer per row; an answer is a value that JSON can hold.

        `settings` are those of `decoding`, in which tuned settings replace defaults.
        """

    def tune(self, outputs: np.ndarray, table: pa.Table, metric: Metric) -> Settings:
        """Return the settings with which the answers to these labelled rows score best, as JSON; empty for defaults."""
        return {}

    def extra_figures(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: Settings,
    ) -> Figures:
        """Return further figures of each row by name, for example "probabilities", for metrics and boards."""
        return {}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        """Combine the raw outputs of several fits for the same rows into those of an ensemble."""
        raise RequestError(f"Outputs for problems of the kind '{self.name}' cannot be averaged: give a single run.")

    def spell(self, answer: Any) -> str:
        """Write an answer as a line of a prediction file has it."""
        return str(answer)

    @abstractmethod
    def parse(self, text: str) -> Any:
        """Read an answer that `spell` wrote, or raise `ValueError` with what was expected."""

    def gold(self, table: pa.Table) -> list[Any] | None:
        """Return what metrics compare each row's answer with, or None for rows without labels."""
        column = self.label_columns[0]
        if column not in table.column_names:
            return None
        values: list[Any] = table.column(column).to_pylist()
        return values

    def best_answer(self, gold: Any) -> Any:
        """Return an answer that is right for a gold value."""
        return gold

    def strata(self, table: pa.Table) -> list[Any] | None:
        """Return the label of each row for a stratified sample, or None if rows have no labels to group them by."""
        return None

    @abstractmethod
    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Return one raw output for the training rows' best constant answer, which `majority` gives to every row."""

    def fallback_output(self) -> np.ndarray | None:
        """Return one raw output of some valid answer, to fill a board's file for which there is no data at all.

        None, the default, means that an answer cannot be made without training rows and the rows that are asked.
        """
        return None

    def is_constant(self, answers: Sequence[Any]) -> bool:
        """Say whether (nearly) all answers are equal, as if they were given without reading the questions."""
        return are_equal(answers)


class OneOf(Problem):
    """A problem with a score for each possible answer, and a softmax over them; the answer is the most probable one."""

    @property
    @abstractmethod
    def possible(self) -> Sequence[Any]:
        """The possible answers, in the order of the outputs."""

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Settings) -> list[Any]:
        return [self.possible[number] for number in outputs.argmax(axis=-1).tolist()]

    def extra_figures(self, outputs: np.ndarray, table: pa.Table, settings: Settings) -> Figures:
        """Return the figure `probabilities`: for each row, the probability of each possible answer, in their order."""
        return {"probabilities": softmax(outputs).tolist()}

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return mean_probability(outputs)

    def strata(self, table: pa.Table) -> list[Any] | None:
        return self.gold(table)

    def majority_output(self, table: pa.Table) -> np.ndarray:
        return majority_scores(self.possible, self.gold(table) or [])

    def fallback_output(self) -> np.ndarray:
        return majority_scores(self.possible, [])


def are_equal(answers: Sequence[Any]) -> bool:
    """Say whether several answers are all equal, but for one in 200 at most; a single answer tells nothing.

    A model that answers a handful of 10,000 questions has collapsed as one that answers none.
    """
    most = max(Counter(map(repr, answers)).values(), default=0)
    return len(answers) > 1 and 200 * (len(answers) - most) <= len(answers)


def free_pieces(encoder: Encoder, recipe: Recipe, *, pair: bool, least: int = 1) -> int:
    """Return how many pieces of text a sequence can hold beside its special tokens.

    Raises a `RequestError` for fewer than `least`.
    """
    special = encoder.frame.size(pair=pair)
    free = min(recipe.max_length, encoder.max_length) - special
    if free < least:
        raise RequestError(
            f"A max_length of {recipe.max_length} leaves no room beside the special tokens: max_length must be at "
            f"least {special + least}."
        )
    return free
