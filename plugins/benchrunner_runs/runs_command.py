"""Command `runs`: list what is in the runs folder, look at runs, and remove what is not needed.

What only other actions than the list need is imported by them: the list is short work.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import RequestError, UnknownName, print_line, print_note, printable
from benchrunner.results import command_line
from benchrunner_runs.sizes import size_text
from benchrunner_runs.summaries import RunSummary, list_runs, recipe_text, short_ids, sorted_runs, with_words

if TYPE_CHECKING:
    from benchrunner import Task
    from benchrunner_runs.details import RunDetails
    from benchrunner_runs.removal import Removal

LISTING = ("only", "sort", "all")
"""Options of the list."""

NEWEST = 20
"""Lines of the list without `--all`: a screen."""

Act = Callable[[argparse.Namespace, Path], None]
AddOptions = Callable[[argparse.ArgumentParser], None]

RUN = "id of a run, or the beginning of an id; 'benchrunner runs' lists them"
"""Help on how to name a run."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `runs` and its actions; without an action, `runs` lists, so it has the list's options, too."""
    options, output = command_line.options, command_line.study_commands
    _add_listing(parser)
    _add_runs(parser)
    options.add_json(parser)
    every = argparse.ArgumentParser()  # the options of all actions, for what they mean where they are not given
    output.add_output(every)
    options.add_published(every)
    options.add_data(every)
    options.add_computing(every)
    parser.set_defaults(action="list", act=_list, **vars(every.parse_args([])))
    actions = parser.add_subparsers(metavar="ACTION", title="actions")

    def add(name: str, about: str, act: Act, add_output: AddOptions = options.add_json) -> argparse.ArgumentParser:
        # Without defaults of its own, an action keeps what was given before its name: runs --json show RUN.
        action = actions.add_parser(name, help=about, argument_default=argparse.SUPPRESS)
        action.set_defaults(action=name, act=act)
        _add_runs(action)
        add_output(action)
        return action

    _add_listing(add("list", "a line for each fit (default)", _list))
    about = "everything about a fit: identity, numerics, scores, sizes; of a kept study, its table"
    show = add("show", about, _show, output.add_output)
    show.add_argument("id", metavar="RUN", help=f"{RUN}; or the name of a kept study")
    options.add_published(show)
    remove = add("rm", "remove whole runs, and kept studies", _remove)
    remove.add_argument(
        "ids",
        nargs="+",
        metavar="RUN",
        help=f"{RUN}; or a kept study, with the runs that no other kept study shows",
    )
    _add_dry_run(remove)
    remove.add_argument("--force", action="store_true", default=False, help="remove also runs that a kept study shows")
    prune = add("prune", "remove weights, and checkpoints of fits that were stopped", _prune)
    prune.add_argument(
        "--keep",
        choices=("selected", "none"),
        default="selected",
        help="keep what kept studies selected and go on from (default), or none",
    )
    _add_dry_run(prune)
    add("studies", "the kept studies", _studies)
    export = add("export", "write a finished fit as a checkpoint that other libraries load", _export)
    export.add_argument("source", metavar="RUN", help=RUN)
    export.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet")
    options.add_data(export)
    options.add_computing(export)


def _add_listing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="WORD",
        help="only runs with all these words in task, backbone, method or status (done, diverged, failed, running, "
        "unfinished)",
    )
    parser.add_argument(
        "--sort",
        metavar="BY",
        help="date (default; newest first); score, size or seconds (largest first); task, backbone or id",
    )
    parser.add_argument("--all", action="store_true", help=f"list all runs, not only the first {NEWEST}")


def _add_runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--runs", type=Path, metavar="DIR", help="folder in which fits are kept (BENCHRUNNER_RUNS, else ./runs)"
    )


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", default=False, help="only say what would be removed")


def run(arguments: argparse.Namespace) -> int:
    """Do what the action says."""
    for name in LISTING:
        if arguments.action != "list" and getattr(arguments, name):
            raise RequestError(f"--{name} is for 'runs list': leave it out.")
    if arguments.runs is not None and not arguments.runs.exists():
        raise RequestError(f"--runs {arguments.runs}: there is no such folder.")
    arguments.act(arguments, command_line.options.workspace(arguments).runs)
    return command_line.output.DONE


def _list(arguments: argparse.Namespace, runs: Path) -> None:
    summaries, notes = list_runs(runs, arguments.plugins)
    chosen = sorted_runs(with_words(summaries, arguments.only or ()), arguments.sort or "date")
    if arguments.json:
        command_line.output.print_json({"folder": str(runs), "runs": chosen, "notes": notes})
        return
    shown = chosen if arguments.all else chosen[:NEWEST]
    ids = short_ids(run.id for run in summaries)
    _print_rows(_HEADER, [(ids[run.id], *_row(run, arguments.plugins.tasks)) for run in shown])
    if len(shown) < len(chosen):
        notes.append(f"and {len(chosen) - len(shown):,} more: --all lists them; --only WORD chooses")
    for note in (*notes, _sum(chosen, runs)):
        print_line(f"  {note}")


_HEADER = ("run", "task", "backbone", "recipe", "dev score", "date (UTC)", "size")
WIDTH = 120
"""The most characters of a line where standard output is no terminal."""
_LEAST = 8
"""Characters that are left of each column, at least."""
_RIGHT = {4, 6}
"""Columns that are aligned at the right."""


def _row(run: RunSummary, tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """Return the cells of a run without its id. Scores of unknown tasks are shown in percent."""
    from benchrunner import Metric

    score = run.status
    if run.score is not None:
        task = tasks.get(run.task.partition("@")[0])
        metrics = () if task is None else task.metrics
        scales = {metric.name: metric.scale for metric in metrics}
        score = f"{run.score * scales.get(run.metric, Metric.scale):.1f} {run.metric}"
    size = size_text(run.bytes)
    return (run.task, run.backbone or "-", recipe_text(run), score, _minute(run.date), size)


def _minute(date: str) -> str:
    return date[:16].replace("T", " ")


def _print_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns of equal width, without rich: it would take seconds for thousands of rows.

    The first column is whole; the widest of the others are cut until a line fits.
    """
    if not rows:
        return
    lines = [header]
    for row in rows:
        lines.append([printable(cell.replace("\n", "\\n")) for cell in row])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    gaps = 2 * (len(widths) - 1)
    most = shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else WIDTH
    while sum(widths) + gaps > most and max(widths[1:]) > _LEAST:
        widest = max(range(1, len(widths)), key=widths.__getitem__)
        widths[widest] -= 1
    for line in lines:
        cells = []
        for column, cell in enumerate(line):
            width = widths[column]
            text = cell if len(cell) <= width else f"{cell[: width - 3]}..."
            cells.append(text.rjust(width) if column in _RIGHT else text.ljust(width))
        print_line("  ".join(cells).rstrip())


def _sum(chosen: Sequence[RunSummary], runs: Path) -> str:
    size = size_text(sum(run.bytes for run in chosen))
    return f"{len(chosen):,} run(s) in {runs}, {size}" if chosen else f"no runs in {runs}"


def _show(arguments: argparse.Namespace, runs: Path) -> None:
    from benchrunner.results import Runner, find_study, read_study

    if arguments.json:
        arguments.format = "json"
    command_line.study_commands.check_format(arguments)
    try:
        find_study(runs, arguments.id)
    except UnknownName:
        _show_run(arguments, runs)
        return
    runner = Runner(arguments.plugins, command_line.options.workspace(arguments))
    command_line.study_commands.print_shown(read_study(arguments.id, runner), arguments)


def _show_run(arguments: argparse.Namespace, runs: Path) -> None:
    from benchrunner_runs.details import run_details
    from benchrunner_runs.removal import studies_of

    try:
        details = run_details(runs, arguments.id)
    except UnknownName:
        known = [path.parent.name for path in runs.glob("*/fit.json")]
        known += [path.stem for path in runs.glob("studies/*.json")]
        raise UnknownName(
            "run or kept study", arguments.id, known, f"Looked in {runs}; --runs names another."
        ) from None
    studies = studies_of(runs).get(details.fit.id, [])
    if arguments.json:
        command_line.output.print_json({**details.as_json(), "selected_by": studies})
        return
    if arguments.format != "table":
        raise RequestError(f"--format {arguments.format} is for a kept study, and {arguments.id} is a fit.")
    print_line(details.path)
    command_line.output.print_columns(_lines(details, studies))


def _lines(details: RunDetails, studies: Sequence[str]) -> Iterator[tuple[str, str]]:
    from benchrunner.results import comparison

    fit = details.fit
    record = details.record
    yield "task", fit.task
    yield "backbone", fit.backbone or "-"
    yield "revision", fit.revision or "-"
    yield "method", fit.method
    yield "seed", str(fit.seed)
    yield "training data", fit.data[:16]
    yield "recipe", _joined(fit.recipe.as_dict())
    yield "made by", _joined(fit.suppliers)
    yield "status", "unfinished" if record is None else f"{record.status} {record.reason}".strip()
    if record is not None:
        yield "timings", _joined({name: f"{value:.4g}" for name, value in record.timings.items()}) or "-"
        yield "numerics", _joined(record.numerics) or "-"
        for note in record.notes:
            yield "note", note
    for prediction, scored in details.predictions:
        figures = dict[str, str]()
        for name, score in scored.scores.items():
            figures[name] = "absent" if score.value is None else f"{score.value:.4f}"
        scores = _joined(figures) or "no labels to score with"
        flags = f" ({', '.join(map(comparison.coded, scored.flags))})" if scored.flags else ""
        yield f"prediction of {prediction.place}", f"{scores}{flags}, data {prediction.data[:16]}"
    yield "size", size_text(details.bytes)
    yield "selected by", ", ".join(studies) or "no kept study"


def _joined(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _remove(arguments: argparse.Namespace, runs: Path) -> None:
    from benchrunner_runs.removal import remove_runs

    removal = remove_runs(runs, arguments.ids, force=arguments.force, dry_run=arguments.dry_run)
    _print_removal(removal, "run(s)", arguments)


def _prune(arguments: argparse.Namespace, runs: Path) -> None:
    from benchrunner_runs.removal import prune_runs

    removal = prune_runs(runs, keep=arguments.keep, dry_run=arguments.dry_run)
    _print_removal(removal, "run(s): their weights and checkpoints", arguments)


def _print_removal(removal: Removal, what: str, arguments: argparse.Namespace) -> None:
    if arguments.json:
        command_line.output.print_json({**vars(removal), "dry_run": arguments.dry_run})
        return
    for name in (*removal.studies, *removal.removed):
        print_line(f"  {name}")
    verb = "would be removed" if arguments.dry_run else "removed"
    print_line(f"{len(removal.removed):,} {what}, {size_text(removal.bytes)}, {verb}")
    if removal.in_use:
        print_note(f"left alone, because another process works on them: {', '.join(removal.in_use)}")


def _studies(arguments: argparse.Namespace, runs: Path) -> None:
    from benchrunner.results import kept_studies

    studies, faults = kept_studies(runs)
    if arguments.json:
        command_line.output.print_json({"folder": str(runs), "studies": studies, "notes": faults})
        return
    rows = list[tuple[str, ...]]()
    for study in studies:
        date = "not complete" if study.ended is None else _minute(study.ended)
        backbones, tasks = ", ".join(study.study.backbones), ", ".join(study.tasks)
        rows.append((study.name, date, f"{len(study.fits):,}", backbones, tasks))
    _print_rows(("study", "date (UTC)", "fits", "backbones", "tasks"), rows)
    for note in (*faults, f"{len(studies)} kept stud{'y' if len(studies) == 1 else 'ies'} in {runs}"):
        print_line(f"  {note}")


def _export(arguments: argparse.Namespace, runs: Path) -> None:
    from benchrunner_runs.exporting import export

    folder = arguments.folder
    export(arguments.source, folder, command_line.options.runner(arguments))
    if arguments.json:
        files = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
        command_line.output.print_json({"source": arguments.source, "folder": folder, "files": files})
    else:
        print_line(f"{folder} holds the model in its published layout.")
