"""Retrieval from a corpus by two towers: queries and passages are encoded apart, and compared by inner products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, final, get_args

from benchrunner import DataError, PluginError, Recipe, RequestError, Rows, arrow_array
from benchrunner.engine import HeadShape
from benchrunner_ranking.rankings import RankingProblem, judgement_column, judgements, ranking

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import Tensor

    from benchrunner.engine import Encoder, Features, FlatBatch
    from benchrunner_ranking.corpus import Corpus

Similarity = Literal["cosine", "dot"]
NOTHING_RELEVANT = "No query of the training rows has a relevant passage, so that there is nothing to learn."
NO_PASSAGE = -1
"""Number behind the relevant passages of a query in a batch."""


@final
@dataclass(frozen=True)
class Retrieve(RankingProblem):
    """Passages of a corpus for a query. Fitted by the methods `two-tower` and `frozen-towers`.

    Columns: `a`, the query; `corpus`, the fingerprint of the corpus that is searched; `label` as in `RankingProblem`;
    in training rows `passages`, the texts of the judged passages in the order of `label`. An answer ranks the `depth`
    nearest passages.

    Training makes a pair of each query and each of its first `positives` relevant passages. The loss of a pair is the
    cross-entropy of its passage among the passages of the batch ("in-batch negatives"), without other passages that are
    relevant to its query, by `scale` times the similarity.
    """

    corpus: Corpus
    """The passages that are searched."""
    similarity: Similarity = "cosine"
    scale: float = 20.0
    """Factor of similarities in the loss, 1 / temperature; 20 is the default of sentence-transformers."""
    positives: int = 4
    """Most relevant passages of a query that training learns from, those of the highest grade first."""
    depth: int = 100
    """How many passages an answer ranks."""
    name: str = "retrieve"
    line_columns = ("a",)
    of_whole_batches = True
    decoding_fields = ("corpus", "depth")

    def __post_init__(self) -> None:
        if self.similarity not in get_args(Similarity):
            raise PluginError(f"Retrieve compares by {' or '.join(get_args(Similarity))}, not by '{self.similarity}'.")
        if min(self.positives, self.depth) < 1 or not self.scale > 0:
            raise PluginError("Retrieve needs positives and depth of 1 or more, and a scale above 0.")

    @property
    def head(self) -> HeadShape:
        """Nothing stands on top of a tower: `loss` refuses methods that put a layer of this width there."""
        return HeadShape("sequence", 0)

    def check(self, rows: Rows, *, labelled: bool) -> pa.Table:
        import pyarrow as pa

        if "corpus" not in rows.table.column_names:
            form = '{"_id": "m1", "text": "which ...?"}'
            raise DataError(
                f"{rows.origin}: no column 'corpus', which says what is searched: queries are read from a file of JSON "
                f"lines such as {form}, without --lines."
            )
        rows.require(("a", "label") if labelled else ("a",))
        columns = {"a": rows.text_column("a"), "corpus": rows.text_column("corpus")}
        judged = judgements(rows, None, required=labelled)
        if judged is not None:
            columns["label"] = judgement_column(judged)
        if judged is not None and "passages" in rows.table.column_names:
            columns["passages"] = arrow_array(rows.text_lists("passages"), pa.list_(pa.string()))
        return pa.table(columns)

    def encode(self, table: pa.Table, encoder: Encoder, recipe: Recipe, *, training: bool) -> Features:
        """Encode each query as a sequence; in training, each pair as a unit of two sequences, the query first."""
        from benchrunner.engine import Features

        length = min(recipe.max_length, encoder.max_length)
        if not training:
            return Features.of(encoder.assemble(table.column("a").to_pylist(), None, length))
        return self._pairs(table, encoder, length)

    def _pairs(self, table: pa.Table, encoder: Encoder, length: int) -> Features:
        import numpy as np

        from benchrunner.engine import Features

        if "passages" not in table.column_names:
            raise RequestError("Rows to train on need the column 'passages': the texts of the judged passages.")
        texts = list[str]()
        owner = list[int]()
        relevant = list[list[str]]()  # of each pair, all passages that are relevant to its query, its own first
        for number, row in enumerate(table.select(["a", "label", "passages"]).to_pylist()):
            judged = list(zip(row["label"], row["passages"], strict=True))
            positive = sorted((pair for pair in judged if pair[0]["grade"] > 0), key=lambda pair: -pair[0]["grade"])
            ids = [label["id"] for label, _ in positive]
            for place, (_, passage) in enumerate(positive[: self.positives]):
                texts += [row["a"], passage]
                owner += [number, number]
                relevant.append([ids[place], *ids[:place], *ids[place + 1 :]])
        if not texts:
            raise RequestError(NOTHING_RELEVANT)
        return Features.of(
            encoder.assemble(texts, None, length),
            groups=np.arange(0, len(texts) + 1, 2),
            owner=np.array(owner),
            targets={"relevant": _padded(relevant)},
        )

    def loss(self, outputs: Tensor, batch: FlatBatch) -> Tensor:
        import torch
        from torch.nn import functional

        if not outputs.shape[1]:
            raise RequestError(
                "Retrieval compares vectors of queries and passages, and this method gives none: choose --method "
                "two-tower or frozen-towers."
            )
        vectors = outputs.float()
        if self.similarity == "cosine":
            vectors = functional.normalize(vectors)
        queries, passages = vectors.view(-1, 2, vectors.shape[1]).unbind(1)
        scores = self.scale * queries @ passages.T
        relevant = batch.targets["relevant"]  # (pairs, most relevant passages), the pair's own first
        others = (relevant[:, :, None] == relevant[:, 0]).any(dim=1).fill_diagonal_(False)  # (queries, passages)
        numbers = torch.arange(len(scores), device=scores.device)
        return functional.cross_entropy(scores.masked_fill(others, -torch.inf), numbers, reduction="sum")

    def gather(self, outputs: np.ndarray, features: Features, table: pa.Table) -> np.ndarray:
        """Return the vector of each query or passage, whose inner products are similarities: (rows, hidden)."""
        import numpy as np

        if self.similarity == "dot":
            return outputs
        lengths = np.linalg.norm(outputs, axis=1, keepdims=True)
        return np.asarray(outputs / np.maximum(lengths, np.finfo(np.float32).tiny))

    def found(self, queries: np.ndarray, passages: np.ndarray, ids: Sequence[str]) -> np.ndarray:
        """Return raw outputs: for each of the nearest passages its similarity and its name, fp64 (rows, depth, words).

        `ids` are the names of the passages. Names are part of the outputs, since rows do not hold the corpus.
        """
        import numpy as np

        from benchrunner_ranking.search import as_numbers, search

        numbers, similarities = search(queries, passages, self.depth)
        names = as_numbers(ids)[numbers]
        return np.concatenate([similarities[:, :, None], names], axis=2)

    def decode(self, outputs: np.ndarray, table: pa.Table, settings: Mapping[str, Any]) -> list[Any]:
        import numpy as np

        from benchrunner_ranking.search import as_names

        return [ranking(as_names(passages[:, 1:]), passages[:, 0].astype(np.float32)) for passages in outputs]

    def majority_output(self, table: pa.Table) -> np.ndarray:
        """Rank the passages that are relevant to most training queries, by the number of these queries."""
        import numpy as np

        from benchrunner_ranking.search import as_numbers

        counts = Counter[str]()
        for judged in self.gold(table) or []:
            counts.update(part["id"] for part in judged if part["grade"] > 0)
        if not counts:
            raise RequestError(NOTHING_RELEVANT)
        names, numbers = zip(*counts.most_common(self.depth), strict=True)
        return np.concatenate([np.array(numbers)[:, None], as_numbers(names)], axis=1)


def _padded(relevant: Sequence[Sequence[str]]) -> np.ndarray:
    """Number the passages, and return the numbers of each list, int32 (lists, longest)."""
    import numpy as np

    names = dict.fromkeys(chain.from_iterable(relevant))
    number_of = {name: number for number, name in enumerate(names)}
    padded = np.full((len(relevant), max(map(len, relevant))), NO_PASSAGE, dtype=np.int32)
    for row, ids in enumerate(relevant):
        padded[row, : len(ids)] = [number_of[name] for name in ids]
    return padded
