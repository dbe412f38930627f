"""Command `predict`: write the answers of finished fits to a file or to a split."""

from __future__ import annotations

import argparse
import contextlib
import csv
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import DataError, RequestError, print_data, print_line, print_note
from benchrunner.engine import write_atomically
from benchrunner.results import command_line, output_places

if TYPE_CHECKING:
    from benchrunner.results import ensembles


EVERYDAY = "help help_all lines ensemble split board out probabilities json_lines data device json"
"""Options that `--help` shows."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `predict`."""
    parser.add_argument(
        "given",
        nargs="*",
        metavar="RUN FILE",
        help="RUN is a run's id or the beginning of it; it is left out with --ensemble. FILE is in the layout of the "
        "task's own files, labelled or not, or '-' for standard input; without FILE, a split of the task's data is "
        "answered and scored",
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="FILE is plain text, a question on each line; a text; texts with a TAB between them; question TAB "
        "context; text TAB choice TAB choice; words that are tagged, with spaces (a .txt file of one text per line "
        "needs no --lines)",
    )
    parser.add_argument("--ensemble", nargs="+", metavar="RUN", help="let these runs of one task answer together")
    parser.add_argument("--split", help="the split to answer if no FILE is given (default: the first dev split)")
    parser.add_argument(
        "--board", metavar="BOARD", help="write this leaderboard's files of the task into the folder --out"
    )
    parser.add_argument("--out", type=Path, metavar="PATH", help="file or folder instead of standard output")
    parser.add_argument(
        "--probabilities",
        action="store_true",
        help="write the probabilities of each answer, too, where the task's problem has them",
    )
    parser.add_argument(
        "--json-lines",
        action="store_true",
        help="write a JSON object for each answer; of plain text, it has the text and where tagged words are in it",
    )
    command_line.options.add_workspace(parser)
    command_line.options.add_computing(parser)
    command_line.options.add_json(parser)
    parser.set_defaults(everyday=EVERYDAY.split())


def run(arguments: argparse.Namespace) -> int:
    """Answer, print the scores if the rows are labelled, and write the answers."""
    from benchrunner.results import answer, find_run, watched
    from benchrunner_submit.own_questions.answer_texts import AnswerTexts
    from benchrunner_submit.own_questions.user_files import LINES_AT_ONCE, answer_file, is_plain

    references, file = _references_and_file(arguments)
    board = None if arguments.board is None else arguments.plugins.leaderboards.find(arguments.board)
    if arguments.json_lines and (arguments.json or board is not None):
        raise RequestError("Answers are written as --json, as --json-lines or for a --board: give one of the three.")
    if arguments.lines and file is None:
        raise RequestError("--lines says how a file is read: name the file, or - for standard input.")
    if board is not None and arguments.out is None:
        raise RequestError("--board writes files: say where with --out DIR.")
    if arguments.out is not None:
        output_places.check_place(arguments.out, is_file=board is None)
    runner = command_line.options.runner(arguments)
    _ = runner.resolved.device  # a device that cannot be used is an error, also where answers are kept already
    fits = [(find_run(runner.workspace.runs, reference).fit(), 1.0) for reference in references]
    count = 0
    notes = dict[str, None]()

    def noted(blocks: Iterable[ensembles.Answered]) -> Iterator[ensembles.Answered]:
        nonlocal count, notes
        for answered in blocks:
            count += len(answered.answers)
            notes |= dict.fromkeys(answered.rows.notes)
            yield answered

    with (
        _readable(file) as readable,
        watched(runner.observers, fits, counts="predicting", show=not arguments.quiet),
    ):
        if readable is None:
            blocks = iter([answer(references, runner, split=arguments.split)])
        else:
            blocks = answer_file(
                references,
                runner,
                readable,
                lines=arguments.lines,
                at_once=sys.maxsize if arguments.json or board is not None else LINES_AT_ONCE,
            )
        blocks = noted(blocks)
        answered = next(blocks)
        texts = AnswerTexts(answered, blocks, arguments.probabilities)
        lines = texts.lines()
        if arguments.json_lines:
            plain = arguments.lines or (readable is not None and is_plain(answered.task, readable))
            lines = texts.json_lines(plain=plain)
        text = "".join(lines) if arguments.out is None and not arguments.json else ""
        if arguments.out is not None and board is None:
            write_atomically(arguments.out, lambda part: _write(lines, part, arguments))
    if not arguments.json:
        _print_scores(answered, notes, file)
    paths = []
    if board is not None:
        paths = texts.write_board_files(board, arguments.out)
    elif arguments.out is not None:
        paths = [arguments.out]
    if arguments.json:
        command_line.output.print_json({**texts.as_json(), "files": paths})
    elif paths:
        for path in paths:
            print_line(f"{count} answers in {path}")
    else:
        print_data(text)
    return command_line.output.DONE


def _write(lines: Iterable[str], file: Path, arguments: argparse.Namespace) -> None:
    """Write lines whose fields have tabs between them; a .csv file has commas, and quotes where they are needed."""
    with file.open("w", encoding="utf-8", newline="\n") as stream:
        if arguments.out.suffix == ".csv" and not arguments.json_lines:
            csv.writer(stream, lineterminator="\n").writerows(line[:-1].split("\t") for line in lines)
        else:
            stream.writelines(lines)


@contextlib.contextmanager
def _readable(file: Path | None) -> Iterator[Path | None]:
    """Give a file that can be read several times: a copy of standard input for '-'. Errors name standard input."""
    if file != Path("-") or file.exists():
        yield file
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "input"
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target)
        try:
            yield copy
        except DataError as error:
            raise DataError(str(error).replace(str(copy), "standard input")) from None


def _print_scores(answered: ensembles.Answered, notes: Iterable[str], file: Path | None) -> None:
    """Print scores and notes to standard error, since standard output may be the answers."""
    for note in notes:
        print_note(f"{file or answered.rows.origin}: {note}")
    for name, score in answered.scores.items():
        scale = answered.task.metric(name).scale
        value = f"absent: {score.reason}" if score.value is None else f"{score.value * scale:.2f}"
        print_note(f"{answered.task.name} {name} {value}")


def _references_and_file(arguments: argparse.Namespace) -> tuple[list[str], Path | None]:
    """Split the words into the fits that answer and the file to answer."""
    references = arguments.given[:1]
    files = arguments.given[1:]
    if arguments.ensemble:
        references = list(arguments.ensemble)
        files = arguments.given
        if not files and Path(references[-1]).is_file():  # users often put the file after the fits
            files = [references.pop()]
    if not references:
        raise RequestError("Name the run that is to answer, or several after --ensemble.")
    if len(files) > 1:
        raise RequestError(f"Give one file, not {', '.join(files)}; to answer with several runs, use --ensemble.")
    if files and arguments.split is not None:
        raise RequestError("--split names a part of the task's own data: give either --split or a file.")
    return references, Path(files[0]) if files else None
