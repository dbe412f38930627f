"""Recipes: the hyper-parameters of one training."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from benchrunner.errors import RequestError
from benchrunner.io.messages import did_you_mean, quoted
from benchrunner.parameters.declared import Declared, parameter, parameters_of
from benchrunner.parameters.parameter import NAME, NamedValues, Value

STEPS = "methods that train in steps, such as 'finetune'"
"""Who reads the parameters of optimizer steps."""
_LONG_TEXTS = "tasks that mark answers in long texts"
_WORDS = "tasks that label words"
_ONE_LABEL = "methods that train in steps, on tasks with one label for a row or a word"
_CROSS_ENTROPY = "methods that train in steps, on tasks with one label for a row or a word, or with equal choices"
_FROZEN = "the methods 'features' and 'probe'"
_SUMMARIES = "methods with a linear layer, such as 'finetune' and 'probe', on tasks that ask about whole texts"
_HEADS = "the methods 'finetune' and 'lora'"
_RECURRENT = "methods with a BiLSTM, such as 'features' and 'finetune+bilstm'"
_WHOLE = "methods that train all layers, such as 'finetune'"


@dataclass(frozen=True)
class Recipe(Declared):
    """Hyper-parameters of one training. The defaults are those of Devlin et al. 2019, A.3, for sentence tasks.

    A new field needs its declaration here and the code that reads it. A field that some fits do not read says so in
    `read_by`: methods and problems name such fields in `recipe_fields` or `batch_fields`, except those of `STEPS`.
    """

    owner: ClassVar[str] = "A recipe's "

    lr: float = parameter(5e-5, "peak learning rate", at_least=0, read_by=STEPS)
    epochs: int = parameter(3, "passes over the training data", at_least=1, at_most=10**6, read_by=STEPS)
    max_steps: int | None = parameter(
        None,
        "optimizer steps after which training ends, also within an epoch, at most those of all epochs; the schedule "
        "ends with them",
        int,
        at_least=1,
        none="all",
        read_by=STEPS,
    )
    stop_at: int | None = parameter(
        None,
        "optimizer steps after which training ends although the schedule goes on: an earlier state of the whole "
        "training, among which dev chooses if several are given",
        int,
        at_least=1,
        none="all",
        read_by=STEPS,
    )
    batch_size: int = parameter(
        32,
        "examples in one optimizer step; or what batch-unit says. It does not depend on the memory",
        at_least=1,
        at_most=10**7,
        read_by=STEPS,
    )
    max_length: int = parameter(
        128, "tokens of one sequence; with special tokens. Longer ones are truncated", at_least=3, at_most=10**7
    )
    stride: int = parameter(
        128,
        "tokens between the starts of two windows over a text that is too long for one sequence",
        at_least=1,
        at_most=10**7,
        read_by=_LONG_TEXTS,
    )
    context: str = parameter(
        "document",
        "what a sequence shows around a sentence of a document: document packs its sentences into few sequences, "
        "window gives each its neighbours, sentence shows it alone",
        choices=("document", "window", "sentence"),
        read_by=_WORDS,
    )
    batch_unit: str = parameter(
        "sentences",
        "what the batch size counts; a sequence shows as many sentences as context says",
        choices=("sentences", "sequences", "words"),
        read_by=_WORDS,
    )
    loss_divisor: str = parameter(
        "own-words",
        "divide the summed loss of a batch by its own number of words, or by the mean number of all batches, so that "
        "each word counts equally",
        choices=("own-words", "mean-words"),
        read_by=_WORDS,
    )
    label_smoothing: float = parameter(
        0.0,
        "share of the target probability that goes to all labels alike, against overconfident fits",
        at_least=0,
        below=1,
        read_by=_CROSS_ENTROPY,
    )
    class_weights: str = parameter(
        "none",
        "what a label counts in the loss: none is 1 for each, balanced is rows / (labels x rows of the label), "
        "against rare labels being ignored",
        choices=("none", "balanced"),
        read_by=_ONE_LABEL,
    )
    features: str = parameter(
        "concat-last-4",
        "layers of a frozen encoder that are read (last-4: all where there are fewer)",
        choices=(
            "embeddings",
            "second-to-last",
            "last",
            "weighted-sum-last-4",
            "concat-last-4",
            "weighted-sum-all",
            "weighted-sum-with-embeddings",
        ),
        read_by=_FROZEN,
    )
    """The choices are those of Table 7 in Devlin et al. 2019, and the sum of Peters et al. 2018, with tokens."""
    bilstm_width: int = parameter(
        768,
        "output of a BiLSTM for a token, half of it from each direction",
        at_least=2,
        at_most=65_536,
        read_by=_RECURRENT,
    )
    """The default is that of Devlin et al. 2019, 5.3."""
    summary: str = parameter(
        "pooler",
        "vector of a sequence that a linear layer reads: the encoder's own (pooler), or the last layer's state of the "
        "first or the last token, or the mean or the maximum over all tokens",
        choices=("pooler", "first", "last", "mean", "max"),
        read_by=_SUMMARIES,
    )
    head_layer: str = parameter(
        "none",
        "dense layer, with this activation and dropout, between what a head reads and its output layer",
        choices=("none", "tanh", "gelu"),
        read_by=_HEADS,
    )
    layer_decay: float = parameter(
        1.0,
        "factor of the learning rate from layer to layer, from the top down",
        above=0,
        at_most=1,
        read_by=_WHOLE,
    )
    """`methods.finetune.learning_rates` has the formula (Clark et al. 2020)."""
    redraw_layers: int = parameter(
        0,
        "number of top layers that are initialised again before training, with the pooler",
        at_least=0,
        read_by=_WHOLE,
    )
    """From Zhang et al. 2021."""
    warmup: float = parameter(
        0.1,
        "steps in which the learning rate rises from zero: a share up to 1, which is all steps, or a number above 1",
        at_least=0,
        whole_above=1,
        read_by=STEPS,
    )
    """`training.schedule.counted_steps` says how many steps a share is."""
    schedule: str = parameter(
        "released",
        "learning rate after warm-up: a line to zero from step 0 (released, as in the code of Devlin et al. 2019) or "
        "from the end of warm-up (after-warmup), half a cosine, constant, falling as the root of the step grows "
        "(inverse-sqrt), or constant until a last cooldown (trapezoid)",
        choices=("released", "after-warmup", "cosine", "constant", "inverse-sqrt", "trapezoid"),
        read_by=STEPS,
    )
    """`training.schedule.share_of_peak` has the formulas."""
    cooldown: float = parameter(
        0.2,
        "last steps, in which the schedule trapezoid falls: a share or a number, as for warmup",
        at_least=0,
        whole_above=1,
        read_by=STEPS,
    )
    """The default is what Hägele et al. 2024 recommend."""
    final_share: float = parameter(
        0.0,
        "share of the peak learning rate at which its decay ends; 1 does not decay",
        at_least=0,
        at_most=1,
        read_by=STEPS,
    )
    weight_decay: float = parameter(
        0.01, "decoupled weight decay; biases and LayerNorm have none", at_least=0, read_by=STEPS
    )
    decay_by: str = parameter(
        "lr",
        "what weight decay is multiplied by in each step: the learning rate (lr), or its share of the peak (share)",
        choices=("lr", "share"),
        read_by=STEPS,
    )
    """`share` is that of Loshchilov and Hutter 2019, which some libraries call fully decoupled."""
    beta1: float = parameter(0.9, "Adam's decay of the mean of the gradients", at_least=0, at_most=1, read_by=STEPS)
    beta2: float = parameter(
        0.999, "Adam's decay of the mean of the squared gradients", at_least=0, at_most=1, read_by=STEPS
    )
    epsilon: float = parameter(1e-6, "Adam's guard against division by zero", above=0, read_by=STEPS)
    bias_correction: bool = parameter(
        True,
        "correct Adam's moments; the code of Devlin et al. 2019 does not, which is less stable on small data",
        read_by=STEPS,
    )
    clip: float = parameter(1.0, "largest norm of the gradient of a step; 0 does not clip", at_least=0, read_by=STEPS)
    dropout: float | None = parameter(
        None,
        "dropout rate everywhere, in place of the backbone's own",
        float,
        at_least=0,
        below=1,
        read_by=STEPS,
    )
    precision: str = parameter(
        "fp32",
        "precision of matrix products; weights and their updates are fp32",
        choices=("fp32", "bf16"),
        in_grid=False,
    )
    micro_tokens: int = parameter(
        8192,
        "the most tokens computed at once; a larger batch is split, and a longer sequence is computed alone",
        at_least=1,
        at_most=10**9,
        in_grid=False,
    )
    limit_train: int | None = parameter(
        None,
        "learn from this number of rows only, drawn by the seed with the shares of the labels",
        int,
        at_least=1,
        at_most=10**12,
        in_grid=False,
        none="all",
    )
    parameters: Mapping[str, Value] = NamedValues()
    """Values of methods' own parameters, by `METHOD.NAME` such as `lora.rank`. A parameter that is not here has its
    default. `changed`, grids and JSON name these parameters beside the other fields."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bilstm_width % 2:
            raise RequestError(
                f"A recipe's bilstm_width must be even, not {self.bilstm_width}: each direction has half of it."
            )
        self._settle_parameters()

    def _settle_parameters(self) -> None:
        """Make the parameters a value that never changes; the methods say which names and values are possible."""
        if not isinstance(self.parameters, Mapping):
            raise RequestError(f"A recipe's parameters are a mapping, so they cannot be {quoted(self.parameters)}.")
        for name, value in self.parameters.items():
            if not isinstance(name, str) or not is_parameter(name):
                raise RequestError(f"A parameter's name is METHOD.NAME, such as lora.rank, not {quoted(name)}.")
            if not isinstance(value, bool | int | float | str):
                raise RequestError(f"The parameter {name} cannot be {quoted(value)}.")
        object.__setattr__(self, "parameters", NamedValues(self.parameters))

    def changed(self, **values: Any) -> Recipe:
        """Copy the recipe with some values replaced. A parameter of a method is named `METHOD.NAME`."""
        check_fields(values)
        fields, parameters = _divided(values)
        if parameters:
            fields["parameters"] = {**fields.get("parameters", self.parameters), **parameters}
        return dataclasses.replace(self, **fields)

    def as_dict(self) -> dict[str, Any]:
        """Give the values of all fields by their names, and those of methods' parameters as `METHOD.NAME`."""
        return {**{name: getattr(self, name) for name in RECIPE_FIELDS}, **self.parameters}

    @property
    def decay(self) -> float:
        """Weight decay as a factor of the learning rate of each step."""
        return self.weight_decay / (self.lr if self.decay_by == "share" else 1)

    def passes(self, rows: int) -> float:
        """Estimate how often a training in steps reads each of its rows."""
        steps = min(self.max_steps or math.inf, self.stop_at or math.inf)
        return min(self.epochs, steps * self.batch_size / max(1, rows))

    @property
    def has_free_steps(self) -> bool:
        """Whether the first steps of a training do not depend on the number of all steps.

        Their learning rates do not if the rate decays late or not at all, and warm-up is not a share of all steps. A
        loss that is divided by the mean number of words of all batches does.
        """
        decays_late = self.schedule in ("constant", "inverse-sqrt", "trapezoid") or self.final_share == 1
        return decays_late and not 0 < self.warmup <= 1 and self.loss_divisor == "own-words"

    def goes_on_from(self, shorter: Recipe) -> bool:
        """Whether a training takes the first steps of a shorter one, which differs in its length only."""
        stops = shorter.stop_at is not None
        return shorter.changed(stop_at=self.stop_at) == self if stops else shorter.has_free_steps

    @property
    def general(self) -> dict[str, Any]:
        """The values of `as_dict`, but for those of fields that only some problems or methods read."""
        return {name: value for name, value in self.as_dict().items() if name not in SPECIAL}

    def as_json(self) -> dict[str, Any]:
        """Return the values that are not the defaults, by their names in `as_dict`; only they identify a fit."""
        return {**self.changes(), **self.parameters}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Make a recipe from values that are named as by `as_dict`; raise a `RequestError` for an unknown name."""
        check_fields(data)
        fields, parameters = _divided(data)
        return cls(**fields, parameters=parameters)


RECIPE_FIELDS = parameters_of(Recipe)
"""The declarations of a recipe's fields, by name."""
STEP_FIELDS = tuple(name for name, own in RECIPE_FIELDS.items() if own.read_by == STEPS)
"""Names of the fields that only methods with optimizer steps read."""
SPECIAL = tuple(name for name, own in RECIPE_FIELDS.items() if own.read_by not in ("", STEPS))
"""Names of the fields that only some problems or methods read, which name these fields."""


def is_parameter(name: str) -> bool:
    """Return whether a name can be that of a method's parameter, `METHOD.NAME`."""
    method, _, own = name.rpartition(".")
    return bool(method) and re.fullmatch(NAME, own) is not None


def _divided(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide values by name into those of a recipe's fields and those of methods' parameters."""
    fields: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    for name, value in values.items():
        (parameters if is_parameter(name) else fields)[name] = value
    return fields, parameters


def check_fields(names: Iterable[str]) -> None:
    """Raise a `RequestError` for a name that is not a field of recipes."""
    known = {*RECIPE_FIELDS, "parameters"}
    for name in names:
        if name not in known and not is_parameter(name):
            meant = did_you_mean(name, known)
            raise RequestError(f"A recipe has no '{name}'.{meant} It has: {', '.join(sorted(known))}.")
