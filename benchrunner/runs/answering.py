"""Answer rows with finished fits, alone or as an ensemble, and write the files of boards with the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any, final

from benchrunner.data.rows import Rows
from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.files import read_text, write_atomically
from benchrunner.io.identity import identity
from benchrunner.leaderboards.file_kind import Answers
from benchrunner.leaderboards.leaderboard import Leaderboard
from benchrunner.metrics import Score
from benchrunner.metrics.ranking import PROBABILITIES
from benchrunner.runs.folder import RunFolder, find_run
from benchrunner.runs.predicting import decoding_settings, raw_outputs, tuned_settings
from benchrunner.runs.runner import Runner
from benchrunner.tasks.task import Task
from benchrunner.tasks.user_files import read_questions

RULE = "mean"
"""How outputs are combined: the mean, as each problem's `average` defines it."""


@dataclass(frozen=True)
class Ensemble:
    """Fits of one task that answer together. Nothing is learned."""

    members: tuple[Fit, ...]
    """Sorted by id; the same fit may occur several times."""

    def __post_init__(self) -> None:
        if not self.members:
            raise RequestError("An ensemble needs at least one finished run.")
        object.__setattr__(self, "members", tuple(sorted(self.members, key=lambda fit: fit.id)))
        if len({fit.task for fit in self.members}) > 1:
            listed = ", ".join(f"{fit.id} ({fit.task})" for fit in self.members)
            raise RequestError(f"The members of an ensemble answer one task, not several: {listed}.")

    @property
    def id(self) -> str:
        """Hash of the members and the rule; also the name of the folder with the tuned settings."""
        return identity({"rule": RULE, "members": [fit.id for fit in self.members]})

    @property
    def task(self) -> str:
        return self.members[0].task

    def outputs(self, rows: Rows, runner: Runner) -> Any:
        """Return the averaged raw outputs of the members for rows of their task."""
        members = [raw_outputs(fit, rows, runner) for fit in self.members]
        if len(members) == 1:
            return members[0]
        return runner.plugins.tasks.find(self.task).problem.average(members)

    def settings(self, runner: Runner) -> Mapping[str, Any]:
        """Return the settings that turn the averaged outputs into answers, tuned on dev as for a single fit."""
        if len(self.members) == 1:
            return decoding_settings(self.members[0], runner)
        folder = RunFolder(runner.workspace.runs, self.id)
        return tuned_settings(
            runner.plugins.tasks.find(self.task), folder, lambda rows: self.outputs(rows, runner), runner
        )


@final
@dataclass(frozen=True)
class Answered:
    """Answers of one finished fit, or of several together, to some rows."""

    task: Task
    rows: Rows
    answers: list[Any]
    """One answer for each row, in their order."""
    extra_figures: Mapping[str, list[Any]]
    """Name -> a figure for each row: see `Problem.extra_figures`."""
    scores: Mapping[str, Score]
    """Metric -> score; empty if the rows are not labelled."""
    by: str
    """Id of the fit or of the ensemble."""

    def check_probabilities(self) -> None:
        """Raise a `RequestError` if the task's problem gives no probabilities."""
        if PROBABILITIES not in self.extra_figures:
            kind = self.task.problem.name
            raise RequestError(
                f"{self.task.name} has no probabilities, since answers to problems of the kind '{kind}' have none. "
                "Leave --probabilities out."
            )

    def write_board_files(self, board: Leaderboard, folder: Path) -> list[Path]:
        """Write the files of a leaderboard with these answers, whatever the number of rows; return their paths."""
        files = board.with_tasks([self.task.name]).files_of(self.task.name)
        if not files:
            known = ", ".join(dict.fromkeys(task for task, _ in board.wanted))
            raise RequestError(f"{board.name} takes no answers to {self.task.name}, but to {known or 'no task'}.")
        given = Answers(self.answers, table=self.rows.table, extra_figures=self.extra_figures, fit=self.by)
        contents = {}
        for file in files:
            if absent := [name for name in file.kind.row_columns if name not in self.rows.table.column_names]:
                raise RequestError(
                    f"{file.name} has {', '.join(absent)} beside the answers, which is not read from a file of your "
                    f"own: give the data as --data DIR and --split {file.split}, where {self.task.name} has its own "
                    "files."
                )
            contents[folder / file.name] = file.content(given, len(self.rows))
        for path, content in contents.items():
            write_atomically(path, partial(Path.write_bytes, data=content))
        return list(contents)

    def probabilities(self) -> Iterator[Any]:
        """Yield for each row a table of label -> probability, or a list where the answers are no labels."""
        labels = getattr(self.task.problem, "labels", None)
        for figures in self.extra_figures[PROBABILITIES]:
            row = [round(float(figure), 6) for figure in figures]
            yield dict(zip(labels, row, strict=True)) if labels else row

    def as_json(self, *, probabilities: bool = False) -> dict[str, Any]:
        """Return the answers and their scores as JSON values, with probabilities on request."""
        return {
            **({PROBABILITIES: list(self.probabilities())} if probabilities else {}),
            "task": self.task.name,
            "by": self.by,
            "data": self.rows.origin,
            "rows": len(self.rows),
            "scores": self.scores,
            "answers": self.answers,
            "notes": self.rows.notes,
        }

    def text_lines(self, *, probabilities: bool = False) -> Iterator[str]:
        """Yield the header `index<TAB>prediction` and a line for each answer: the file that `score_file` reads.

        With `probabilities`, a third column holds the probabilities of each row as JSON.
        """
        yield f"index\tprediction\t{PROBABILITIES}\n" if probabilities else "index\tprediction\n"
        figures = self.probabilities() if probabilities else repeat(None)
        for index, (value, of_row) in enumerate(zip(self.answers, figures, strict=probabilities)):
            column = f"\t{json.dumps(of_row, ensure_ascii=False)}" if probabilities else ""
            yield f"{index}\t{self.task.problem.spell(value)}{column}\n"

    def json_lines(self, *, probabilities: bool = False, plain: bool = False) -> Iterator[str]:
        """Yield a JSON object for each answer. With `plain`, the rows are plain lines of a file, which are written too.

        Where the problem tags words, `words` has the first character and the end of each word in its line.
        """
        texts = read_text(Path(self.rows.origin)).split("\n") if plain else []
        figures = self.probabilities() if probabilities else repeat(None)
        for index, (value, of_row) in enumerate(zip(self.answers, figures, strict=probabilities)):
            row: dict[str, Any] = {"index": index, "answer": value}
            if plain and self.rows.lines:
                row["text"] = text = texts[self.rows.lines[index] - 1].rstrip("\r")
                if self.task.problem.line_columns == ("words",):
                    row["words"] = [word.span() for word in re.finditer(r"\S+", text)]
            if probabilities:
                row[PROBABILITIES] = of_row
            yield json.dumps(row, ensure_ascii=False) + "\n"


def answer(
    references: Sequence[str],
    runner: Runner,
    *,
    file: Path | None = None,
    split: str | None = None,
    lines: bool = False,
) -> Answered:
    """Answer a user's file, or a split of the task's data, with finished fits of one task.

    `references` are ids of fits, beginnings of ids, or folders of fits; several fits answer together. The file is in
    the layout of the task's own files, labelled or not; with `lines`, it is plain text with a row on each line. Without
    file and split, the first dev split is answered.
    """
    if file is not None and split is not None:
        raise RequestError("Give either a file or a split of the task's own data, not both.")
    folders = [find_run(runner.workspace.runs, reference) for reference in references]
    homes = {folder.path.parent for folder in folders}
    if len(homes) > 1:
        listed = ", ".join(sorted(map(str, homes)))
        raise RequestError(f"The members of an ensemble must be in one runs folder; these are in {listed}.")
    for home in homes:
        runner = runner.in_workspace(replace(runner.workspace, runs=home))
    ensemble = Ensemble(tuple(finished_fit(folder, runner) for folder in folders))
    task = runner.plugins.tasks.find(ensemble.task)
    if file is not None:
        rows = read_questions(task, file, runner.workspace, lines=lines)
    else:
        rows = runner.planner.rows(task, split or next(iter(task.named("dev")), task.train))
    return answer_together(ensemble, task, rows, runner)


def answer_together(ensemble: Ensemble, task: Task, rows: Rows, runner: Runner) -> Answered:
    """Answer rows with finished fits; weights are needed only for rows that the fits have not answered before."""
    import numpy as np

    outputs = ensemble.outputs(rows, runner)
    settings = ensemble.settings(runner)
    answers = task.problem.decode(np.array(outputs), rows.table, deepcopy(settings))
    extra_figures = task.problem.extra_figures(np.array(outputs), rows.table, deepcopy(settings))
    scores = task.scores(rows.table, answers, extra_figures)
    by = ensemble.members[0].id if len(ensemble.members) == 1 else ensemble.id
    return Answered(task, rows, answers, extra_figures, scores, by)


def finished_fit(folder: RunFolder, runner: Runner) -> Fit:
    """Return the fit of a finished run. If its weights were not kept, it is fitted again."""
    record, fit = folder.record(), folder.fit()
    if record is None:
        raise RequestError(f"The fit {folder.path.name} is not finished. Repeat the command that started it.")
    if record.status != "done":
        reason = record.reason.rstrip(".")
        raise RequestError(
            f"The fit {folder.path.name} {record.status}: {reason}. Choose another of 'benchrunner runs list'."
        )
    if not folder.model.exists() and not runner.workspace.settings.needs_workers:  # workers fit again themselves
        runner.run(fit, weights=True)
    return fit
