"""The model card: what a user of a pre-trained model needs to know that its weights do not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchrunner_bert.pretraining.corpus.manifest import Manifest
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.objectives import named
from benchrunner_bert.pretraining.settings import Settings
from benchrunner_bert.pretraining.training.trained_model import TrainedModel

SHOWN_SOURCES = 100
"""Number of sources that the card lists; corpus.json beside it lists all."""


@dataclass(frozen=True)
class Card:
    """The facts of a model card."""

    name: str
    corpus: Manifest
    settings: Settings
    step: int
    """Steps that were taken, which may be fewer than those that were asked for."""
    losses: Mapping[str, float]
    """Names of figures, such as "held-out perplexity" -> values, in the order of the card."""
    command: str
    """Command line that makes the model again."""
    versions: Mapping[str, str]
    """Libraries -> versions."""
    denormals: str = "kept"
    """What became of denormal numbers: see `flushed_denormals`."""
    kernels: str = "torch"
    """What computed attention and norms: torch, or kernels for CPUs."""
    stage: int = 0
    """DeepSpeed's ZeRO stage that was used."""
    unread_documents: int = 0
    """Documents of a single sentence, which the input `pairs` cannot read."""


def readme(card: Card, model: TrainedModel) -> str:
    """Write the card as the hub shows it."""
    lines = [*_head(card, model), *_facts(card, model), *_figures(card), *_corpus(card)]
    return "".join(f"{line}\n" for line in lines)


def _head(card: Card, model: TrainedModel) -> Iterator[str]:
    yield from (
        "---",
        f"library_name: {'transformers' if model.objective.architecture else 'benchrunner'}",
        f"tags: [{', '.join(model.tags)}]",
        "---",
        "",
        f"# {_plain(card.name)}",
        "",
    )
    yield from model.introduction()
    if not INPUTS[card.settings.input].special_tokens:
        yield from ("", *_BARE_TEXT)


_BARE_TEXT = (
    "Its training text had no special tokens, as GPT's: [CLS] and [SEP] of the vocabulary, and the second segment, are",
    "learned in fine-tuning only.",
)


def _facts(card: Card, model: TrainedModel) -> Iterator[str]:
    settings = card.settings
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    positions = "began as waves" if settings.positions == "waves" else "began drawn"
    began = (("fresh weights", f"standard deviation {settings.deviation:g}"), ("positions", positions))
    zero = f"stage {card.stage}"
    if card.stage != settings.zero:
        zero += f" (--zero {settings.zero} was asked for)"
    yield from _table(
        ("trained", "with"),
        ("objective", model.objective.name),
        ("input", f"{settings.input}: {INPUTS[settings.input].about}"),
        ("size", model.size),
        ("parameters", f"{trained:,}, heads included"),
        ("vocabulary", f"{model.tokenizer.size:,} pieces"),
        ("steps", _steps(settings, card.step)),
        ("batch", f"{settings.batch_size:,} sequences"),
        ("predicted", _predicted(settings)),
        ("dropout", f"{settings.dropout:g}"),
        *(began if model.has_positions else ()),
        ("seed", str(settings.seed)),
        ("precision", settings.precision),
        ("denormal numbers", card.denormals),
        ("kernels", card.kernels),
        ("ZeRO", zero),
        ("command", card.command),
        ("versions", ", ".join(f"{name} {version}" for name, version in card.versions.items())),
    )


def _steps(settings: Settings, step: int) -> str:
    """Say how many of the steps that were taken had sequences of which length."""
    first = min(step, settings.border)
    phases = ((first, settings.length_at(0)), (step - first, settings.length_at(settings.steps - 1)))
    return " + ".join(f"{steps:,} at length {length}" for steps, length in phases if steps)


def _predicted(settings: Settings) -> str:
    """Say which share of the tokens was predicted, and what replaced these tokens."""
    if not named(settings.objective).is_masked:
        return "100% of the tokens"
    to_mask, to_random, to_same = settings.mask_shares
    replaced = f"{to_mask:.0%} [MASK], {to_random:.0%} random, {to_same:.0%} same"
    return f"{settings.chosen:.0%} of the tokens: {replaced}"


def _figures(card: Card) -> Iterator[str]:
    if card.losses:
        rows = [(name, f"{value:.4g}") for name, value in card.losses.items()]
        yield from _table(("figure", "at the end"), *rows)


def _corpus(card: Card) -> Iterator[str]:
    corpus = card.corpus
    totals = f"{corpus.documents:,} documents, {corpus.sentences:,} sentences, {corpus.tokens:,} tokens"
    yield from ("", "## Corpus", "", f"{len(corpus.sources):,} sources: {totals}.")
    bad_bytes = sum(source.bad_bytes for source in corpus.sources)
    if bad_bytes:
        yield f"Bytes that were not UTF-8 and were replaced: {bad_bytes:,}."
    if card.unread_documents:
        count = f"{card.unread_documents:,}"
        yield f"Documents of a single sentence, which were not read because they hold no pair of spans: {count}."
    filtered = sum(source.passages_only for source in corpus.sources)
    if filtered:
        yield f"Text passages only, without headings and lists, of {filtered:,} of the sources."
    shown = corpus.sources[:SHOWN_SOURCES]
    rows = list[tuple[str, ...]]()
    for source in shown:
        size = f"{source.size:,}" if source.size else ""
        rows.append((source.name, size, source.sha256 or source.revision))
    yield from _table(("source", "bytes", "sha256 or commit"), *rows)
    more = len(corpus.sources) - len(shown)
    if more:
        yield from ("", f"... and {more:,} more: `corpus.json` lists all.")


def _table(*rows: tuple[str, ...]) -> Iterator[str]:
    """Write a table with the first row as its head."""
    yield ""
    for number, row in enumerate(rows):
        yield f"| {' | '.join(map(_plain, row))} |"
        if number == 0:
            yield f"|{'---|' * len(row)}"


def _plain(text: str) -> str:
    """Escape names of files and other texts of users, so that Markdown shows them as they are."""
    return re.sub(r"([\\`*_{}\[\]<>|#&])", r"\\\1", " ".join(text.split()))
