"""Architectures that can be pre-trained. The beginning of SIZE on the command line chooses one."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import RequestError, UnknownName
from benchrunner_bert.configuration import LOOKS, Configuration
from benchrunner_bert.elmo.configuration import MODEL_TYPE as ELMO, ElmoConfiguration
from benchrunner_bert.pretraining.objectives import OBJECTIVES, TWO_MODELS, named
from benchrunner_bert.pretraining.settings import Settings

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.training.trained_model import TrainedModel
    from benchrunner_bert.tokenizer import BertTokenizer

_GPT = "gpt"
"""Beginning of the sizes of GPT-like models: left to right, on text without special tokens."""
_MINIMUM_POSITIONS = 512
"""Every BERT can read sequences of this length, as the released models can."""


class Architecture(ABC):
    """A kind of model. Sizes are given without the prefix of the architecture."""

    name: str
    """Name of the kind for messages, with its article."""
    prefix: str
    """Beginning of SIZE, without the '-' after it."""
    objectives: tuple[str, ...]
    """Names of the objectives that train such a model; the first is the default."""
    defaults: Mapping[str, Any] = {}
    """Fields of `Settings` whose defaults are other than BERT's."""

    def check(self, settings: Settings) -> None:
        """Raise a `RequestError` for settings that are not possible."""
        if settings.objective not in self.objectives:
            raise RequestError(
                f"{self.name} does not learn the objective {settings.objective}; its choices are: "
                f"{', '.join(self.objectives)}."
            )

    @abstractmethod
    def configuration(self, size: str, vocabulary: int, settings: Settings) -> Configuration | ElmoConfiguration:
        """Build the configuration of a size; raise a `RequestError` for what is no size."""

    @abstractmethod
    def fresh(self, size: str, tokenizer: BertTokenizer, settings: Settings) -> TrainedModel:
        """Draw a model with the heads of its objective."""

    @abstractmethod
    def about(self, config: Path, training: str) -> str:
        """Describe the model of a config.json, and its training, for `benchrunner list`."""


@final
@dataclasses.dataclass(frozen=True)
class _Transformer(Architecture):
    """A transformer encoder with BERT's layers."""

    name: str
    prefix: str
    objectives: tuple[str, ...]
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def configuration(self, size: str, vocabulary: int, settings: Settings) -> Configuration:
        positions = max(_MINIMUM_POSITIONS, *settings.lengths)
        config = named(settings.objective).configured(Configuration.of_size(size, vocabulary))
        return dataclasses.replace(config, positions=positions, deviation=settings.deviation)

    def fresh(self, size: str, tokenizer: BertTokenizer, settings: Settings) -> TrainedModel:
        from benchrunner_bert.pretraining.training.model import PretrainingModel

        config = self.configuration(size, tokenizer.size, settings)
        model = PretrainingModel.fresh(config, tokenizer, named(settings.objective), seed=settings.seed)
        if settings.positions == "waves":
            model.bert.embeddings.set_sinusoidal_positions()
        model.bert.set_dropout(settings.dropout)  # during pre-training; config.json says what fine-tuning starts with
        if settings.recompute:
            model.bert.recompute_layers()
        model.precision = settings.precision
        return model

    def about(self, config: Path, training: str) -> str:
        shape = Configuration.read(config)
        direction = f"; its attention looks {LOOKS[shape.direction]}" if shape.direction != "both" else ""
        kind = "a GPT-like model of " if self.prefix == _GPT else ""
        return f"{kind}{shape.layers} layers, {shape.hidden} wide, {training}{direction}"


@final
class _Elmo(Architecture):
    """ELMo. Peters et al. 2018 give no learning rate for Adam; 1e-3 is Adam's default."""

    name = "An ELMo"
    prefix = ELMO
    objectives = (TWO_MODELS.name,)
    defaults = {"input": "document", "lr": 1e-3}

    def check(self, settings: Settings) -> None:
        super().check(settings)
        if settings.positions != "drawn":
            raise RequestError("An ELMo has no position embeddings: leave --positions out.")
        if settings.deviation != Settings.deviation:
            raise RequestError(
                "The deviation of an ELMo's fresh weights follows from its width: leave --deviation out."
            )
        if settings.recompute:
            raise RequestError("An ELMo stores the states of all its layers: leave --recompute out.")

    def configuration(self, size: str, vocabulary: int, settings: Settings) -> ElmoConfiguration:
        return ElmoConfiguration.of_size(size, vocabulary)

    def fresh(self, size: str, tokenizer: BertTokenizer, settings: Settings) -> TrainedModel:
        from benchrunner_bert.pretraining.training.elmo_model import ElmoPretrainingModel

        config = ElmoConfiguration.of_size(size, tokenizer.size)
        model = ElmoPretrainingModel.fresh(config, tokenizer, named(settings.objective), seed=settings.seed)
        model.elmo.set_dropout(settings.dropout)
        model.precision = settings.precision
        return model

    def about(self, config: Path, training: str) -> str:
        shape = ElmoConfiguration.read(config)
        return f"an ELMo of {shape.layers} LSTM layers, {shape.width} wide in each direction, {training}"


_BERT = _Transformer("A BERT", "", tuple(OBJECTIVES))
_PREFIXED = (_Transformer("A GPT-like model", _GPT, ("ltr",), {"input": "text"}), _Elmo())


def of_size(size: str) -> tuple[Architecture, str]:
    """Find the architecture of a SIZE, and give the size without the prefix."""
    prefix, dash, rest = size.partition("-")
    architectures = {architecture.prefix: architecture for architecture in _PREFIXED}
    if prefix in architectures:
        if not rest:
            raise RequestError(f"{architectures[prefix].name} needs a size after '{prefix}-', such as {prefix}-small.")
        return architectures[prefix], rest
    if dash and prefix.isalpha():
        raise UnknownName("architecture", prefix, architectures, "The size of a BERT has no prefix, such as small.")
    return _BERT, size
