"""Results of a pre-training: exported models with model cards, the model's name, and the record that it finished."""

from __future__ import annotations

from collections.abc import Mapping

from benchrunner import RequestError, print_line
from benchrunner.engine import seals, step_log
from benchrunner_bert.pretrained import register
from benchrunner_bert.pretraining import architectures
from benchrunner_bert.pretraining.continuation import check_same, decisive_facts
from benchrunner_bert.pretraining.corpus.token_store import TokenStore
from benchrunner_bert.pretraining.corpus.unigram import unigram_loss
from benchrunner_bert.pretraining.export.card import Card
from benchrunner_bert.pretraining.export.model_folder import CARD_FILES, export
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.training.model import PretrainingModel

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
    missing = [str(step) for step in request.export_at if not request.export_folder(step).exists()]
    if missing:
        raise RequestError(
            f"{request.out} was finished without a model of step {', '.join(missing)}: choose another --out."
        )
    for name, files in checksums.items():
        folder = request.out / name
        if folder == request.model_folder or folder.exists():
            seals.check_files(folder, files, remedy)
    return True


def register_model(request: Request) -> None:
    """Make the finished model a backbone with the name that was asked for."""
    architecture, _ = architectures.of_size(request.size)
    training = f"{request.settings.objective}, {request.settings.steps:,} steps"
    about = f"pre-trained here: {architecture.about(request.model_folder / 'config.json', training)}"
    register(request.model_name, request.model_folder, about, request.names)


def export_models(
    request: Request, store: TokenStore, model: PretrainingModel, computed: Mapping[str, str], step: int
) -> None:
    """Write the model of a step: a model on the way, the finished model, or both. `computed` says how it was made."""
    log = step_log.read(request.out / "log.jsonl")
    figures: dict[str, float] = {}
    for line in log:
        for name, value in line.items():
            if name.endswith(("loss", "accuracy", "perplexity")):
                figures[name.replace("_", " ")] = value
    guessing = unigram_loss(store, request.settings)
    figures["loss of guessing tokens by frequency"] = guessing
    card = Card(request, store.manifest, step, figures, computed, request.unread_documents(store))
    if step in request.export_at:
        export(model, request.export_folder(step), card)
    if step < request.settings.steps:
        return
    export(model, request.model_folder, card)
    register_model(request)
    facts = decisive_facts(request, store.manifest.plan.sources)
    seals.write_sealed(request.out / FINISHED, {**facts, "models": _checksums(request)})
    losses = [line["mlm_loss"] for line in log if "mlm_loss" in line]
    if losses:
        last = losses[-max(1, len(losses) // 10) :]
        text, is_nothing = outcome(sum(last) / len(last), guessing)
        request.tell(text, also_quiet=is_nothing)
    print_line(f"{request.model_folder}: a backbone for --backbone")


def _checksums(request: Request) -> dict[str, dict[str, str]]:
    """Give the checksums of the files of all models of a run, by folder, without the cards: their readers edit them."""
    checksums: dict[str, dict[str, str]] = {}
    for folder in (request.model_folder, *map(request.export_folder, request.export_at)):
        if folder.exists():
            files = seals.folder_checksums(folder)
            name = folder.relative_to(request.out).as_posix()
            checksums[name] = {file: files[file] for file in files if file not in CARD_FILES}
    return checksums


def outcome(loss: float, guessing: float) -> tuple[str, bool]:
    """Compare the loss of a predicted token with that of guessing by frequency: in words, and whether it is alike."""
    text = f"loss of a predicted token {loss:.4g}, of guessing tokens by their frequency {guessing:.4g}"
    if loss <= _ALIKE * guessing:
        return text, False
    return (
        f"{text}: the model learnt nothing beyond frequencies. Train for more steps, on more text, or with another "
        "learning rate."
    ), True
