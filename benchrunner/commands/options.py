"""Options that several commands share, and what they mean."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from benchrunner.errors import RequestError
from benchrunner.executor import Executor
from benchrunner.recipes import CONTEXTS, GRIDS, LAYERS, SAMPLES, SPECIAL, Grid, Recipe
from benchrunner.runs.executors import Local
from benchrunner.runs.runner import Runner
from benchrunner.studies.study import Study
from benchrunner.tasks.task import Task
from benchrunner.workspace import CHECKPOINT_SECONDS, Workspace

T = TypeVar("T")

RECIPE = (
    *("lr", "epochs", "batch_size", "grid", "max_length", *SPECIAL, "dropout", "paper_adam", "micro_tokens"),
    *("limit_train", "sample", "method", "seeds", "restarts", "jobs"),
)
"""The options of `recipe` that are unset unless they are given."""


def workspace_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="raw data files, asked before the hub (BENCHRUNNER_DATA)"
    )
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where fits are kept (BENCHRUNNER_RUNS, else ./runs)")
    parser.add_argument(
        "--leave-out-bad-rows",
        action="store_true",
        help="go on without rows whose parts contradict each other, such as an answer that is not at its offset",
    )
    parser.add_argument("--offline", action="store_true", help="never ask the hub (HF_HUB_OFFLINE)")


def computing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="cpu, cuda, cuda:1, ... (auto)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument(
        "--checkpoint-every",
        type=float,
        default=CHECKPOINT_SECONDS,
        metavar="SECONDS",
        help=f"what a fit that is killed can lose ({CHECKPOINT_SECONDS:.0f})",
    )


def output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="results as JSON")


def recipe(parser: argparse.ArgumentParser) -> None:
    """What a fit is told. Several values, separated by commas, are a grid."""
    group = parser.add_argument_group("recipe", "one value, or several separated by commas to choose from on dev")
    group.add_argument("--lr", type=listed(float), metavar="A,B", help="peak learning rate")
    group.add_argument("--epochs", type=listed(int), metavar="A,B", help="passes over the training data")
    group.add_argument("--batch-size", type=listed(int), metavar="A,B", help="examples in one step")
    group.add_argument("--grid", choices=sorted(GRIDS), help="a named grid; the options above override its lists")
    group.add_argument("--max-length", type=int, metavar="N", help="tokens of one sequence")
    group.add_argument("--stride", type=int, metavar="N", help="tokens by which windows over a long text move on")
    group.add_argument("--context", choices=CONTEXTS, help="what a sequence shows around a sentence of a document")
    group.add_argument("--features", choices=LAYERS, help="what the method 'features' reads of a frozen encoder")
    group.add_argument("--dropout", type=float, metavar="RATE", help="instead of the backbone's own")
    group.add_argument(
        "--paper-adam", action="store_true", help="Adam without bias correction, as the paper's code has it"
    )
    group.add_argument(
        "--precision", choices=("auto", "fp32", "bf16"), default="auto", help="auto: bf16 on a GPU, fp32 on a CPU"
    )
    group.add_argument("--micro-tokens", type=int, metavar="N", help="the most tokens computed at once")
    group.add_argument("--limit-train", type=int, metavar="N", help="learn from N rows only: see --sample")
    group.add_argument(
        "--sample",
        choices=SAMPLES,
        help="the rows of --limit-train: the first N (default), or a stratified random N, another N for each seed",
    )
    group.add_argument("--method", help="instead of each task's own")
    seeds = group.add_mutually_exclusive_group()
    seeds.add_argument("--seeds", type=listed(int), metavar="0,1,2", help="one restart for each seed")
    seeds.add_argument("--restarts", type=int, metavar="N", help="seeds 0 to N - 1")
    group.add_argument("--keep", choices=("selected", "all", "none"), default="selected", help="whose weights stay")
    group.add_argument("--executor", default="local", help="where fits run")
    group.add_argument(
        "--jobs", type=int, metavar="N", help="fits at once on this machine; as many as cores is best on a CPU"
    )


def listed(kind: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    """An argparse type: values separated by commas."""

    def values(text: str) -> tuple[T, ...]:
        try:
            return tuple(kind(one) for one in text.split(","))
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a list of numbers such as 1,2") from None

    return values


def workspace_of(arguments: argparse.Namespace) -> Workspace:
    found = Workspace.from_environment(data=arguments.data, runs=arguments.runs)
    if arguments.data is not None and not arguments.data.is_dir():
        raise RequestError(f"--data {arguments.data}: there is no such folder.")
    if found.runs.exists() and not (found.runs.is_dir() and os.access(found.runs, os.R_OK | os.X_OK)):
        raise RequestError(f"{found.runs}: fits are kept in a folder, and this is none that can be read.")
    settings = dataclasses.replace(
        found.settings,
        offline=found.settings.offline or arguments.offline,
        leave_out_bad_rows=arguments.leave_out_bad_rows,
    )
    if arguments.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's own libraries when they are imported
    return dataclasses.replace(found, settings=settings)


def runner(arguments: argparse.Namespace) -> Runner:
    if not arguments.checkpoint_every >= 0:
        raise RequestError(f"--checkpoint-every is a number of seconds from zero up, not {arguments.checkpoint_every}.")
    return Runner(
        arguments.plugins,
        workspace_of(arguments),
        device=arguments.device,
        checkpoint_seconds=arguments.checkpoint_every,
    )


def study(arguments: argparse.Namespace, backbones: tuple[str, ...], tasks: list[Task], runner: Runner) -> Study:
    """The study that the recipe options describe."""
    _check_read(arguments, tasks, runner)
    choices: dict[str, Sequence[Any]] = dict(GRIDS[arguments.grid]) if arguments.grid else {}
    for name in ("lr", "epochs", "batch_size"):
        if getattr(arguments, name) is not None:
            choices[name] = getattr(arguments, name)
    changes: dict[str, Any] = {"precision": runner.precision(arguments.precision)}
    for name in ("max_length", "stride", "context", "features", "dropout", "micro_tokens", "limit_train", "sample"):
        if getattr(arguments, name) is not None:
            changes[name] = getattr(arguments, name)
    if arguments.paper_adam:
        changes["bias_correction"] = False
    for name, values in choices.items():
        for value in values:
            Recipe(**{name: value})  # a bad value is said before anything is loaded
    if arguments.restarts is not None and arguments.restarts < 1:
        raise RequestError(f"--restarts must be at least 1, not {arguments.restarts}.")
    seeds = arguments.seeds or tuple(range(arguments.restarts or 1))
    return Study(
        backbones=tuple(dict.fromkeys(backbones)),
        tasks=tuple(tasks),
        grid=Grid(choices),
        seeds=seeds,
        changes=changes,
        method=arguments.method,
        keep=arguments.keep,
    )


def recipe_of(texts: Mapping[str, str], where: str) -> dict[str, Any]:
    """Recipe options as a file has them: their names without dashes -> values as they would be typed."""
    parser = _Parser(where)
    recipe(parser)
    known = [name.replace("_", "-") for name in RECIPE if name not in ("method", "jobs", "paper_adam")]
    for name in texts:
        if name not in known:
            raise RequestError(f"{where}: a recipe has no '{name}'. It has: {', '.join(known)}.")
    return given_recipe(parser.parse_args([f"--{name}={text}" for name, text in texts.items()]))


class _Parser(argparse.ArgumentParser):
    """What is wrong is told with the place where it stands."""

    def __init__(self, where: str) -> None:
        super().__init__(add_help=False)
        self._where = where

    def error(self, message: str) -> NoReturn:
        raise RequestError(f"{self._where}: {message}.")


def given_recipe(arguments: argparse.Namespace) -> dict[str, Any]:
    """Those of the recipe options that are given and that say what is fitted."""
    values = {name: getattr(arguments, name) for name in RECIPE if name not in ("method", "jobs")}
    return {name: value for name, value in values.items() if value is not None and value is not False}


def over(above: Mapping[str, Any], below: Mapping[str, Any]) -> dict[str, Any]:
    """Recipe options with others put before them; one that stands for several hides all of these."""
    hidden = {*above, *(one for name in above for one in _STANDS_FOR.get(name, ()))}
    return {**{name: value for name, value in below.items() if name not in hidden}, **above}


_STANDS_FOR: Mapping[str, Sequence[str]] = {
    "grid": ("lr", "epochs", "batch_size"),
    "seeds": ("restarts",),
    "restarts": ("seeds",),
}


def refuse_recipe(arguments: argparse.Namespace, why: str) -> None:
    """A `RequestError` for an option that says how to fit, where nothing will be fitted."""
    for name in RECIPE:
        if getattr(arguments, name):
            raise RequestError(f"{why}: --{name.replace('_', '-')} has nothing to do; leave it out.")


def _check_read(arguments: argparse.Namespace, tasks: list[Task], runner: Runner) -> None:
    """A `RequestError` for an option that nothing in the study reads."""
    refuse_unread(arguments, {name for task in tasks for name in read_by(task, arguments.method, runner)})


def read_by(task: Task, method: str | None, runner: Runner) -> set[str]:
    """Those of the special fields of a recipe that a task, by a method or by its own, reads."""
    return {*task.problem.recipe_fields, *runner.plugins.method(method or task.method).recipe_fields}


def refuse_unread(arguments: argparse.Namespace, read: set[str]) -> None:
    """A `RequestError` for a special option that is not among those that are read."""
    for name in SPECIAL:
        if getattr(arguments, name) is not None and name not in read:
            users = "the method 'features'" if name == "features" else "tasks of another kind"
            raise RequestError(f"--{name} is for {users}: nothing that was asked for reads it.")


def tasks(arguments: argparse.Namespace, names: list[str]) -> list[Task]:
    return arguments.plugins.tasks_of(name for one in names for name in one.split(",") if name)  # type: ignore[no-any-return]


def executor(arguments: argparse.Namespace) -> Executor:
    """Where the fits of this command run."""
    chosen: Executor = arguments.plugins.executor(arguments.executor)
    if arguments.jobs is None:
        return chosen
    if not isinstance(chosen, Local):
        raise RequestError(f"--jobs is for the executor 'local'; '{chosen.name}' decides for itself.")
    return Local(arguments.jobs)
