"""Commands that write submissions with the selected fits of a study file, so that nothing is fitted again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from benchrunner.runs.runner import Runner
from benchrunner.study_files.entries import Entry
from benchrunner.study_files.plan import Need
from benchrunner.study_files.study_file import StudyFile


def submissions(
    study: StudyFile, needs: Iterable[Need], entries: Mapping[tuple[str, str], Entry], runner: Runner
) -> dict[str, tuple[str, ...]]:
    """Map each system to the words of the command that writes its submission to the study's leaderboard.

    Several columns of one task may select different fits: the first column counts. A system without a finished fit
    for any of the board's tasks has no command, and so has a system whose weights were not kept.
    """
    needs = [need for need in needs if need.options.limit_dev is None]  # few rows of dev select no submission
    if study.board not in runner.plugins.leaderboards:
        return {}
    board = runner.plugins.leaderboards.find(study.board)
    wanted = {task for task, _ in board.wanted}
    runs: dict[str, dict[str, tuple[str, ...]]] = {}  # system -> task -> the runs that answer
    for need in needs:
        members = entries[need.system.name, need.column.name].answering
        if need.task.name in wanted and need.options.keep != "none" and members:
            runs.setdefault(need.system.name, {}).setdefault(need.task.name, members)
    return {
        system: (
            *("submit", board.name, "--ensemble", *(run for members in of_tasks.values() for run in members)),
            *(("--fill", "majority") if wanted - of_tasks.keys() else ()),
        )
        for system, of_tasks in runs.items()
    }
