"""The model card: what somebody must know who meets a pre-trained model without its makers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchrunner_bert.pretraining.corpus.manifest import Manifest
from benchrunner_bert.pretraining.training.model import PretrainingModel

SHOWN_SOURCES = 100
"""How many files of a corpus the card lists; corpus.json beside it has them all."""


@dataclass(frozen=True)
class Card:
    """What the weights do not say about themselves."""

    name: str
    corpus: Manifest
    phases: tuple[tuple[int, int], ...]
    """(steps, length of the sequences), in their order; steps that were taken, not those that were asked for."""
    batch_size: int
    """Sequences a step."""
    masking: Mapping[str, float]
    """What became of the tokens that were chosen, and of which share of them; empty where none were."""
    chosen: float
    """The share of tokens that were chosen for prediction."""
    losses: Mapping[str, float]
    """By what they are of, such as "held-out perplexity", in the order to be shown."""
    seed: int
    precision: str
    command: str
    """Makes it again."""
    versions: Mapping[str, str]
    dropout: float = 0.1
    """While it was pre-trained; config.json has what fine-tuning is to begin with."""
    positions: str = "drawn"
    """As what they began: one of `settings.POSITIONS`."""


def readme(card: Card, model: PretrainingModel) -> str:
    """The card as the hub shows it."""
    return "\n".join([*_head(card, model), *_facts(card, model), *_figures(card), *_corpus(card.corpus)]) + "\n"


def _head(card: Card, model: PretrainingModel) -> Iterator[str]:
    objective = model.objective
    yield from (
        "---",
        "library_name: transformers",
        "tags: [benchrunner, bert]",
        "---",
        "",
        f"# {_plain(card.name)}",
        "",
    )
    yield f"A BERT of {model.bert.config.layers} layers, {model.bert.config.hidden} wide, pre-trained by benchrunner on"
    yield f"{objective.about}. To fine-tune and compare it: `benchrunner compare FOLDER --tasks ...`. In transformers"
    yield f"it is a `{objective.architecture}`, whose losses are those it was trained with."
    if objective.left_only:
        yield from ("", *_RESTRICTION)
    if not objective.next_sentence:
        yield from ("", "Its objective trains no pooler, so there is none: whoever needs one draws a fresh one.")


_RESTRICTION = (
    "**Its attention looks left only.** config.json says so twice: `attention_direction` is benchrunner's key,",
    "`is_decoder` is transformers'. A library that knows neither would ignore the restriction and compute another",
    "model. A sequence's vector is its last token's, since the first one sees nothing but itself; a library that",
    "pools the first token, as transformers' own classifiers of sequences do, learns nothing from it.",
)


def _facts(card: Card, model: PretrainingModel) -> Iterator[str]:
    config = model.bert.config
    trained = sum(one.numel() for one in model.parameters() if one.requires_grad)
    shares = ", ".join(f"{share:.0%} {what}" for what, share in card.masking.items())
    yield from _table(
        ("trained", "with"),
        ("objective", model.objective.name),
        ("size", f"{config.layers} layers, {config.hidden} wide, {config.heads} heads"),
        ("parameters", f"{trained:,}, heads included"),
        ("vocabulary", f"{config.vocabulary:,} pieces"),
        ("steps", " + ".join(f"{steps:,} at length {length}" for steps, length in card.phases)),
        ("batch", f"{card.batch_size:,} sequences"),
        ("predicted", f"{card.chosen:.0%} of the tokens" + (f": {shares}" if shares else "")),
        ("dropout", f"{card.dropout:g}"),
        ("positions", f"began {'as waves' if card.positions == 'waves' else 'drawn'}"),
        ("seed", str(card.seed)),
        ("precision", card.precision),
        ("command", card.command),
        ("versions", ", ".join(f"{name} {version}" for name, version in card.versions.items())),
    )


def _figures(card: Card) -> Iterator[str]:
    if card.losses:
        yield from _table(("figure", "at the end"), *((what, f"{value:.4g}") for what, value in card.losses.items()))


def _corpus(corpus: Manifest) -> Iterator[str]:
    totals = f"{corpus.documents:,} documents, {corpus.sentences:,} sentences, {corpus.tokens:,} tokens"
    yield from ("", "## Corpus", "", f"{len(corpus.sources):,} sources: {totals}.")
    if bad := sum(one.bad_bytes for one in corpus.sources):
        yield f"Bytes that were not UTF-8 and were replaced: {bad:,}."
    shown = corpus.sources[:SHOWN_SOURCES]
    rows = ((one.name, f"{one.size:,}" if one.size else "", one.sha256 or one.revision) for one in shown)
    yield from _table(("source", "bytes", "sha256 or commit"), *rows)
    if more := len(corpus.sources) - len(shown):
        yield from ("", f"... and {more:,} more: `corpus.json` lists all.")


def _table(*rows: tuple[str, ...]) -> Iterator[str]:
    """With the first row as its head."""
    head, *others = (f"| {' | '.join(map(_plain, row))} |" for row in rows)
    yield from ("", head, f"|{'---|' * len(rows[0])}", *others)


def _plain(text: str) -> str:
    """Names of files and whatever else users bring, so that Markdown shows them and does nothing else."""
    return re.sub(r"([\\`*_{}\[\]<>|#&])", r"\\\1", " ".join(text.split()))
