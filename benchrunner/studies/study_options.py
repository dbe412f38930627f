"""Options of a study: how its fits are made, as a command line, a study file or Python code says it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

from benchrunner.errors import RequestError, closest_names
from benchrunner.parameters.method_parameters import MethodParameter, ParameterValues, Value
from benchrunner.parameters.number_limits import check_at_most, check_seed, shortened
from benchrunner.parameters.recipes import SPECIAL, Grid, Recipe
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.references import with_family
from benchrunner.runs.runner import Runner
from benchrunner.studies.number_texts import number, numbers
from benchrunner.studies.study import Selection, Study
from benchrunner.tasks.task import Task

MOST_RESTARTS = 10_000
"""Largest number of restarts: more is a slip of the hand, and planning would fill the memory."""


@final
@dataclass(frozen=True)
class StudyOptions:
    """How the fits of a study are made. None means that an option is not given.

    Several values of `lr`, `epochs` or `batch_size` are a grid; dev selects among its points.
    """

    family: str | None = None
    """Plugin that loads all backbones without a prefix of their own, as if each were `PLUGIN:BACKBONE`."""
    preset: str | None = None
    """Name of a named recipe; the other options replace its values."""
    lr: tuple[float, ...] | None = None
    """Peak learning rates."""
    epochs: tuple[int, ...] | None = None
    """Passes over the training data."""
    batch_size: tuple[int, ...] | None = None
    """Examples in one optimizer step."""
    grid: str | None = None
    """Name of a grid in `GRIDS`, or of a named recipe that has a grid; the options above replace its lists."""
    max_length: int | None = None
    """Tokens of one sequence."""
    stride: int | None = None
    """Tokens between the starts of two windows over a long text."""
    context: str | None = None
    """What a sequence shows around a sentence of a document."""
    batch_unit: str | None = None
    """What the batch size counts in tasks that label words: `sentences`, `sequences` or `words`."""
    loss_divisor: str | None = None
    """What the summed loss of a batch of words is divided by: `own-words` or `mean-words`."""
    features: str | None = None
    """Layers of a frozen encoder that the methods 'features' and 'probe' read."""
    bilstm_width: int | None = None
    """Size of a BiLSTM's output for a token, both directions together."""
    summary: str | None = None
    """Vector of a sequence that a linear layer reads: `pooler`, `first`, `last`, `mean` or `max`, see `Recipe`."""
    layer_decay: float | None = None
    """Factor between the learning rates of an encoder's layers, from the top down."""
    redraw_layers: int | None = None
    """Number of top layers that are initialised again before training, with the pooler."""
    dropout: float | None = None
    """Dropout rate that replaces the backbone's own."""
    schedule: str | None = None
    """Decay of the learning rate: `released` or `after-warmup`, see `Recipe`."""
    paper_adam: bool | None = None
    """Use Adam without bias correction, like the code of Devlin et al. 2019."""
    micro_tokens: int | None = None
    """The most tokens computed at once."""
    limit_train: int | None = None
    """Number of training rows to learn from."""
    sample: str | None = None
    """Which `limit_train` rows: the `first`, or a `stratified` random sample, another one for each seed."""
    limit_dev: int | None = None
    """Number of rows of each dev split that are scored, drawn as `limit_train` rows are. The fits stay as they are."""
    seeds: tuple[int, ...] | None = None
    """One restart for each seed."""
    restarts: int | None = None
    """Number of restarts, with the seeds 0, 1, ...; use `seeds` or `restarts`, not both."""
    select: str | None = None
    """What dev selects: the grid point with the best `mean` over its restarts (default), or the `best` single fit."""
    select_by: str | None = None
    """Metric that selects; None is the headline of each task. Columns of study files say which metric selects."""
    method: tuple[str, ...] | None = None
    """Methods for every task, which are compared if they are several; None means each task's own method."""
    parameters: Mapping[str, tuple[Value, ...]] | None = None
    """Values of methods' own parameters by `METHOD.NAME`, such as `{"lora.rank": (4, 8)}`; several are a grid."""
    precision: str = "auto"
    """`fp32`, `bf16`, or `auto`: bf16 on a GPU that has it, fp32 on a CPU."""
    keep: str = "selected"
    """Whose weights are kept after selection: `selected`, `all` or `none`."""

    def __post_init__(self) -> None:
        self._check_kinds()
        if self.parameters is not None:
            self._settle_parameters()
        for name, values in self._choices().items():
            for value in values:
                Recipe().changed(**{name: value})  # checks the value
        if 0 in (self.lr or ()):
            raise RequestError("With a learning rate of 0 nothing is learned: give lr a value such as 5e-5.")
        changes = {name: value for name, value in self._changes().items() if value is not None}
        Recipe(**{"limit_train": 1, **changes})  # a sample needs limit_train, which other options may give
        Selection(rule=self.select or "mean")  # checks the value
        if self.limit_dev is not None and type(self.limit_dev) is not int:
            raise RequestError(f"The option limit_dev is a whole number, so it cannot be {self.limit_dev!r}.")
        if self.limit_dev is not None and self.limit_dev < 1:
            raise RequestError(f"limit_dev must leave at least one row, not {shortened(self.limit_dev)}.")
        if self.precision not in ("auto", "fp32", "bf16"):
            raise RequestError(f"Precision must be auto, fp32 or bf16, not '{self.precision}'.")
        if self.restarts is not None and self.restarts < 1:
            raise RequestError(f"restarts must be at least 1, not {self.restarts}.")
        check_at_most("restarts", self.restarts or 1, MOST_RESTARTS)
        for seed in self.seeds or ():
            check_seed(seed)
        if self.restarts is not None and self.seeds is not None:
            raise RequestError("Give either seeds or restarts, not both.")

    def _check_kinds(self) -> None:
        """Raise a `RequestError` if a name is no text, or if a list of values is a single value."""
        for name in ("family", "preset", "grid", "select_by"):
            value: object = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise RequestError(f"The option {name} is a name, so it cannot be {value!r}.")
        for name in ("lr", "epochs", "batch_size", "seeds", "method"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, tuple):
                example = "('lora',)" if name == "method" else "(1,)"
                raise RequestError(
                    f"The option {name} is a tuple of values, such as {example}, so it cannot be {value!r}."
                )

    def _settle_parameters(self) -> None:
        """Make the parameters a value that never changes; raise a `RequestError` unless they are lists of values."""
        if not isinstance(self.parameters, Mapping):
            raise RequestError(f"The option parameters is a mapping, so it cannot be {self.parameters!r}.")
        for name, values in self.parameters.items():
            if not isinstance(values, tuple):
                raise RequestError(
                    f"The parameter {name} is a tuple of values, such as (8,), so it cannot be {values!r}."
                )
        object.__setattr__(self, "parameters", ParameterValues(self.parameters))

    @classmethod
    def read(cls, texts: Mapping[str, str], where: str, plugins: Plugins) -> StudyOptions:
        """Read options from texts, as a study file has them: `batch-size` -> `16,32`; `where` is named in errors."""
        values: dict[str, Any] = {}
        own = {name: text for name, text in texts.items() if "." in name}
        for name, text in texts.items():
            if name in own:
                continue
            if name not in READERS:
                close = closest_names(name, (*READERS, *_BESIDE))
                if close and close[0] in _BESIDE:
                    close = [f"{close[0]}, which stands beside recipe, not in it"]
                close = [option for option in close if option not in _BESIDE]
                meant = f"Did you mean {' or '.join(close)}? " if close else ""
                raise RequestError(
                    f"{where}: a recipe has no '{name}'. {meant}It has: {', '.join(READERS)}, "
                    "and parameters of methods, such as lora.rank."
                )
            try:
                values[name.replace("-", "_")] = READERS[name](text)
            except ValueError as reason:
                raise RequestError(f"{where}: {name}: {reason}.") from None
        try:
            if own:
                values["parameters"] = read_parameters(own, plugins)
            options = cls(**values)
            options.check_names(plugins)
            return options
        except RequestError as reason:
            raise RequestError(f"{where}: {reason}") from None

    def check_names(self, plugins: Plugins) -> None:
        """Raise a `RequestError` if the plugins do not offer the family, the method, the named recipe or the grid."""
        for method in self.method or ():
            plugins.methods.find(method)
        for name, listed in (self.parameters or {}).items():
            parameter, full = _parameter(name, plugins)
            for value in listed:
                parameter.checked(value, full)
        if self.family is not None:
            plugins.backbone_search.check_family(self.family)
        if self.preset is not None:
            plugins.recipes.find(self.preset)
        if self.grid is not None:
            plugins.grid(self.grid)

    @property
    def given(self) -> dict[str, Any]:
        """Options that were given -> their values, except method, precision and keep."""
        values = {name: getattr(self, name) for name in _FITTED}
        return {name: value for name, value in values.items() if value is not None}

    def over(self, below: StudyOptions) -> StudyOptions:
        """Fill the options that are not given with those of `below`, except precision, keep and method."""
        hidden = {*self.given, *(name for given in self.given for name in _HIDES.get(given, ()))}
        filled = {name: value for name, value in below.given.items() if name not in hidden}
        if self.parameters is not None or below.parameters is not None:
            filled["parameters"] = {**(below.parameters or {}), **(self.parameters or {})}
        return dataclasses.replace(self, **filled)

    def without_unread(self, read: Collection[str]) -> StudyOptions:
        """Drop the options for recipe fields that not every fit reads, unless `read` names the fields."""
        steps = _OF_STEPS if not _trains_in_steps(read) else ()
        unread: dict[str, Any] = {name: None for name in (*SPECIAL, *steps) if name not in read}
        own = {name: values for name, values in (self.parameters or {}).items() if name in read}
        return dataclasses.replace(self, **unread, parameters=own or None)

    def check_read(self, read: Collection[str]) -> None:
        """Raise a `RequestError` if an option is given for a recipe field that `read` does not name."""
        for name in _OF_STEPS:
            if getattr(self, name) is not None and not _trains_in_steps(read):
                option = "recipe" if name == "preset" else name.replace("_", "-")
                raise RequestError(
                    f"The option {option} is for methods that train in steps, such as 'finetune': no fit of this study "
                    "does. Leave it out."
                )
        for name in SPECIAL:
            if getattr(self, name) is not None and name not in read:
                option, users = name.replace("_", "-"), _USERS.get(name, "other kinds of tasks than these")
                raise RequestError(f"The option {option} is for {users}: no fit of this study reads it. Leave it out.")
        for name in self.parameters or ():
            if name not in read:
                method = name.rpartition(".")[0]
                raise RequestError(
                    f"{name} is a parameter of the method '{method}', and no fit of this study is of that method. "
                    f"Leave it out, or give --method {method}."
                )
        if self.batch_unit == "words" and self.batch_size is None:
            raise RequestError(
                "With the option batch-unit words, batch-size is the number of words in one optimizer step, and none "
                "is given. If a sentence has 14.5 words on average, batch-size 464 is like 32 sentences."
            )

    def study(self, backbones: Sequence[str], tasks: Sequence[Task], runner: Runner) -> Study:
        """Build the study of some backbones on some tasks with these options."""
        plugins = runner.plugins
        self.check_names(plugins)
        methods = self.method or ()
        fields = [options_read(task, method, runner) for task in tasks for method in methods or (None,)]
        self.check_read({name for read in fields for name in read})
        changes = {name: value for name, value in self._changes().items() if value is not None}
        if self.paper_adam is not None:
            changes["bias_correction"] = not self.paper_adam
        return Study(
            backbones=tuple(dict.fromkeys(with_family(name, self.family, plugins) for name in backbones)),
            tasks=tuple(tasks),
            grid=Grid({**({} if self.grid is None else plugins.grid(self.grid)), **self._choices()}),
            seeds=self.seeds or tuple(range(self.restarts or 1)),
            changes={"precision": runner.precision(self.precision), **changes},
            preset=None if self.preset is None else plugins.recipes.find(self.preset),
            methods=methods,
            keep=self.keep,
            selection=self.selection,
            limit_dev=self.limit_dev,
        )

    @property
    def selection(self) -> Selection:
        """How dev selects."""
        return Selection(rule=self.select or "mean", metric=self.select_by)

    def _choices(self) -> dict[str, Sequence[Any]]:
        """Return the values to choose from on dev that are given one by one: recipe field -> values."""
        own = {name: getattr(self, name) for name in ("lr", "epochs", "batch_size")}
        return {name: values for name, values in own.items() if values is not None} | dict(self.parameters or {})

    def _changes(self) -> dict[str, Any]:
        """Return the recipe fields with one value; None is a field that is not given."""
        names = ("max_length", *SPECIAL, "dropout", "schedule", "micro_tokens", "limit_train", "sample")
        return {name: getattr(self, name) for name in names}


_OF_STEPS = ("lr", "epochs", "batch_size", "grid", "preset", "dropout", "schedule", "paper_adam")
"""Options that only methods with optimizer steps read."""

_USERS: Mapping[str, str] = {
    "features": "the methods 'features', 'features+attention' and 'probe'",
    "summary": "methods with a linear layer, such as 'finetune' and 'probe', on tasks that ask about whole texts",
    "bilstm_width": "methods with a BiLSTM, such as 'features' and 'finetune+bilstm'",
    "layer_decay": "methods that train all layers, such as 'finetune'",
    "redraw_layers": "methods that train all layers, such as 'finetune'",
}
"""Option that some methods read -> these methods; the other special options are for some tasks."""

_FITTED = tuple(
    field.name for field in dataclasses.fields(StudyOptions) if field.name not in ("method", "precision", "keep")
)

_HIDES: Mapping[str, Sequence[str]] = {
    "grid": ("lr", "epochs", "batch_size"),
    "preset": ("grid", "lr", "epochs", "batch_size", "dropout", "schedule", "paper_adam"),
    "seeds": ("restarts",),
    "restarts": ("seeds",),
}
"""Option -> options of a lower level that must not stay if it is given."""


def options_read(task: Task, method: str | None, runner: Runner) -> set[str]:
    """Name what a task's fits read: `Method.fields_read` of `method`, or else of the task's own, and its parameters."""
    chosen = runner.plugins.methods.find(method or task.method)
    return {*chosen.fields_read(task.problem), *(f"{chosen.name}.{own.name}" for own in chosen.parameters)}


def read_parameters(texts: Mapping[str, str], plugins: Plugins) -> ParameterValues[tuple[Value, ...]]:
    """Read the values of methods' parameters from texts by `METHOD.NAME`; several values are separated by commas.

    Raises a `RequestError` for a method or a parameter that does not exist, and for a value that is not possible.
    """
    values = dict[str, tuple[Value, ...]]()
    for name, text in texts.items():
        parameter, full = _parameter(name, plugins)
        values[full] = tuple(parameter.read(part.strip(), full) for part in text.split(","))
    return ParameterValues(values)


def _parameter(name: str, plugins: Plugins) -> tuple[MethodParameter, str]:
    """Return a parameter of a method and its full name, which has no prefix of a plugin."""
    method_name, _, own = name.rpartition(".")
    method = plugins.methods.find(method_name)
    full = f"{method.name}.{own}"
    return method.parameter(full), full


def _trains_in_steps(read: Collection[str]) -> bool:
    """Return whether a fit that reads these recipe fields is trained in optimizer steps."""
    return "lr" in read


def _truth(text: str) -> bool:
    """Read `true` or `false`."""
    if text not in ("true", "false"):
        raise ValueError(f"'{text}' is neither true nor false")
    return text == "true"


READERS: Mapping[str, Callable[[str], Any]] = {
    "lr": numbers(float),
    "epochs": numbers(int),
    "batch-size": numbers(int),
    "grid": str,
    "preset": str,
    "max-length": number(int),
    "stride": number(int),
    "context": str,
    "batch-unit": str,
    "loss-divisor": str,
    "features": str,
    "bilstm-width": number(int),
    "summary": str,
    "layer-decay": number(float),
    "redraw-layers": number(int),
    "dropout": number(float),
    "schedule": str,
    "paper-adam": _truth,
    "micro-tokens": number(int),
    "limit-train": number(int),
    "limit-dev": number(int),
    "sample": str,
    "seeds": numbers(int),
    "restarts": number(int),
    "select": str,
}
"""Options that a study file may set, by their names on the command line, and how each is read from a text."""
_BESIDE = ("method", "family")
"""Keys of systems that look like options of a recipe."""
