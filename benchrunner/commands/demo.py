"""demo: the whole way on generated data and a small backbone, without a network."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

from benchrunner.commands import options
from benchrunner.errors import RequestError
from benchrunner.plugins.registry import Plugins

RECIPE = {"epochs": 4, "batch_size": 16, "lr": 1e-3}
"""For a small backbone on a few hundred sentences; nothing to fine-tune a real one with."""
JOBS = min(2, len(os.sched_getaffinity(0)))
"""Fits at once: more would take more memory than a demo should."""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    demo = commands.add_parser(
        "demo", help="see the whole way work: generated data, a small backbone, minutes on a CPU"
    )
    demo.add_argument("--out", type=Path, default=Path("benchrunner-demo"), metavar="DIR", help="where everything goes")
    demo.add_argument("--backbone", metavar="B", help="instead of the smallest one at hand")
    demo.add_argument("--seed", type=int, default=0, help="of the generated data and of the fits")
    demo.add_argument("--jobs", type=int, default=JOBS, metavar="N", help=f"fits at once ({JOBS})")
    options.computing(demo)
    demo.set_defaults(run=demo_command)


def demo_command(arguments: argparse.Namespace) -> int:
    from benchrunner.commands.fitting import show
    from benchrunner.runs.executors import Local
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.study import Study
    from benchrunner.studies.study_run import run_study
    from benchrunner.workspace import Settings, Workspace

    started, plugins, home = time.monotonic(), arguments.plugins, arguments.out
    os.environ["HF_HUB_OFFLINE"] = "1"
    tasks = [task for task in plugins.tasks.values() if task.demo_files is not None]
    if not tasks:
        raise RequestError("No installed task can write demo data: install a plugin that has such a task.")
    backbone = arguments.backbone or _smallest(plugins)
    print(f"1. Writing {len(tasks)} small data sets in their real file layouts to {home / 'data'}")
    for task in tasks:
        task.demo_files(arguments.seed, home / "data")
    workspace = Workspace(
        runs=home / "runs",
        cache=home / "cache",
        data=home / "data",
        settings=Settings(offline=True, official_counts=False),
    )
    runner = Runner(plugins, workspace, device=arguments.device, checkpoint_seconds=arguments.checkpoint_every)
    twin = plugins.backbone(backbone, workspace)[0].twin
    beside = f", and {twin}, the same model without pre-training" if twin else ""
    print(f"2. Fine-tuning {backbone} on each{beside}")
    backbones = (backbone, twin) if twin else (backbone,)
    study = Study(backbones, tuple(tasks), seeds=(arguments.seed,), changes={**RECIPE, "precision": "fp32"})
    result = run_study(study, runner, executor=Local(arguments.jobs), show_progress=not arguments.quiet)
    code = show(result, as_json=False)
    boards = [
        one
        for one in plugins.leaderboards.values()
        if {name for name, _ in one.wanted} <= {task.name for task in tasks}
    ]
    for board in boards:
        code = _submission(board, result, runner, home) or code
    print(f"4. Done in {time.monotonic() - started:.0f} s. Next, with your own checkpoint and the real files:")
    print(f"   benchrunner compare YOUR_CHECKPOINT {backbone} --tasks {tasks[0].name} --data YOUR_DATA --restarts 3")
    return code


def _smallest(plugins: Plugins) -> str:
    for name, one in plugins.backbones.items():
        if one.for_demo:
            return name
    raise RequestError(
        "No installed backbone is meant for the demo: install a plugin that has one, or give --backbone."
    )


def _submission(board, result, runner, home: Path) -> int:  # type: ignore[no-untyped-def]
    from benchrunner.leaderboards import checking, writing
    from benchrunner.leaderboards.manifests import read_manifest
    from benchrunner.studies.submission_answers import answers, selected

    cells = [one for one in result.cells if one.cell.backbone == result.study.backbones[0]]
    found = answers(board, selected(board, cells, runner), {}, runner)
    counts = {file.name: len(found[file.task, file.split].values) for file in board.files}
    path = writing.write_answers(board, found, home, counts=counts)
    tables = {pair: one.table for pair, one in found.items() if one.table is not None}
    problems = checking.find_faults(board, path, manifest=read_manifest(path), tables=tables)
    verdict = "; ".join(problems) or "every file is as the board wants it, but for the official row counts"
    print(f"3. Wrote {path} with {len(board.files)} files: {verdict}")
    return int(bool(problems))
