"""Checks of what an encoder computes: shapes, independent sequences, filling, dropout, narrowed tables, layers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch

from benchrunner import RequestError
from benchrunner.engine import Dropout, Encoder, Features, FlatBatch, Sequences, collate, narrowed
from benchrunner_kit.testing.contract import Findings

BORDERS = (
    "let no layer mix sequences: attention from `attend`, or `batch.starts` and `batch.blocks`, know their borders"
)
"""Advice for an encoder whose sequences depend on one another."""
TOLERANCE = 1e-4
"""Largest difference between states that should be equal but for rounding, as a share of the largest state."""


@final
@dataclass(frozen=True)
class States:
    """What an encoder computes for some sequences, in the order of the sequences."""

    layers: list[list[torch.Tensor]]
    """For each layer, the embeddings first, and each sequence: (tokens, hidden)."""
    summaries: torch.Tensor
    """What `summary` gives for the last states: (sequences, hidden)."""
    summarized: torch.Tensor
    """What `summarized` gives: (sequences, hidden)."""


def batch_of(
    sequences: Sequences, chosen: Sequence[int], *, dropout: Dropout | None = None, multiple: int = 1
) -> FlatBatch:
    """Make a batch of some of the sequences."""
    features = Features.of(sequences)
    return collate(features, np.array(chosen), torch.device("cpu"), dropout=dropout, multiple=multiple)


def states(encoder: Encoder, batch: FlatBatch) -> States:
    """Compute every layer of a batch, without gradients."""
    with torch.no_grad():
        layers = list(encoder.hidden_states(batch))
        summaries = [encoder.summary(layers[-1], batch), encoder.summarized(batch)]
    starts = batch.starts.tolist()
    order = batch.restore.tolist()
    of_sequences: list[list[torch.Tensor]] = []
    for layer in layers:
        of_sequences.append([layer[starts[place] : starts[place + 1]] for place in order])
    for number, vectors in enumerate(summaries):
        if len(vectors) == len(order):  # if they are too few, the check of shapes says so
            summaries[number] = vectors[batch.restore]
    return States(of_sequences, *summaries)


def distance(left: torch.Tensor, right: torch.Tensor) -> float:
    """Compute the largest difference, as a share of the largest value if this is above 1; infinite for other shapes."""
    if left.shape != right.shape:
        return float("inf")
    if not left.numel():
        return 0.0
    scale = max(1.0, float(left.abs().max()))
    gap = float((left.double() - right.double()).abs().max()) / scale
    return gap if gap == gap else float("inf")


def check_states(encoder: Encoder, sequences: Sequences, findings: Findings) -> None:
    """Check the states of an encoder in evaluation mode, for sequences of several lengths."""
    everything = range(len(sequences.starts) - 1)
    with findings.step("to compute the states of a batch"):
        together = states(encoder, batch_of(sequences, everything))
        _check_shapes(encoder, sequences, together, findings)
        if findings.faults:
            return
        alone = [states(encoder, batch_of(sequences, [index])) for index in everything]
        _compare_alone(together, alone, findings)
        _compare(
            together,
            states(encoder, batch_of(sequences, everything)),
            "two passes over one batch, without dropout,",
            "draw dropout with `batch.dropout` only, which drops nothing in evaluation, and no other random numbers",
            findings,
            exact=True,
        )
        _compare(
            together,
            states(encoder, batch_of(sequences, everything, multiple=64)),
            "a batch with and without filling tokens at its end",
            "let no sequence read tokens from `batch.real` on",
            findings,
        )
        _check_summary_place(encoder, sequences, findings)
        if not findings.faults and distance(together.summaries, together.summarized) > TOLERANCE:
            findings.add(
                "`summarized` is not `summary` of the last states: do not override it, or leave out only what no "
                "summary reads"
            )


def _check_shapes(encoder: Encoder, sequences: Sequences, found: States, findings: Findings) -> None:
    """Check the number, the shape, the type and the values of the states."""
    count = len(sequences.starts) - 1
    hidden = encoder.hidden_size
    if len(found.layers) < 2:
        findings.add("`hidden_states` yields one tensor: it must yield the embeddings, then the states of every layer")
    for depth, layer in enumerate(found.layers):
        lengths = np.diff(sequences.starts).tolist()
        for length, state in zip(lengths, layer, strict=True):
            if tuple(state.shape) != (length, hidden):
                findings.add(
                    f"`hidden_states` gives {tuple(state.shape)} at layer {depth} for a sequence of {length} tokens: "
                    f"give (tokens, hidden_size), here {(length, hidden)}"
                )
            elif not state.isfinite().all():
                findings.add(f"states of layer {depth} are not finite numbers")
    if tuple(found.summaries.shape) != (count, hidden):
        findings.add(
            f"summary gives {tuple(found.summaries.shape)} for {count} sequences, not {(count, hidden)}: give one "
            "vector of `hidden_size` for each sequence, in the order of the batch"
        )


def _compare_alone(together: States, alone: Sequence[States], findings: Findings) -> None:
    """Compare each sequence in a batch with the same sequence alone, at every layer; the lowest difference is told."""
    for depth, layer in enumerate(together.layers):
        gap = max(distance(single.layers[depth][0], state) for single, state in zip(alone, layer, strict=True))
        if gap > TOLERANCE:
            name = "the embeddings" if depth == 0 else f"the states of layer {depth}"
            findings.add(
                f"{name} of a text depend on the other sequences in its batch (alone and together they differ by "
                f"{gap:.2g}): {BORDERS}"
            )
            return
    gap = distance(torch.cat([single.summaries for single in alone]), together.summaries)
    if gap > TOLERANCE:
        findings.add(
            f"a sequence's summary depends on the other sequences in its batch (they differ by {gap:.2g}): give the "
            "summaries in the order of the sequences in the batch, each from its own tokens"
        )


def _compare(before: States, after: States, what: str, advice: str, findings: Findings, *, exact: bool = False) -> bool:
    """Compare all layers, then the summaries; the lowest difference is told. Return whether they are equal."""
    for depth, (left, right) in enumerate(zip(before.layers, after.layers, strict=True)):
        gap = max(distance(one, other) for one, other in zip(left, right, strict=True))
        if gap > (0 if exact else TOLERANCE):
            name = "embeddings" if depth == 0 else f"states at layer {depth}"
            findings.add(f"{what} give other {name} (they differ by {gap:.2g}): {advice}")
            return False
    gap = distance(before.summaries, after.summaries)
    if gap > (0 if exact else TOLERANCE):
        findings.add(f"{what} give other summaries (they differ by {gap:.2g}): {advice}")
        return False
    return True


def _check_summary_place(encoder: Encoder, sequences: Sequences, findings: Findings) -> None:
    """Check that the last state at `summary_place` reads the token at the other end, if that at the other end does.

    Neither does in a convolution, which sees few tokens. The shortest sequence of four tokens or more is read, of those
    in which another token there has another embedding: in a long one, a recurrent network or a window of attention may
    lose the far token.
    """
    own = encoder.summary_place
    other = "last" if own == "first" else "first"
    lengths = sequences.starts[1:] - sequences.starts[:-1]
    for chosen in np.argsort(lengths, kind="stable").tolist():
        reads = _reads_far_token(encoder, sequences, chosen, own) if lengths[chosen] >= 4 else None
        if reads is None:
            continue
        if not reads and _reads_far_token(encoder, sequences, chosen, other):
            findings.add(
                f"`summary_place` is '{own}', but the last layer's state there does not change with a token at the "
                f"other end: set it to '{other}' if the layers read in one direction"
            )
        return


def _reads_far_token(encoder: Encoder, sequences: Sequences, chosen: int, place: str) -> bool | None:
    """Return whether the last state at an end of a sequence changes with the other end; None if no embedding does."""
    near, far = (0, -2) if place == "first" else (-1, 1)  # a special token may be at the very end
    tokens = sequences.tokens.copy()
    row = tokens[sequences.starts[chosen] : sequences.starts[chosen + 1]]
    row[far] = row[1] if row[far] != row[1] else row[2]
    changed = Sequences(tokens, sequences.segments, sequences.starts)
    before = states(encoder, batch_of(sequences, [chosen])).layers
    after = states(encoder, batch_of(changed, [chosen])).layers
    if torch.equal(before[0][0], after[0][0]):
        return None
    return not torch.equal(before[-1][0][near], after[-1][0][near])


def check_dropout(encoder: Encoder, sequences: Sequences, findings: Findings) -> None:
    """Check that dropout is drawn from the batch alone, and that it is there."""
    everything = range(len(sequences.starts) - 1)
    encoder.train()
    try:
        with findings.step("to compute states with dropout"):
            first = states(encoder, batch_of(sequences, everything, dropout=Dropout(0, "check")))
            second = states(encoder, batch_of(sequences, everything, dropout=Dropout(0, "check")))
            is_repeated = _compare(
                first,
                second,
                "two passes over one batch with the same dropout",
                "draw each mask with `batch.dropout(x, rate, site)`, not with torch's own dropout",
                findings,
                exact=True,
            )
            without = states(encoder, batch_of(sequences, everything))
            if is_repeated and encoder.dropout > 0 and distance(first.summaries, without.summaries) == 0:
                findings.add(
                    f"`dropout` is {encoder.dropout}, but a batch with dropout gives the same summaries as one "
                    "without: apply `batch.dropout` in the layers, or set `dropout` to 0"
                )
    finally:
        encoder.eval()


def check_narrowed(encoder: Encoder, sequences: Sequences, findings: Findings) -> None:
    """Check that states are the same if a table of `word_embeddings` holds only the rows in use."""
    with findings.step("to compute states with tables of the words in use"):
        names = {id(module): name for name, module in encoder.named_modules()}
        tables = narrowed(encoder, Features.of(sequences))
        restored = {id(table.weight) for table in tables}
        whole = [table for table in encoder.word_embeddings if id(table.get_parameter("weight")) not in restored]
        for table in tables:
            table.restore(1.0)
        if whole:
            name = names.get(id(whole[0]), "?")
            findings.add(
                f"states change if the table '{name}' holds only the rows in use: a table of word_embeddings is "
                "used for more than looking up batch.tokens; leave the table out of `word_embeddings`"
            )


def check_layers(encoder: Encoder, findings: Findings) -> None:
    """Check depths, and that initialising the highest layer or the summary changes only weights of its depth.

    An encoder that does not say what its layers are, or does not initialise them, is not checked. Its weights change.
    """
    with findings.step("to initialise a layer"), contextlib.suppress(RequestError):
        depths = encoder.depths()
        count = len(encoder.layers)
        if depths.keys() != dict(encoder.named_parameters()).keys():
            findings.add("depths does not give the names of named_parameters: give a depth for each weight by its name")
            return
        source = torch.Generator().manual_seed(0)
        before = _weights(encoder)
        encoder.draw_layer(count - 1, source)
        _check_drawn("draw_layer", encoder, before, depths, count, findings)
        before = _weights(encoder)
        encoder.draw_summary(source)
        _check_drawn("draw_summary", encoder, before, depths, count + 1, findings)


def _check_drawn(
    method: str,
    encoder: Encoder,
    before: Mapping[str, torch.Tensor],
    depths: Mapping[str, int],
    depth: int,
    findings: Findings,
) -> None:
    """Add a fault if other weights than those of a depth changed, or none of them."""
    changed = [name for name, weight in encoder.named_parameters() if not torch.equal(weight, before[name])]
    outside = [name for name in changed if depths[name] != depth]
    if outside:
        findings.add(
            f"{method} changes a weight of another depth, {outside[0]}: change only weights of depth {depth}, or give "
            "this weight that depth in `depths`"
        )
    elif not changed and depth in depths.values():
        findings.add(
            f"{method} changes no weight: draw the weights of depth {depth} from the generator, or leave it out"
        )


def _weights(encoder: Encoder) -> dict[str, torch.Tensor]:
    return {name: weight.detach().clone() for name, weight in encoder.named_parameters()}
