"""A model of the library transformers as an encoder: reads flat batches without padding, or in padded buckets."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, final

import torch
from torch import nn

from benchrunner import RequestError
from benchrunner.engine import (
    Encoder,
    ExportedHead,
    ExportKind,
    FlatBatch,
    Frame,
    Pieces,
    Sequences,
    recompute,
)
from benchrunner_checkpoints import attention_kernel, buckets
from benchrunner_transformers.checkpoint.configuration import MARK
from benchrunner_transformers.checkpoint.habits import Habits, without_cache
from benchrunner_transformers.checkpoint.published_heads import KINDS, Kind
from benchrunner_transformers.library_settings import quiet
from benchrunner_transformers.model import dropout, layers, sparse_attention
from benchrunner_transformers.model.export import check_logits, export_checkpoint
from benchrunner_transformers.model.flat_attention import (
    flat_states,
    last_flat_state,
    reads_flat,
    reads_last_tokens,
)
from benchrunner_transformers.model.padding import join, padded_buckets
from benchrunner_transformers.model.summary import Summary

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from benchrunner_transformers.checkpoint.checking import Checkpoint
    from benchrunner_transformers.checkpoint.own_code import OwnCode
    from benchrunner_transformers.checkpoint.tokenizer import HubTokenizer


@final
class HubEncoder(Encoder):
    """A model of the library with its tokenizer."""

    libraries = ("transformers",)
    attention_kernel = staticmethod(attention_kernel)

    def __init__(
        self,
        model: PreTrainedModel,
        summary: Summary,
        tokenizer: HubTokenizer,
        habits: Habits,
        *,
        summary_place: Literal["first", "last"],
        max_length: int,
        encoder_only: bool,
        code: OwnCode | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.tokenizer = tokenizer
        self.encoder_only = encoder_only
        self.code = code
        """The model's own code, which is saved with it; None for a model of the library."""
        self.summary_layers = summary
        self.summary_head_bias = summary.output_bias
        self._kind: Kind | None = None
        self.config = model.config.get_text_config()
        self._is_big_bird = self.config.model_type == sparse_attention.BIG_BIRD
        self.hidden_size = habits.width
        self.max_length = max_length
        self.dropout = dropout.configured_rate(self.config)
        self.tokenizer_fingerprint = tokenizer.fingerprint
        self.summary_place = summary_place
        self._habits = habits
        self._reads_flat = reads_flat(model)
        self._reads_last_tokens = self._reads_flat and reads_last_tokens(model)
        dropout.replace(model)
        self._rate: float | None = None  # of dropout, if it is not the configuration's
        self.checkpoint: Checkpoint | None = None
        """What the model was loaded from, for the layers of pre-training that predict tokens."""

    @property
    def autocasts_layers(self) -> bool:  # type: ignore[override]
        return not self._is_big_bird and self._runs_in_half() and bool(layers.layers_of(self.model))

    @property
    def word_embeddings(self) -> Sequence[nn.Embedding]:
        """The table of the tokens, unless another module has the same weight."""
        table = self.model.get_input_embeddings()
        holders = [module for module in self.modules() if getattr(module, "weight", None) is table.weight]
        return (table,) if isinstance(table, nn.Embedding) and holders == [table] else ()

    @property
    def fresh_modules(self) -> Sequence[nn.Module]:
        return (self.summary_layers,) if self.summary_layers.is_fresh else ()

    @property
    def layers(self) -> Sequence[nn.Module]:
        modules = layers.layers_of(self.model)
        if not modules:
            raise layers.no_layers(self.model)
        return modules

    def depths(self) -> dict[str, int]:
        depths = super().depths()
        return {name: 0 if layers.is_below(name) else depth for name, depth in depths.items()}

    def recompute_layers(self) -> None:
        again = self._with_attention_of_now if self._is_big_bird else nullcontext
        modules = layers.repeated(self.model)
        if not modules:
            raise RequestError(
                f"{type(self.model).__name__} has no list of layers, so that this backbone cannot be fitted with the "
                "option recompute. Leave it out."
            )
        for layer in modules:
            recompute(layer, again=again)

    def draw_layer(self, index: int, source: torch.Generator) -> None:
        layers.draw(self.model, self.layers[index], source)

    def set_dropout(self, rate: float) -> None:
        self.dropout = self._rate = rate
        dropout.set_rate(self.model, rate)

    def assemble(self, first: Sequence[str], second: Sequence[str] | None, max_length: int) -> Sequences:
        return self.tokenizer.assemble(first, second, max_length)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        return self.tokenizer.pieces(texts)

    def words(self, words: Sequence[str]) -> Pieces:
        return self.tokenizer.words(words)

    @property
    def frame(self) -> Frame:
        return self.tokenizer.frame

    def forward(self, batch: FlatBatch) -> torch.Tensor:
        if self._reads_flat:
            with self._ready(batch, "flat"):
                return last_flat_state(self.model, batch)
        states = [self._states(bucket, batch, every=False)[-1] for bucket in self._buckets(batch)]
        return join(states, batch)

    def hidden_states(self, batch: FlatBatch) -> Iterator[torch.Tensor]:
        if self._reads_flat:
            with self._ready(batch, "flat"):
                states = flat_states(self.model, batch)
            yield from _of_tokens(states)
            return
        parts = [self._states(bucket, batch, every=True) for bucket in self._buckets(batch)]
        for layer in zip(*parts, strict=True):
            yield join(layer, batch)

    def summary(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        """Compute what the published architecture has between encoder and output layer: (T, H) -> (N, H)."""
        return self.summary_layers(hidden, batch, self.dropout)  # type: ignore[no-any-return]

    def summarized(self, batch: FlatBatch) -> torch.Tensor:
        """Compute `summary`, without the last layer's states of tokens that it does not read."""
        tokens = self.summary_layers.tokens(batch)
        if tokens is None or not self._reads_last_tokens:
            return super().summarized(batch)
        with self._ready(batch, "flat"):
            states = last_flat_state(self.model, batch, tokens)
        return self.summary_layers.of_states(states, batch, self.dropout)

    def prepare_for(self, kind: ExportKind | None) -> None:
        self._kind = None if kind is None else KINDS.get(kind.name)
        self.summary_layers.prepare_for(self._kind)

    def token_states(self, hidden: torch.Tensor, batch: FlatBatch) -> torch.Tensor:
        return self.summary_layers.of_tokens(hidden, batch, self.dropout)

    def vocabulary_head(self, weights: Mapping[str, torch.Tensor] | None = None) -> nn.Module:
        """Make the layers of pre-training that turn states into logits over the vocabulary: (P, H) -> (P, V).

        `weights` are those of such a head, by its own names; None: those of the checkpoint. The attribute `mask` of the
        head is the id of the token that stands for a token to predict, or None if the state of a token predicts the
        next token. Raises a `RequestError` with the reason why there is no head.
        """
        from benchrunner_transformers.model.vocabulary_head import vocabulary_head

        if self.checkpoint is None:
            raise RequestError("it was not loaded from a checkpoint")
        return vocabulary_head(self.checkpoint, weights, left_to_right=self._habits.left_to_right)

    def draw_summary(self, source: torch.Generator) -> None:
        """Initialise the layers of the summary, and the norm above the model's layers if there is one."""
        self.summary_layers.draw(source)
        depths = self.depths()
        top = len(self.layers) + 1
        for name, module in self.model.named_modules():
            weights = [weight for weight, _ in module.named_parameters(recurse=False)]
            if any(depths.get(f"model.{name}.{weight}") == top for weight in weights):
                layers.draw(self.model, module, source)

    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        if head is not None:
            self.prepare_for(head.kind)
        segments = self._habits.takes_segments and self.tokenizer.reads_segments
        with quiet():
            export_checkpoint(self.model, self.summary_layers, self.tokenizer, head, folder, segments=segments)
            if head is not None:
                check_logits(self, self.model.config, head, folder, segments=segments)
                return
        path = folder / "config.json"
        settings = json.loads(path.read_text(encoding="utf-8"))
        settings[MARK] = {"part": "encoder" if self.encoder_only else "model", "max_length": self.max_length}
        if self.code is not None:
            self.code.write(folder)
            settings["auto_map"] = dict(self.code.classes)
        path.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")

    def _buckets(self, batch: FlatBatch) -> list[buckets.Bucket]:
        if self._habits.mixes_padding:
            return padded_buckets(batch, group=lambda length: length)
        if self._is_big_bird:
            return padded_buckets(batch, group=sparse_attention.length_group(self.config))
        return padded_buckets(batch)

    def _states(self, bucket: buckets.Bucket, batch: FlatBatch, *, every: bool) -> list[torch.Tensor]:
        """Compute the states of a bucket's tokens: those of the last layer, or embeddings and all layers."""
        if self._is_big_bird:
            self._set_attention(sparse_attention.attention_for(self.model, bucket.longest))
        inputs: dict[str, Any] = {
            "input_ids": bucket.pad(batch.tokens, self._habits.padding),
            **without_cache(self.model),
        }
        if bucket.padded and self._habits.takes_mask:
            inputs["attention_mask"] = bucket.mask(batch.tokens.device)
        if self._habits.takes_segments:
            inputs["token_type_ids"] = bucket.pad(batch.segments, 0)
        if self.config.model_type == sparse_attention.LONGFORMER:
            separator = self.config.sep_token_id
            inputs["global_attention_mask"] = sparse_attention.global_tokens(inputs["input_ids"], self._kind, separator)
        with self._ready(batch, f"bucket {bucket.start}"):
            outputs = self.model(**inputs, output_hidden_states=every)
        last = outputs[0]
        if not every:
            return [bucket.unpad(last)]
        states = outputs.get("hidden_states") or outputs.get("decoder_hidden_states") or ()
        return [bucket.unpad(layer) for layer in _of_tokens([*states[:-1], last])]

    def _set_attention(self, kind: str) -> None:
        """Choose the kind of BigBird's attention; new modules of the library get the encoder's dropout."""
        if sparse_attention.set_attention(self.model, kind):
            dropout.replace(self.model)
            if self._rate is not None:
                dropout.set_rate(self.model, self._rate)

    def _with_attention_of_now(self) -> AbstractContextManager[None]:
        """Return a context for a later time in which BigBird's attention is that of now."""
        kind = self.model.attention_type

        @contextmanager
        def context() -> Iterator[None]:
            self._set_attention(kind)
            yield

        return context()

    @contextmanager
    def _ready(self, batch: FlatBatch, site: str) -> Iterator[None]:
        """Prepare a forward pass: set the model's mode, and draw dropout masks from the seed of the site.

        The mode may differ from the encoder's: only the batch says whether to drop.
        """
        if self.model.training != batch.dropping:
            self.model.train(batch.dropping)
        device = batch.tokens.device
        drawing = dropout.drawn_from(batch.dropout, site, device) if batch.dropping else nullcontext()
        full_precision = nullcontext() if self._runs_in_half() else torch.autocast(device.type, enabled=False)
        with quiet(), drawing, full_precision:
            yield

    def _runs_in_half(self) -> bool:
        """Whether the library's code of this model runs under autocast; other models are computed in fp32.

        DeBERTa's mask has the smallest number of fp32, and BigBird's sparse attention writes bf16 into fp32.
        """
        if self._is_big_bird:
            return bool(self.model.attention_type != sparse_attention.SPARSE)
        return bool(self.config.model_type != "deberta")


def _of_tokens(states: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Leave out all layers but the last if some have other shapes: the layers of Funnel shorten the sequence."""
    return states if all(layer.shape == states[-1].shape for layer in states) else states[-1:]
