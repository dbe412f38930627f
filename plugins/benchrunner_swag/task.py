"""The task: its CSV files, its data set on the hub, and how their columns become a text and four choices."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from shutil import unpack_archive
from typing import TYPE_CHECKING

from benchrunner import ACCURACY, Recipe, Reshaped, Role, Split, Task, TextTable
from benchrunner_kinds import Choose
from benchrunner_tasks import HubTable

if TYPE_CHECKING:
    import pyarrow as pa

REPOSITORY = "allenai/swag"
"""Repository of SWAG on the hub."""
ROOTS = ("swag/", "SWAG/", "swagaf/data/", "data/", "")
"""Folders below the data folder that are searched; the third is that of the authors' repository."""
CHOICES = tuple(f"ending{number}" for number in range(4))
"""Columns of the four endings."""


def _columns(*, labelled: bool) -> dict[str, str]:
    """Name the columns to read: name in the table -> column of the files and of the hub."""
    columns = {"a": "sent1", "sent2": "sent2"} | {name: name for name in CHOICES}
    return columns | {"label": "label"} if labelled else columns


def rows(table: pa.Table) -> pa.Table:
    """Make the choices: the beginning of the second sentence, which may be empty, with each of the endings."""
    import pyarrow as pa

    texts = [table.column(name).to_pylist() for name in ("sent2", *CHOICES)]
    choices: list[list[str | None]] = []
    for begin, *endings in zip(*texts, strict=True):
        choices.append([_joined(begin, ending) for ending in endings])
    columns = {"a": table.column("a"), "choices": pa.array(choices, pa.list_(pa.string()))}
    if "label" in table.column_names:
        columns["label"] = table.column("label")
    return pa.table(columns)


def _joined(begin: str | None, ending: str | None) -> str | None:
    return f"{begin} {ending}" if begin and ending else ending


def _split(role: Role, file: str, hub: str, count: int) -> Split:
    """Make a split. The test file has no labels; on the hub they are -1 and are not read."""
    columns = _columns(labelled=role != "test")
    paths = tuple(f"{root}{file}.csv" for root in ROOTS)
    sources = TextTable(paths, columns, separator=",", quoted=True), HubTable(REPOSITORY, "regular", hub, columns)
    return Split(role, tuple(Reshaped(source, rows) for source in sources), count)


SWAG = Task(
    name="swag/swag",
    title="SWAG",
    about="Which of four endings follows?",
    problem=Choose(choices=len(CHOICES)),
    splits={
        "train": _split("train", "train", "train", 73_546),
        "dev": _split("dev", "val", "validation", 20_006),
        "test": _split("test", "test", "test", 20_005),
    },
    metrics=(ACCURACY,),
    recipe=Recipe(batch_size=16, epochs=3, lr=2e-5, max_length=128),  # Devlin et al. 2019, 4.4
    demo_files=partial(unpack_archive, Path(__file__).parent / "demo_data/swag.zip"),
    language="en",
    licence="MIT",
)
