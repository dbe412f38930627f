"""The encoder of a concatenated backbone: several encoders that read the same batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast, final

import torch
from torch import nn

from benchrunner import CheckpointError, RequestError
from benchrunner.engine import Encoder, ExportedHead, ExportKind, Features, FlatBatch, Frame, Pieces, Sequences
from benchrunner_methods.frozen_states import depth
from benchrunner_methods.saved_parts import write_layout


def check_compatible(names: Sequence[str], encoders: Sequence[Encoder]) -> None:
    """Raise a `CheckpointError` if encoders read text as different tokens, or have different numbers of layers."""
    first = encoders[0]
    layers = _layer_count(first)
    for name, encoder in zip(names[1:], encoders[1:], strict=True):
        if encoder.tokenizer_fingerprint != first.tokenizer_fingerprint:
            raise CheckpointError(
                f"{names[0]} and {name} cannot be concatenated: they have different tokenizers, and all parts read the "
                "same tokens. Choose models with the same vocabulary and the same treatment of capital letters."
            )
        if (others := _layer_count(encoder)) != layers:
            raise CheckpointError(
                f"{names[0]} and {name} cannot be concatenated: they have {layers} and {others} layers, and layers are "
                "concatenated one by one. Choose models with the same number of layers."
            )


def _layer_count(encoder: Encoder) -> int:
    """Count the layers above the embeddings, with one short sequence."""
    features = Features.of(encoder.assemble(["a"], None, encoder.max_length))
    training = encoder.training
    encoder.eval()
    try:
        return depth(encoder, features, next(encoder.parameters()).device)
    finally:
        encoder.train(training)


@final
class ConcatenatedEncoder(Encoder):
    """Several encoders side by side: every layer's states, and the summary, are those of the parts, concatenated."""

    def __init__(self, names: Sequence[str], parts: Sequence[Encoder]) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.hidden_size = sum(part.hidden_size for part in parts)
        self.max_length = min(part.max_length for part in parts)
        self.dropout = max(part.dropout for part in parts)
        """The rate for a head. Each part keeps the rate of its own configuration until `set_dropout`."""
        self.tokenizer_fingerprint = parts[0].tokenizer_fingerprint
        self.summary_place = parts[0].summary_place
        notes: list[str] = []
        for name, part in zip(names, parts, strict=True):
            notes += [f"{name}: {note}" for note in part.notes]
        self.notes = tuple(notes)

    @property
    def word_embeddings(self) -> Sequence[nn.Embedding]:
        return [embedding for encoder in self._encoders for embedding in encoder.word_embeddings]

    @property
    def fresh_modules(self) -> Sequence[nn.Module]:
        return [module for encoder in self._encoders for module in encoder.fresh_modules]

    @property
    def layers(self) -> Sequence[nn.Module]:
        """The layers of all parts side by side: a layer is the list of the parts' layers of one depth."""
        of_parts = [encoder.layers for encoder in self._encoders]
        return [nn.ModuleList(layer) for layer in zip(*of_parts, strict=True)]

    def depths(self) -> dict[str, int]:
        depths: dict[str, int] = {}
        for number, encoder in enumerate(self._encoders):
            depths |= {f"parts.{number}.{name}": place for name, place in encoder.depths().items()}
        return depths

    def draw_layer(self, index: int, source: torch.Generator) -> None:
        for encoder in self._encoders:
            encoder.draw_layer(index, source)

    def draw_summary(self, source: torch.Generator) -> None:
        for encoder in self._encoders:
            encoder.draw_summary(source)

    def set_dropout(self, rate: float) -> None:
        super().set_dropout(rate)
        for encoder in self._encoders:
            encoder.set_dropout(rate)

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        return self._encoders[0].assemble(first, second, max_length)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        return self._encoders[0].pieces(texts)

    def words(self, words: Sequence[str]) -> Pieces:
        return self._encoders[0].words(words)

    @property
    def frame(self) -> Frame:
        return self._encoders[0].frame

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        states = [encoder.hidden_states(part_batch) for encoder, part_batch in self._with_batches(batch)]
        for layer in zip(*states, strict=True):
            yield torch.cat(layer, dim=1)

    def forward(self, batch: FlatBatch) -> torch.Tensor:
        return torch.cat([encoder(part_batch) for encoder, part_batch in self._with_batches(batch)], dim=1)

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Concatenate the parts' summaries, each of its own columns of the states."""
        parts = self._with_columns(hidden, batch)
        return torch.cat([encoder.summary(states, part_batch) for encoder, states, part_batch in parts], dim=1)

    def summarized(self, batch: FlatBatch) -> torch.Tensor:
        return torch.cat([encoder.summarized(part_batch) for encoder, part_batch in self._with_batches(batch)], dim=1)

    def recompute_layers(self) -> None:
        for encoder in self._encoders:
            encoder.recompute_layers()

    def prepare_for(self, kind: ExportKind | None) -> None:
        for encoder in self._encoders:
            encoder.prepare_for(kind)

    def token_states(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        parts = self._with_columns(hidden, batch)
        return torch.cat([encoder.token_states(states, part_batch) for encoder, states, part_batch in parts], dim=1)

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        if head is not None:
            raise RequestError(
                "A concatenated backbone cannot be exported: no other library has a model of several encoders side by "
                "side. The sub-folders part-1, part-2, ... of the fit's folder model/ hold the encoders, each as a "
                "checkpoint of its own."
            )
        names = [f"part-{number}" for number in range(1, len(self.parts) + 1)]
        for name, encoder in zip(names, self._encoders, strict=True):
            (folder / name).mkdir()
            encoder.save(folder / name)
        write_layout(folder, names)

    @property
    def _encoders(self) -> list[Encoder]:
        return [cast(Encoder, part) for part in self.parts]

    def _with_batches(self, batch: FlatBatch) -> Iterator[tuple[Encoder, FlatBatch]]:
        """Pair each part with the batch that it reads: the batch with dropout masks of the part's own.

        Encoders of one architecture have dropout sites with equal names, which without this would give equal masks.
        """
        for number, encoder in enumerate(self._encoders):
            yield encoder, replace(batch, dropout=batch.dropout.within(f"part {number}"))

    def _with_columns(
        self, hidden: torch.Tensor, batch: FlatBatch
    ) -> Iterator[tuple[Encoder, torch.Tensor, FlatBatch]]:
        """Give each part with its own columns of the states, and with the batch that it reads."""
        columns = torch.split(hidden, [encoder.hidden_size for encoder in self._encoders], dim=1)
        for (encoder, part_batch), states in zip(self._with_batches(batch), columns, strict=True):
            yield encoder, states, part_batch
