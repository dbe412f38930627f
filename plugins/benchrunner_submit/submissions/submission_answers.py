"""Answers of fits to the splits that a leaderboard wants, and the scores on dev of what answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchrunner import BenchrunnerError, RequestError, Task
from benchrunner.results import CellResult, Fit, Result, Runner, answer, cells, find_run, predict, predicting
from benchrunner_submit.board_file import Pair
from benchrunner_submit.file_kinds.file_kind import Answers
from benchrunner_submit.leaderboard import Leaderboard

AnswerSource = Callable[[Task, str], Answers]
"""Gives the answers to a task's split: from the fits of a study, or from an ensemble."""
Collected = dict[Pair, Answers]
"""The answers to each split that a leaderboard wants."""
DevScores = dict[str, dict[str, float]]
"""Task -> split and metric, such as "dev accuracy" -> score. Scores that cannot be computed are absent."""


def answers(board: Leaderboard, source: AnswerSource, filled: Mapping[Pair, Answers], runner: Runner) -> Collected:
    """Collect the answers to every split that the board wants: those that are `filled` in, else those of the source."""
    collected = {}
    for name, split in board.wanted:
        pair = name, split
        collected[pair] = filled[pair] if pair in filled else source(runner.plugins.tasks.find(name), split)
    return collected


def selected(board: Leaderboard, fitted: Sequence[CellResult], runner: Runner) -> AnswerSource:
    """Return an answer source that answers with the fits of a study, and with the extra figures that files need."""
    of_task = dict[str, CellResult]()
    for cell in fitted:
        of_task.setdefault(cell.cell.task.name, cell)

    def given(task: Task, split: str) -> Answers:
        fit = cells.selected_fit(of_task[task.name])
        rows = runner.planner.rows(task, split)
        more: Mapping[str, list[Any]] = {}
        if any(file.extra_figure for file in board.files_of(task.name)):
            more = predicting.extra_figures(fit, rows, runner)
        answers = Answers(predict(fit, split, runner).answers, rows.table, more, fit.id, fit.method)
        return _with_origin(answers, [fit])

    return given


def ensembles_of(board: Leaderboard, references: Sequence[str], runner: Runner) -> dict[str, list[str]]:
    """Group finished runs by their tasks, which must be tasks of the board."""
    runs: dict[str, list[str]] = {}
    for reference in references:
        fit = find_run(runner.workspace.runs, reference).fit()
        if not board.files_of(fit.task):
            raise RequestError(f"{board.name} takes no answers to {fit.task}, the task of the run {fit.id}.")
        runs.setdefault(fit.task, []).append(reference)
    return runs


def together(ensembles: Mapping[str, Sequence[str]], runner: Runner) -> AnswerSource:
    """Return an answer source that answers with finished runs; the runs of one task are an ensemble."""

    def given(task: Task, split: str) -> Answers:
        references = ensembles[task.name]
        answered = answer(references, runner, split=split)
        method = "ensemble" if len(references) > 1 else "finished run"
        fits = [find_run(runner.workspace.runs, reference).fit() for reference in references]
        values = Answers(answered.answers, answered.rows.table, answered.extra_figures, answered.by, method)
        return _with_origin(values, fits)

    return given


def _with_origin(values: Answers, fits: Sequence[Fit]) -> Answers:
    """Add the backbones of the fits that answered, and the fewest training rows that any of them was limited to."""
    backbones: dict[str, None] = {}
    limits = []
    for fit in fits:
        if fit.backbone:
            backbones[fit.backbone] = None
        if fit.recipe.limit_train is not None:
            limits.append(fit.recipe.limit_train)
    return replace(values, backbone=", ".join(backbones), limit_train=min(limits, default=None))


def scores_of_result(result: Result) -> DevScores:
    """Return the dev scores of the fits that a study selected."""
    scores = DevScores()
    for cell in result.cells:
        for term, figure in cell.figures.items():
            if term.split in cell.cell.task.named("dev") and figure.best.value is not None:
                scores.setdefault(term.task, {})[f"{term.split} {term.metric}"] = figure.best.value
    return scores


def scores_of_runs(ensembles: Mapping[str, Sequence[str]], runner: Runner) -> DevScores:
    """Return the dev scores of finished runs; the runs of one task answer together."""
    scores = DevScores()
    for name, references in ensembles.items():
        scores[name] = {}
        for split in runner.plugins.tasks.find(name).named("dev"):
            try:
                of_split = answer(references, runner, split=split).scores
            except BenchrunnerError:  # the submission does not need them
                continue
            for metric, score in of_split.items():
                if score.value is not None:
                    scores[name][f"{split} {metric}"] = score.value
    return scores
