"""Options of a study: how its fits are made, as a command line, a study file or Python code says it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, final

from benchrunner.errors import RequestError, UnknownName
from benchrunner.parameters.declared import Declared, parameter, parameters_of
from benchrunner.parameters.grids import Grid
from benchrunner.parameters.parameter import NamedValues, Parameter
from benchrunner.parameters.recipes import RECIPE_FIELDS, STEP_FIELDS, STEPS, Recipe, check_fields
from benchrunner.plugins.registry import Plugins
from benchrunner.runs.runner import Runner
from benchrunner.studies.cells import KEEP, SELECT, Fitting, Selection
from benchrunner.studies.planning import search_of
from benchrunner.studies.study import Study
from benchrunner.studies.study_building import compared
from benchrunner.studies.system_names import by_name
from benchrunner.tasks.folds import in_folds
from benchrunner.tasks.task import Task

_PRECISION = dataclasses.replace(
    RECIPE_FIELDS["precision"],
    about="precision of matrix products; auto is bf16 on a GPU or processor with units for it, else fp32",
    choices=("auto", *RECIPE_FIELDS["precision"].choices),
    default="auto",
    read_by=STEPS,
)
_LIMIT_TRAIN = dataclasses.replace(
    RECIPE_FIELDS["limit_train"],
    about="learn from this number of rows; drawn by the seed. Several, such as 16,64,all, make a learning curve",
    in_grid=True,
)
RECIPE_OPTIONS: Mapping[str, Parameter] = {
    **RECIPE_FIELDS,
    "precision": _PRECISION,
    "limit_train": _LIMIT_TRAIN,
}
"""The declarations of what `StudyOptions.recipe` may name, except parameters of methods."""
_SEEDS = {"seeds", "restarts"}
"""Options that say how many restarts there are, as looks do; one of them is given."""
_OF_SCORES = {"limit_dev", "select", "select_by"}
"""Options that are read where nothing is fitted, too."""


@final
@dataclass(frozen=True)
class StudyOptions(Declared):
    """How the fits of a study are made. None means that an option is not given."""

    owner: ClassVar[str] = "The option "

    recipe: Mapping[str, Any] = NamedValues()
    """Recipe fields and parameters of methods -> a value, or a tuple of values among which dev selects: `{"epochs": 4,
    "lr": (2e-5, 5e-5), "lora.rank": 8}`. They replace what the task, its method or `preset` says. `precision` may be
    "auto", its default here."""
    grid: str | None = parameter(
        None, "grid that dev selects from; paper, paper-appendix, or a recipe with a grid", str, read_by=STEPS
    )
    preset: str | None = parameter(
        None,
        "published values of 'list recipes'; in place of each task's own recipe",
        str,
        option="recipe",
        read_by=STEPS,
    )
    seeds: tuple[int, ...] | None = parameter(
        None, "one restart for each seed", int, at_least=0, at_most=2**63 - 1, separator=","
    )
    restarts: int | None = parameter(
        None, "number of restarts; with the seeds 0, 1, ..., in place of seeds", int, at_least=1, at_most=10_000
    )
    folds: tuple[int, ...] | None = parameter(
        None,
        "cross-validate: divide the training rows into so many parts, such as 5, and fit as often, each time without "
        "one part, which this fit then answers. 5x3 does so 3 times, each time with another division",
        int,
        at_least=1,
        separator="x",
    )
    select: str | None = parameter(
        None,
        "what dev selects: the grid point with the best mean over its restarts, then its best restart (the default), "
        "or the best single fit, as in Devlin et al. 2019",
        str,
        choices=SELECT,
    )
    limit_dev: int | None = parameter(
        None,
        "score this number of rows of each dev split only, drawn like those of limit-train",
        int,
        at_least=1,
    )
    select_by: str | None = parameter(None, "metric that selects, in place of each task's headline", str)
    method: tuple[str, ...] | None = parameter(
        None, "ways to fit, of 'list methods'; in place of each task's own. Several are compared", str, separator=","
    )
    start: str | None = parameter(
        None,
        "task on which each backbone is fine-tuned first, once and on all rows; all fits start from the selected one",
        str,
    )
    keep: str = parameter("selected", "whose weights are kept after selection", choices=KEEP)
    looks: tuple[int, ...] = ()
    """See `Fitting.looks`."""
    search: Mapping[str, Any] = NamedValues()
    """Parameter of the `StudySearch` that a plugin offers -> value."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.recipe, Mapping):
            raise RequestError(f"The option recipe is a mapping, so it cannot be {self.recipe!r}.")
        object.__setattr__(
            self, "recipe", NamedValues({name: _values(name, self.recipe[name]) for name in self.recipe})
        )
        object.__setattr__(self, "search", NamedValues(self.search))
        if 0 in self.recipe.get("lr", ()):
            raise RequestError("With a learning rate of 0 nothing is learned: give lr a value such as 5e-5.")
        if len(_SEEDS & self.changes().keys()) + bool(self.looks) + len((self.folds or ())[1:]) > 1:
            raise RequestError(
                "Give the restarts once: by seeds, restarts, until-clear, or the second number of folds 5x3."
            )

    @staticmethod
    def declared(plugins: Plugins) -> Mapping[str, Parameter]:
        """Return the declarations of all options, those of recipe fields and of plugins included, by name."""
        return {**_DECLARED, **{own.name: own for own in search_of(plugins).parameters}}

    @classmethod
    def named(cls, values: Mapping[str, Any], texts: Mapping[str, str], plugins: Plugins) -> StudyOptions:
        """Make options from values of recipe fields and of other options, and from texts that `setting` reads.

        Raises a `RequestError` for what the plugins do not offer, and for a value that is not possible.
        """
        declared = cls.declared(plugins)
        recipe = dict[str, Any]()
        others = dict[str, Any]()
        searched = dict[str, Any]()
        for name, value in values.items():
            if name not in declared:
                raise UnknownName("option", name, declared)
            if name in RECIPE_FIELDS:
                recipe[name] = value
            elif name in _DECLARED:
                others[name] = value
            else:
                searched[name] = declared[name].checked(value, f"{cls.owner}{name}")
        looks = searched.pop(search_of(plugins).looks, None) or ()
        return cls(recipe=recipe, looks=looks, search=searched, **others).setting(texts, plugins)

    def setting(self, texts: Mapping[str, str], plugins: Plugins) -> StudyOptions:
        """Set fields of the recipe, such as `weight-decay`, and parameters of methods, such as `lora.rank`."""
        recipe = dict(self.recipe)
        for name, text in texts.items():
            own, full_name = _method_parameter(name, plugins) if "." in name else _field(name)
            if full_name in recipe:
                raise RequestError(f"{name} is given twice: by its option, and by --set.")
            recipe[full_name] = own.read_values(text, full_name)
        options = dataclasses.replace(self, recipe=recipe)
        options.check_names(plugins)
        return options

    def check_names(self, plugins: Plugins) -> None:
        """Raise a `RequestError` if the plugins do not offer the method, the named recipe or the grid."""
        for method in self.method or ():
            plugins.methods.find(method)
        for name, values in self.recipe.items():
            if "." in name:
                own, full_name = _method_parameter(name, plugins)
                for value in values:
                    own.checked(value, full_name)
        if self.preset is not None:
            plugins.recipes.find(self.preset)
        declared = self.declared(plugins)
        for name, value in self.search.items():
            if name not in declared:
                raise UnknownName("option", name, declared)
            declared[name].checked(value, f"{self.owner}{name}")
        search_of(plugins).choice(self.search, plugins)
        if self.start is not None:
            plugins.tasks.find(self.start)
        if self.grid is not None:
            plugins.grid(self.grid)

    def over(self, below: StudyOptions) -> StudyOptions:
        """Fill the options that are not given with those of `below`, except the method and what is kept."""
        hidden = {"method", "keep", *self.recipe, *self.changes()}
        if self.grid is not None:
            hidden |= {"lr", "epochs", "batch_size"}
        if self.preset is not None:
            hidden |= {"grid", *STEP_FIELDS}
        looks = self.looks
        if looks or _SEEDS & hidden:
            hidden |= _SEEDS
        else:
            looks = below.looks
        recipe = {name: values for name, values in below.recipe.items() if name not in hidden}
        others = {name: value for name, value in below.changes().items() if name not in hidden}
        search = {**below.search, **self.search}
        return dataclasses.replace(self, recipe={**recipe, **self.recipe}, looks=looks, search=search, **others)

    def _unread(self, read: Collection[str], plugins: Plugins, *, fits: bool = True) -> list[str]:
        """Name what is given and not read by fits that read these recipe fields and parameters; `fits` as below."""
        declared = self.declared(plugins)
        names = [*self.recipe, *self.changes(), *self.search]
        if self.looks:
            names.append(search_of(plugins).looks)
        unread = []
        for name in names:
            own = declared.get(name)
            if own is None or own.read_by not in ("", STEPS):
                is_read = name in read
            elif own.read_by:
                is_read = "lr" in read
            else:
                is_read = fits or name in _OF_SCORES
            if not is_read:
                unread.append(name)
        return unread

    def without_unread(self, read: Collection[str], plugins: Plugins) -> StudyOptions:
        """Drop what fits do not read: `read` names the recipe fields and the parameters that they read."""
        return self._without(self._unread(read, plugins))

    def _without(self, names: Collection[str]) -> StudyOptions:
        recipe = {name: values for name, values in self.recipe.items() if name not in names}
        search = {name: value for name, value in self.search.items() if name not in names}
        others: dict[str, Any] = dict.fromkeys(self.changes().keys() & names)
        return dataclasses.replace(self, recipe=recipe, search=search, **others)

    def check_read(self, read: Collection[str], plugins: Plugins, *, fits: bool = True) -> None:
        """Raise a `RequestError` for an option that no fit reads: `read` names what the fits of all methods read.

        `fits` says whether anything is fitted: files of answers alone are scored as they are.
        """
        for name in self._unread(read, plugins, fits=fits):
            if own := self.declared(plugins).get(name):
                raise RequestError(
                    f"The option {own.written} is for {own.read_by or 'backbones that are fitted here'}: no fit of "
                    "this study reads it. Leave it out."
                )
            method = name.rpartition(".")[0]
            raise RequestError(
                f"{name} is a parameter of the method '{method}', and no fit of this study is of that method. "
                f"Leave it out, or give --method {method}."
            )
        if self.recipe.get("batch_unit") == ("words",) and "batch_size" not in self.recipe:
            raise RequestError(
                "With the option batch-unit words, batch-size is the number of words in one optimizer step, and none "
                "is given. If a sentence has 14.5 words on average, batch-size 464 is like 32 sentences."
            )

    def study(
        self,
        backbones: Sequence[str] | Mapping[str, str],
        tasks: Sequence[Task],
        runner: Runner,
        *,
        tests: Sequence[str] = (),
    ) -> Study:
        """Build the study of some backbones, which may have names, on some tasks with these options.

        `tests` are test splits to answer too.
        """
        plugins = runner.plugins
        self.check_names(plugins)
        if self.folds:
            tasks = [in_folds(task, str(self.folds[0])) for task in tasks]
        methods = self.method or ()
        named = by_name(backbones)
        own_methods = {}
        for name, backbone in named.items():
            if only := runner.planner.only_method(backbone):
                own_methods[name] = only
                if not plugins.methods.find(only).seeds(backbone, *tasks):
                    raise RequestError(
                        f"{backbone} is no model (there is no config.json), and has no file of answers that is named "
                        "after a task: TASK.tsv."
                    )
        asked = () if len(own_methods) == len(named) else methods or (None,)
        read = set()
        for task in tasks:
            for method in (*asked, *own_methods.values()):
                read |= self.read_by(task, method, runner)
        self.check_read(read, plugins, fits=bool(asked))
        study = compared(
            named,
            tuple(tasks),
            self._fitting(runner),
            methods=methods,
            own_methods=own_methods,
            selection=self.selection,
            tests=tests,
            limits=self.limits,
        )
        study = dataclasses.replace(study, limit_dev=self.limit_dev)
        return study if self.start is None else self._after_start(study, plugins.tasks.find(self.start), runner)

    def as_stage(self) -> StudyOptions:
        """Return these options for a task on which systems are fine-tuned first, which has one restart."""
        kept = self._without(("folds", "seeds", "restarts", "select", "select_by", "start"))
        return dataclasses.replace(kept, keep="selected", looks=(), search={})

    def _after_start(self, study: Study, task: Task, runner: Runner) -> Study:
        """Let the fits of a study start from fits of another task."""
        once = self.as_stage()._without(["limit_train"])
        systems = []
        stages = []
        for system in study.systems:
            own = dataclasses.replace(once, method=None if system.method is None else (system.method,))
            own = own.without_unread(self.read_by(task, system.method, runner), runner.plugins)
            (cell,) = own.study([system.backbone], [task], runner).cells
            systems.append(dataclasses.replace(system, first=task.name))
            stages.append(dataclasses.replace(cell, system=system.name, columns=()))
        return dataclasses.replace(study, systems=tuple(systems), stages=tuple(stages))

    @staticmethod
    def read_by(task: Task, method: str | None, runner: Runner) -> set[str]:
        """Name what a task's fits read: `Method.fields_read` of `method`, or of the task's own, and its parameters."""
        chosen = runner.plugins.methods.find(method or task.method)
        return {*chosen.fields_read(task.problem), *(f"{chosen.name}.{own.name}" for own in chosen.parameters)}

    def _fitting(self, runner: Runner) -> Fitting:
        """Return how the fits are made.

        A value that only some fits read stands in the grid, which leaves it out for the other fits.
        """
        plugins = runner.plugins
        grid = dict[str, Sequence[Any]]() if self.grid is None else dict(plugins.grid(self.grid))
        changes = {}
        for name in dict.fromkeys((*RECIPE_FIELDS, *self.recipe)):  # the order of the grid's points
            values = self.recipe.get(name, ())
            if len(values) == 1 and name in RECIPE_FIELDS and not RECIPE_FIELDS[name].read_by:
                changes[name] = values[0]
            elif values and name != "limit_train":
                grid[name] = values
        changes["precision"] = runner.precision(changes.get("precision", _PRECISION.default))
        restarts = (self.looks or (self.restarts or 1, *(self.folds or ())[1:]))[-1]
        return Fitting(
            Grid(grid),
            self.seeds or tuple(range(restarts)),
            changes,
            None if self.preset is None else plugins.recipes.find(self.preset),
            self.keep,
            self.looks,
            search_of(plugins).choice(self.search, plugins),
        )

    @property
    def limits(self) -> tuple[int | None, ...]:
        """The numbers of training rows of a learning curve, None for all rows; empty without several."""
        limits: tuple[int | None, ...] = self.recipe.get("limit_train", ())
        return limits if len(limits) > 1 else ()

    @property
    def selection(self) -> Selection:
        """How scores on dev select a grid point: by which metric, and by the mean or the best of its restarts."""
        return Selection(rule=self.select or "mean", metric=self.select_by)


_DECLARED = {**RECIPE_OPTIONS, **parameters_of(StudyOptions)}


def _values(name: object, given: Any) -> tuple[Any, ...]:
    """Return what is given for a recipe field or a parameter as a tuple of values, and check those of a field."""
    values = tuple(given) if isinstance(given, tuple | list) else (given,)
    if not isinstance(name, str) or not values:
        raise RequestError(f"The option recipe maps each name to one value or more, not {name!r} to {given!r}.")
    if "." in name:
        return values  # `check_names` asks the method
    if name not in RECIPE_OPTIONS:
        check_fields([name])
    own = RECIPE_OPTIONS[name]
    if len(values) > 1 and not own.in_grid:
        raise RequestError(f"The option {own.written} has one value for all fits, not {len(values)}.")
    if own is _PRECISION:
        return (own.checked(values[0], "The option precision"),)
    recipes = [Recipe.from_json({name: value}) for value in values]
    return tuple(getattr(recipe, name) for recipe in recipes)


def _field(name: str) -> tuple[Parameter, str]:
    """Return a field of a recipe and its name, which users may write with hyphens."""
    own = RECIPE_OPTIONS.get(name.replace("-", "_"))
    if own is None:
        known = [option.written for option in RECIPE_OPTIONS.values()]
        raise UnknownName("parameter", name, known, "A method's are written METHOD.NAME, such as lora.rank.")
    return own, own.name


def _method_parameter(name: str, plugins: Plugins) -> tuple[Parameter, str]:
    """Return a parameter of a method and its full name, which has no prefix of a plugin."""
    method_name, _, own = name.rpartition(".")
    method = plugins.methods.find(method_name)
    full_name = f"{method.name}.{own}"
    return method.parameter(full_name), full_name
