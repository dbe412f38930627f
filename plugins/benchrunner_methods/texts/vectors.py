"""Vectors of texts or of their tokens, computed window by window and written to a Parquet file."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchrunner import RequestError
from benchrunner.engine import Encoder, Features, blocks, held, steps, write_atomically
from benchrunner_methods.frozen_states import Summaries, TokenStates, depth, fill
from benchrunner_methods.texts.placed_pieces import placed

if TYPE_CHECKING:
    from benchrunner_methods.texts.vector_settings import VectorSettings

WINDOW_TEXTS = 4_096
"""Texts that are sorted by length and computed together."""
WINDOW_CHARACTERS = 1 << 19
"""Characters after which a window ends, so that the vectors of its tokens fit in memory."""


@final
@dataclass(frozen=True)
class Vectors:
    """Computes the vectors of texts with one encoder."""

    encoder: Encoder
    settings: VectorSettings
    inference: steps.Inference

    def resolved(self) -> Vectors:
        """Count layers from the embeddings, and cut texts where the encoder ends.

        Raises a `RequestError` for a layer that the encoder lacks, and for a pooler that nobody has trained.
        """
        if self.settings.summary == "pooler" and self.encoder.fresh_modules:
            raise RequestError(
                "--summary pooler: this backbone has no pooler of its own, so that its weights are drawn at random: "
                "choose mean, max, first or last."
            )
        self.encoder.to(self.inference.device).eval()
        longest = self.encoder.max_length
        length = min(self.settings.max_length or longest, longest)
        features = Features.of(self.encoder.assemble(["a"], None, length))
        layers = range(depth(self.encoder, features, self.inference.device) + 1)
        if not -len(layers) <= self.settings.layer < len(layers):
            raise RequestError(f"--layer {self.settings.layer}: the layers of this backbone are 0 to {layers[-1]}.")
        return replace(self, settings=replace(self.settings, max_length=length, layer=layers[self.settings.layer]))

    def table(self, texts: Sequence[str], first: int) -> pa.Table:
        """Compute the vectors of some texts; `first` is the index of the first text."""
        settings, size = self.settings, self.encoder.hidden_size
        assert settings.max_length is not None
        index = np.arange(first, first + len(texts))
        columns = dict[str, Any]()
        content: Summaries | TokenStates
        if settings.tokens:
            content, pieces = TokenStates(), placed(self.encoder, [texts], settings.max_length)
            features = Features.of(pieces.sequences)
            columns["index"] = np.repeat(index, features.lengths)
            columns["position"] = blocks.ranges(np.zeros_like(index), features.lengths)
            columns["piece"] = pieces.characters
        else:
            content = Summaries(settings.summary)
            features = Features.of(self.encoder.assemble(texts, None, settings.max_length))
            columns["index"] = index
        vectors = np.empty((content.count(features), size), dtype=np.float32)
        fill({settings.layer: vectors}, content, self.encoder, features, self.inference)
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), size)
        return pa.table(columns)


def windows(texts: Iterable[str]) -> Iterator[list[str]]:
    """Divide texts into windows of a bounded number of texts and characters."""
    window = list[str]()
    size = 0
    for text in texts:
        window.append(text)
        size += len(text)
        if len(window) == WINDOW_TEXTS or size >= WINDOW_CHARACTERS:
            yield window
            window, size = [], 0
    if window:
        yield window


def write_vectors(
    vectors: Vectors, texts: Iterable[str], out: Path, facts: Mapping[str, Any], note: Callable[[str], None]
) -> int:
    """Write the vectors of all texts to a Parquet file, and return their number; a stopped call goes on.

    Each window is a file in a folder beside `out` until all are computed. The name of the file is a hash of the texts
    and of `facts`, which say how vectors are computed and are written with them.
    """
    how = json.dumps({**facts, **vars(vectors.settings)})
    folder = out.with_name(f"{out.name}.parts")
    parts = list[Path]()
    done = 0
    with held(folder, lambda: note(f"another process writes {out}")):
        for window in windows(texts):
            name = hashlib.sha256(json.dumps([how, done, window]).encode()).hexdigest()
            part = folder / f"{name}.parquet"
            if not part.exists():
                table = vectors.table(window, done).replace_schema_metadata({"benchrunner": how})
                write_atomically(part, lambda path, table=table: pq.write_table(table, path))  # type: ignore[misc]
            parts.append(part)
            done += len(window)
            note(f"{done:,} texts")
        if parts:
            write_atomically(out, lambda path: _join(parts, path))
    shutil.rmtree(folder)
    return int(pq.read_metadata(out).num_rows) if parts else 0


def _join(parts: Sequence[Path], path: Path) -> None:
    """Copy the tables of files into one file."""
    with pq.ParquetWriter(path, pq.read_schema(parts[0])) as writer:
        for part in parts:
            writer.write_table(pq.read_table(part))
