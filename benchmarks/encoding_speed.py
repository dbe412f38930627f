"""Pairs of sentences a minute that are encoded, and the memory of the process, at two sizes of the data.

python benchmarks/encoding_speed.py --data DIR [--model DIR] [--plugin transformers] [--quick]

The pairs are made of the sentences of STS-B, two for the first text and one for the second: 40 tokens, as in MNLI.
Each size is encoded in a process of its own into a new cache, from a table in memory. The seconds are those of the
processor, so that the rate is that of one core. The memory is what encoding adds at its peak.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measured_tasks import default_model, existing_folder

from benchrunner.fits.computing import Computing


def encode(arguments: argparse.Namespace, pairs: int) -> dict[str, float]:
    """Encode pairs into a new cache; return seconds, tokens and bytes of memory that encoding added."""
    import pyarrow as pa

    from benchrunner import Recipe, Workspace
    from benchrunner.engine import Cache
    from benchrunner.results import Runner, discover

    runner = Runner(discover(), Workspace(Path("runs"), Path("cache"), data=arguments.data), Computing("cpu"))
    rows, task = (
        runner.planner.rows(runner.plugins.tasks.find("glue/stsb"), "train").table,
        runner.plugins.tasks.find("glue/mnli"),
    )
    first, second = rows.column("a").to_pylist(), rows.column("b").to_pylist()
    draw = random.Random(0).choice
    texts = {"a": [f"{draw(first)} {draw(first)}" for _ in range(pairs)], "b": [draw(second) for _ in range(pairs)]}
    table = pa.table({**texts, "label": ["neutral"] * pairs})
    del texts
    prefix = f"{arguments.plugin}:" if arguments.plugin else ""
    encoder = runner.planner.backbone(f"{prefix}{arguments.model}").load(runner.workspace, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        memory, started = new_peak(), time.process_time()
        features = Cache(Path(folder)).features(table, task.problem, encoder, Recipe(), {}, training=True)
        seconds = time.process_time() - started
        return {"seconds": seconds, "tokens": len(features.tokens), "memory": peak() - memory}


def new_peak() -> int:
    """Let Linux measure the peak of this process's memory anew; return the bytes that it has now."""
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def peak() -> int:
    """Return the bytes of memory at the peak."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=existing_folder, required=True, help="folder with the folder STS-B of GLUE")
    parser.add_argument("--model", type=existing_folder, default=default_model())
    parser.add_argument("--plugin", help="plugin that loads the model, for example transformers")
    parser.add_argument("--quick", action="store_true", help="a tenth of the pairs")
    parser.add_argument("--pairs", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.pairs:
        print(json.dumps(encode(arguments, arguments.pairs)))
        return
    for pairs in (20_000, 80_000) if arguments.quick else (200_000, 800_000):
        words = [sys.executable, __file__, *sys.argv[1:], "--pairs", str(pairs)]
        done = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout.splitlines()[-1])
        print(
            f"{pairs:9,} pairs of {done['tokens'] / pairs:.0f} tokens: {done['seconds']:6.1f} s of the processor, "
            f"{60 * pairs / done['seconds']:11,.0f} pairs a minute and core, {done['memory'] / 1e6:6.0f} MB more",
            flush=True,
        )


if __name__ == "__main__":
    main()
