"""A model of the library transformers as an encoder: reads flat batches in padded buckets."""

from __future__ import annotations

import inspect
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn

from benchrunner.engine import Encoder, ExportedHead, FlatBatch, Frame, Pieces, Sequences
from benchrunner_transformers import dropout
from benchrunner_transformers.configuration import MARK
from benchrunner_transformers.export import check_logits, export_checkpoint
from benchrunner_transformers.padding import OVERHEAD, Bucket, buckets, join
from benchrunner_transformers.quiet import quiet
from benchrunner_transformers.summary import Summary

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from benchrunner_transformers.plain_tokenizer import PlainTokenizer


@final
class HubEncoder(Encoder):
    """A model of the library with its tokenizer."""

    def __init__(
        self,
        model: PreTrainedModel,
        summary: Summary,
        tokenizer: PlainTokenizer,
        *,
        max_length: int,
        encoder_only: bool,
    ) -> None:
        super().__init__()
        self.model, self.tokenizer, self.encoder_only = model, tokenizer, encoder_only
        self.summary_layers, self.summary_head_bias = summary, summary.output_bias
        self.config = model.config.get_text_config()
        self.hidden_size, self.max_length = int(self.config.hidden_size), max_length
        self.dropout = dropout.configured_rate(self.config)
        self.tokenizer_fingerprint = tokenizer.fingerprint
        padding = model.get_input_embeddings().padding_idx
        self._padding = 0 if padding is None else int(padding)
        self._takes_segments = _takes_segments(model)

    @property
    def word_embeddings(self) -> Sequence[nn.Embedding]:
        table = self.model.get_input_embeddings()
        return (table,) if isinstance(table, nn.Embedding) else ()

    def set_dropout(self, rate: float) -> None:
        self.dropout = rate
        dropout.set_rate(self.model, rate)

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        return self.tokenizer.assemble(first, second, max_length)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        return self.tokenizer.pieces(texts)

    @property
    def frame(self) -> Frame:
        return self.tokenizer.frame

    def forward(self, batch: FlatBatch) -> torch.Tensor:
        return join([self._states(bucket, batch, every=False)[-1] for bucket in self._buckets(batch)], batch)

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        parts = [self._states(bucket, batch, every=True) for bucket in self._buckets(batch)]
        for layer in zip(*parts, strict=True):
            yield join(layer, batch)

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Compute what the published architecture has between encoder and output layer: (T, H) -> (N, H)."""
        return self.summary_layers(hidden, batch, self.dropout)  # type: ignore[no-any-return]

    def token_states(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return self.summary_layers.of_tokens(hidden, batch, self.dropout)

    def draw_summary(self, source: torch.Generator) -> None:
        self.summary_layers.draw(source)

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        with quiet():
            export_checkpoint(self.model, self.summary_layers, self.tokenizer, head, folder)
            if head is not None:
                check_logits(self, head, folder, segments=self._takes_segments)
                return
        path = folder / "config.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings[MARK] = {"part": "encoder" if self.encoder_only else "model", "max_length": self.max_length}
        path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    def _buckets(self, batch: FlatBatch) -> list[Bucket]:
        overhead = OVERHEAD.get(batch.tokens.device.type, OVERHEAD["cuda"])
        if self.config.model_type == "fnet":  # it mixes all places of a sequence, padding too, and takes no mask
            return buckets(batch.blocks, overhead=overhead, group=lambda length: length)
        return buckets(batch.blocks, overhead=overhead)

    def _states(self, bucket: Bucket, batch: FlatBatch, *, every: bool) -> list[torch.Tensor]:
        """Compute the states of a bucket's tokens: those of the last layer, or embeddings and all layers."""
        if self.model.training != batch.dropping:
            self.model.train(batch.dropping)
        inputs: dict[str, Any] = {"input_ids": bucket.pad(batch.tokens, self._padding)}
        if bucket.padded:
            inputs["attention_mask"] = bucket.mask(batch.tokens.device)
        if self._takes_segments:
            inputs["token_type_ids"] = bucket.pad(batch.segments, 0)
        if self.config.model_type == "longformer":  # as in the published class for sentences
            inputs["global_attention_mask"] = _first_tokens(inputs["input_ids"])
        with self._drawing(bucket, batch):
            outputs = self.model(**inputs, output_hidden_states=every)
        last = outputs[0]
        if not every:
            return [bucket.unpad(last)]
        states = outputs.get("hidden_states") or outputs["decoder_hidden_states"]
        return [*(bucket.unpad(layer) for layer in states[:-1]), bucket.unpad(last)]

    def _drawing(self, bucket: Bucket, batch: FlatBatch) -> AbstractContextManager[None]:
        """Return the context in which dropout masks of a bucket are drawn; no context if nothing is dropped."""
        if not batch.dropping:
            return nullcontext()
        return dropout.drawn_from(batch.dropout, f"bucket {bucket.blocks[0].start}", batch.tokens.device)


def _takes_segments(model: PreTrainedModel) -> bool:
    """Whether the model reads segments: it has embeddings for more than one, or relative segments like XLNet."""
    if "token_type_ids" not in inspect.signature(model.forward).parameters:
        return False
    return getattr(model.config, "type_vocab_size", 0) > 1 or model.config.model_type == "xlnet"


def _first_tokens(tokens: torch.Tensor) -> torch.Tensor:
    """Return a mask of the first token of every sequence: 1 there, 0 at other tokens."""
    mask = torch.zeros_like(tokens)
    mask[:, 0] = 1
    return mask
