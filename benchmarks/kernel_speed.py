"""CPU time of plugins/kernels beside torch, in turns: attention, the norm of a sum, GELU, and whole training steps.

OMP_NUM_THREADS=1 taskset -c 1 python benchmarks/kernel_speed.py [--computed step] [--precisions fp32] [--repeats 9]

The batches are random, with the lengths of CoLA (32 sequences of 6 to 19 tokens), RTE (32 of 15 to 256) and SQuAD (12
of 384). A step is one of a fresh BERT of 6 layers and 384 hidden units: forward, backward, clipping and AdamW. Turns
change their order. The tables have the median of the ratios of neighbouring turns, and their quartiles.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from benchrunner import Recipe
from benchrunner.engine import (
    Dropout,
    Features,
    FlatBatch,
    collate,
    flat_batch,
    flushed_denormals,
    optimizer,
    randomness,
)
from benchrunner.features.kernels import Kernels, described
from benchrunner.training.half_weights import HalfWeights
from benchrunner.training.memory import keep_freed_memory
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_checkpoints import attend
from benchrunner_kernels.compiled import checked_kernels

HEADS, SIZE, LAYERS = 12, 32, 6
HIDDEN = HEADS * SIZE
WORDS = 6000
"""Rows of the word embeddings: those that a small task uses."""
RATE = 0.1
CPU = torch.device("cpu")


@dataclass
class NoTokenizer:
    """Stands for a tokenizer, which no step uses."""

    fingerprint: str = ""


def lengths(draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Draw the lengths of one batch of each kind."""
    longer = np.clip(15 + draw.gamma(2, 32, 32), 15, 256).astype(int)
    return {"CoLA": draw.integers(6, 20, 32), "RTE": longer, "SQuAD": np.full(12, 384)}


def batch_of(sizes: np.ndarray, precision: str, kernels: Kernels | None) -> FlatBatch:
    """Make a batch of sequences of these lengths."""
    draw = np.random.default_rng(0)
    tokens = draw.integers(5, WORDS, sizes.sum())
    units = np.arange(len(sizes))
    features = Features(
        tokens=tokens.astype(np.int32),
        segments=np.zeros(len(tokens), np.int8),
        starts=np.cumsum([0, *sizes]),
        groups=np.arange(len(sizes) + 1),
        owner=units,
        targets={},
    )
    multiple = flat_batch.rounding(precision, len(tokens))
    return collate(features, units, CPU, dropout=Dropout(0, 1), multiple=multiple, kernels=kernels)


def attention(sizes: np.ndarray, precision: str, kernels: Kernels | None) -> Callable[[], None]:
    """Make the function that computes attention and its gradient."""
    batch = batch_of(sizes, precision, kernels)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    qkv = torch.randn(len(batch.tokens), 3, HEADS, SIZE).to(kind).requires_grad_()
    outer = torch.randn(len(batch.tokens), HIDDEN).to(kind)

    def run() -> None:
        qkv.grad = None
        attend(qkv, batch, rate=RATE, site="a").backward(outer)  # type: ignore[no-untyped-call]

    return run


def norm(sizes: np.ndarray, precision: str, kernels: Kernels | None) -> Callable[[], None]:
    """Make the function that computes the norm of a sum and its gradients."""
    batch = batch_of(sizes, precision, kernels)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    x, residual, outer = torch.randn(3, len(batch.tokens), HIDDEN).unbind()
    x = x.to(kind).requires_grad_()
    residual = residual.clone().requires_grad_()
    layer = nn.LayerNorm(HIDDEN)

    def run() -> None:
        batch.add_and_norm(x, residual, layer, RATE, "a").backward(outer)  # type: ignore[no-untyped-call]

    return run


def gelu(sizes: np.ndarray, precision: str, kernels: Kernels | None) -> Callable[[], None]:
    """Make the function that computes GELU and its gradient."""
    batch = batch_of(sizes, precision, kernels)
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    x, outer = torch.randn(2, len(batch.tokens), 4 * HIDDEN).to(kind).unbind()
    x = x.clone().requires_grad_()

    def run() -> None:
        x.grad = None
        batch.gelu(x).backward(outer)  # type: ignore[no-untyped-call]

    return run


def step(sizes: np.ndarray, precision: str, kernels: Kernels | None) -> Callable[[], None]:
    """Make the function that takes a training step."""
    shape = Configuration(vocabulary=WORDS, hidden=HIDDEN, layers=LAYERS, heads=HEADS, inner=4 * HIDDEN)
    model = Bert(shape, NoTokenizer()).train()  # type: ignore[arg-type]
    model.draw(randomness.generator(0))
    head = nn.Linear(HIDDEN, 2)
    halves = HalfWeights([model], kernels) if kernels is not None and precision == "bf16" else None
    learned = optimizer.Optimizer({"encoder": model, "head": head}, Recipe(), halves=halves)
    batch = batch_of(sizes, precision, kernels)
    labels = torch.zeros(len(sizes), dtype=torch.int64)

    def run() -> None:
        learned.clear()
        casts = nullcontext() if halves is None else halves.read()
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"), casts:
            summary = model.summarized(batch)
        functional.cross_entropy(head(summary.float()), labels).backward()  # type: ignore[no-untyped-call]
        learned.step(0, 1e-5)

    return run


def ratios(ours: Callable[[], None], theirs: Callable[[], None], repeats: int) -> tuple[np.ndarray, float]:
    """Return the ratios of CPU time of neighbouring turns, and the median milliseconds of `theirs`."""
    times: dict[Callable[[], None], list[float]] = {ours: [], theirs: []}
    for turn in range(repeats + 1):
        for run in (ours, theirs) if turn % 2 else (theirs, ours):
            began = time.process_time()
            run()
            if turn:  # the first warms up
                times[run].append(time.process_time() - began)
    return np.array(times[ours]) / np.array(times[theirs]), float(np.median(times[theirs])) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--computed", type=lambda text: text.split(","), default=["attention", "norm", "gelu", "step"])
    parser.add_argument("--precisions", type=lambda text: text.split(","), default=["fp32", "bf16"])
    parser.add_argument("--batches", type=lambda text: text.split(","), default=["CoLA", "RTE", "SQuAD"])
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    kernels = checked_kernels()
    capability = torch.backends.cpu.get_cpu_capability()
    print(f"{described(kernels)}; torch {torch.__version__} ({capability}), {torch.get_num_threads()} thread(s)\n")
    print("| computed | precision | batch | torch, ms | kernels / torch | quartiles |")
    print("|---|---|---|---|---|---|")
    keep_freed_memory()
    with flushed_denormals():
        for make in (one for one in (attention, norm, gelu, step) if one.__name__ in arguments.computed):
            for precision in arguments.precisions:
                for name in arguments.batches:
                    sizes = lengths(np.random.default_rng(0))[name]
                    shares, milliseconds = ratios(
                        make(sizes, precision, kernels), make(sizes, precision, None), arguments.repeats
                    )
                    low, middle, high = np.quantile(shares, (0.25, 0.5, 0.75))
                    figures = f"{milliseconds:.1f} | {middle:.2f} | {low:.2f} to {high:.2f}"
                    print(f"| {make.__name__} | {precision} | {name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
