"""Checks of what an encoder computes: shapes, independent sequences, filling, dropout, narrowed tables, layers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import torch

from benchrunner import PluginError, RequestError
from benchrunner.engine import Dropout, Encoder, Features, FlatBatch, Sequences, collate, narrowed
from benchrunner_kit.testing.contract import Faults

TOLERANCE = 1e-4
"""Largest difference between states that should be equal but for rounding, as a share of the largest state."""

States = dict[str, list[torch.Tensor]]
"""What an encoder computes for some sequences, in their order: "embeddings", "states at layer 1", ..., "summaries"."""


def batch_of(
    sequences: Sequences, chosen: Sequence[int] | None = None, *, dropout: Dropout | None = None, multiple: int = 1
) -> FlatBatch:
    """Make a batch of some of the sequences, or of all of them."""
    features = Features.of(sequences)
    units = np.arange(features.units) if chosen is None else np.array(chosen)
    return collate(features, units, torch.device("cpu"), dropout=dropout, multiple=multiple)


def states(encoder: Encoder, batch: FlatBatch) -> States:
    """Compute every layer of a batch, without gradients; raise a `PluginError` if shapes or values are wrong."""
    with torch.no_grad():
        layers = list(encoder.hidden_states(batch))
        summaries = encoder.summary(layers[-1], batch)
    if len(layers) < 2:
        raise PluginError("`hidden_states` yields one tensor: yield the embeddings, then the states of every layer")
    starts, order = batch.starts.tolist(), batch.restore.tolist()
    named: States = {}
    for depth, layer in enumerate(layers):
        if len(layer) < batch.real or layer.shape[1:] != (encoder.hidden_size,):
            raise PluginError(
                f"`hidden_states` gives {tuple(layer.shape)} at layer {depth} for a batch of {len(batch.tokens)} "
                f"tokens: give (tokens, hidden_size), here {(len(batch.tokens), encoder.hidden_size)}"
            )
        if not layer[: batch.real].isfinite().all():
            raise PluginError(f"states of layer {depth} are not finite numbers")
        name = f"states at layer {depth}" if depth else "embeddings"
        named[name] = [layer[starts[place] : starts[place + 1]] for place in order]
    if summaries.shape != (len(order), encoder.hidden_size):
        raise PluginError(
            f"summary gives {tuple(summaries.shape)} for {len(order)} sequences: give one vector of `hidden_size` for "
            "each sequence, in the order of the batch"
        )
    named["summaries"] = list(summaries[batch.restore])
    return named


def compare(before: States, after: States, what: str, advice: str, *, tolerance: float = TOLERANCE) -> Faults:
    """Compare all layers, then the summaries; the lowest difference is told."""
    for name, tensors in before.items():
        gap = max(map(_distance, tensors, after[name]))
        if gap > tolerance:
            yield f"{what} give other {name} (they differ by {gap:.2g}): {advice}"
            return


def _distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """Compute the largest difference, as a share of the largest value if this is above 1; infinite for other shapes."""
    if left.shape != right.shape:
        return float("inf")
    largest = max(1.0, float(left.abs().max()))
    gap = float((left.double() - right.double()).abs().max()) / largest
    return gap if gap == gap else float("inf")


def check_states(encoder: Encoder, sequences: Sequences) -> Faults:
    """Check the states of an encoder in evaluation mode, for sequences of several lengths."""
    batch = batch_of(sequences)
    together = states(encoder, batch)
    alone: States = {name: [] for name in together}
    for index in range(len(sequences.starts) - 1):
        for name, tensors in states(encoder, batch_of(sequences, [index])).items():
            alone[name] += tensors
    yield from compare(
        together,
        alone,
        "texts in a batch and alone",
        "let no layer and no summary mix sequences; `attend`, or `batch.starts` and `batch.blocks`, know their borders",
    )
    yield from compare(
        together,
        states(encoder, batch),
        "two passes over one batch, without dropout,",
        "draw dropout with `batch.dropout` only, which drops nothing in evaluation, and no other random numbers",
        tolerance=0,
    )
    yield from compare(
        together,
        states(encoder, batch_of(sequences, multiple=64)),
        "a batch with and without filling tokens at its end",
        "let no sequence read tokens from `batch.real` on",
    )
    with torch.no_grad():
        summarized = encoder.summarized(batch)[batch.restore]
    if _distance(torch.stack(together["summaries"]), summarized) > TOLERANCE:
        yield "`summarized` is not `summary` of the last states: leave out only what no summary reads"


def check_dropout(encoder: Encoder, sequences: Sequences) -> Faults:
    """Check that dropout is drawn from the batch alone, and that it is there."""
    encoder.train()
    try:
        first, second = (states(encoder, batch_of(sequences, dropout=Dropout(0, "check"))) for _ in range(2))
        without = states(encoder, batch_of(sequences))
    finally:
        encoder.eval()
    advice = "draw each mask with `batch.dropout(x, rate, site)`, not with torch's own dropout"
    faults = [*compare(first, second, "two passes over one batch with the same dropout", advice, tolerance=0)]
    yield from faults
    if not faults and encoder.dropout > 0 and all(map(torch.equal, first["summaries"], without["summaries"])):
        yield (
            f"`dropout` is {encoder.dropout}, but a batch with dropout gives the same summaries as one without: apply "
            "`batch.dropout` in the layers, or set `dropout` to 0"
        )


def check_narrowed(encoder: Encoder, sequences: Sequences) -> Faults:
    """Check that states are the same if a table of `word_embeddings` holds only the rows in use."""
    tables = narrowed(encoder, Features.of(sequences))
    for table in tables:
        table.restore(1.0)
    small = {id(table.weight) for table in tables}
    for name, module in encoder.named_modules():
        if module in encoder.word_embeddings and id(module.weight) not in small:
            yield (
                f"states change if the table '{name}' holds only the rows in use: a table of word_embeddings is used "
                "for more than looking up batch.tokens; leave the table out of `word_embeddings`"
            )


def check_layers(encoder: Encoder) -> Faults:
    """Check depths, and that initialising the highest layer or the summary changes only weights of its depth.

    An encoder that does not say what its layers are, or does not initialise them, is not checked. Its weights change.
    """
    with contextlib.suppress(RequestError):
        depths = encoder.depths()
        count = len(encoder.layers)
        if depths.keys() != dict(encoder.named_parameters()).keys():
            raise PluginError(
                "depths does not give the names of named_parameters: give each weight a depth by its name"
            )
        source = torch.Generator().manual_seed(0)
        yield from _check_drawn(encoder, depths, count, "draw_layer", partial(encoder.draw_layer, count - 1, source))
        yield from _check_drawn(encoder, depths, count + 1, "draw_summary", partial(encoder.draw_summary, source))


def _check_drawn(
    encoder: Encoder, depths: Mapping[str, int], depth: int, name: str, draw: Callable[[], None]
) -> Faults:
    """Find a weight of another depth that a method draws, or that it draws none."""
    before = {weight: values.detach().clone() for weight, values in encoder.named_parameters()}
    draw()
    changed = [weight for weight, values in encoder.named_parameters() if not torch.equal(values, before[weight])]
    for weight in changed:
        if depths[weight] != depth:
            raise PluginError(
                f"{name} changes a weight of another depth, {weight}: change only weights of depth {depth}, or give "
                "this weight that depth in `depths`"
            )
    if not changed and depth in depths.values():
        yield f"{name} changes no weight: draw the weights of depth {depth} from the generator, or leave it out"
