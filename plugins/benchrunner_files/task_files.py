"""Task files: the keys that a TOML file of a task has, and the task that they describe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

from benchrunner import PluginError, Recipe, RequestError, Role, Source, Split, Task, did_you_mean, quoted
from benchrunner.engine import Problem, decoding
from benchrunner_files.data_files import InColumns, inside
from benchrunner_files.formats import Format, reader
from benchrunner_files.kinds import kind_of, problem_of
from benchrunner_files.metrics import metrics_of
from benchrunner_files.shapes import Place, Shape
from benchrunner_files.toml_text import BOARD, TomlText
from benchrunner_kinds import Tag
from benchrunner_tasks import HubTable

if TYPE_CHECKING:
    from benchrunner.results import Plugins

ROLES: Mapping[str, Role] = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "validation": "dev",
    "valid": "dev",
    "val": "dev",
    "test": "test",
}
"""Word in the name of a split or of its file -> role of the split."""


@final
@dataclass(frozen=True)
class Hub:
    """A data set on the Hugging Face hub."""

    id: str
    """OWNER/NAME."""
    config: str = ""
    """Empty for a data set with a single configuration."""
    revision: str | None = None
    """Branch or commit; None is the main branch."""


@final
@dataclass(frozen=True)
class SplitTable:
    """A split that is not named by its file alone."""

    file: str = ""
    """Path of the data file, in the folder of the task file."""
    hub: str = ""
    """Split of the data set of the table [hub]."""
    role: Role | None = None
    """None: as the name of the split says."""
    rows: int | None = None
    """The official number of rows."""
    format: Format | None = None
    """How this file is written, if otherwise than the others."""


@final
@dataclass(frozen=True)
class TaskFile:
    """The keys of a task file, beside those of its problem and of the leaderboard in it."""

    problem: Problem
    splits: Mapping[str, str | SplitTable]
    columns: Mapping[str, str | int | tuple[str, ...]]
    """Column of the problem -> where the data has it."""
    about: str = ""
    language: str = ""
    """See `Task.language`."""
    licence: str = ""
    """See `Task.licence`."""
    metrics: tuple[str, ...] = ()
    """The first selects. Empty: the default metrics of the problem."""
    recipe: Recipe = field(default_factory=Recipe)
    method: str = "finetune"
    clusters: str = ""
    """See `Task.clusters`."""
    keep: tuple[str, ...] = ()
    """Further columns of the data that are kept, for example ids for a leaderboard."""
    select_on: tuple[str, ...] = ()
    format: Format = field(default_factory=Format)
    hub: Hub | None = None

    def role(self, name: str) -> Role:
        """Return what a split is for, as it says itself or by its name: `dev`, `validation`, `test_hard`."""
        given = self.splits[name]
        if isinstance(given, SplitTable) and given.role is not None:
            return given.role
        begin = name.replace("-", "_").partition("_")[0]
        if begin not in ROLES:
            raise decoding.Mistake(
                f"the name {quoted(name)} does not begin with train, dev, validation or test: say the role, such as "
                f'{{file = "...", role = "dev"}}.',
                f"splits.{name}",
            )
        return ROLES[begin]


def task_of(text: TomlText, plugins: Plugins) -> Task:
    """Make the task that a task file describes. Every mistake is a `RequestError` with file, line and key."""
    name = text.task_name
    data = text.content
    data.pop(BOARD, None)
    try:
        spelling = _prepared(data)
        described = decoding.decoded(TaskFile, data, "", RequestError, {Problem: problem_of})
        return _task(name, described, spelling, text, plugins)
    except decoding.Mistake as mistake:
        raise RequestError(text.located(str(mistake))) from None
    except (RequestError, PluginError) as error:
        raise RequestError(text.located(str(error).removeprefix(": ").replace(f"{name}: ", ""))) from None


def _prepared(data: dict[str, Any]) -> dict[str, str]:
    """Turn labels into texts and count the columns of `choices`; return label in the data -> label of the task."""
    given = data.get("labels")
    spelling = dict[str, str]()
    if isinstance(given, dict):
        spelling = {str(label): str(meaning) for label, meaning in given.items()}
        data["labels"] = list(dict.fromkeys(spelling.values()))
    elif isinstance(given, list):
        for label in given:
            written = label if isinstance(label, str) else json.dumps(label, default=str)
            spelling[written] = written
        data["labels"] = list(spelling) if len(spelling) == len(given) else list(map(str, given))
    columns = data.get("columns")
    choices = columns.get("choices") if isinstance(columns, dict) else None
    if data.get("problem") == "choose" and isinstance(choices, list):
        data.setdefault("choices", len(choices))
    if isinstance(data.get("recipe"), dict):
        data["recipe"] = {key.replace("-", "_"): value for key, value in data["recipe"].items()}
    return spelling


def _task(name: str, described: TaskFile, spelling: Mapping[str, str], text: TomlText, plugins: Plugins) -> Task:
    """Make the task of the decoded keys."""
    key = "method"
    try:
        plugins.methods.find(described.method)
        key = "metrics"
        metrics = metrics_of(described.metrics, described.problem, plugins)
    except (RequestError, PluginError) as error:
        raise decoding.Mistake(str(error), key) from None
    places: dict[str, Place] = dict(described.columns)
    _check_columns(described, text)
    further = [*described.keep, *filter(None, [described.clusters])]
    for metric in metrics:
        further += metric.columns
    for column in further:
        places.setdefault(column, column)
    shape = Shape(described.problem, places, spelling)
    splits = {}
    for split in described.splits:
        splits[split] = _split(split, described, shape, text)
    roles = [split.role for split in splits.values()]
    only_scored = "train" not in roles and "dev" in roles
    if only_scored:
        roles.append("train")
        splits["train"] = replace(next(split for split in splits.values() if split.role == "dev"), role="train")
    if roles.count("train") != 1:
        raise decoding.Mistake(
            f"exactly one split of the role train is needed, found {roles.count('train')}.", "splits"
        )
    return Task(
        name,
        described.about or f"the task of {text.path.name}",
        described.problem,
        splits,
        metrics,
        _recipe(described, splits.values(), text),
        described.method,
        select_on=described.select_on,
        columns=described.keep,
        clusters=described.clusters,
        language=described.language,
        licence=described.licence,
        title=name.removeprefix("file/").rpartition("-")[0],
        only_scored=only_scored,
    )


def _recipe(described: TaskFile, splits: Iterable[Split], text: TomlText) -> Recipe:
    """Return the file's recipe; for tags without documents or a setting `context`, each sentence is shown alone."""
    if not isinstance(described.problem, Tag) or "context" in text.content.get("recipe", {}):
        return described.recipe
    for split in splits:
        for source in split.sources:
            if isinstance(source, InColumns) and not source.has_documents:
                return replace(described.recipe, context="sentence")
    return described.recipe


def _check_columns(described: TaskFile, text: TomlText) -> None:
    """Raise a `Mistake` for columns that the problem does not have, or that it needs and the file does not give."""
    known = kind_of(str(text.content["problem"])).columns
    allowed = {*known, *described.keep, described.clusters}
    for column in described.columns if known else ():
        if column not in allowed:
            meant = did_you_mean(column, allowed)
            listed = ", ".join(known)
            raise decoding.Mistake(
                f"is no column of the problem '{described.problem.name}', whose columns are {listed}.{meant} "
                f"To keep a further column, list it: keep = [{json.dumps(column)}].",
                f"columns.{column}",
            )
    needed = {**dict.fromkeys(described.problem.label_columns, "the label"), **known}
    for column, holds in needed.items():
        if column not in described.columns and not holds.startswith("("):
            raise decoding.Mistake(f'{column} is missing: {holds}. Write {column} = "NAME OF A COLUMN".', "columns")


def _split(name: str, described: TaskFile, shape: Shape, text: TomlText) -> Split:
    """Make a split; a `Mistake` if its file lies elsewhere."""
    given = described.splits[name]
    if isinstance(given, str):
        given = SplitTable(hub=given) if described.hub is not None else SplitTable(file=given)
    role = described.role(name)
    try:
        if bool(given.file) == bool(given.hub):
            raise ValueError("give either a file, or with a table [hub] the name of a split of its data set")
        if given.file:
            path = inside(text.path.parent, given.file)
            form = (given.format or described.format).of(path)
            shape = _fitting(shape, form, described)
            source = reader(form, path, shape.read_columns)
        else:
            labels = described.problem.label_columns if role == "test" else ()
            shape = shape.without(labels)
            source = _hub_table(described.hub, given.hub, shape)
    except ValueError as reason:
        raise decoding.Mistake(f"{reason}.", f"splits.{name}") from None
    except PluginError as error:
        raise decoding.Mistake(str(error), "format") from None
    needs_labels = role != "test"
    columns = InColumns(source, text, name, described.problem, shape, needs_labels)
    return Split(role, (columns,), given.rows)


def _fitting(shape: Shape, form: Format, described: TaskFile) -> Shape:
    """Return the shape for a format; a `ValueError` for names of columns where there are numbers, or the opposite."""
    kind: type = int if form.kind == "words" else str
    for column, place in described.columns.items():
        first = place[0] if isinstance(place, tuple) else place
        if not isinstance(first, kind):
            wanted = "numbers from 0, or from -1 at the end" if kind is int else "names"
            raise ValueError(f"the columns of this format are {wanted}, and columns.{column} is {quoted(place)}")
    given = {name: place for name, place in shape.places.items() if not isinstance(place, str) or kind is str}
    return replace(shape, places=given)  # the number of a document is counted while words are read


def _hub_table(hub: Hub | None, split: str, shape: Shape) -> Source:
    """Return the source that reads a split of a data set; a `ValueError` if the file names no data set."""
    if hub is None:
        raise ValueError('say of which data set this is a split: a table [hub] with id = "OWNER/NAME"')
    return HubTable(hub.id, hub.config, split, shape.read_columns, revision=hub.revision)
