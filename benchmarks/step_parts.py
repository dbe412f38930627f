"""CPU time of the parts of a training step with torch alone and with plugins/kernels, in turns: a table and a graph.

OMP_NUM_THREADS=1 taskset -c 1 python benchmarks/step_parts.py --out parts.svg [--repeats 9]

A step is one of kernel_speed.py in fp32: a fresh BERT of 6 layers and 384 hidden units, forward, backward, clipping
and AdamW. Each part is computed alone with its gradients, as often as a step does; the rest is what the step takes
longer: embeddings, biases, Python. Above the attention of the last layer, a step computes one state of each sequence
alone, which counts as rest. The figures are medians of CPU time.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import torch
from kernel_speed import HEADS, HIDDEN, LAYERS, WORDS, NoTokenizer, attention, gelu, lengths, norm, step

from benchrunner import Recipe
from benchrunner.engine import flushed_denormals, optimizer, randomness
from benchrunner.features.kernels import described
from benchrunner.training.memory import keep_freed_memory
from benchrunner_bert.configuration import Configuration
from benchrunner_bert.model import Bert
from benchrunner_kernels.compiled import checked_kernels

BATCHES = {
    "CoLA": "32 sequences of 6 to 19 tokens",
    "RTE": "32 sequences of 15 to 256 tokens",
    "SQuAD": "12 sequences of 384 tokens",
}
SIDES = ("torch", "kernels")
COLOURS = {
    "matrix products": "#4c72b0",
    "attention": "#dd8452",
    "dropout, residual, norm": "#55a868",
    "GELU": "#c44e52",
    "clipping, AdamW": "#8172b3",
    "rest": "#b0b0b0",
}
"""Part -> colour, in the order of the graph."""
LEFT, WIDTH, BAR = 70, 620, 22
"""Places of the graph, in pixels: where bars begin, the length of a step with torch, and the height of a bar."""


def products(tokens: int) -> Callable[[], None]:
    """Make the function that computes the matrix products of all layers, and those of their gradients."""
    layer = []
    for inputs, outputs in ((HIDDEN, 3 * HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 4 * HIDDEN), (4 * HIDDEN, HIDDEN)):
        layer.append((torch.randn(tokens, inputs), torch.randn(outputs, inputs), torch.randn(tokens, outputs)))
    of_step = [*layer * (LAYERS - 1), layer[0]]

    def run() -> None:
        for states, weight, gradient in of_step:
            states @ weight.T
            gradient @ weight
            gradient.T @ states

    return run


def update() -> Callable[[], None]:
    """Make the function that clips the gradients and takes AdamW's step."""
    shape = Configuration(vocabulary=WORDS, hidden=HIDDEN, layers=LAYERS, heads=HEADS, inner=4 * HIDDEN)
    model = Bert(shape, NoTokenizer())  # type: ignore[arg-type]
    model.draw(randomness.generator(0))
    learned = optimizer.Optimizer({"encoder": model}, Recipe())
    for weight in model.parameters():
        weight.grad = torch.randn_like(weight)
    return lambda: learned.step(0, 1e-5)


def medians(runs: Mapping[str, Callable[[], None]], repeats: int) -> dict[str, float]:
    """Call functions in turns, in both orders; return the median milliseconds of each, without its first call."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(repeats + 1):
        for name in sorted(runs, reverse=bool(turn % 2)):
            began = time.process_time()
            runs[name]()
            if turn:
                times[name].append((time.process_time() - began) * 1e3)
    return {name: statistics.median(of_run) for name, of_run in times.items()}


def measured(sizes: np.ndarray, repeats: int) -> dict[str, dict[str, float]]:
    """Measure a step of one batch: side -> part -> milliseconds."""
    runs = {"products": products(int(sizes.sum())), "update": update()}
    for side, kernels in zip(SIDES, (None, checked_kernels()), strict=True):
        for make in (attention, norm, gelu, step):
            runs[f"{make.__name__} {side}"] = make(sizes, "fp32", kernels)
    of = medians(runs, repeats)
    sides = {}
    for side in SIDES:
        attended, normed, bent = (of[f"{part} {side}"] for part in ("attention", "norm", "gelu"))
        lower = LAYERS - 1
        parts = [of["products"], LAYERS * attended, 2 * lower * normed, lower * bent, of["update"]]
        sides[side] = dict(zip(COLOURS, (*parts, of[f"step {side}"] - sum(parts)), strict=True))
    return sides


def drawing(steps: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Draw bars of the parts as SVG; both bars of a batch have the scale of its step with torch."""
    lines = []
    for place, (part, colour) in enumerate(COLOURS.items()):
        left = LEFT + (0, 120, 200, 365, 420, 545)[place]
        lines.append(f'<rect x="{left}" y="8" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{left + 16}" y="18">{part}</text>')
    top = 48
    for name, sides in steps.items():
        torch_step = sum(sides["torch"].values())
        lines.append(f'<text x="{LEFT}" y="{top - 6}">{BATCHES[name]}</text>')
        for side in SIDES:
            lines.append(f'<text x="{LEFT - 6}" y="{top + 15}" text-anchor="end">{side}</text>')
            x = float(LEFT)
            for part, took in sides[side].items():
                length = max(0.0, took) / torch_step * WIDTH
                lines.append(
                    f'<rect x="{x:.1f}" y="{top}" width="{length:.1f}" height="{BAR}" fill="{COLOURS[part]}"/>'
                )
                x += length
            lines.append(f'<text x="{x + 6:.1f}" y="{top + 15}">{sum(sides[side].values()):.0f} ms</text>')
            top += BAR + 6
        top += 24
    size = f'width="{LEFT + WIDTH + 70}" height="{top - 20}" font-family="sans-serif" font-size="12"'
    heading = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([heading, '<rect width="100%" height="100%" fill="white"/>', *lines, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=9)
    arguments = parser.parse_args()
    print(f"{described(checked_kernels())}; torch {torch.__version__}, {torch.get_num_threads()} thread(s)\n")
    print(f"| batch | side | {' | '.join(COLOURS)} | step, ms |\n|---|---|{'---|' * (len(COLOURS) + 1)}")
    keep_freed_memory()
    steps = {}
    with flushed_denormals():
        for name in BATCHES:
            steps[name] = measured(lengths(np.random.default_rng(0))[name], arguments.repeats)
            for side, parts in steps[name].items():
                whole = sum(parts.values())
                shares = " | ".join(f"{took / whole:.0%}" for took in parts.values())
                print(f"| {name} | {side} | {shares} | {whole:.0f} |", flush=True)
    arguments.out.write_text(drawing(steps), encoding="utf-8")


if __name__ == "__main__":
    main()
