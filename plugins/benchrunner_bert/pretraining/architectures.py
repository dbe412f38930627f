"""Architectures that can be pre-trained. The beginning of SIZE on the command line chooses one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import RequestError, UnknownName
from benchrunner_bert.configuration import LOOKS, Configuration
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.settings import Settings

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.training.model import PretrainingModel
    from benchrunner_bert.tokenizer import BertTokenizer

_MINIMUM_POSITIONS = 512
"""Every BERT can read sequences of this length, as the released models can."""


@final
@dataclasses.dataclass(frozen=True)
class Architecture:
    """A kind of transformer encoder with BERT's layers. Sizes are given without the prefix of the architecture."""

    name: str
    """Name of the kind for messages, with its article."""
    prefix: str
    """Beginning of SIZE, without the '-' after it."""
    objectives: tuple[str, ...]
    """Names of the objectives that train such a model; the first is the default."""
    defaults: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Fields of `Settings` whose defaults are other than BERT's."""

    def check(self, settings: Settings) -> None:
        """Raise a `RequestError` for an objective that does not train such a model."""
        if settings.objective not in self.objectives:
            raise RequestError(
                f"{self.name} does not learn the objective {settings.objective}; its choices are: "
                f"{', '.join(self.objectives)}."
            )

    def configuration(self, size: str, vocabulary: int, settings: Settings) -> Configuration:
        """Build the configuration of a size; raise a `RequestError` for what is no size."""
        positions = max(_MINIMUM_POSITIONS, *settings.lengths)
        direction = OBJECTIVES[settings.objective].direction
        config = Configuration.of_size(size, vocabulary)
        return dataclasses.replace(config, positions=positions, deviation=settings.deviation, direction=direction)

    def fresh(self, size: str, tokenizer: BertTokenizer, settings: Settings) -> PretrainingModel:
        """Draw a model with the heads of its objective."""
        from benchrunner.engine import randomness
        from benchrunner_bert.model import Bert
        from benchrunner_bert.pretraining.training.model import PretrainingModel

        config = self.configuration(size, tokenizer.size, settings)
        model = PretrainingModel(Bert(config, tokenizer), OBJECTIVES[settings.objective])
        model.draw(randomness.generator(settings.seed, "pre-training"))
        if settings.positions == "waves":
            model.bert.embeddings.set_sinusoidal_positions(config.deviation)
        model.bert.set_dropout(settings.dropout)  # during pre-training; config.json says what fine-tuning starts with
        if settings.recompute:
            model.bert.recompute_layers()
        model.precision = settings.precision
        return model

    def about(self, config: Path, training: str) -> str:
        """Describe the model of a config.json, and its training, for `benchrunner list`."""
        shape = Configuration.read(config)
        direction = f"; its attention looks {LOOKS[shape.direction]}" if shape.direction != "both" else ""
        kind = "a GPT-like model of " if self is _GPT else ""
        return f"{kind}{shape.layers} layers, {shape.hidden} wide, {training}{direction}"


_BERT = Architecture("A BERT", "", tuple(OBJECTIVES))
_GPT = Architecture("A GPT-like model", "gpt", ("ltr",), {"input": "text"})
"""Left to right, on text without special tokens."""


def of_size(size: str) -> tuple[Architecture, str]:
    """Find the architecture of a SIZE, and give the size without the prefix."""
    prefix, dash, rest = size.partition("-")
    if prefix == _GPT.prefix:
        if not rest:
            raise RequestError(f"{_GPT.name} needs a size after '{prefix}-', such as {prefix}-small.")
        return _GPT, rest
    if dash and prefix.isalpha():
        raise UnknownName("architecture", prefix, [_GPT.prefix], "The size of a BERT has no prefix, such as small.")
    return _BERT, size
