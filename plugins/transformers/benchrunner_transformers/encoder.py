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

from benchrunner import CheckpointError
from benchrunner.engine import Encoder, ExportedHead, FlatBatch, Frame, Pieces, Sequences
from benchrunner_transformers import dropout
from benchrunner_transformers.configuration import MARK
from benchrunner_transformers.padding import OVERHEAD, Bucket, buckets, join

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from benchrunner_transformers.plain_tokenizer import PlainTokenizer


@final
class HubEncoder(Encoder):
    """A model of the library with its tokenizer."""

    def __init__(
        self, model: PreTrainedModel, tokenizer: PlainTokenizer, *, max_length: int, encoder_only: bool
    ) -> None:
        super().__init__()
        self.model, self.tokenizer, self.encoder_only = model, tokenizer, encoder_only
        self.config = model.config.get_text_config()
        self.hidden_size, self.max_length = int(self.config.hidden_size), max_length
        self.dropout = dropout.configured_rate(self.config)
        self.tokenizer_fingerprint = tokenizer.fingerprint
        padding = model.get_input_embeddings().padding_idx
        self._padding = 0 if padding is None else int(padding)
        self._takes_segments = _takes_segments(model)
        self._looks_left_only = _looks_left_only(model)

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
        tokens = batch.starts[1:] - 1 if self._looks_left_only else batch.starts[:-1]
        return hidden.index_select(0, tokens)

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        if head is not None:
            raise CheckpointError("A head on a model of the library transformers cannot be exported yet.")
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save_pretrained(folder)
        path = folder / "config.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings[MARK] = {"part": "encoder" if self.encoder_only else "model", "max_length": self.max_length}
        path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        self.tokenizer.save(folder)

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


@torch.no_grad()
def _looks_left_only(model: PreTrainedModel) -> bool:
    """Whether the state of a token depends on earlier tokens only: compares the first states of two sequences."""
    padding = model.get_input_embeddings().padding_idx
    first, second, third = [token for token in range(4) if token != padding][:3]
    states = model.eval()(input_ids=torch.tensor([[first, second], [first, third]]))[0]
    return bool(torch.equal(states[0, 0], states[1, 0]))
