"""Results of a pre-training: exported models with model cards, the model's name, and the record that it finished."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

from benchrunner import RequestError, read_json_object, write_json
from benchrunner.engine import step_log
from benchrunner_bert.pretrained import register
from benchrunner_bert.pretraining import architectures
from benchrunner_bert.pretraining.continuation import check_same
from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import Manifest
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.model_folder import export
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.request import Request, decisive_facts
from benchrunner_bert.pretraining.training.trained_model import TrainedModel

FINISHED = "finished.json"
"""File in the folder of a run, written last: the facts of the request that is finished."""
_VERSIONS = ("torch", "deepspeed", "tokenizers")
"""Libraries whose versions a model card names."""


def is_finished(request: Request, corpus: Corpus, held_out: Corpus | None) -> bool:
    """Whether this request is finished; raise a `RequestError` if the folder holds the results of another request."""
    path = request.out / FINISHED
    if not path.exists() or not (request.model_folder / "config.json").exists():
        return False
    check_same(read_json_object(path), decisive_facts(request, corpus.facts, held_out), path)
    if missing := [step for step in request.plan.export_at if not request.export_folder(step).exists()]:
        steps = ", ".join(map(str, missing))
        raise RequestError(f"{request.out} was finished without a model of step {steps}: choose another --out.")
    return True


def register_model(request: Request) -> None:
    """Make the finished model a backbone with the name that was asked for."""
    architecture, _ = architectures.of_size(request.size)
    training = f"{request.settings.objective}, {request.settings.steps:,} steps"
    about = f"pre-trained here: {architecture.about(request.model_folder / 'config.json', training)}"
    register(request.model_name, request.model_folder, about, request.runs)


def export_models(
    request: Request, model: TrainedModel, corpus: Manifest, held_out: Corpus | None, step: int, *, unread: int = 0
) -> None:
    """Write the model of a step: a model on the way, the finished model, or both."""
    card = model_card(request, corpus, step, unread=unread)
    if step in request.plan.export_at:
        export(model, request.export_folder(step), card)
    if step == request.settings.steps:
        export(model, request.model_folder, card)
        register_model(request)
        write_json(request.out / FINISHED, decisive_facts(request, corpus.sources, held_out))


def model_card(request: Request, corpus: Manifest, step: int, *, unread: int = 0) -> Card:
    """Describe the model of a step; `unread` documents of the corpus have no pair."""
    settings = request.settings
    first = min(step, settings.border)
    phases = [(first, settings.length_at(0)), (step - first, settings.length_at(settings.steps - 1))]
    masked = named(settings.objective).is_masked
    return Card(
        name=request.model_name,
        corpus=corpus,
        phases=tuple((steps, length) for steps, length in phases if steps),
        input=settings.input,
        batch_size=settings.batch_size,
        masking=dict(zip(("[MASK]", "random", "same"), settings.masking, strict=True)) if masked else {},
        chosen=settings.chosen if masked else 1.0,
        losses=_last_figures(request.out / "log.jsonl"),
        seed=settings.seed,
        precision=settings.precision,
        dropout=settings.dropout,
        positions=settings.positions,
        deviation=settings.deviation,
        unread_documents=unread,
        command=request.command,
        versions={name: importlib.metadata.version(name) for name in _VERSIONS},
    )


def _last_figures(log: Path) -> dict[str, float]:
    """Give the last loss, accuracy and perplexity of each kind in a log."""
    figures: dict[str, float] = {}
    for line in step_log.read(log):
        for name, value in line.items():
            if name.endswith(("loss", "accuracy", "perplexity")):
                figures[name.replace("_", " ")] = value
    return figures
