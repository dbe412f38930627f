"""Command `demo`: what benchrunner is for, in a few small studies on generated data, without a network."""

from __future__ import annotations

import argparse
import os
import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import unpack_archive
from typing import TYPE_CHECKING

from benchrunner import print_line
from benchrunner.results import command_line

if TYPE_CHECKING:
    from benchrunner.results import Runner
    from benchrunner_kit.demo import Demo

STEPS: Sequence[tuple[str, str]] = (
    (
        "Which of two sentences has its words in order? Nothing is trained: the model says which is likelier.",
        "compare BACKBONES --tasks {folder}/data/order.toml --method likelihood",
    ),
    (
        "The same question, learned from 160 pairs of sentences with three seeds. What differs clearly has a star.",
        "compare BACKBONES --tasks {folder}/data/order.toml --restarts 3 --limit-train 160 --epochs 2 --lr 1e-3 "
        "--batch-size 16 --name demo",
    ),
    (
        "Which words are names? The files have the layout of CoNLL-2003.",
        "compare BACKBONES --tasks conll --max-length 32 --epochs 1 --lr 2e-3 --batch-size 8 --published none",
    ),
    (
        "Which word does not belong in a sentence? The files have the layout of SQuAD.",
        "compare BACKBONES --tasks squad/1.1 --epochs 2 --lr 2e-3 --batch-size 16 --published none",
    ),
    (
        "All tasks of GLUE by logistic regression on the frozen model, and the archive for GLUE's server.",
        "compare {backbone} --tasks glue --method probe --limit-train 100 --published none",
    ),
    ("Is the archive as the server wants it?", "check {folder}/glue.zip --counts-from-manifest"),
    ("The results of step 2 as a page, with the rows where models differ.", "report demo --out {folder}/report.html"),
)
"""What each step shows, and its command."""
FITTED: Sequence[str] = ("conll", "glue")
"""Tasks of the steps that have their own demo data; `TALES` is the data of the others."""
TALES = Path(__file__).parent / "demo_data/tales.zip"
"""The right order of words, and words that do not belong, in six tales that were written for the demo: `bert/novels`
has not read them. `benchmarks/make_demo_data.py` has the tales."""
ALL = ("conll", "glue", "squad", "swag")
"""What `--all` fits."""
RECIPE = "--epochs 4 --lr 1e-3 --batch-size 16 --published none"
"""Recipe for a small backbone and a few hundred sentences, not for real fine-tuning."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `demo`."""
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("benchrunner-demo"),
        metavar="DIR",
        help="folder for all files of the demo (default: benchrunner-demo)",
    )
    parser.add_argument(
        "--tasks",
        nargs="+",
        metavar="TASK",
        help="fit these tasks or suites to generated data instead, and write their submissions",
    )
    parser.add_argument(
        "--all", action="store_const", const=ALL, dest="tasks", help=f"the same as --tasks {','.join(ALL)}"
    )
    parser.add_argument("--backbone", metavar="B", help="backbone instead of the one that is meant for the demo")
    parser.add_argument("--device", default="auto", metavar="NAME", help="cpu, cuda, mps, ... (default: auto)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(arguments: argparse.Namespace) -> int:
    """Write the data, run the steps, and say how to go on."""
    from benchrunner.results import Computing, Runner
    from benchrunner_kit.demo import Demo

    started = time.monotonic()
    demo = Demo.of(arguments.out, arguments.plugins, arguments.backbone)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # products of such small matrices are slower in several threads
    os.environ["HF_HUB_OFFLINE"] = "1"  # the hub's own libraries read this when they are imported
    for name in ("data", "runs", "cache"):
        os.environ[f"BENCHRUNNER_{name.upper()}"] = str(demo.folder / name)
    runner = Runner(demo.plugins, demo.workspace, Computing(arguments.device))
    _ = runner.resolved  # a device that cannot be used is an error before anything is written
    names, steps = arguments.tasks or FITTED, STEPS
    if arguments.tasks:
        line = f"compare BACKBONES --tasks {' '.join(names)} {RECIPE}"
        steps = (("Fine-tuning on small data sets in their real file layouts.", line),)
    demo.write_data(command_line.options.tasks(arguments, names))
    if steps is STEPS:
        unpack_archive(TALES, demo.folder / "data")
    print_line("To repeat a command by hand, first say where its data and results are:")
    print_line(
        f"  export BENCHRUNNER_DATA={demo.folder}/data BENCHRUNNER_RUNS={demo.folder}/runs "
        f"BENCHRUNNER_CACHE={demo.folder}/cache"
    )
    code = command_line.output.DONE
    for number, (title, line) in enumerate(steps, start=1):
        print_line(f"{number}. {title}")
        asked = _parsed(line, demo, arguments)
        code = max(code, asked.run(asked))
        if line.startswith("compare"):
            code = max(code, _submitted(asked, demo, runner))
    backbone, *twins = demo.backbones
    print_line(f"Done in {time.monotonic() - started:.0f} s. The data is small and made for this demo.")
    for twin in twins:
        print_line(f"{twin} is {backbone} without pre-training: their difference is what pre-training is worth here.")
    print_line("Next, with your own checkpoint and real data, from the hub or from the folder that --data names:")
    print_line(f"  benchrunner compare YOUR_CHECKPOINT {backbone} --tasks glue --restarts 3")
    return code


def _parsed(line: str, demo: Demo, arguments: argparse.Namespace) -> argparse.Namespace:
    """Print a command and parse it; its fits run one after another, so that their seconds add up."""
    words = list[str]()
    for word in line.split():
        is_pair = word == "BACKBONES"
        words += demo.backbones if is_pair else [word.format(folder=demo.folder, backbone=demo.backbones[0])]
    print_line(f"  benchrunner {shlex.join(words)}")
    asked: argparse.Namespace = arguments.commands[words[0]].parse_args(words[1:])
    vars(asked).update(words=words, device=arguments.device, quiet=arguments.quiet, jobs=1)
    return asked


def _submitted(asked: argparse.Namespace, demo: Demo, runner: Runner) -> int:
    """Write the submissions that the fits of a study make complete; return the exit code."""
    code = command_line.output.DONE
    tasks, options = command_line.options.tasks(asked, asked.tasks), command_line.options.study_options(asked)
    for submission in demo.write_submissions(tasks, options, runner):
        verdict = "; ".join(submission.faults) or "every file is as the board wants it, but for the official row counts"
        print_line(f"  wrote {submission.path}: {verdict}")
        code = command_line.output.FAILED if submission.faults else code
    return code
