"""Check that a leaderboard keeps its contract: tasks, labels, what is written, and what its own check finds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from benchrunner import BenchrunnerError, PluginError, Workspace
from benchrunner.engine import seals
from benchrunner.results import discover
from benchrunner_kit.testing.contract import Findings, described
from benchrunner_kit.testing.loss_checks import sample_outputs
from benchrunner_kit.testing.problem_checks import answers_of
from benchrunner_kit.testing.samples import with_data
from benchrunner_kit.testing.tiny_encoder import TinyEncoder
from benchrunner_submit import Answers, BoardFile, Leaderboard, check_submission, file_content, write_answers

if TYPE_CHECKING:
    from benchrunner import Task


def check_leaderboard(
    board: Leaderboard, tasks: Iterable[Task], folder: Path, *, workspace: Workspace | None = None
) -> None:
    """Check that a leaderboard keeps its contract; raise a `PluginError` that lists every fault, with advice.

    `tasks` are those whose answers the board takes. A submission of sample answers is written below `folder` and must
    pass the board's own check, and damaged files must not. The rows are those of `workspace`, or of the tasks' demo
    files.
    """
    findings = Findings(f"the leaderboard '{board.name}'")
    known = {task.name: task for task in tasks}
    answered = dict.fromkeys(file.task for file in board.files)
    wanted = [known[name] for name in answered if name in known]
    with findings.step("to compare files and columns with the tasks"):
        try:
            board.check_tasks(known, list(known))
        except PluginError as error:
            findings.add(str(error))
    workspace = with_data(wanted, folder, workspace, findings) if wanted else workspace
    answers = dict[tuple[str, str], Answers]()
    for file in board.files:
        _check_names(file, known, findings)
        task = known.get(file.task)
        if task is not None and workspace is not None and file.split in task.splits:
            with findings.step(f"to answer {file.task}, split {file.split}"):
                answers[file.pair] = _sample_answers(task, file.split, workspace)
            if file.pair in answers:
                with findings.step(f"to write and check {file.name}"):
                    _check_file(file, answers[file.pair], findings)
    if board.files and not findings.faults:
        with findings.step("to write a submission"):
            _check_submission(board, answers, folder, findings)
    findings.refuse()


def _check_names(file: BoardFile, tasks: Mapping[str, Task], findings: Findings) -> None:
    """Check that the file's task is given, that no fit learns from its split, and that the numbers of rows agree."""
    if file.task not in tasks:
        findings.add(
            f"{file.name} is for the task '{file.task}', which is not among the tasks given: mend the name, or give it"
        )
        return
    split = tasks[file.task].splits.get(file.split)
    if split is None:
        return
    if split.role == "train":
        findings.add(
            f"{file.name} is for the split '{file.split}' of {file.task}, from which fits learn: name a test split"
        )
    elif split.rows not in (None, file.rows):
        findings.add(
            f"{file.name} has {file.rows:,} rows, and the split '{file.split}' of {file.task} has {split.rows:,}: "
            "mend either"
        )


def _sample_answers(task: Task, split: str, workspace: Workspace) -> Answers:
    """Return answers to a split, decoded from random outputs."""
    problem = task.problem
    table = task.load(split, workspace).table
    features = problem.encode(table, TinyEncoder(), task.recipe, training=False)
    raw = problem.gather(sample_outputs(problem, features), features, table)
    figures = problem.extra_figures(raw, table, problem.decoding)
    return Answers(answers_of(problem, raw, table), table, figures, fit="check", method="check")


def _check_file(file: BoardFile, answers: Answers, findings: Findings) -> None:
    """Check that written answers pass the file's own check, are written alike twice, and that damage is found."""
    rows = len(answers.values)
    try:
        content = file_content(file, answers, rows)
    except BenchrunnerError as error:
        findings.add(f"sample answers to {file.task} cannot be written: {error}")
        return
    if file_content(file, answers, rows) != content:
        findings.add(f"{file.name} differs from call to call: write the same bytes for the same answers")
    table = file.rows_to_compare(answers.table)
    lines = content.rstrip().splitlines(keepends=True)
    damages = {
        "is empty": b"",
        "is cut in the middle": content[: len(content) // 2],
        "lost its last line": b"".join(lines[:-1]),
        "is twice as long": content + content,
        "is no text": b"\xff\xfe\x00\x01" * 8,
    }
    for damage, damaged in damages.items():
        try:
            faults = file.kind.check(file.name, damaged, rows, file.other_rows, table)
        except Exception as error:
            findings.add(f"to check {file.name} where it {damage} ends in {described(error)}: add a fault instead")
            continue
        if not faults and damaged != content:
            findings.add(f"{file.name} passes its check where it {damage}: let `read` of its kind find this")


def _check_submission(
    board: Leaderboard, answers: Mapping[tuple[str, str], Answers], folder: Path, findings: Findings
) -> None:
    """Check that a whole submission passes the board's check, and that a second one has the same bytes."""
    counts = {file.name: len(answers[file.pair].values) for file in board.files}
    digests: list[object] = []
    for name in ("submission", "again"):
        place = folder / name / board.archive.removesuffix("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        path = write_answers(board, answers, place, counts=counts)
        digests.append(seals.folder_checksums(path) if path.is_dir() else seals.file_checksum(path))
        checked = check_submission(path, discover(installed=False), board=board, counts_from_manifest=True)
        for fault in checked.faults:
            findings.add(f"a submission that was just written is refused: {fault}")
    if digests[0] != digests[1]:
        findings.add("two submissions with the same answers differ: write the same bytes for the same answers")
