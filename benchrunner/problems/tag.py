"""One label for each word of a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.errors import DataError, PluginError, RequestError
from benchrunner.problems.probabilities import mean_probability
from benchrunner.problems.problem import HeadShape, Problem

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import torch

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.data.rows import Rows
    from benchrunner.features.arrays import Features
    from benchrunner.features.flat_batch import FlatBatch
    from benchrunner.problems.tag_windows import Borders
    from benchrunner.recipes import Recipe


@final
@dataclass(frozen=True)
class Tag(Problem):
    """Softmax over the labels at each word's first piece; the answer is the likeliest label of every word.

    Columns, a row being a sentence: `words`; `labels`, one a word, where the rows are labelled; `document` where the
    source knows it, a number that changes where the next document begins; and further lists of texts, one a word.
    Raw outputs are one a word. See `contexts.windows` for which words a sequence shows.
    """

    labels: tuple[str, ...]
    """In the order of the head's outputs."""
    name: str = "tag"
    label_columns = ("labels",)
    recipe_fields = ("max_length", "context")

    def __post_init__(self) -> None:
        if len(set(self.labels)) != len(self.labels) or len(self.labels) < 2:
            raise PluginError(f"Tag needs two or more different labels, not {self.labels}.")
        if strange := [label for label in self.labels if label.split() != [label]]:
            raise PluginError(f"Tag's labels are written with spaces between them, so none can be {strange[0]!r}.")

    def identity(self) -> dict[str, Any]:
        return {"kind": self.name, "labels": list(self.labels)}

    @property
    def export_kind(self) -> ExportKind:
        return ExportKind("token_classification", self.labels)

    @property
    def head(self) -> HeadShape:
        return HeadShape("token", len(self.labels))

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        names = rows.table.column_names
        if "words" not in names or (labelled and "labels" not in names):
            raise DataError(f"{rows.origin}: columns words, labels are needed; found {', '.join(names)}.")
        words = _texts(rows, "words")
        columns: dict[str, pa.Array] = {"words": pa.array(words, pa.list_(pa.string()))}
        for name in names:
            unlabelled = name == "labels" and not labelled and rows.table.column(name).null_count == len(rows)
            wanted = name == "labels" or _is_list_of_texts(rows.table.column(name).type)
            if name not in ("words", "document") and wanted and not unlabelled:
                columns[name] = pa.array(_texts(rows, name, words), pa.list_(pa.string()))
        if "labels" in columns:
            self._check_labels(rows, columns["labels"].to_pylist())
        if "document" in names:
            columns["document"] = pa.array(_documents(rows), pa.int64())
        return pa.table(columns)

    def _check_labels(self, rows: Rows, labels: list[list[str]]) -> None:
        known = set(self.labels)
        for at, sentence in enumerate(labels):
            for place, label in enumerate(sentence):
                if label not in known:
                    raise DataError(
                        f"{rows.where(at)}: word {place + 1} of this sentence has the label {label!r}, "
                        f"which is not one of {', '.join(self.labels)}."
                    )

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """A unit is a window. It takes as much of a batch as sentences begin in it, and its loss sums over its words.

        A sequence's owner is the row of the first word that is scored in it. The guide `word` is at each token the
        number of the word scored there, counted over all rows, or -1.
        """
        import numpy as np

        from benchrunner.features.arrays import IGNORED, Features
        from benchrunner.features.pieces import Part
        from benchrunner.problems.tag_windows import windows

        room = min(recipe.max_length, encoder.max_length) - encoder.frame.size(pair=False)
        if room < 1:
            raise RequestError(f"A max_length of {recipe.max_length} leaves no room beside the special tokens.")
        pieces, borders = _laid_out(table, encoder, recipe.context, room)
        found = windows(borders, recipe.context, room, training=training)
        begins = borders.words[found.first]
        joined = encoder.frame.join(Part(pieces, begins, borders.words[found.end] - begins))
        places = joined.first[found.scored_in] + borders.words[:-1] - begins[found.scored_in]

        def at_places(values: np.ndarray, elsewhere: int) -> np.ndarray:
            tokens = np.full(len(joined.sequences.tokens), elsewhere, dtype=np.int64)
            tokens[places] = values
            return tokens

        labels, count = self._targets(table), len(found.first)
        _, first_scored = np.unique(found.scored_in, return_index=True)
        return Features.of(
            joined.sequences,
            owner=np.searchsorted(borders.sentences, first_scored, side="right") - 1,
            token_targets={} if labels is None else {"label": at_places(labels, IGNORED)},
            guides={"word": at_places(np.arange(len(places)), -1)},
            counts=np.bincount(found.scored_in[borders.sentences[:-1]], minlength=count),
            loss_weights=np.bincount(found.scored_in, minlength=count),
        )

    def _targets(self, table: pa.Table) -> np.ndarray | None:
        """The number of each word's label, int64 (words,)."""
        import numpy as np

        if "labels" not in table.column_names:
            return None
        number = {label: at for at, label in enumerate(self.labels)}
        flat = chain.from_iterable(table.column("labels").to_pylist())
        return np.fromiter((number[label] for label in flat), dtype=np.int64)

    def loss(self, outputs: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        import torch

        from benchrunner.features.arrays import IGNORED

        return torch.nn.functional.cross_entropy(
            outputs.float(), batch.targets["label"], ignore_index=IGNORED, reduction="sum"
        )

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        import numpy as np

        return np.asarray(outputs[_places(features, self.output_count(table))])

    def recurrent_sequences(self, features: Features, table: pa.Table) -> tuple[np.ndarray, Features]:
        """The words, each by its scored piece, as one sequence a sentence."""
        import numpy as np

        from benchrunner.features.arrays import Features, Sequences

        count = self.output_count(table)
        places, starts = _places(features, count), _sentences(table)
        words = Sequences(np.arange(count, dtype=np.int32), np.zeros(count, dtype=np.int8), starts)
        sentences = Features.of(
            words,
            token_targets={name: np.asarray(values[places]) for name, values in features.token_targets.items()},
            guides={"word": np.arange(count, dtype=np.int64)},
            loss_weights=np.diff(starts),
        )
        return places, sentences

    def output_count(self, table: pa.Table) -> int:
        """All words."""
        return int(_sentences(table)[-1])

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        answers = [self.labels[at] for at in outputs.argmax(axis=-1)]
        return [answers[start:end] for start, end in pairwise(_sentences(table).tolist())]

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
        """The most frequent label; of equally frequent ones the first in the problem's order."""
        import numpy as np

        counts = Counter(chain.from_iterable(table.column("labels").to_pylist()))
        likeliest = max(self.labels, key=lambda label: counts[label])
        return np.array([float(label == likeliest) for label in self.labels], dtype=np.float32)

    def is_constant(self, answers: Sequence[Any]) -> bool:
        return len(answers) > 1 and len(set(chain.from_iterable(answers))) == 1


def _texts(rows: Rows, name: str, words: list[list[str]] | None = None) -> list[list[str]]:
    """A column of lists of texts, one for each word, or a `DataError` with the place of the first bad list."""
    found: list[list[str]] = rows.table.column(name).to_pylist()
    for at, texts in enumerate(found):
        if not isinstance(texts, list) or not texts:
            raise DataError(f"{rows.where(at)}: column '{name}' must be a list of one text or more, found {texts!r}.")
        if strange := [text for text in texts if not isinstance(text, str)]:
            raise DataError(f"{rows.where(at)}: column '{name}' must hold nothing but texts, found {strange[0]!r}.")
        if words is not None and len(texts) != len(words[at]):
            raise DataError(
                f"{rows.where(at)}: column '{name}' has {len(texts)} entries for a sentence of {len(words[at])} words."
            )
    return found


def _is_list_of_texts(kind: pa.DataType) -> bool:
    import pyarrow as pa

    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(lists and kind.value_type in (pa.string(), pa.large_string()))


def _documents(rows: Rows) -> list[int]:
    """The documents' numbers: each row has one, and none comes back."""
    found: list[int] = rows.table.column("document").to_pylist()
    seen = set[int]()
    for at, document in enumerate(found):
        if not isinstance(document, int):
            raise DataError(f"{rows.where(at)}: column 'document' must be a whole number, found {document!r}.")
        if document in seen and document != found[at - 1]:
            raise DataError(
                f"{rows.where(at)}: document {document} goes on here after another one began; "
                "the sentences of a document must be neighbours."
            )
        seen.add(document)
    return found


def _sentences(table: pa.Table) -> np.ndarray:
    """Where sentences begin, int64 (rows + 1,), counted in words."""
    import numpy as np
    import pyarrow.compute as pc

    counts = pc.list_value_length(table.column("words")).to_numpy()
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _laid_out(table: pa.Table, encoder: Encoder, context: str, room: int) -> tuple[np.ndarray, Borders]:
    """The pieces of all words, int32, and the borders. A word has one piece at the least and `room` at the most."""
    import numpy as np

    from benchrunner.features.flat_batch import ranges
    from benchrunner.problems.tag_windows import Borders

    sentences, documents = _sentences(table), None
    if context != "sentence":
        if "document" not in table.column_names:
            raise RequestError(
                f"The context '{context}' needs to know where documents begin, and these rows do not say it (data sets "
                "on the hub seldom do): ask for --context sentence, or give files with document borders."
            )
        number = table.column("document").to_numpy()
        documents = sentences[np.concatenate([[0], np.flatnonzero(np.diff(number)) + 1, [len(number)]])]
    spelled = table.column("words").combine_chunks().flatten().dictionary_encode()
    known, which = encoder.words(spelled.dictionary.to_pylist()), spelled.indices.to_numpy()
    counts, begins = np.minimum(known.counts, room)[which], known.starts[:-1][which]
    words = np.concatenate([[0], np.cumsum(np.maximum(counts, 1), dtype=np.int64)])
    pieces = np.full(words[-1], encoder.frame.unknown, dtype=np.int32)
    pieces[ranges(words[:-1], counts)] = known.tokens[ranges(begins, counts)]
    return pieces, Borders(words, sentences, documents)


def _places(features: Features, words: int) -> np.ndarray:
    """The token at which each word is scored, int64 (words,)."""
    import numpy as np

    word = np.asarray(features.guides["word"])
    places = np.flatnonzero(word >= 0)
    order = np.argsort(word[places], kind="stable")
    if not np.array_equal(word[places[order]], np.arange(words)):
        raise PluginError(f"These features do not score each of the {words:,} words once: they are of other rows.")
    return np.asarray(places[order])
