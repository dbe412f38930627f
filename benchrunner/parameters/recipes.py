"""Hyper-parameters: one resolved recipe, and grids of them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchrunner.console.printing import value_text
from benchrunner.errors import RequestError
from benchrunner.parameters.method_parameters import ParameterValues, Value, is_parameter
from benchrunner.parameters.number_limits import shortened

SAMPLES = ("first", "stratified")
"""Values of a recipe's `sample`."""

CONTEXTS = ("document", "window", "sentence")
"""Values of a recipe's `context`."""

SCHEDULES = ("released", "after-warmup")
"""Values of a recipe's `schedule`."""

BATCH_UNITS = ("sentences", "sequences", "words")
"""Values of a recipe's `batch_unit`."""

LOSS_DIVISORS = ("own-words", "mean-words")
"""Values of a recipe's `loss_divisor`."""

SUMMARIES = ("pooler", "first", "last", "mean", "max")
"""Values of a recipe's `summary`."""

LARGEST: Mapping[str, int] = {
    "epochs": 1_000_000,
    "batch_size": 10_000_000,
    "max_length": 10_000_000,
    "stride": 10_000_000,
    "micro_tokens": 1_000_000_000,
    "bilstm_width": 65_536,
    "limit_train": 1_000_000_000_000,
}
"""Field -> its largest value: more is a slip of the hand, and would train for years or fill the memory."""

MOST_POINTS = 100_000
"""Largest number of recipes in a grid."""

SPECIAL = (
    "stride",
    "context",
    "batch_unit",
    "loss_divisor",
    "features",
    "bilstm_width",
    "summary",
    "layer_decay",
    "redraw_layers",
)
"""Names of the fields that only some problems or methods read."""

STEP_FIELDS = (
    "lr",
    "epochs",
    "batch_size",
    "warmup",
    "schedule",
    "weight_decay",
    "beta1",
    "beta2",
    "epsilon",
    "bias_correction",
    "clip",
    "dropout",
)
"""Names of the fields that only methods with optimizer steps read."""

SHORTEST = 3
"""Smallest `max_length`: a shorter sequence of most tokenizers has no room for text beside its special tokens."""

LAYERS = (
    "embeddings",
    "second-to-last",
    "last",
    "weighted-sum-last-4",
    "concat-last-4",
    "weighted-sum-all",
    "weighted-sum-with-embeddings",
)
"""Values of a recipe's `features`: the choices of Table 7 in Devlin et al. 2019, and the choice of Peters et al. 2018,
whose sum has the token layer too."""

_NAMED_VALUES: Mapping[str, Sequence[str]] = {
    "schedule": SCHEDULES,
    "context": CONTEXTS,
    "batch_unit": BATCH_UNITS,
    "loss_divisor": LOSS_DIVISORS,
    "features": LAYERS,
    "summary": SUMMARIES,
    "sample": SAMPLES,
}
"""Field -> its possible values."""


@dataclass(frozen=True)
class Recipe:
    """Hyper-parameters of one training. The defaults are those of Devlin et al. 2019, A.3, for sentence tasks."""

    lr: float = 5e-5
    """Peak learning rate."""
    epochs: int = 3
    """Passes over the training data."""
    batch_size: int = 32
    """Number of units in one optimizer step; it does not depend on the memory. Tasks that label words count what
    `batch_unit` says."""
    max_length: int = 128
    """Most tokens of one sequence, with special tokens; longer sequences are truncated."""
    stride: int = 128
    """Tokens between the starts of two windows over a text that is too long for one sequence."""
    context: str = "document"
    """What a sequence shows around a row that is part of a document: `document` packs the rows of a document into few
    sequences, `window` gives each row a sequence with its neighbours, `sentence` shows the row alone."""
    batch_unit: str = "sentences"
    """What `batch_size` counts in tasks that label words: `sentences`, `sequences` (each shows as many sentences as
    `context` says), or `words`."""
    loss_divisor: str = "own-words"
    """What the summed loss of a batch of words is divided by: `own-words` is the number of words in this batch;
    `mean-words` is the mean number of words of the fit's batches, so that each word of the data counts equally."""
    features: str = "concat-last-4"
    """Layers of a frozen encoder that the methods `features` and `probe` read: one of `LAYERS`."""
    bilstm_width: int = 768
    """Size of a BiLSTM's output for a token, half of it from each direction (Devlin et al. 2019, 5.3)."""
    summary: str = "pooler"
    """Vector of a sequence that a linear layer reads: `pooler` is the encoder's own summary, for example a pooled
    first token; `first` and `last` are the last layer's state of that token; `mean` and `max` go over the last layer's
    states of all tokens of the sequence, special tokens included."""
    layer_decay: float = 1.0
    """Factor between the learning rates of an encoder's layers, from the top down; 1 gives all layers the same rate.
    `methods.finetune.learning_rates` has the formula (Clark et al. 2020)."""
    redraw_layers: int = 0
    """Number of top layers that are initialised again before training, with the pooler (Zhang et al. 2021)."""
    warmup: float = 0.1
    """Share of the steps in which the learning rate rises from zero, rounded down to whole steps."""
    schedule: str = "released"
    """Decay of the learning rate: `released` falls linearly to zero from step 0, with warm-up over the beginning, as in
    the code of Devlin et al. 2019; `after-warmup` falls from the peak at the end of warm-up, as in transformers."""
    weight_decay: float = 0.01
    """Decoupled weight decay; biases and LayerNorm have none."""
    beta1: float = 0.9
    """Adam's decay of the mean of the gradients."""
    beta2: float = 0.999
    """Adam's decay of the mean of the squared gradients."""
    epsilon: float = 1e-6
    """Adam's guard against division by zero."""
    bias_correction: bool = True
    """False leaves out Adam's bias correction, as the paper's code does; this is less stable on small data."""
    clip: float = 1.0
    """Largest norm of the gradient of one step; 0 does not clip."""
    dropout: float | None = None
    """Dropout rate everywhere; None takes the rates of the backbone's configuration."""
    precision: str = "fp32"
    """Precision of matrix products, fp32 or bf16; weights and their updates are fp32."""
    micro_tokens: int = 8192
    """Most tokens that are computed at once; a larger batch is split and its gradients are added up."""
    limit_train: int | None = None
    """Number of training rows to learn from; None is all rows."""
    sample: str = "first"
    """Which `limit_train` rows: the `first` in the data, or a `stratified` random sample that keeps the shares of the
    labels. Each seed draws its own sample, so that restarts differ in their training rows too."""
    parameters: Mapping[str, Value] = ParameterValues()
    """Values of methods' own parameters, by `METHOD.NAME` such as `lora.rank`. A parameter that is not here has its
    default. `changed`, grids and JSON name these parameters beside the other fields."""

    def __post_init__(self) -> None:
        for name, (expected, is_optional) in _kinds().items():
            self._settle(name, expected, is_optional)
        self._settle_parameters()
        positive = ("epochs", "batch_size", "max_length", "stride", "micro_tokens", "epsilon")
        for name in positive:
            if not getattr(self, name) > 0:
                raise RequestError(f"A recipe's {name} must be above zero, not {getattr(self, name)}.")
        if self.max_length < SHORTEST:
            raise RequestError(
                f"A recipe's max_length must be at least {SHORTEST} tokens, not {self.max_length}: two special tokens "
                "and a piece of text."
            )
        for name in ("lr", "weight_decay", "clip"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise RequestError(f"A recipe's {name} must be a number from zero up, not {getattr(self, name)}.")
        for name, largest in LARGEST.items():
            if (getattr(self, name) or 0) > largest:
                raise RequestError(
                    f"A recipe's {name} must be at most {largest:,}, not {shortened(getattr(self, name))}."
                )
        if not 0 < self.layer_decay <= 1:
            raise RequestError(f"A recipe's layer_decay must be above 0 and at most 1, not {self.layer_decay}.")
        if self.redraw_layers < 0:
            raise RequestError(f"A recipe's redraw_layers must be a number from zero up, not {self.redraw_layers}.")
        for name in ("warmup", "beta1", "beta2"):
            if not 0 <= getattr(self, name) <= 1:
                raise RequestError(f"A recipe's {name} is a share from 0 to 1, not {getattr(self, name)}.")
        if self.bilstm_width < 2 or self.bilstm_width % 2:
            raise RequestError(
                f"A recipe's bilstm_width must be an even number above zero, not {self.bilstm_width}: each direction "
                "has half of it."
            )
        if self.dropout is not None and not 0 <= self.dropout < 1:
            raise RequestError(f"Dropout is a rate from 0 to below 1, not {self.dropout}.")
        if self.precision not in ("fp32", "bf16"):
            raise RequestError(f"Precision is fp32 or bf16 by the time a recipe is made, not '{self.precision}'.")
        for name, known in _NAMED_VALUES.items():
            if getattr(self, name) not in known:
                raise RequestError(f"A recipe's {name} is one of {', '.join(known)}, not '{getattr(self, name)}'.")
        if self.limit_train is not None and self.limit_train < 1:
            raise RequestError(f"limit_train must be at least 1 row, not {self.limit_train}.")
        if self.sample != "first" and self.limit_train is None:
            raise RequestError(f"A {self.sample} sample needs limit_train, the number of rows to draw.")

    def _settle(self, name: str, expected: type, is_optional: bool) -> None:
        """Give each field one type, so that 1 and 1.0 make the same recipe; half an epoch is an error."""
        value = getattr(self, name)
        if expected is float and type(value) is int:
            object.__setattr__(self, name, float(value))
        elif type(value) is not expected and not (is_optional and value is None):
            raise RequestError(f"A recipe's {name} is of the kind {expected.__name__}, so it cannot be {value!r}.")

    def _settle_parameters(self) -> None:
        """Make the parameters a value that never changes; the methods say which names and values are possible."""
        if not isinstance(self.parameters, Mapping):
            raise RequestError(f"A recipe's parameters are a mapping, so they cannot be {value_text(self.parameters)}.")
        for name, value in self.parameters.items():
            if not isinstance(name, str) or not is_parameter(name):
                raise RequestError(f"A parameter's name is METHOD.NAME, such as lora.rank, not {value_text(name)}.")
            if not isinstance(value, bool | int | float | str):
                raise RequestError(f"The parameter {name} cannot be {value_text(value)}.")
        object.__setattr__(self, "parameters", ParameterValues(self.parameters))

    def changed(self, **values: Any) -> Recipe:
        """Copy the recipe with some values replaced. A parameter of a method is named `METHOD.NAME`."""
        check_fields(values)
        parameters = {name: value for name, value in values.items() if is_parameter(name)}
        fields = {name: value for name, value in values.items() if name not in parameters}
        if parameters:
            fields["parameters"] = {**fields.get("parameters", self.parameters), **parameters}
        return dataclasses.replace(self, **fields)

    def as_dict(self) -> dict[str, Any]:
        """Give the values of all fields by their names, and those of methods' parameters as `METHOD.NAME`."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        parameters = values.pop("parameters")
        return {**values, **parameters}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Recipe:
        """Make a recipe from what `as_dict` gives. Raises a `TypeError` for a field that recipes do not have."""
        parameters = {name: value for name, value in data.items() if is_parameter(name)}
        return cls(**{name: data[name] for name in data if name not in parameters}, parameters=parameters)


@functools.cache
def _kinds() -> Mapping[str, tuple[type, bool]]:
    """Return the type of each field of a recipe, and whether it may be None; without the parameters of methods."""
    types: Mapping[str, type] = {"float": float, "int": int, "bool": bool, "str": str}
    kinds = {field.name: str(field.type) for field in dataclasses.fields(Recipe) if field.name != "parameters"}
    return {name: (types[kind.removesuffix(" | None")], kind.endswith(" | None")) for name, kind in kinds.items()}


def check_fields(names: Iterable[str]) -> None:
    """Raise a `RequestError` for a name that is not a field of recipes."""
    known = [parameter.name for parameter in dataclasses.fields(Recipe)]
    for name in names:
        if name not in known and not is_parameter(name):
            raise RequestError(f"A recipe has no '{name}'. It has: {', '.join(sorted(known))}.")


GRIDS: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "paper": {"lr": (5e-5, 4e-5, 3e-5, 2e-5)},
    "paper-appendix": {"batch_size": (16, 32), "lr": (5e-5, 3e-5, 2e-5), "epochs": (2, 3, 4)},
}
"""Named grids of Devlin et al. 2019: `paper` as for their Table 1, `paper-appendix` as recommended in A.3."""


@dataclass(frozen=True)
class Grid:
    """Values to try for some fields of a recipe; every combination is one recipe."""

    choices: Mapping[str, Sequence[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_fields(self.choices)
        for name, values in self.choices.items():
            if not values:
                raise RequestError(f"The grid's list for '{name}' is empty.")
        if self.size > MOST_POINTS:
            raise RequestError(
                f"The grid has {shortened(self.size)} combinations of {', '.join(self.choices)}; at most "
                f"{MOST_POINTS:,} are possible. Give fewer values."
            )

    @property
    def size(self) -> int:
        """Number of combinations."""
        return math.prod(len(dict.fromkeys(values)) for values in self.choices.values())

    @classmethod
    def named(cls, name: str) -> Grid:
        """Give the grid of that name in `GRIDS`."""
        if name not in GRIDS:
            raise RequestError(f"There is no grid '{name}'. Known: {', '.join(GRIDS)}.")
        return cls(GRIDS[name])

    def points(self, base: Recipe) -> Iterator[Recipe]:
        """Give every combination as a recipe, in the order of the given values."""
        names = list(self.choices)
        for values in itertools.product(*(dict.fromkeys(self.choices[name]) for name in names)):
            yield base.changed(**dict(zip(names, values, strict=True)))
