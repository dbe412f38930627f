"""Build the study of a protocol: every part is a study of its tasks, and all parts are joined to one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from benchrunner import RequestError, Task
from benchrunner.results import Plugins, Runner, Study, StudyOptions, cells
from benchrunner_protocols.protocol import Part, Protocol


def chosen_tasks(protocol: Protocol, words: Iterable[str], plugins: Plugins) -> tuple[list[Task], list[str]]:
    """Return the tasks of a protocol that the words name, in its order, and why some of its tasks are left out.

    A word is a task or a suite, whose tasks outside of the protocol are left out. Without words, these are all tasks
    that are installed.
    """
    named = {task.name: task for task in plugins.tasks_of(words)}
    for word in words:
        own = [task.name for task in plugins.tasks_of([word])]
        if not set(own) & set(protocol.tasks):
            raise RequestError(
                f"The protocol {protocol.name} has no task '{word}'. It has: {', '.join(protocol.tasks)}. With other "
                f"tasks, use its recipe: 'compare B --tasks {word} --recipe {protocol.recipe}'."
            )
    absent = [name for name in protocol.tasks if name not in plugins.tasks]
    if not words:
        named = {name: plugins.tasks.find(name) for name in protocol.tasks if name not in absent}
    tasks = [named[name] for name in protocol.tasks if name in named]
    if not tasks:
        raise RequestError(f"No plugin that is installed has a task of {protocol.name}: {', '.join(protocol.tasks)}.")
    notes = [f"{name} is not part of the protocol" for name in named if name not in protocol.tasks]
    if absent and not words:
        notes.append(f"no plugin that is installed has {', '.join(absent)}")
    return tasks, notes


def protocol_study(
    protocol: Protocol,
    backbones: Sequence[str],
    tasks: Sequence[Task],
    chosen: StudyOptions,
    runner: Runner,
    *,
    tests: Sequence[str] = (),
) -> Study:
    """Build the study of some backbones on tasks of a protocol; what `chosen` gives replaces what the protocol says."""
    if chosen.start is not None:
        raise RequestError(f"The protocol {protocol.name} says where fits start: leave --start out.")
    studies = []
    for part in protocol.parts:
        own = [task for task in tasks if task.name in part.tasks]
        if own:
            study = chosen.over(protocol.options(part)).study(backbones, own, runner, tests=tests)
            studies.append(dataclasses.replace(study, cells=tuple(_marked(study, part))))
    order = [task.name for task in tasks]
    columns = [column for study in studies for column in study.columns]
    joined = [cell for study in studies for cell in study.cells]
    return dataclasses.replace(
        studies[0],
        columns=tuple(sorted(columns, key=lambda column: order.index(column.task))),
        cells=tuple(sorted(joined, key=lambda cell: order.index(cell.task.name))),
        stages=tuple(_stages(protocol, backbones, order, chosen, runner)),
        title=f"{protocol.name}: {protocol.about}",
        about=protocol.statement,
    )


def _marked(study: Study, part: Part) -> Iterator[cells.Cell]:
    """Yield the cells of a part, of which those without a start of the part's own skip the first task."""
    for cell in study.cells:
        yield dataclasses.replace(cell, skips_first=not part.starts_from)


def _stages(
    protocol: Protocol, backbones: Sequence[str], tasks: Sequence[str], chosen: StudyOptions, runner: Runner
) -> Iterator[cells.Cell]:
    """Yield a cell for each system whose fits to some tasks start from another task: the fits of its own part.

    A stage has one restart: the first seed, so that its fits are among those of its column.
    """
    for start in dict.fromkeys(protocol.part_of(task).starts_from for task in tasks):
        if start:
            options = chosen.over(protocol.options(protocol.part_of(start)))
            once = dataclasses.replace(options.as_stage(), seeds=options.seeds and options.seeds[:1])
            task = runner.plugins.tasks.find(start)
            for cell in once.study(backbones, [task], runner).cells:
                yield dataclasses.replace(cell, columns=(), tests=())
