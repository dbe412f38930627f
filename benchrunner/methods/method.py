"""The base class of methods, and the values that a method gets and returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from benchrunner.errors import PluginError, UnknownName
from benchrunner.fits.computing import Computing
from benchrunner.fits.progress import Event
from benchrunner.parameters.parameter import Parameter, Value
from benchrunner.parameters.recipes import RECIPE_FIELDS, SPECIAL, STEP_FIELDS, Recipe, is_parameter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import nn

    from benchrunner.backbones.backbone import Backbone
    from benchrunner.data.rows import Rows
    from benchrunner.features.kernels import Kernels
    from benchrunner.fits.fit import Fit
    from benchrunner.problems.problem import Problem
    from benchrunner.tasks.task import Task
    from benchrunner.training.feature_cache import Cache
    from benchrunner.training.loop import Training
    from benchrunner.workspace import Workspace


@dataclass(frozen=True)
class BackboneReference:
    """Name of a backbone, saved in a model folder in place of a copy of its encoder, which the fit did not change."""

    FILE: ClassVar[str] = "backbone.json"
    """Name of the file in the folder of a model."""

    backbone: str
    """Name, absolute path or hub id of the backbone."""
    revision: str
    """Revision of the backbone: another one is another encoder."""


class Team(Protocol):
    """Computes the steps of a training on several devices, or in fixed shapes. A plugin offers it: see `offer_team`."""

    def run(self, job: Job, training: Training) -> None:
        """Do what `training.run` does, with another `training.compute`, or with `training.fixed_shapes`."""


@dataclass(frozen=True)
class Job:
    """Everything that a method needs to fit or to predict."""

    fit: Fit
    problem: Problem
    workspace: Workspace
    cache: Cache
    computing: Computing
    """How the fit is computed; its device is one that torch has."""
    model: Path
    """Folder to which `fit` writes what `predict` reads."""
    checkpoint: Path
    """Folder for the state of an unfinished fit, to resume from; removed when the fit is done."""
    log: Path
    """File of JSON lines with the figures of training steps."""
    report: Callable[[Event], None]
    """Shows progress to the user."""
    train: Rows | None = None
    """The training rows; None when predicting."""
    backbone: Backbone | None = None
    """When fitting, the backbone to start from; when predicting, the backbone that reads `model`."""
    code: Mapping[str, str] = field(default_factory=dict)
    """Versions of the plugins whose code takes part, by plugin: part of the keys of the cache."""
    head: Path | None = None
    """Model folder of the finished fit that is the backbone, if its head was trained for the same problem."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Values of all parameters that the method declares, by name: those of the fit's recipe, else the defaults."""
    last_state: Path | None = None
    """Folder for the state that a longer fit goes on from; None if no fit does."""
    reference: BackboneReference | None = None
    """What `steps.save_encoder` writes in place of the encoder, which the method leaves as the backbone has it."""
    kernels: Kernels | None = None
    """What computes some operators on a CPU in place of torch; None: torch computes all."""

    team: Team | None = None
    """What computes training steps on several devices or on a GPU; None: this process does it alone, by operators."""

    @cached_property
    def own_layers(self) -> dict[str, nn.Module]:
        """The layers that the problem owns, as a part of what is learned; empty if it has none."""
        layers = self.problem.own_layers(self.fit.seed)
        return {} if layers is None else {"problem": layers}


@dataclass(frozen=True)
class Outcome:
    """Result of a fit, which the runner copies into the fit's record."""

    status: Literal["done", "diverged"] = "done"
    reason: str = ""
    timings: Mapping[str, float] = field(default_factory=dict)
    work: Mapping[str, float] = field(default_factory=dict)
    """See `Record.work`."""
    numerics: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class Method(ABC):
    """A way to fit a backbone to a problem. The class attributes describe the method to the runner."""

    name: str
    about: str
    needs_backbone: bool = True
    """False for methods that do not read the text: their fits are the same for every backbone."""
    trains_encoder: bool = True
    """False for methods that leave the backbone's weights as they are; only these take a backbone that is `frozen`."""
    trains_in_steps: bool = True
    """False for methods without optimizer steps: `recipes.STEP_FIELDS`, such as the learning rate, mean nothing."""
    is_random: bool = True
    """False for methods whose fits do not depend on the seed, so that one restart is enough."""
    exports: bool = False
    """True if `head.safetensors` holds a linear layer `output`, which `runs export` writes for other libraries."""
    given_answers: Callable[[Job, Rows, str, Any], Sequence[Any]] | None = None
    """Returns the answers that another system gave to the rows of a split, for methods that compute no outputs; is also
    given the name of the split and the `Plugins`. Raises a `DataError` that names a missing or wrong answer."""
    recipe_fields: tuple[str, ...] = ()
    """Fields of `recipes.SPECIAL` that this method uses."""
    parameters: tuple[Parameter, ...] = ()
    """Hyper-parameters that no other method has. Users set them with `--set METHOD.NAME=VALUE`."""
    training_fields: tuple[str, ...] = ()
    """Those of `recipe_fields` that change how weights are trained, but not what the head computes: a fit also goes on
    from the head of a finished fit with other values."""
    recipe_defaults: Mapping[str, Any] = {}
    """Values that replace those of a task's recipe, which are for fine-tuning."""

    def fields_read(self, problem: Problem) -> frozenset[str]:
        """Return the fields of `recipes.SPECIAL` and `recipes.STEP_FIELDS` that change a fit to a problem."""
        fields = frozenset(problem.recipe_fields).union(self.recipe_fields)
        if self.trains_in_steps:
            fields |= frozenset((*problem.batch_fields, *STEP_FIELDS))
        return fields if problem.head.reads_summary else fields - {"summary"}

    def reads(self, name: str, problem: Problem) -> bool:
        """Return whether a field of recipes, or a parameter `METHOD.NAME`, changes a fit to a problem."""
        if is_parameter(name):
            return name.rpartition(".")[0] == self.name
        if not self.needs_backbone or self.given_answers:
            return name == "limit_train"
        return not RECIPE_FIELDS[name].read_by or name in self.fields_read(problem)

    def parameter(self, name: str) -> Parameter:
        """Return the parameter that `METHOD.NAME` means; raise a `RequestError` if the method does not declare it."""
        own = name.removeprefix(f"{self.name}.")
        known = {parameter.name: parameter for parameter in self.parameters}
        if own not in known:
            raise UnknownName(
                "parameter",
                own,
                known,
                "'benchrunner list methods' shows the parameters of all methods.",
                where=f"of the method '{self.name}'",
            )
        return known[own]

    def check_declared(self) -> None:
        """Raise a `PluginError` that says which of the class attributes is declared wrongly."""
        for name in (*self.recipe_fields, *self.training_fields):
            if name not in SPECIAL:
                raise PluginError(
                    f"`recipe_fields` names '{name}', which is none of {', '.join(SPECIAL)}: leave it out"
                )
        for name in self.recipe_defaults:
            if name not in RECIPE_FIELDS:
                raise PluginError(f"`recipe_defaults` names '{name}', which is no field of `Recipe`: leave it out")
        names = set[str]()
        for parameter in self.parameters:
            if parameter.name in names:
                raise PluginError(f"the method '{self.name}' declares the parameter '{parameter.name}' twice")
            names.add(parameter.name)

    def set_parameters(self, recipe: Recipe) -> dict[str, Value]:
        """Return the parameters of this method that a recipe sets to other values than their defaults.

        Raises a `RequestError` for a parameter that the method does not declare, and for a value that is not possible.
        """
        values = dict[str, Value]()
        for name, value in recipe.parameters.items():
            if name.rpartition(".")[0] != self.name:
                continue
            parameter = self.parameter(name)
            checked = parameter.checked(value, name)
            if checked != parameter.default:
                values[name] = checked
        return values

    def parameter_values(self, recipe: Recipe) -> dict[str, Value]:
        """Return the values of all parameters by their names, as `Job.parameters` has them."""
        values = {parameter.name: parameter.default for parameter in self.parameters}
        return values | {self.parameter(name).name: value for name, value in self.set_parameters(recipe).items()}

    def check(self, problem: Problem) -> None:
        """Raise a `RequestError` if the method cannot learn problems of this kind."""
        return

    def check_recipe(self, recipe: Recipe, problem: Problem) -> None:
        """Raise a `RequestError` if the method cannot use the values of a recipe together."""
        return

    def seeds(self, backbone: str, *tasks: Task) -> tuple[int, ...]:
        """Return the seeds of which there are answers to tasks; only methods that give answers implement it."""
        raise NotImplementedError

    @abstractmethod
    def fit(self, job: Job) -> Outcome:
        """Learn from `job.train` and write to `job.model` what `predict` reads."""

    @abstractmethod
    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        """Compute the raw outputs of the rows of a table, in their order, with the model in `job.model`.

        Of very many rows, a call may get a part: no row's outputs may depend on the other rows.
        """
