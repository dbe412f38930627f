"""Command `demo`: run everything on generated data with a small backbone, without a network."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from benchrunner import print_line
from benchrunner.engine import platform_facts
from benchrunner.results import command_line


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `demo`."""
    jobs = _default_jobs()
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
        help="these tasks or suites, separated by blanks or commas (default: GLUE, SQuAD, SWAG and CoNLL)",
    )
    parser.add_argument("--backbone", metavar="B", help="backbone instead of the one that is meant for the demo")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generated data and of the fits")
    parser.add_argument("--jobs", type=int, default=jobs, metavar="N", help=f"fits at the same time (default: {jobs})")
    command_line.options.add_computing(parser)


def _default_jobs() -> int:
    """Run at most two fits at the same time: more would take more memory than a demo should."""
    return min(2, platform_facts.available_cores())


def run(arguments: argparse.Namespace) -> int:
    """Write the data, fit, print the table, write the submissions."""
    from benchrunner.results import Local, Runner, run_study
    from benchrunner_kit.demo import Demo

    started = time.monotonic()
    os.environ["HF_HUB_OFFLINE"] = "1"  # the hub's own libraries read this when they are imported
    executor = Local(arguments.jobs)
    demo = Demo.plan(
        arguments.out,
        arguments.plugins,
        tasks=command_line.options.tasks(arguments, arguments.tasks) if arguments.tasks else None,
        backbone=arguments.backbone,
        seed=arguments.seed,
        trusted_code=tuple(arguments.trust_code or ()),
    )
    runner = Runner(demo.plugins, demo.workspace, command_line.options.computing(arguments))
    _ = runner.resolved.device  # a device that cannot be used is an error before anything is written
    backbone, *twins = demo.study.backbones
    twin = "".join(f", and {name}, the same model without pre-training" for name in twins)
    print_line(
        f"1. Writing {len(demo.study.tasks)} small data sets in their real file layouts to {demo.folder / 'data'}"
    )
    demo.write_data()
    print_line(f"2. Fine-tuning {backbone} on each{twin}")
    result = run_study(
        demo.study, runner, executor=executor, show_progress=not arguments.quiet, command=arguments.words
    )
    code = command_line.output.print_result(result)
    for submission in demo.write_submissions(result, runner):
        verdict = "; ".join(submission.faults) or "every file is as the board wants it, but for the official row counts"
        print_line(f"3. Wrote {submission.path} with {len(submission.board.files)} files: {verdict}")
        code = command_line.output.FAILED if submission.faults else code
    print_line(f"4. Done in {time.monotonic() - started:.0f} s. Next, with your own checkpoint and the real files:")
    task = demo.study.tasks[0].name
    print_line(f"   benchrunner compare YOUR_CHECKPOINT {backbone} --tasks {task} --data YOUR_DATA --restarts 3")
    return code
