"""Fine-tuning: all weights are trained, with a head on top, as Devlin et al. 2019 do for every task."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, final

from benchrunner.backbones.backbone import check_redrawn
from benchrunner.errors import PluginError
from benchrunner.io.messages import did_you_mean
from benchrunner.methods.method import Job, Method, Outcome
from benchrunner.parameters.parameter import Parameter

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from torch import nn

    from benchrunner.backbones.encoder import Encoder
    from benchrunner.methods.heads import Head

ENCODER_FIELDS = ("layer_decay", "redraw_layers")
"""Recipe fields that say how the layers of the encoder are trained."""


def linear_head(encoder: Encoder, job: Job) -> Head:
    """Make a linear head with fresh weights, as the problem of a job needs it."""
    from benchrunner.methods.heads import LinearHead

    return LinearHead(
        encoder.hidden_size,
        job.problem.head,
        seed=job.fit.seed,
        summary_bias=encoder.summary_head_bias,
        summary=job.fit.recipe.summary,
        layer=job.fit.recipe.head_layer,
    )


@final
@dataclass(frozen=True)
class Finetune(Method):
    """Trains the encoder and a head together. Its functions make other methods of it: see docs/plugins/methods.md."""

    name: str = "finetune"
    about: str = "train all weights with a linear layer on top"
    fresh_head: Callable[[Encoder, Job], Head] = linear_head
    """Makes the head, with fresh weights."""
    trained: Callable[[Encoder, Job], Iterable[str]] | None = None
    """Names the weights of the encoder that are trained; its `fresh_modules` are always. None: all weights."""
    extended: Callable[[Encoder, Job], nn.Module] | None = None
    """Adds weights to the encoder and returns the module that owns them: they are trained, and kept beside the head."""
    merge: Callable[[Any], None] | None = None
    """Adds what the module of `extended` learned to the encoder's own weights: the encoder is then an ordinary one."""
    exports: bool = True
    recipe_fields: tuple[str, ...] = ("summary", "head_layer", *ENCODER_FIELDS)
    training_fields: tuple[str, ...] = ENCODER_FIELDS
    parameters: tuple[Parameter, ...] = ()
    recipe_defaults: Mapping[str, Any] = field(default_factory=dict)

    def check_declared(self) -> None:
        super().check_declared()
        if self.exports and self.extended and not self.merge:
            raise PluginError(
                f"the method '{self.name}' keeps weights beside the encoder, which no other library reads: give it "
                "`exports=False`, or `merge`, which adds them to the weights of the encoder"
            )

    def fit(self, job: Job) -> Outcome:
        from benchrunner.methods import steps
        from benchrunner.training.embedding_rows import WHOLE_TABLE, narrowed, trained_tables

        assert job.train is not None
        encoder = steps.load_encoder(job, seed=job.fit.seed)
        recipe = job.fit.recipe
        redraw(encoder, recipe.redraw_layers, seed=job.fit.seed)
        head = self.make_head(encoder, job)
        if self.trained is not None:
            freeze(encoder, self.trained(encoder, job), self.name)
        parts: dict[str, nn.Module] = {"head": head}
        if self.extended is not None:
            parts["extension"] = self.extended(encoder, job)
        notes = [*encoder.notes, *steps.take_over_head(job, parts)]
        started = time.monotonic()
        features = steps.encode(job, job.train.table, encoder, training=True)
        encode_seconds = time.monotonic() - started
        tables = trained_tables(encoder)
        rows_in_use = narrowed(encoder, features)
        if len(rows_in_use) < len(tables):
            notes.append(WHOLE_TABLE)
        modules = {name: part.to(job.computing.device) for name, part in {"encoder": encoder, **parts}.items()}
        rates = {f"encoder.{name}": rate for name, rate in learning_rates(encoder, recipe.layer_decay)}
        model = partial(head, encoder)
        training = steps.train(job, model, modules, features, rates=rates, fixed_shapes=True)
        if training.diverged is None:
            for words in rows_in_use:
                words.restore(training.decay_without_gradient(words.weight))
            if self.merge is not None:
                self.merge(parts.pop("extension"))
            steps.save(job, encoder, parts)
        return steps.outcome(training, encode_seconds, notes)

    def predict(self, job: Job, table: pa.Table) -> np.ndarray:
        from benchrunner.methods import steps

        device = job.computing.device
        encoder = steps.load_fitted_encoder(job)
        head = self.make_head(encoder, job)
        parts: dict[str, nn.Module] = {"head": head}
        if self.extended is not None and self.merge is None:
            parts["extension"] = self.extended(encoder, job)
        steps.load_learned(job.model, parts)
        for part in (encoder, *parts.values()):
            part.to(device).eval()
        features = steps.encode(job, table, encoder, training=False)
        outputs = steps.predict(job, partial(head, encoder), features, head.level)
        return job.problem.gather(outputs, features, table)

    def make_head(self, encoder: Encoder, job: Job) -> Head:
        """Make the head of a job, with fresh weights, and prepare the encoder for this kind of head."""
        encoder.prepare_for(job.problem.export_kind)
        return self.fresh_head(encoder, job)


def freeze(encoder: Encoder, trained: Iterable[str], method: str) -> None:
    """Let only the named weights of an encoder be trained, and those that its checkpoint lacks."""
    encoder.requires_grad_(False)
    for module in encoder.fresh_modules:
        module.requires_grad_(True)
    weights = dict(encoder.named_parameters())
    for name in trained:
        if name not in weights:
            meant = did_you_mean(name, weights, " Did you mean one of encoder.named_parameters()?")
            raise PluginError(
                f"The method '{method}' trains '{name}', which is no weight of {type(encoder).__name__}.{meant}"
            )
        weights[name].requires_grad_(True)


def learning_rates(encoder: Encoder, decay: float) -> Iterator[tuple[str, float]]:
    """Give the factor of the learning rate of each weight of an encoder, by the weight's name.

    The formula is that of ELECTRA's released code (Clark et al. 2020, `optimization.py`): in an encoder of L layers, a
    weight of depth d has the factor decay ** (L + 2 - d). Embeddings have the depth 0, the lowest layer 1 and the
    highest L. The head has the depth L + 2, which is the whole rate; so have the encoder's fresh modules. ELECTRA has
    no pre-trained weights between the highest layer and the head; a pooler gets the depth between them, L + 1.
    """
    if decay == 1:
        return
    head_depth = len(encoder.layers) + 2
    weights = dict(encoder.named_parameters())
    fresh = {weight for module in encoder.fresh_modules for weight in module.parameters()}
    for name, depth in encoder.depths().items():
        yield name, 1.0 if weights[name] in fresh else decay ** (head_depth - depth)


def redraw(encoder: Encoder, count: int, *, seed: int) -> None:
    """Initialise the highest `count` layers and the weights of the summary again (Zhang et al. 2021).

    The weights of a layer depend on the seed and the layer, but not on `count`.
    """
    from benchrunner.features.randomness import generator

    if not count:
        return
    layers = len(encoder.layers)
    check_redrawn(count, layers)
    for index in range(layers - count, layers):
        encoder.draw_layer(index, generator(seed, "layer", index))
    encoder.draw_summary(generator(seed, "summary"))
