"""What pre-training is worth in the backbone that comes along: bert/novels beside its random twin, task by task.

python benchmarks/embedded_backbone.py --data DIR --out DIR [--tasks stsb,sst2] [--restarts 5] [--lr 1e-4,3e-4]

Both are fitted by `benchrunner compare` with the same recipe, seeds and rows (`--limit-train`, 10,000 unless told);
where there are several learning rates each backbone has its best one on dev, by the mean over the restarts. Shown are
the headline on dev, means over the restarts, their difference, and its standard error.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import statistics
from typing import Any

TRAINED, TWIN = "bert/novels", "bert/random-4/192"


def compared(asked: argparse.Namespace) -> dict[str, Any]:
    """What the command says."""
    from benchrunner.command_line.main import main

    words = ["compare", TRAINED, TWIN, "--tasks", asked.tasks, "--data", asked.data, "--runs", f"{asked.out}/runs"]
    words += ["--restarts", str(asked.restarts), "--limit-train", str(asked.limit_train)]
    words += ["--precision", asked.precision]
    words += ["--lr", asked.lr, "--epochs", str(asked.epochs), "--jobs", str(asked.jobs), "--offline", "--json"]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(words)
    if code:
        raise SystemExit(f"benchrunner {' '.join(words)} ended with {code}")
    found: dict[str, Any] = json.loads(said.getvalue())
    return found


def headline(found: dict[str, Any], backbone: str, task: str) -> tuple[str, list[float], float]:
    """Its name, one figure a restart, and the learning rate that was chosen."""
    (cell,) = (one for one in found["cells"] if (one["backbone"], one["task"]) == (backbone, task))
    first = cell["scores"][0]
    return f"{first['split']} {first['metric']}", first["restarts"], cell["recipe"]["lr"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--tasks", default="stsb,sst2")
    parser.add_argument("--restarts", type=int, default=5)
    parser.add_argument("--limit-train", type=int, default=10_000)
    parser.add_argument("--lr", default="3e-4")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    found = compared(asked)
    for task in dict.fromkeys(one["task"] for one in found["cells"]):
        name, mine, lr = headline(found, TRAINED, task)
        _, others, other_lr = headline(found, TWIN, task)
        error = math.sqrt((statistics.variance(mine) + statistics.variance(others)) / len(mine))
        gain = statistics.fmean(mine) - statistics.fmean(others)
        print(
            f"{task} ({name}): {TRAINED} {statistics.fmean(mine):.4f} (lr {lr}), {TWIN} {statistics.fmean(others):.4f} "
            f"(lr {other_lr}); difference {gain:+.4f}, its standard error {error:.4f}: {gain / error:.1f} of them"
        )


if __name__ == "__main__":
    main()
