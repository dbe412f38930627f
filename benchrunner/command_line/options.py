"""Options that several commands share, and the values that they stand for."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from benchrunner.console.printing import print_note
from benchrunner.errors import RequestError
from benchrunner.fits.computing import Computing
from benchrunner.parameters.recipes import (
    BATCH_UNITS,
    CONTEXTS,
    LAYERS,
    LOSS_DIVISORS,
    SAMPLES,
    SCHEDULES,
    SUMMARIES,
    Recipe,
)
from benchrunner.parameters.text_settings import name_value_pairs
from benchrunner.studies.number_texts import names, numbers
from benchrunner.studies.study import SELECT
from benchrunner.workspace import Workspace

if TYPE_CHECKING:
    from benchrunner.fits.executor import Executor
    from benchrunner.fits.fit import Fit
    from benchrunner.fits.progress import Event
    from benchrunner.leaderboards.published_choice import PublishedChoice
    from benchrunner.runs.runner import Runner
    from benchrunner.studies.study import Study
    from benchrunner.studies.study_options import StudyOptions
    from benchrunner.tasks.task import Task

T = TypeVar("T")

BACKBONES = (
    "a name, a folder, a hub id, run:ID of a finished fit, or PREFIX:A,B for several as one ('benchrunner list "
    "backbones' shows each PREFIX); PLUGIN:B asks one plugin only"
)
"""Help on how to name a backbone."""


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """Add the options for folders and for reading data."""
    add_data(parser)
    parser.add_argument(
        "--runs", type=Path, metavar="DIR", help="folder in which fits are kept (BENCHRUNNER_RUNS, else ./runs)"
    )


def add_data(parser: argparse.ArgumentParser) -> None:
    """Add the options for reading data."""
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder of raw data files, asked before the hub (BENCHRUNNER_DATA)"
    )
    parser.add_argument(
        "--leave-out-bad-rows",
        action="store_true",
        help="leave out rows that contradict themselves, for example with an answer that is not at its offset",
    )
    parser.add_argument("--offline", action="store_true", help="never ask the hub (HF_HUB_OFFLINE)")


def add_computing(parser: argparse.ArgumentParser) -> None:
    """Add the options for devices, progress and checkpoints."""
    parser.add_argument("--device", default=Computing.device, help="cpu, cuda, cuda:1, ... (default: auto)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument(
        "--checkpoint-every",
        type=float,
        default=Computing.checkpoint_seconds,
        metavar="SECONDS",
        help="seconds between checkpoints of a fit: the most work that is lost if it is killed "
        f"(default: {Computing.checkpoint_seconds:.0f})",
    )
    parser.add_argument(
        "--recompute",
        action="store_true",
        help="compute the layers of a trained encoder twice: less memory, a third more time, the same results",
    )
    parser.add_argument(
        "--cuda-graphs",
        action="store_true",
        help="experimental, on a GPU only: launch all kernels of a training step at once; see docs/machines.md",
    )


def add_family(parser: argparse.ArgumentParser) -> None:
    """Add the option for the plugin that loads the backbones."""
    parser.add_argument(
        "--family",
        metavar="PLUGIN",
        help="plugin that loads each backbone, as PLUGIN:B does; default: the first that can",
    )


def add_json(parser: argparse.ArgumentParser, help: str = "print the results as JSON") -> None:
    """Add the option for output as JSON; with it, standard output is for `print_json` and its like alone."""
    parser.add_argument("--json", action="store_true", help=help)
    parser.set_defaults(reserves_output=True)


def add_published(parser: argparse.ArgumentParser) -> None:
    """Add the option for published figures beside ours."""
    parser.add_argument(
        "--published",
        metavar="A,B",
        help="systems whose published figures stand beside ours: names, all, or none (default: what leaderboards say)",
    )


def published(arguments: argparse.Namespace, backbones: Collection[str] = ()) -> PublishedChoice:
    """Choose the published figures that stand beside ours: by default also those of the compared backbones."""
    from benchrunner.leaderboards.published_choice import choose_published
    from benchrunner.runs.references import without_prefix

    names = None if arguments.published is None else arguments.published.split(",")
    models = [without_prefix(name, arguments.plugins) for name in backbones]
    return choose_published(arguments.plugins.leaderboards.values(), names, backbones=models)


def add_planning(parser: argparse.ArgumentParser) -> None:
    """Add the options for a study that is only planned, and for the name of one that is kept."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="only list what would be run, what is finished already, and an estimate of the work",
    )
    parser.add_argument("--name", help="name under which the study is kept (default: made of what is compared)")


def add_split(parser: argparse.ArgumentParser) -> None:
    """Add the option for labelled test splits that are scored besides dev."""
    parser.add_argument(
        "--split", metavar="A,B", help="labelled test splits to score besides all dev splits; they never select"
    )


def with_splits(study: Study, arguments: argparse.Namespace) -> Study:
    """Return the study with the test splits that the option names."""
    if arguments.split is None:
        return study
    return dataclasses.replace(study, tests=tuple(dict.fromkeys(name for name in arguments.split.split(",") if name)))


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how fits are made, which of them are selected, and where they run."""
    group = parser.add_argument_group(
        "recipe", "one value, or for the first three several values by comma: dev selects among their combinations"
    )
    _add_grid(group)
    _add_fields(group)
    _add_restarts(group)
    _add_execution(group)


def _listed(kind: Callable[[str], T]) -> Callable[[str], tuple[T, ...]]:
    return _argument_type(numbers(kind))


def _add_grid(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--lr", type=_listed(float), metavar="A,B", help="peak learning rate")
    group.add_argument("--epochs", type=_listed(int), metavar="A,B", help="passes over the training data")
    group.add_argument("--batch-size", type=_listed(int), metavar="A,B", help="examples in one optimizer step")
    group.add_argument(
        "--grid",
        metavar="NAME",
        help="paper, paper-appendix, or a recipe with a grid; the options above replace its lists",
    )
    group.add_argument(
        "--recipe",
        dest="preset",
        metavar="NAME",
        help="published hyper-parameters of 'benchrunner list recipes', in place of each task's own recipe; "
        "the other options replace its values",
    )


def _add_fields(group: argparse._ArgumentGroup) -> None:
    """Add the recipe fields that have one value in a study."""
    _add_sequence_fields(group)
    _add_method_fields(group)
    _add_training_fields(group)


def _add_sequence_fields(group: argparse._ArgumentGroup) -> None:
    """Add what says how rows become sequences and batches."""
    group.add_argument("--max-length", type=int, metavar="N", help="tokens of one sequence")
    group.add_argument("--stride", type=int, metavar="N", help="tokens between the starts of windows over a long text")
    group.add_argument("--context", choices=CONTEXTS, help="what a sequence shows around a sentence of a document")
    group.add_argument("--batch-unit", choices=BATCH_UNITS, help="what --batch-size counts in tasks that label words")
    group.add_argument(
        "--loss-divisor",
        choices=LOSS_DIVISORS,
        help="divide the summed loss of a batch of words by its own words, or by the mean number of words of a batch",
    )


def _add_method_fields(group: argparse._ArgumentGroup) -> None:
    """Add what only some methods read."""
    group.add_argument(
        "--features",
        choices=LAYERS,
        help="layers of a frozen encoder that the methods 'features', 'features+attention' and 'probe' read",
    )
    group.add_argument(
        "--bilstm-width", type=int, metavar="N", help="output of a BiLSTM for a token, both directions together (768)"
    )
    group.add_argument(
        "--layer-decay",
        type=float,
        metavar="FACTOR",
        help="multiply the learning rate by this factor for each layer, from the top down; finetune only (1: no decay)",
    )
    group.add_argument(
        "--redraw-layers",
        type=int,
        metavar="N",
        help="initialise the top N layers and the pooler again before training; finetune only (0)",
    )
    group.add_argument(
        "--summary",
        choices=SUMMARIES,
        help="vector of a sequence that a linear layer reads: the encoder's own (pooler), or the first, the last, the "
        "mean or the maximum of its tokens' states (default: pooler)",
    )
    group.add_argument(
        "--set",
        nargs="+",
        action="extend",
        metavar="NAME=VALUE",
        help="METHOD.NAME=VALUE sets a parameter of a method, such as lora.rank=8, or a grid, lora.rank=4,8; "
        "'list methods' shows them. 'compare --study' takes parameters of the study, too: their names have no dot",
    )


def _add_training_fields(group: argparse._ArgumentGroup) -> None:
    """Add what every training reads, and which rows it learns from."""
    group.add_argument("--dropout", type=float, metavar="RATE", help="dropout rate that replaces the backbone's own")
    group.add_argument(
        "--schedule",
        choices=SCHEDULES,
        help="decay of the learning rate: from step 0 as in the paper's code (default), or from the end of warm-up",
    )
    group.add_argument(
        "--paper-adam",
        action=argparse.BooleanOptionalAction,
        help="Adam without bias correction, like the code of Devlin et al. 2019",
    )
    group.add_argument(
        "--precision",
        choices=("auto", "fp32", "bf16"),
        default="auto",
        help="auto (the default) is bf16 on a GPU with bf16 units, else fp32",
    )
    group.add_argument(
        "--micro-tokens",
        type=int,
        metavar="N",
        help=f"the most tokens computed at once; a longer sequence is computed alone (default: {Recipe.micro_tokens})",
    )
    group.add_argument("--limit-train", type=int, metavar="N", help="learn from N rows only: see --sample")
    group.add_argument(
        "--limit-dev",
        type=int,
        metavar="N",
        help="score N rows of each dev split only, drawn like those of --limit-train",
    )
    group.add_argument(
        "--sample",
        choices=SAMPLES,
        help="the rows of --limit-train: the first N (default), or a stratified random N, another N for each seed "
        "(--limit-dev: the same N for all)",
    )


def _add_restarts(group: argparse._ArgumentGroup) -> None:
    """Add the method, the seeds, and what dev selects."""
    group.add_argument(
        "--method",
        type=_argument_type(names),
        metavar="A,B",
        help="method for every task, instead of each task's own; 'compare' compares several",
    )
    seeds = group.add_mutually_exclusive_group()
    seeds.add_argument("--seeds", type=_listed(int), metavar="0,1,2", help="one restart for each seed")
    seeds.add_argument("--restarts", type=int, metavar="N", help="N restarts, with the seeds 0 to N - 1")
    group.add_argument(
        "--select",
        choices=SELECT,
        help="what dev selects: the grid point with the best mean over its restarts, then its best restart (default), "
        "or the best single fit, as in Devlin et al. 2019",
    )
    group.add_argument("--select-by", metavar="METRIC", help="metric that selects (default: each task's headline)")


def _add_execution(group: argparse._ArgumentGroup) -> None:
    """Add what is kept and where fits run."""
    group.add_argument(
        "--keep",
        choices=("selected", "all", "none"),
        default="selected",
        help="whose weights are kept after selection (default: selected)",
    )
    group.add_argument("--executor", metavar="NAME", help="where fits run (default: local)")
    group.add_argument(
        "--executor-option",
        action="append",
        metavar="NAME=VALUE",
        help="an option of the executor; give it several times for several options",
    )
    group.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="fits at the same time on this machine (default: on a CPU as many as cores and memory allow, else 1)",
    )


def _argument_type(read: Callable[[str], T]) -> Callable[[str], T]:
    """Make an argparse type of a reader that raises a `ValueError` with the reason."""

    def value(text: str) -> T:
        try:
            return read(text)
        except ValueError as reason:
            raise argparse.ArgumentTypeError(str(reason)) from None

    return value


def workspace(arguments: argparse.Namespace) -> Workspace:
    """Take the folders and the settings from the options and the environment."""
    given = Workspace.from_environment(data=arguments.data, runs=arguments.runs)
    if arguments.data is not None and not arguments.data.is_dir():
        raise RequestError(f"--data {arguments.data}: there is no such folder.")
    if given.runs.exists() and not (given.runs.is_dir() and os.access(given.runs, os.R_OK | os.X_OK)):
        raise RequestError(f"{given.runs}: fits are kept in a folder, and this is not a folder that can be read.")
    settings = dataclasses.replace(
        given.settings,
        offline=given.settings.offline or arguments.offline,
        leave_out_bad_rows=arguments.leave_out_bad_rows,
    )
    if arguments.offline:
        os.environ["HF_HUB_OFFLINE"] = "1"  # the hub's own libraries read this when they are imported
    return dataclasses.replace(given, settings=settings)


def runner(arguments: argparse.Namespace) -> Runner:
    """Make the runner that the options describe."""
    from benchrunner.fits.progress import silent
    from benchrunner.runs.runner import Runner

    return Runner(
        arguments.plugins,
        workspace(arguments),
        computing(arguments),
        report=silent if arguments.quiet else _print_note_of,
    )


def _print_note_of(fit: Fit, event: Event) -> None:
    """Print what a command without a bar of progress must say: that it waits, or fits again."""
    if event.kind in ("note", "waiting"):
        print_note(f"benchrunner: {event.text}")


def computing(arguments: argparse.Namespace) -> Computing:
    """Take how fits are computed from the options of `add_computing`."""
    return Computing(arguments.device, arguments.checkpoint_every, arguments.recompute, arguments.cuda_graphs)


def study_options(arguments: argparse.Namespace, *, study_file: bool = False) -> StudyOptions:
    """Take the options that say how fits are made. With `study_file`, `--set` has parameters of a study file, too."""
    from benchrunner.studies.study_options import StudyOptions, read_parameters

    of_methods, of_study = set_values(arguments)
    if of_study and not study_file:
        raise RequestError(
            f"--set {next(iter(of_study))}: the parameter of a method is METHOD.NAME, such as lora.rank. A name with "
            "no dot is a parameter of a study file, for 'compare --study'."
        )
    names = [field.name for field in dataclasses.fields(StudyOptions) if field.name != "parameters"]
    parameters = read_parameters(of_methods, arguments.plugins) if of_methods else None
    options = StudyOptions(**{name: getattr(arguments, name) for name in names}, parameters=parameters)
    options.check_names(arguments.plugins)
    return options


def set_values(arguments: argparse.Namespace) -> tuple[dict[str, str], dict[str, str]]:
    """Split what `--set` gives into parameters of methods, whose names have a dot, and parameters of a study file."""
    given = name_value_pairs(arguments.set or (), "--set")
    of_methods = {name: text for name, text in given.items() if "." in name}
    return of_methods, {name: text for name, text in given.items() if name not in of_methods}


def executor(arguments: argparse.Namespace) -> Executor | None:
    """Make the executor that the options name; None if no option names one."""
    from benchrunner.runs.local_executor import Local

    chosen_options = name_value_pairs(arguments.executor_option or (), "--executor-option")
    if arguments.executor is None:
        if chosen_options:
            raise RequestError("--executor-option is an option of an executor: name the executor with --executor.")
        return None if arguments.jobs is None else Local(arguments.jobs)
    chosen: Executor = arguments.plugins.executors.find(arguments.executor)
    if arguments.jobs is None:
        return chosen.configured(chosen_options)
    if not isinstance(chosen, Local):
        raise RequestError(f"--jobs is for the executor 'local'; '{chosen.name}' decides for itself.")
    chosen.configured(chosen_options)
    return Local(arguments.jobs)


def tasks(arguments: argparse.Namespace, names: Iterable[str]) -> list[Task]:
    """Find tasks by name; several names may be in one word, separated by commas."""
    named: list[Task] = arguments.plugins.tasks_of(name for word in names for name in word.split(",") if name)
    return named
