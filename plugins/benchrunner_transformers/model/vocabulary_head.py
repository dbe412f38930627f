"""Logits over the vocabulary: the head of the family's own class for language modelling, on our states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, final

import torch
from torch import nn

from benchrunner import RequestError
from benchrunner_checkpoints import tensor_files
from benchrunner_transformers.checkpoint.checking import Checkpoint, from_weights, made_on_meta
from benchrunner_transformers.library_settings import quiet

if TYPE_CHECKING:
    from transformers import PreTrainedModel

AT_ONCE = 1024
"""Number of states that the head reads in one call, so that logits of long batches fit into memory."""


@final
class GivenStates(nn.Module):
    """Stands in for the base model of a class of the library, and gives states that were computed before."""

    states: torch.Tensor | None = None

    def forward(self, *inputs: Any, **options: Any) -> Any:
        from transformers.modeling_outputs import BaseModelOutputWithPoolingAndCrossAttentions

        return BaseModelOutputWithPoolingAndCrossAttentions(last_hidden_state=self.states)


@final
class VocabularyHead(nn.Module):
    """The head of a masked or a causal language model of the library, without its base model."""

    def __init__(self, published: PreTrainedModel, mask: int | None) -> None:
        super().__init__()
        self.mask = mask
        self.base = GivenStates()
        setattr(published, published.base_model_prefix, self.base)
        self.published = published.eval()

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Compute logits from states: (P, H) -> (P, V)."""
        with quiet():
            parts = [self._logits(part) for part in torch.split(states, AT_ONCE)]
        return torch.cat(parts)

    def _logits(self, states: torch.Tensor) -> torch.Tensor:
        self.base.states = states[None]
        ids = torch.zeros(1, len(states), dtype=torch.long, device=states.device)
        logits: torch.Tensor = self.published(input_ids=ids).logits[0]
        self.base.states = None
        return logits


def vocabulary_head(
    checkpoint: Checkpoint, weights: Mapping[str, torch.Tensor] | None, *, left_to_right: bool
) -> VocabularyHead:
    """Make the head of a checkpoint with its own weights, or with `weights` of such a head, by its names.

    Raises a `RequestError` with the reason why there is no head.
    """
    published = _published_class(checkpoint, left_to_right=left_to_right)
    mask = None if left_to_right else checkpoint.tokenizer.mask
    if mask is None and not left_to_right:
        raise RequestError("its tokenizer has no token for masked words")
    with quiet():
        if weights is None:
            return VocabularyHead(_with_own_weights(published, checkpoint), mask)
        head = VocabularyHead(made_on_meta(checkpoint.folder / "config.json", published, checkpoint.config), mask)
    head.load_state_dict(weights, assign=True)
    return head


def _published_class(checkpoint: Checkpoint, *, left_to_right: bool) -> type[PreTrainedModel]:
    """Return the library's class of the model with a head for language modelling."""
    from transformers.models.auto import modeling_auto

    if checkpoint.encoder_only or getattr(checkpoint.config, "is_encoder_decoder", False):
        raise RequestError("it has an encoder and a decoder, and only the decoder predicts tokens")
    kind = "CAUSAL" if left_to_right else "MASKED"
    published = getattr(modeling_auto, f"MODEL_FOR_{kind}_LM_MAPPING").get(type(checkpoint.config), None)
    if published is None:
        raise RequestError(f"transformers has no class for {kind.lower()} language modelling of this architecture")
    return published  # type: ignore[no-any-return]


def _with_own_weights(published: type[PreTrainedModel], checkpoint: Checkpoint) -> PreTrainedModel:
    """Make the whole model with the weights of the checkpoint; refuse a head that the checkpoint lacks."""
    tensors = tensor_files.read_tensors(*checkpoint.files)
    model, report = from_weights(published, checkpoint.config, tensors, torch.device("cpu"))
    prefix = f"{published.base_model_prefix}."
    missing = [name for name in sorted(report["missing_keys"]) if not name.startswith(prefix)]
    if missing:
        raise RequestError(
            f"the checkpoint has no weights for the head of {published.__name__} ({', '.join(missing[:3])})"
        )
    return model
