"""CPU time of a training step of the plugin transformers: without padding, in padded buckets, as one padded batch.

`python benchmarks/flat_batches.py DATA bert CoLA --dropout 0.1 --runs 21` makes a random model of 6 layers, 384
wide, and batches of 32 sequences. Their lengths are those of the rows of CoLA or RTE below DATA/glue, estimated from
their words. The three ways alternate on one thread; medians and their ratios to the first way are printed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchrunner.engine import Dropout, Features, FlatBatch, collate
from benchrunner_checkpoints import buckets
from benchrunner_transformers.checkpoint.habits import takes_segments
from benchrunner_transformers.model.flat_attention import last_flat_state, reads_flat
from benchrunner_transformers.model.padding import OVERHEAD, join

COLUMNS = {"CoLA": (0, (3,)), "RTE": (1, (1, 2))}
"""Task -> header lines of train.tsv, and its columns of text."""
PIECES_PER_WORD = 1.3
WHOLE_BATCH = 10**9
"""Overhead of a bucket so large that a batch is never divided."""
SIZE = {
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_hidden_layers": 6,
    "num_attention_heads": 12,
    "max_position_embeddings": 512,
    "pad_token_id": 0,
}


def lengths_of(data: Path, task: str) -> np.ndarray:
    """Estimate the tokens of each training row."""
    header, columns = COLUMNS[task]
    lines = (data / "glue" / task / "train.tsv").read_text(encoding="utf-8").splitlines()[header:]
    words = [sum(len(line.split("\t")[column].split()) for column in columns) for line in lines]
    return np.minimum(np.array(words) * PIECES_PER_WORD, 250).astype(np.int64) + 1 + len(columns)


def made(model_type: str, rate: float) -> Any:
    """Make a random model whose dropout rates are all the same."""
    from transformers import CONFIG_MAPPING, AutoModel

    names = ("hidden_dropout_prob", "attention_probs_dropout_prob", "attention_dropout", "mlp_dropout")
    inner = 768 if model_type == "modernbert" else 1536  # its feed-forward layers have a gate of the same size
    tokens = dict.fromkeys(("bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"), 1)
    settings = {**SIZE, "intermediate_size": inner, **tokens, **dict.fromkeys(names, rate)}
    return AutoModel.from_config(CONFIG_MAPPING[model_type](**settings)).eval()


def batch_of(lengths: np.ndarray, seed: int) -> FlatBatch:
    """Make a batch of 32 sequences of random tokens, with lengths drawn from those of the rows."""
    source = np.random.default_rng(seed)
    chosen = source.choice(lengths, 32)
    tokens = source.integers(5, 30000, chosen.sum()).astype(np.int32)
    units, starts = np.arange(33), np.cumsum([0, *chosen])
    features = Features(tokens, np.zeros(len(tokens), np.int8), starts, units, units[:-1], {})
    return collate(features, units[:-1], torch.device("cpu"), dropout=Dropout(0, seed))


def padded_states(model: Any, batch: FlatBatch, overhead: int) -> torch.Tensor:
    """Run the model on padded buckets, with the library's own attention."""
    model.config._attn_implementation = "sdpa"
    parts = []
    for bucket in buckets.cheapest(batch.blocks, lambda count, length: count * length + overhead):
        inputs = {"input_ids": bucket.pad(batch.tokens, 0)}
        if bucket.padded:
            inputs["attention_mask"] = bucket.mask(batch.tokens.device)
        if takes_segments(model):
            inputs["token_type_ids"] = bucket.pad(batch.segments, 0)
        parts.append(bucket.unpad(model(**inputs)[0]))
    return join(parts, batch)


def seconds(model: Any, states: Callable[[FlatBatch], torch.Tensor], batch: FlatBatch) -> float:
    """Measure the CPU time of a forward and a backward pass."""
    started = time.process_time()
    model.zero_grad(set_to_none=True)
    states(batch)[batch.starts[:-1].long()].pow(2).mean().backward()  # type: ignore[no-untyped-call]
    return time.process_time() - started


def main() -> None:
    parser = argparse.ArgumentParser(description="CPU time of training steps with and without padding.")
    parser.add_argument("data", type=Path)
    parser.add_argument("model_type")
    parser.add_argument("task", choices=COLUMNS)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--runs", type=int, default=21)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, lengths = made(asked.model_type, asked.dropout), lengths_of(asked.data, asked.task)
    assert reads_flat(model), f"{asked.model_type} does not read flat batches"
    model.train()
    ways: dict[str, Callable[[FlatBatch], torch.Tensor]] = {
        "without padding": lambda batch: last_flat_state(model, batch),
        "padded buckets": lambda batch: padded_states(model, batch, OVERHEAD["cpu"]),
        "one padded batch": lambda batch: padded_states(model, batch, WHOLE_BATCH),
    }
    for states in ways.values():
        seconds(model, states, batch_of(lengths, 0))
    batches = [batch_of(lengths, seed) for seed in range(1, asked.runs + 1)]
    times = [[seconds(model, states, batch) for states in ways.values()] for batch in batches]
    for name, way in zip(ways, zip(*times, strict=True), strict=True):
        ratio = statistics.median(mine / run[0] for mine, run in zip(way, times, strict=True))
        print(f"{name}: {1000 * statistics.median(way):.0f} ms, {ratio:.2f} times")


if __name__ == "__main__":
    main()
