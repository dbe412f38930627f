"""The hooks, but for those of `observer_specs`. A plugin is a module with some of these functions and an entry point.

The group of the entry point is `benchrunner`. Plugins offer values; the hooks only carry them. Each docstring holds a
complete plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import pluggy

if TYPE_CHECKING:
    import argparse

    from benchrunner.backbones.backbone import BackboneFamily
    from benchrunner.data.rows import Rows
    from benchrunner.features.kernels import Kernels
    from benchrunner.fits.computing import Computing
    from benchrunner.fits.cost import Cost
    from benchrunner.fits.executor import Executor
    from benchrunner.fits.fit import Fit, Record
    from benchrunner.fits.search import Search
    from benchrunner.leaderboards.board import Board
    from benchrunner.methods.method import Method, Team
    from benchrunner.parameters.grids import NamedRecipe
    from benchrunner.tasks.task import Task
    from benchrunner.workspace import Workspace

GROUP = "benchrunner"
"""Name of the entry-point group, which is also the project name in pluggy."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)
"""Decorator for the functions of a plugin that implement a hook."""


class Commands(Protocol):
    """The commands of the command line, to which `register_commands` adds those of a plugin."""

    def add_parser(self, name: str, *, help: str, module: str = "", group: str = "") -> argparse.ArgumentParser:
        """Add a command with a line of help; the parser takes its options.

        `group` is where the line stands: "start", "compare", "hand in", "look" or, by default, "extend".

        `module` is imported when the command is chosen: it has `add_options(parser)`, `run(arguments)` and, if wanted,
        `estimate(arguments)`.
        """


@hookspec
def register_tasks() -> Iterable[Task]:  # type: ignore[empty-body]
    """Offer tasks.

    from benchrunner import ACCURACY, Classify, Split, Task, TextTable, hookimpl

    @hookimpl
    def register_tasks():
        def split(role):
            file = TextTable(f"mood/{role}.csv", {"a": "text", "label": "mood"}, separator=",", quoted=True)
            return Split(role, (file,))

        yield Task(
            name="mine/mood",
            about="Is the text glad or sad?",
            problem=Classify(("glad", "sad")),
            splits={role: split(role) for role in ("train", "dev", "test")},
            metrics=(ACCURACY,),
        )
    """


@hookspec
def register_backbones() -> Iterable[BackboneFamily]:  # type: ignore[empty-body]
    """Offer families of backbones that the plugin can load.

    import hashlib
    from pathlib import Path

    from benchrunner import hookimpl
    from benchrunner.engine import Backbone, OneBackbone

    class Mine(Backbone):
        about = "my own encoder"

        def __init__(self, name="mine/words", folder=None):
            self.name, self.folder = name, folder

        def revision(self, workspace):
            weights = (self.folder / "tiny.safetensors").read_bytes() if self.folder else b"fresh"
            return hashlib.sha256(weights).hexdigest()

        def load(self, workspace, *, seed):
            from benchrunner_kit.testing import TinyEncoder  # 100 lines of torch to copy from: a whole Encoder

            return TinyEncoder.read(self.folder) if self.folder else TinyEncoder()

    def saved(folder):
        return Mine(str(folder), folder) if (folder / "tiny.safetensors").is_file() else None

    @hookimpl
    def register_backbones():
        yield OneBackbone(Mine(), saved)
    """


@hookspec
def register_methods() -> Iterable[Method]:  # type: ignore[empty-body]
    """Offer methods, which fit a backbone to a problem.

    import json

    from benchrunner import hookimpl
    from benchrunner.engine import Method, Outcome

    class First(Method):
        name = "first"
        about = "answers every row with the first training row's answer"
        needs_backbone = False

        def fit(self, job):
            first = job.problem.majority_output(job.train.table.slice(0, 1))
            job.model.mkdir(parents=True, exist_ok=True)
            (job.model / "first.json").write_text(json.dumps(first.tolist()))
            return Outcome()

        def predict(self, job, table):
            import numpy as np

            first = json.loads((job.model / "first.json").read_text())
            return np.tile(np.array(first, dtype=np.float32), (table.num_rows, 1))

    @hookimpl
    def register_methods():
        yield First()
    """


@hookspec
def register_leaderboards() -> Iterable[Board]:  # type: ignore[empty-body]
    """Offer leaderboards. `benchrunner_submit.read_leaderboard(path)` reads a leaderboard from a .toml file.

    from benchrunner import hookimpl
    from benchrunner_submit import BoardFile, Labels, Leaderboard, Table

    @hookimpl
    def register_leaderboards():
        spelling = Labels({"glad": "1", "sad": "0"})
        file = BoardFile("moods.tsv", "mine/mood", "test", rows=20, kind=Table(("id", "mood"), spelling))
        yield Leaderboard("moods", "The board of moods", "https://example.org/moods", "moods.zip", files=(file,))
    """


@hookspec
def register_executors() -> Iterable[Executor]:  # type: ignore[empty-body]
    """Offer executors, which run the fits of a study.

    from benchrunner import hookimpl
    from benchrunner.results import Executor

    class Backwards(Executor):
        name = "backwards"
        about = "one after another, the last first"

        def run(self, fits, runner):
            for fit in reversed(list(fits)):
                yield fit, runner.run(fit)

    @hookimpl
    def register_executors():
        yield Backwards()
    """


@hookspec
def register_searches() -> Iterable[Search]:  # type: ignore[empty-body]
    """Offer searches, which choose the grid points that are trained (`--search NAME`).

    import random

    from benchrunner import hookimpl
    from benchrunner.results import Search

    @hookimpl
    def register_searches():
        yield Search("lottery", "grid points drawn by lot, --trials of them", draw, has_trials=True)

    def draw(points, scores):
        drawn = random.Random(0).sample(points, len(points))
        return [point for point in drawn if point not in scores]
    """


@hookspec(firstresult=True)
def offer_search() -> Any:
    """Offer a `StudySearch`, which chooses the fits of a study that come next.

    from benchrunner import hookimpl
    from benchrunner.results import planning

    def chooser(study, runner, limit):
        def choose(planned, result):
            waiting = planned if result is None else ()
            return [cell.of_points([cell.candidates[0].recipe]) for cell in waiting]

        return choose

    @hookimpl
    def offer_search():
        return planning.StudySearch(chooser)
    """


@hookspec
def register_recipes() -> Iterable[NamedRecipe]:  # type: ignore[empty-body]
    """Offer named recipes: published hyper-parameters that users choose with `--recipe NAME`.

    from benchrunner import NamedRecipe, hookimpl

    @hookimpl
    def register_recipes():
        yield NamedRecipe(
            name="mine-paper",
            about="long training with a small learning rate",
            source="Somebody 2019, Table 3",
            values={"epochs": 10, "lr": 1e-5, "warmup": 0.06},
            by_task={"mine/mood": {"lr": 2e-5}},
            grid={"lr": (1e-5, 2e-5, 3e-5), "batch_size": (16, 32)},
        )
    """


@hookspec(firstresult=True)
def offer_kernels() -> Kernels | None:
    """Offer compiled operators that compute on CPUs in place of torch's, or None where this machine cannot use them.
    The hook is called before the first fit of a process. Kernels whose `operators` name "adamw" also have the methods
    `norm` and `adamw` of the protocol in benchrunner/features/kernels.py.

    from benchrunner import hookimpl

    class Plain:
        name, operators, notes = "plain 1.0", ("add_and_norm",), ()

        def attend(self, qkv, starts, sides, rate, seed):
            return None  # torch computes it

        def add_and_norm(self, x, residual, norm, rate, seed):
            return norm(residual + x) if rate == 0.0 else None

        def gelu(self, x):
            return None

    @hookimpl
    def offer_kernels():
        return Plain()
    """


@hookspec(firstresult=True)
def offer_team() -> Team | None:
    """Offer what computes the training steps of a fit on several devices, or on a GPU in fixed shapes.

    from benchrunner import hookimpl

    class Alone:
        def run(self, job, training):
            def compute(step):  # each micro-batch by itself: another process could compute some of them
                numbers = range(len(training.parts(step)))
                return training.gradients(step, numbers)

            training.compute = compute
            training.run()

    @hookimpl
    def offer_team():
        return Alone()
    """


@hookspec
def register_commands(cli: Commands) -> None:
    """Add commands to the command line; `run` receives the parsed arguments and returns the exit code.
    `arguments.plugins` is everything that plugins offer. A command that builds backbones for studies has `estimate`
    too: it receives the same arguments, changes nothing, and returns what is left to do, which `compare --study NAME
    --dry-run` shows; study files run no command without it. `cli.add_parser("hello", help="say hello",
    module="mine.hello")` imports a module when its command is chosen: the module has
    `add_options(parser)`, `run(arguments)` and, if wanted, `estimate(arguments)`.

    from benchrunner import CommandEstimate, hookimpl

    @hookimpl
    def register_commands(cli):
        hello = cli.add_parser("hello", help="say hello")
        hello.set_defaults(run=say_hello, estimate=estimate_hello)

    def say_hello(arguments):
        print("hello")
        return 0

    def estimate_hello(arguments):
        return CommandEstimate("one word", seconds=0.1)
    """


@hookspec(firstresult=True)
def read_study(
    name: str,
    runner: Any,
    parameters: Mapping[str, str],
    scale: str | None,
    systems: Sequence[str] | None,
    columns: Sequence[str] | None,
    options: Any,
) -> Any:
    """Build the `Study` that `compare --study` names, for a `Runner`; None leaves this to other plugins. The other
    arguments are what the command line says: values of the file's parameters, a scale, names of some systems and
    columns, and `StudyOptions`.

    from pathlib import Path

    from benchrunner import hookimpl

    @hookimpl
    def read_study(name, runner, parameters, scale, systems, columns, options):
        if not name.endswith(".txt"):  # a line of backbones, then a line of tasks
            return None
        backbones, tasks = Path(name).read_text().splitlines()
        return options.study(backbones.split(), runner.plugins.tasks_of(tasks.split()), runner)
    """


@hookspec
def prepare_study(study: Any, runner: Any) -> Callable[[bool], None] | None:
    """Check what must be built before the fits of a `Study`, such as the backbones of its systems, and return the
    function that builds it; True shows progress. What is built already stays. None: nothing is to do.

    from benchrunner import hookimpl, print_note

    @hookimpl
    def prepare_study(study, runner):
        def build(show_progress):
            runner.workspace.runs.mkdir(parents=True, exist_ok=True)
            if show_progress:
                print_note(f"fits of {', '.join(study.names)} are kept in {runner.workspace.runs}")

        return build
    """


@hookspec
def plan_study(study: Any, runner: Any, as_json: bool) -> None:
    """Print what a `Study` would run with a `Runner` (`--dry-run`).

    from benchrunner import hookimpl, print_line

    @hookimpl
    def plan_study(study, runner, as_json):
        for cell in study.cells:
            points = cell.fitting.grid.size * len(cell.fitting.seeds)
            print_line(f"{cell.system} on {cell.task.name}: {points} fits at most")
    """


@hookspec(firstresult=True)
def compare_systems(result: Any) -> Any:
    """Return the `entries.Statistics` of a `Result`; None leaves them to other plugins.

    from benchrunner import hookimpl
    from benchrunner.results import entries, intervals

    @hookimpl
    def compare_systems(result):
        ranges = {}
        for place, figure in result.figures.items():
            ranges[place] = intervals.Interval(min(figure.values), max(figure.values))
        return entries.Statistics(ranges)
    """


@hookspec
def describe_study(result: Any) -> Iterable[str]:  # type: ignore[empty-body]
    """Say how the fits of a `Result` were made, for the notes below its table.

    from benchrunner import hookimpl

    @hookimpl
    def describe_study(result):
        return ["fitted with care"]
    """


@hookspec(firstresult=True)
def write_table(form: str, table: Any, notes: Sequence[str], result: Any) -> str | None:
    """Write the table of a study in a format of `compare --format`; None leaves it to other plugins. `table` is
    the `comparison.Layout`, and `notes` are the lines below it.

    from benchrunner import hookimpl

    @hookimpl
    def write_table(form, table, notes, result):
        if form != "markdown":
            return None
        rows = [table.headers, ["---"] * len(table.headers), *(line.cells for line in table.lines)]
        return "\\n".join([*map(" | ".join, rows), "", *notes])
    """


@hookspec
def describe_rows(task: Task, split: str, rows: Rows, train: Rows) -> Iterable[str]:  # type: ignore[empty-body]
    """Say what makes scores on the rows of a split doubtful, beside the training rows. Studies note it once rows are
    answered; a text that is one of the warnings is marked in tables.

    from benchrunner import hookimpl

    @hookimpl
    def describe_rows(task, split, rows, train):
        if len(rows) < 30:
            yield f"{split} has {len(rows)} rows only"
    """


@hookspec
def read_value(kind: str, name: str, plugins: Any) -> Any:
    """Read what a name means that no plugin offers, such as a file's path; None leaves it to other plugins. `kind` is
    `task`, `leaderboard`, `suite` (names of tasks) or another. Fits and studies keep the name of the value, which this
    hook must understand, also in a worker process.

    from pathlib import Path

    from benchrunner import ACCURACY, Classify, Split, Task, TextTable, hookimpl

    @hookimpl
    def read_value(kind, name, plugins):
        labels = Path(f"{name}.labels")  # a file beside the folder of the data, with the labels of a task
        if kind != "task" or not labels.is_file():
            return None
        columns = {"a": "text", "label": "label"}
        splits = {role: Split(role, (TextTable(f"{name}/{role}.tsv", columns),)) for role in ("train", "dev")}
        return Task(name, f"Texts of {name}", Classify(tuple(labels.read_text().split())), splits, (ACCURACY,))
    """


@hookspec(firstresult=True)
def read_answers(path: Any) -> Any:
    """Read a file of another program with an answer, or a score, for each row: a `benchrunner_answers.Log`. None leaves
    the file to other plugins.

    from benchrunner import hookimpl

    @hookimpl
    def read_answers(path):
        if path.suffix != ".scores":
            return None
        from benchrunner_answers import Log

        pairs = [line.split() for line in path.read_text().splitlines()]
        return Log(path.stem, [row for row, _ in pairs], {"score": [float(score) for _, score in pairs]})
    """


@hookspec
def measure_costs(  # type: ignore[empty-body]
    fits: Mapping[str, Sequence[Fit]],
    records: Mapping[str, Record],
    workspace: Workspace,
    computing: Computing,
    show_progress: bool,
) -> Sequence[Cost]:
    """Measure what the systems of a finished study cost, for `compare --cost`; the study keeps the figures. `fits` are
    those of each system, and `records` their records by the fits' ids. `show_progress` is false with `--quiet`.

    from benchrunner import hookimpl
    from benchrunner.results import comparison

    @hookimpl
    def measure_costs(fits, records, workspace, computing, show_progress):
        costs = []
        for system, of_system in fits.items():
            seconds = sum(records[fit.id].timings["seconds"] for fit in of_system)
            costs.append(comparison.Cost(system, "all fits", "s", seconds, note="with loading and encoding"))
        return costs
    """
