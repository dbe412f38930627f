"""The base class of encoders, a loaded backbone with its tokenizer, and parts that encoders are built of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, final

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from benchrunner.backbones.export_kind import ExportKind
from benchrunner.errors import PluginError, RequestError
from benchrunner.features.arrays import Sequences
from benchrunner.features.flat_batch import FlatBatch
from benchrunner.features.tokenized_texts import Frame, Pieces


@dataclass(frozen=True)
class ExportedHead:
    """A fitted head, which `Encoder.save` writes if the backbone's checkpoint layout can hold a head."""

    tensors: Mapping[str, Tensor]
    """`weight` and `bias` of the output layer, or `weight` alone: see `Encoder.summary_head_bias`."""
    kind: ExportKind
    """Type of the head in other libraries: see `Problem.export_kind`."""
    reads_summary: bool
    """Whether the head reads the encoder's summary of each sequence; False for heads that read token states."""


class Encoder(nn.Module, ABC):
    """A loaded backbone: turns texts into token sequences, and flat batches of sequences into hidden states."""

    hidden_size: int
    max_length: int
    """Tokens of the longest sequence that the encoder can read, special tokens included."""
    dropout: float
    """Dropout rate of the encoder's configuration; methods may set another rate before training."""
    tokenizer_fingerprint: str
    """Hash of everything that decides how text becomes tokens; part of the keys of the cache."""
    summary_place: Literal["first", "last"] = "first"
    """Place of the token that stands for its whole sequence where no summary is computed; in span problems, it is the
    answer "no answer". The token must have seen all others: if attention looks to the left only, it is the last."""
    summary_head_bias: bool = True
    """Whether an output layer on the summary has a bias. False for models whose published architecture has none."""
    autocasts_layers: bool = False
    """Whether all linear layers of `layers` compute in the precision of a surrounding autocast: see `cast_together`."""
    libraries: tuple[str, ...] = ()
    """Distributions besides torch whose code computes the states; the record of a fit has their versions."""
    notes: tuple[str, ...] = ()
    """Remarks on the loading, for example which weights the checkpoint lacks; one sentence each."""

    @property
    def word_embeddings(self) -> Sequence[nn.Embedding]:
        """The token embeddings that training may shrink to the rows of the tokens that the training data holds.

        The encoder must call each of these modules with `batch.tokens` and must not use its weight in other ways, such
        as `functional.embedding`, an output layer or another table. The encoder may use the token ids for anything
        else. If the states change with the smaller table, fits train the whole table, and `check_backbone` fails.
        """
        return ()

    @property
    def fresh_modules(self) -> Sequence[nn.Module]:
        """Modules whose weights the checkpoint lacks, so that loading drew them from the seed; for example a pooler.

        They are trained like a part of the head: the method `lora` trains them whole, although it keeps all other
        weights of the encoder, and `layer_decay` does not lower their learning rate.
        """
        return ()

    @property
    def layers(self) -> Sequence[nn.Module]:
        """Modules of the layers, the lowest first, without the embeddings and without the weights of `summary`.

        By default this is the `nn.ModuleList` that the encoder keeps as its attribute `layers`.
        """
        modules = self._modules.get("layers")
        if isinstance(modules, nn.ModuleList):
            return cast(Sequence[nn.Module], modules)
        raise RequestError(
            f"{type(self).__name__} does not say which of its modules are layers, so that this backbone cannot be "
            "fitted with the options layer-decay, redraw-layers and recompute. Leave them out."
        )

    def depths(self) -> dict[str, int]:
        """Give the depth of each weight by its name: 0 for embeddings, 1 for the lowest layer, 2 for the next.

        Weights above the layers, such as those of `summary`, have the depth `len(layers) + 1`. Outside the layers, a
        weight counts as an embedding if it belongs to an `nn.Embedding`, or if it is registered before the layers.
        """
        layers = self.layers
        in_layers = {id(weight): depth for depth, layer in enumerate(layers, 1) for weight in layer.parameters()}
        tables = {id(module.weight) for module in self.modules() if isinstance(module, nn.Embedding)}
        depths = dict[str, int]()
        outside = 0  # before the first layer
        for name, weight in self.named_parameters():
            if id(weight) in in_layers:
                depths[name] = in_layers[id(weight)]
                outside = len(layers) + 1
            else:
                depths[name] = 0 if id(weight) in tables else outside
        return depths

    def recompute_layers(self) -> None:
        """Let each layer keep only its input, and compute the rest again in the backward pass: less memory, more time.

        Results must stay equal bit for bit. An encoder whose `layers` are not modules that its forward pass calls
        overrides this method.
        """
        for layer in self.layers:
            recompute(layer)

    def draw_layer(self, index: int, source: torch.Generator) -> None:
        """Draw new weights for `layers[index]` from `source`, as the layer is initialised before pre-training."""
        raise RequestError(
            f"{type(self).__name__} cannot initialise single layers, so that this backbone cannot be fitted with the "
            "option redraw-layers. Leave it out."
        )

    def draw_summary(self, source: torch.Generator) -> None:
        """Initialise the weights of `summary`. An encoder without such weights need not implement this method."""
        if len(self.layers) + 1 in self.depths().values():
            raise RequestError(
                f"{type(self).__name__} cannot initialise the weights above its layers, so that this backbone cannot "
                "be fitted with the option redraw-layers. Leave it out."
            )

    def assemble(
        self,
        first: Sequence[str],
        second: Sequence[str] | None,
        max_length: int,
    ) -> Sequences:
        """Turn texts, or pairs of texts, into token sequences with special tokens and segments of at most `max_length`.

        Of a pair that is too long, the longer text is cut first. The default makes sequences of `pieces` and `frame`.
        """
        return self.frame.fitted(self.pieces(first), None if second is None else self.pieces(second), max_length)

    def pieces(self, texts: Sequence[str]) -> Pieces:
        """Tokenize whole texts, however long, without special tokens; pieces know their characters in the text."""
        raise PluginError(
            f"{type(self).__name__} has no method `pieces`, which spans, tags and the default `assemble` need. "
            "Implement it, or use tasks of another kind."
        )

    def words(self, words: Sequence[str]) -> Pieces:
        """Tokenize single words as they are tokenized inside a sentence."""
        return self.pieces(words)

    @property
    def frame(self) -> Frame:
        """The special tokens and segments around pieces, which make them a sequence."""
        raise PluginError(
            f"{type(self).__name__} has no property `frame`, which spans, tags and the default `assemble` need. "
            "Implement it, or use tasks of another kind."
        )

    @abstractmethod
    def hidden_states(self, batch: FlatBatch) -> Iterator[Tensor]:
        """Compute the embeddings, then the states after each layer: (T, hidden) each."""

    def summary_tokens(self, batch: FlatBatch) -> Tensor:
        """Return the token at `summary_place` of each sequence, as a place in the batch: int32 (N,)."""
        return batch.starts[:-1] if self.summary_place == "first" else batch.starts[1:] - 1

    @abstractmethod
    def summary(self, hidden: Tensor, batch: FlatBatch) -> Tensor:
        """Compute a vector for each sequence of the batch: (T, hidden) -> (N, hidden)."""

    def summarized(self, batch: FlatBatch) -> Tensor:
        """Compute the vector of each sequence from its tokens: (N, hidden), equal to `summary` of the last states.

        An encoder whose `summary` reads one token of a sequence may leave out what the last layer computes for others.
        """
        return self.summary(self(batch), batch)

    def prepare_for(self, kind: ExportKind | None) -> None:
        """Select the published architecture for a kind of head, before a head is trained on the hidden states or used.

        Only models whose published architecture below the output layer depends on the kind override this method. For
        example, a model may have global attention on other tokens for spans than for sentences.
        """

    def token_states(self, hidden: Tensor, batch: FlatBatch) -> Tensor:
        """Compute the vectors that an output layer for tokens reads, by default the states: (T, hidden) -> (T, hidden).

        Models override this method if their published architecture has further layers between states and output layer.
        """
        return hidden

    @abstractmethod
    def save(self, folder: Path, head: ExportedHead | None = None) -> None:
        """Write the encoder, and a fitted head if given, in the layout that the backbone's family reads."""

    def forward(self, batch: FlatBatch) -> Tensor:
        """Compute the states of the last layer: (T, hidden)."""
        states = None
        for states in self.hidden_states(batch):  # noqa: B007 - earlier layers are freed one by one
            pass
        assert states is not None
        return states

    def set_dropout(self, rate: float) -> None:
        """Set the dropout rate of all layers."""
        self.dropout = rate

    @staticmethod
    def attention_kernel(device: torch.device, precision: str, *, dropping: bool) -> str:
        """Name what computes attention where no compiled kernel does; the record of a fit has the name."""
        return "own"

    @contextmanager
    def cast_together(self) -> Iterator[None]:
        """Let the trained linear layers of `layers` read copies of their weights in bf16 inside a `with` block.

        An encoder for which `autocasts_layers` is False is left to autocast.

        Autocast casts each weight and each gradient by a kernel of its own, which are a third of all kernels of a step
        on a GPU. Here one kernel casts all weights, and one all gradients. No bit changes.
        """
        places = list(self.autocast_places())
        weights = [module.get_parameter(name) for module, name in places]
        copies = _CastTogether.apply(*weights) if weights else ()  # type: ignore[no-untyped-call]
        with replaced(places, copies):
            yield

    def autocast_places(self) -> Iterator[tuple[nn.Module, str]]:
        """Yield modules and names of the trained weights of `layers` that autocast casts wherever they are read.

        There are none in an encoder for which `autocasts_layers` is False.
        """
        for module in nn.ModuleList(self.layers).modules() if self.autocasts_layers else ():
            if type(module) in (nn.Linear, StackedLinear):
                yield from ((module, name) for name, weight in module.named_parameters() if weight.requires_grad)


@contextmanager
def replaced(places: Sequence[tuple[nn.Module, str]], tensors: Sequence[Tensor]) -> Iterator[None]:
    """Use `tensors` in place of the weights that `places` names inside a `with` block; restore the weights after it."""
    weights = [module.get_parameter(name) for module, name in places]
    try:
        for (module, name), tensor in zip(places, tensors, strict=True):
            module._parameters[name] = tensor  # type: ignore[assignment]
        yield
    finally:
        for (module, name), weight in zip(places, weights, strict=True):
            module._parameters[name] = weight


@final
class _CastTogether(torch.autograd.Function):
    """Casts tensors to bf16, and their gradients to the types of the tensors, in one operator each."""

    @staticmethod
    def forward(ctx: Any, *weights: Tensor) -> tuple[Tensor, ...]:
        ctx.set_materialize_grads(False)
        copies = [torch.empty_like(weight, dtype=torch.bfloat16) for weight in weights]
        torch._foreach_copy_(copies, list(weights))
        return tuple(copies)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        given = [gradient for gradient in gradients if gradient is not None]
        cast = [torch.empty_like(gradient, dtype=torch.float32) for gradient in given]
        torch._foreach_copy_(cast, given)
        rest = iter(cast)
        return tuple(None if gradient is None else next(rest) for gradient in gradients)


@final
class StackedLinear(nn.Linear):
    """Linear layer whose weight has several matrices of equal size, one below the other: query, key and value.

    The method `lora` updates each of the matrices as a layer of its own, as it would if they were not stacked.
    """

    def __init__(self, inputs: int, outputs: int, *, count: int) -> None:
        """Make `count` matrices (outputs, inputs)."""
        super().__init__(inputs, count * outputs)
        self.count = count


def recompute(
    layer: nn.Module, *, again: Callable[[], AbstractContextManager[None]] = lambda: nullcontext(None)
) -> None:
    """Let a layer keep only its input in a forward pass, and compute the rest again in the backward pass.

    Torch's generators draw the same numbers in both passes. `again` is called in the forward pass, and returns the
    context of the second pass: for models whose settings may have changed in between.
    """
    forward = layer.forward

    def called(arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return forward(*arguments, **named)

    def recomputed(*arguments: Any, **named: Any) -> Any:
        if not torch.is_grad_enabled():
            return forward(*arguments, **named)
        context = again()
        # Arguments by name are passed on as values, so that torch sees on which devices they are.
        return checkpoint(called, arguments, named, use_reentrant=False, context_fn=lambda: (nullcontext(), context))

    layer.forward = recomputed
