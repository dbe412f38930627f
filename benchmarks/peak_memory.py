"""Peak resident memory of fine-tuning BERT-BASE on RTE at batch 32, on the CPU.

python benchmarks/peak_memory.py --data DIR [--backbone bert/random-base] [--rows 320] [--recompute]
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from pathlib import Path

from benchrunner import Recipe, Workspace
from benchrunner.results import Computing, Runner, discover


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--backbone", default="bert/random-base")
    parser.add_argument("--task", default="glue/rte")
    parser.add_argument("--rows", type=int, default=320)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--recompute", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "runs", Path(folder) / "cache", data=arguments.data)
        runner = Runner(discover(), workspace, Computing("cpu", recompute=arguments.recompute))
        task = runner.plugins.tasks.find(arguments.task)
        recipe = Recipe(epochs=1, limit_train=arguments.rows, precision=arguments.precision)
        record = runner.run(runner.planner.plan(task, arguments.backbone, recipe=recipe))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rate = record.timings["examples_per_second"]
    print(f"{arguments.backbone} on {arguments.task}, batch 32, {arguments.precision}: {record.status}")
    print(f"peak {peak:.2f} GiB resident; {rate:.2f} examples a second")


if __name__ == "__main__":
    main()
