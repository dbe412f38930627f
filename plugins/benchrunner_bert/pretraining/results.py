"""Results of a pre-training: exported models with model cards, the model's name, and the record that it finished."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

from benchrunner import RequestError
from benchrunner.engine import seals, step_log
from benchrunner_bert.pretrained import register
from benchrunner_bert.pretraining import architectures
from benchrunner_bert.pretraining.continuation import check_same
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.corpus.unigram import unigram_loss
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.model_folder import CARD_FILES, export
from benchrunner_bert.pretraining.request import Request, decisive_facts
from benchrunner_bert.pretraining.training.trained_model import TrainedModel

FINISHED = "finished.json"
"""File in the folder of a run, written last: the facts of the request that is finished."""
_ALIKE = 0.99
"""Share of the loss of guessing by frequency above which a model learnt nothing worth a word."""


def is_finished(request: Request) -> bool:
    """Whether this request is finished; raise a `RequestError` if the folder holds the results of another request."""
    path = request.out / FINISHED
    remedy = seals.made_again(path)
    facts = seals.find_sealed(path, remedy)
    if facts is None or not request.model_folder.exists():
        return False
    checksums = facts.pop("models")
    check_same(facts, decisive_facts(request, request.corpus_texts.facts), path)
    missing = [step for step in request.plan.export_at if not request.export_folder(step).exists()]
    if missing:
        steps = ", ".join(map(str, missing))
        raise RequestError(f"{request.out} was finished without a model of step {steps}: choose another --out.")
    for folder, files in checksums.items():
        if folder == _relative(request, request.model_folder) or (request.out / folder).exists():
            seals.check_files(request.out / folder, files, remedy)
    return True


def _relative(request: Request, folder: Path) -> str:
    return folder.relative_to(request.out).as_posix()


def _checksums(request: Request) -> dict[str, dict[str, str]]:
    """Give the checksums of the files of all models of a run, by folder, without the cards: their readers edit them."""
    folders = [request.model_folder]
    folders += [request.export_folder(step) for step in request.plan.export_at]
    checksums: dict[str, dict[str, str]] = {}
    for folder in folders:
        if folder.exists():
            files = seals.folder_checksums(folder)
            checksums[_relative(request, folder)] = {name: files[name] for name in files if name not in CARD_FILES}
    return checksums


def register_model(request: Request) -> None:
    """Make the finished model a backbone with the name that was asked for."""
    architecture, _ = architectures.of_size(request.size)
    training = f"{request.settings.objective}, {request.settings.steps:,} steps"
    about = f"pre-trained here: {architecture.about(request.model_folder / 'config.json', training)}"
    register(request.model_name, request.model_folder, about, request.runs)


def export_models(request: Request, model: TrainedModel, step: int, card: Card) -> None:
    """Write the model of a step: a model on the way, the finished model, or both."""
    if step in request.plan.export_at:
        export(model, request.export_folder(step), card)
    if step == request.settings.steps:
        export(model, request.model_folder, card)
        register_model(request)
        facts = decisive_facts(request, card.corpus.sources)
        seals.write_sealed(request.out / FINISHED, {**facts, "models": _checksums(request)})


@final
@dataclass(frozen=True)
class Learned:
    """The loss of a pre-training at its end, beside that of guessing tokens by their frequency."""

    loss: float
    """Mean loss of a predicted token over the last tenth of the log."""
    guessing: float

    @property
    def is_nothing(self) -> bool:
        """Whether the model is hardly better than guessing."""
        return self.loss > _ALIKE * self.guessing

    @property
    def text(self) -> str:
        """A line for the user."""
        losses = f"loss of a predicted token {self.loss:.4g}, of guessing tokens by their frequency {self.guessing:.4g}"
        if not self.is_nothing:
            return losses
        return (
            f"{losses}: the model learnt nothing beyond frequencies. Train for more steps, on more text, or with "
            "another learning rate."
        )


def learned(request: Request, store: TokenStore) -> Learned | None:
    """Compare the end of a run's log with guessing; None where the log has no losses."""
    losses = [line["mlm_loss"] for line in step_log.read(request.out / "log.jsonl") if "mlm_loss" in line]
    if not losses:
        return None
    count = max(1, len(losses) // 10)
    return Learned(sum(losses[-count:]) / count, unigram_loss(store, request.settings))


def last_figures(log: Path) -> dict[str, float]:
    """Give the last loss, accuracy and perplexity of each kind in a log."""
    figures: dict[str, float] = {}
    for line in step_log.read(log):
        for name, value in line.items():
            if name.endswith(("loss", "accuracy", "perplexity")):
                figures[name.replace("_", " ")] = value
    return figures
