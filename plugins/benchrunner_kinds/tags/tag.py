"""One label for each word of a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, PluginError, Recipe, Rows, arrow_array, list_starts, quoted, some_names
from benchrunner.engine import ExportKind, HeadShape, Problem, probabilities, problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.engine import Encoder, Features, FlatBatch


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
    line_columns = ("words",)
    recipe_fields = ("max_length", "context")
    batch_fields = ("batch_unit", "loss_divisor", *problem.LABEL_FIELDS)

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise PluginError(f"Tag needs two or more different labels, not {self.labels}.")
        if spaced := [label for label in self.labels if label.split() != [label]]:
            raise PluginError(f"Tag's labels are written with spaces between them, so none can be {spaced[0]!r}.")

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("token_classification", self.labels)

    @property
    def head(self) -> HeadShape:
        return HeadShape("token", len(self.labels))

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        return _checked_rows(rows, self.labels, labelled=labelled)

    def encode(
        self,
        table: pa.Table,
        encoder: Encoder,
        recipe: Recipe,
        *,
        training: bool,
    ) -> Features:
        """Encode the sentences as windows; the recipe's `context` says whether these show neighbouring sentences."""
        from benchrunner_kinds.tags.tag_windows import encoded_words

        return encoded_words(table, encoder, recipe, self._targets(table), training=training)

    def _targets(self, table: pa.Table) -> np.ndarray | None:
        """Return the number of each word's label, int64 (words,), or None for rows without labels."""
        gold = self.gold(table)
        return None if gold is None else probabilities.label_numbers(chain.from_iterable(gold), self.labels)

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        return batch.cross_entropy(outputs, batch.targets["label"])

    def gather(
        self,
        outputs: np.ndarray,
        features: Features,
        table: pa.Table,
    ) -> np.ndarray:
        """Return the outputs of the words, (words, labels)."""
        import numpy as np

        from benchrunner_kinds.tags.tag_windows import word_tokens

        tokens = word_tokens(features, self.output_count(table))
        return np.asarray(outputs[tokens])

    def recurrent_sequences(self, features: Features, table: pa.Table) -> tuple[np.ndarray, Features]:
        """Let recurrent heads read one state per word, and one sequence per sentence."""
        from benchrunner_kinds.tags.tag_windows import sentences_of_words

        return sentences_of_words(table, features)

    def output_count(self, table: pa.Table) -> int:
        """Return the number of words of all rows."""
        return int(list_starts(table.column("words"))[-1])

    def decode(
        self,
        outputs: np.ndarray,
        table: pa.Table,
        settings: problem.Settings,
    ) -> list[Any]:
        numbers = outputs.argmax(axis=-1)
        labels = [self.labels[number] for number in numbers]  # of all words
        starts = list_starts(table.column("words")).tolist()
        return [labels[start:end] for start, end in pairwise(starts)]

    def average(self, outputs: Sequence[np.ndarray]) -> np.ndarray:
        return probabilities.mean_probability(outputs)

    def spell(self, answer: Any) -> str:
        return " ".join(answer)

    def parse(self, text: str) -> list[str]:
        answer = text.split()
        if not answer or not set(answer) <= set(self.labels):
            raise ValueError(f"a label for each word, with spaces between them, out of {', '.join(self.labels)}")
        return answer

    def majority_output(self, table: pa.Table) -> np.ndarray:
        labels = chain.from_iterable(self.gold(table) or [])
        return probabilities.majority_scores(self.labels, labels)

    def is_constant(self, answers: Sequence[Any]) -> bool:
        """Say whether all words of all sentences have the same label."""
        return len(answers) > 1 and len(set(chain.from_iterable(answers))) == 1


def _checked_rows(rows: Rows, labels: Sequence[str], *, labelled: bool) -> pa.Table:
    """Return the columns `words`, `labels`, `document` and further lists of texts, or raise `DataError`.

    Only `words` is required; `labels` too, if the rows are to be labelled.
    """
    import pyarrow as pa

    names = rows.table.column_names
    if "words" not in names or (labelled and "labels" not in names):
        raise DataError(f"{rows.origin}: columns words, labels are needed; found {some_names(names)}.")
    words = rows.text_lists("words")
    columns = {"words": arrow_array(words, pa.list_(pa.string()))}
    for name in names:
        column = rows.table.column(name)
        if name == "labels":
            is_kept = labelled or column.null_count < len(rows)
        else:
            is_kept = name != "words" and _is_list_of_texts(column.type)
        if is_kept:
            columns[name] = arrow_array(_lists(rows, name, words), pa.list_(pa.string()))
    if "labels" in columns:
        _check_labels(rows, columns["labels"].to_pylist(), labels)
    if "document" in names:
        columns["document"] = arrow_array(_documents(rows), pa.int64())
    return pa.table(columns)


def _lists(rows: Rows, name: str, words: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return a column of lists with one text per word, or raise `DataError`."""
    lists = rows.text_lists(name)
    for row, texts in enumerate(lists):
        count = len(words[row])
        if len(texts) != count:
            raise DataError(
                f"{rows.where(row)}: column '{name}' has {len(texts)} entries for a sentence of {count} words."
            )
    return lists


def _is_list_of_texts(column_type: pa.DataType) -> bool:
    import pyarrow as pa

    is_list = pa.types.is_list(column_type) or pa.types.is_large_list(column_type)
    return bool(is_list and column_type.value_type in (pa.string(), pa.large_string()))


def _check_labels(
    rows: Rows,
    sentences: Sequence[Sequence[str]],
    labels: Sequence[str],
) -> None:
    known = set(labels)
    for row, sentence in enumerate(sentences):
        for number, label in enumerate(sentence, start=1):
            if label not in known:
                word = f"word {number} of this sentence has the label {quoted(label)}"
                raise DataError(f"{rows.where(row)}: {word}, which is not one of {', '.join(labels)}.")


def _documents(rows: Rows) -> list[int]:
    """Return the number of each row's document; the rows of a document must be neighbours."""
    documents: list[int] = rows.table.column("document").to_pylist()
    seen = set[int]()
    for row, document in enumerate(documents):
        if not isinstance(document, int):
            raise DataError(f"{rows.where(row)}: column 'document' must be a whole number, found {quoted(document)}.")
        if document in seen and document != documents[row - 1]:
            raise DataError(
                f"{rows.where(row)}: document {document} continues here, after a sentence of document "
                f"{documents[row - 1]}; the sentences of a document must be neighbours."
            )
        seen.add(document)
    return documents
