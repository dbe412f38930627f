"""The model card: what a user of a pre-trained model needs to know that its weights do not say."""

from __future__ import annotations

import importlib.metadata
import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchrunner_bert.pretraining.corpus.manifest import Manifest
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.objectives import OBJECTIVES
from benchrunner_bert.pretraining.request import Request
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.model import PretrainingModel

SHOWN_SOURCES = 100
"""Number of sources that the card lists; corpus.json beside it lists all."""

_VERSIONS = ("torch", "deepspeed", "tokenizers")
"""Libraries whose versions the card names."""


@dataclass(frozen=True)
class Card:
    """The facts of a model card."""

    request: Request
    corpus: Manifest
    step: int
    """Steps that were taken, which may be fewer than those that were asked for."""
    losses: Mapping[str, float]
    """Names of figures, such as "held-out perplexity" -> values, in the order of the card."""
    computed: Mapping[str, str]
    """How it was computed, such as "kernels" -> "torch"."""
    unread_documents: int
    """Documents of a single sentence, which the input `pairs` cannot read."""


def readme(card: Card, model: PretrainingModel) -> str:
    """Write the card as the hub shows it."""
    request = card.request
    lines = [
        "---",
        "library_name: transformers",
        "tags: [benchrunner, bert]",
        "---",
        "",
        f"# {_plain(request.model_name)}",
        "",
        *model.introduction(),
    ]
    if not INPUTS[request.settings.input].special_tokens:
        lines += ["", *_BARE_TEXT]
    lines += _table(("trained", "with"), *_training(card, model).items())
    if card.losses:
        lines += _table(("figure", "at the end"), *((name, f"{value:.4g}") for name, value in card.losses.items()))
    lines += _corpus(card)
    return "".join(f"{line}\n" for line in lines)


_BARE_TEXT = (
    "Its training text had no special tokens, as GPT's: [CLS] and [SEP] of the vocabulary, and the second segment, are",
    "learned in fine-tuning only.",
)


def _training(card: Card, model: PretrainingModel) -> dict[str, str]:
    settings = card.request.settings
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    return {
        "objective": model.objective.name,
        "input": f"{settings.input}: {INPUTS[settings.input].about}",
        "size": model.size,
        "parameters": f"{trained:,}, heads included",
        "vocabulary": f"{model.bert.tokenizer.size:,} pieces",
        "steps": _steps(settings, card.step),
        "batch": f"{settings.batch_size:,} sequences",
        "predicted": _predicted(settings),
        "dropout": f"{settings.dropout:g}",
        "fresh weights": f"standard deviation {settings.deviation:g}",
        "positions": "began as waves" if settings.positions == "waves" else "began drawn",
        "seed": str(settings.seed),
        "precision": settings.precision,
        **card.computed,
        "command": card.request.command,
        "versions": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _VERSIONS),
    }


def _steps(settings: Settings, step: int) -> str:
    """Say how many of the steps that were taken had sequences of which length."""
    first = min(step, settings.border)
    phases = ((first, settings.length_at(0)), (step - first, settings.length_at(settings.steps - 1)))
    return " + ".join(f"{steps:,} at length {length}" for steps, length in phases if steps)


def _predicted(settings: Settings) -> str:
    """Say which share of the tokens was predicted, and what replaced these tokens."""
    if not OBJECTIVES[settings.objective].is_masked:
        return "100% of the tokens"
    to_mask, to_random, to_same = settings.mask_shares
    replaced = f"{to_mask:.0%} [MASK], {to_random:.0%} random, {to_same:.0%} same"
    return f"{settings.chosen:.0%} of the tokens: {replaced}"


def _corpus(card: Card) -> list[str]:
    corpus = card.corpus
    sources = corpus.plan.sources
    totals = f"{corpus.documents:,} documents, {corpus.sentences:,} sentences, {corpus.tokens:,} tokens"
    lines = ["", "## Corpus", "", f"{len(sources):,} sources: {totals}."]
    if bad_bytes := sum(source.bad_bytes for source in sources):
        lines.append(f"Bytes that were not UTF-8 and were replaced: {bad_bytes:,}.")
    if card.unread_documents:
        count = f"{card.unread_documents:,}"
        lines.append(
            f"Documents of a single sentence, which were not read because they hold no pair of spans: {count}."
        )
    if filtered := sum(source.passages_only for source in sources):
        lines.append(f"Text passages only, without headings and lists, of {filtered:,} of the sources.")
    rows = [("source", "bytes", "sha256 or commit")]
    for source in sources[:SHOWN_SOURCES]:
        size = f"{source.size:,}" if source.size else ""
        rows.append((source.name, size, source.sha256 or source.revision))
    lines += _table(*rows)
    if len(sources) > SHOWN_SOURCES:
        lines += ["", f"... and {len(sources) - SHOWN_SOURCES:,} more: `corpus.json` lists all."]
    return lines


def _table(*rows: tuple[str, ...]) -> list[str]:
    """Write a table with the first row as its head."""
    lines = [f"| {' | '.join(map(_plain, row))} |" for row in rows]
    return ["", lines[0], f"|{'---|' * len(rows[0])}", *lines[1:]]


def _plain(text: str) -> str:
    """Escape names of files and other texts of users, so that Markdown shows them as they are."""
    return re.sub(r"([\\`*_{}\[\]<>|#&])", r"\\\1", " ".join(text.split()))
