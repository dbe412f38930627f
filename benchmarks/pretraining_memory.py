"""What a process of a pre-training holds at each ZeRO stage, in bytes a parameter, beside what the docs count.

python benchmarks/pretraining_memory.py [--size base] [--processes 1,2] [--precision fp32]

Resident memory behind the third backward pass of a short sequence, less what it was before the model was made, with
what was freed given back to the system: weights, gradients, moments and DeepSpeed's buffers, next to no activations.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

COUNTED: dict[int, Callable[[int], float]] = {
    0: lambda n: 16.0,
    1: lambda n: 8 + 12 / n,
    2: lambda n: 4 + 16 / n,
    3: lambda n: 20 / n,
}
"""Stage -> bytes a parameter of docs/proofs/pretraining.md."""


def resident() -> int:
    """Bytes, after everything that was freed has been given back."""
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def child(asked: argparse.Namespace) -> None:
    """One process: the engine as `benchrunner pretrain` makes it, and steps on made-up tokens."""
    import numpy as np
    import torch

    from benchrunner_bert.backbones import VOCABULARY
    from benchrunner_bert.pretraining.architectures import of_size
    from benchrunner_bert.pretraining.deepspeed.engine import Engine
    from benchrunner_bert.pretraining.instances.batches import pack
    from benchrunner_bert.pretraining.instances.instance import Instance
    from benchrunner_bert.pretraining.settings import Settings
    from benchrunner_bert.tokenizer import BertTokenizer

    torch.distributed.init_process_group("gloo")
    settings = Settings(batch_size=2, zero=asked.stage, precision=asked.precision)
    tokenizer = BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True)
    before = resident()
    architecture, size = of_size(asked.size)
    model = architecture.fresh(size, tokenizer, settings)
    options = {"zero_optimization": {"stage": asked.stage}} if asked.stage else {}  # also in one process
    engine = Engine(model, settings, options)
    count = sum(getattr(one, "ds_numel", one.numel()) for one in model.parameters() if one.requires_grad)
    tokens = np.arange(100, 116, dtype=np.int32)
    row = Instance(tokens, np.zeros(16, np.int8), np.array([3]), tokens[3:4], 1)
    for step in range(3):
        batch = pack([row]).on(engine.device)
        sums = engine(batch)
        engine.backward(sums.loss(2, 2), last=True)
        held = resident() - before  # with the gradients, and from the second step on with the moments
        engine.step(step, 1e-4)
    print(json.dumps({"bytes": held / count, "parameters": count}))
    torch.distributed.barrier()
    engine.close()


def measured(asked: argparse.Namespace, stage: int, processes: int) -> dict[str, float]:
    """The mean over the processes."""
    from benchrunner_bert.pretraining.deepspeed.processes import free_port

    common = {**os.environ, "WORLD_SIZE": str(processes), "MASTER_ADDR": "127.0.0.1", "DS_ACCELERATOR": "cpu"}
    common |= {"MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
    words = [sys.executable, __file__, "--size", asked.size, "--precision", asked.precision, "--stage", str(stage)]
    started = [
        subprocess.Popen(
            words,
            env={**common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(processes)
    ]
    found = []
    for one in started:
        said, complained = one.communicate()
        if one.returncode:
            raise SystemExit(f"stage {stage}, {processes} process(es):\n{complained[-2000:]}")
        found.append(json.loads(next(line for line in said.splitlines() if line.startswith("{"))))
    return {"bytes": sum(one["bytes"] for one in found) / processes, "parameters": found[0]["parameters"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", default="base")
    parser.add_argument("--processes", default="1,2")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--stage", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.stage is not None:
        child(asked)
        return
    for processes in (int(one) for one in asked.processes.split(",")):
        for stage, counted in COUNTED.items():
            one = measured(asked, stage, processes)
            print(
                f"{asked.size}, {one['parameters'] / 1e6:.1f}M parameters, {asked.precision}, ZeRO {stage}, "
                f"{processes} process(es): {one['bytes']:.1f} bytes a parameter each, {counted(processes):.1f} counted",
                flush=True,
            )


if __name__ == "__main__":
    main()
