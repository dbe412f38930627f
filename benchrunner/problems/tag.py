"""One label for each word of a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.errors import PluginError
from benchrunner.problems.probabilities import mean_probability
from benchrunner.problems.problem import HeadShape, Problem
from benchrunner.problems.tag_rows import checked_rows, sentence_starts

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.parameters.recipes import Recipe


@final
@dataclass(frozen=True)
class Tag(Problem):
    """A label for each word: a softmax over the labels at each word's first piece. An answer is a list of labels.

    A row is a sentence. Columns: `words`, a list; `labels`, a list with one label per word, in rows that are labelled;
    `document`, a number that changes where the next document begins, if the source knows it; further lists with one
    text per word. There is one raw output per word. `tag_windows.windows` says which words a sequence shows.
    """

    labels: tuple[str, ...]
    """The labels, in the order of the head's outputs."""
    name: str = "tag"
    label_columns = ("labels",)
    recipe_fields = ("max_length", "context")
    batch_fields = ("batch_unit", "loss_divisor")

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise PluginError(f"Tag needs two or more different labels, not {self.labels}.")
        if spaced := [label for label in self.labels if label.split() != [label]]:
            raise PluginError(f"Tag's labels are written with spaces between them, so none can be {spaced[0]!r}.")

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": list(self.labels)}

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("token_classification", self.labels)

    @property
    def head(self) -> HeadShape:
        return HeadShape("token", len(self.labels))

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        return checked_rows(rows, self.labels, labelled=labelled)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """Encode the sentences as windows; the recipe's `context` says whether these show neighbouring sentences."""
        from benchrunner.problems.tag_sequences import encoded_words

        return encoded_words(table, encoder, recipe, self._targets(table), training=training)

    def _targets(self, table: pa.Table) -> np.ndarray | None:
        """Return the number of each word's label, int64 (words,), or None for rows without labels."""
        import numpy as np

        if "labels" not in table.column_names:
            return None
        index_of = {label: index for index, label in enumerate(self.labels)}
        words = chain.from_iterable(table.column("labels").to_pylist())
        return np.fromiter((index_of[label] for label in words), dtype=np.int64)

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        from benchrunner.features.arrays import IGNORED

        return torch.nn.functional.cross_entropy(
            outputs.float(), batch.targets["label"], ignore_index=IGNORED, reduction="sum"
        )

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the outputs of the words, (words, labels)."""
        import numpy as np

        from benchrunner.problems.tag_sequences import word_tokens

        return np.asarray(outputs[word_tokens(features, self.output_count(table))])

    def recurrent_sequences(self, features: Features, table: pa.Table) -> tuple[np.ndarray, Features]:
        """Let recurrent heads read one state per word, and one sequence per sentence."""
        from benchrunner.problems.tag_sequences import sentences_of_words

        return sentences_of_words(table, features)

    def output_count(self, table: pa.Table) -> int:
        """Return the number of words of all rows."""
        return int(sentence_starts(table)[-1])

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        answers = [self.labels[index] for index in outputs.argmax(axis=-1)]
        return [answers[start:end] for start, end in pairwise(sentence_starts(table).tolist())]

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return mean_probability(outputs)

    def spell(self, answer: Any) -> str:
        return " ".join(answer)

    def parse(self, text: str) -> list[str]:
        answer = text.split()
        if not answer or not set(answer) <= set(self.labels):
            raise ValueError(f"a label for each word, with spaces between them, out of {', '.join(self.labels)}")
        return answer

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Choose the most frequent label; among equally frequent labels, the first in the problem's order."""
        import numpy as np

        counts = Counter(chain.from_iterable(table.column("labels").to_pylist()))
        majority = max(self.labels, key=lambda label: counts[label])
        return np.array([float(label == majority) for label in self.labels], dtype=np.float32)

    def is_constant(self, answers: Sequence[Any]) -> bool:
        """Say whether all words of all sentences have the same label."""
        return len(answers) > 1 and len(set(chain.from_iterable(answers))) == 1
