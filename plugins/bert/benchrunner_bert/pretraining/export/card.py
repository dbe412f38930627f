"""The model card: what a user of a pre-trained model needs to know that its weights do not say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from benchrunner_bert.configuration import Direction
from benchrunner_bert.pretraining.corpus.manifest import Manifest
from benchrunner_bert.pretraining.inputs import named
from benchrunner_bert.pretraining.training.model import PretrainingModel

SHOWN_SOURCES = 100
"""Number of sources that the card lists; corpus.json beside it lists all."""


@dataclass(frozen=True)
class Card:
    """The facts of a model card."""

    name: str
    corpus: Manifest
    phases: tuple[tuple[int, int], ...]
    """(steps, length of the sequences) of each phase; steps that were taken, not those that were asked for."""
    batch_size: int
    """Sequences in a step."""
    masking: Mapping[str, float]
    """What replaced the predicted tokens -> share of them; empty where no tokens were masked."""
    chosen: float
    """Share of tokens that were predicted."""
    losses: Mapping[str, float]
    """Names of figures, such as "held-out perplexity" -> values, in the order of the card."""
    seed: int
    precision: str
    command: str
    """Command line that makes the model again."""
    versions: Mapping[str, str]
    """Libraries -> versions."""
    dropout: float = 0.1
    """Dropout rate of the pre-training; config.json has the rate that fine-tuning starts with."""
    positions: str = "drawn"
    """Initial position embeddings: one of `settings.POSITIONS`."""
    input: str = "pairs"
    """Name of one of `inputs.INPUTS`."""


def readme(card: Card, model: PretrainingModel) -> str:
    """Write the card as the hub shows it."""
    return "\n".join([*_head(card, model), *_facts(card, model), *_figures(card), *_corpus(card.corpus)]) + "\n"


def _head(card: Card, model: PretrainingModel) -> Iterator[str]:
    objective = model.objective
    yield from (
        "---",
        f"library_name: {'transformers' if objective.architecture else 'benchrunner'}",
        "tags: [benchrunner, bert]",
        "---",
        "",
        f"# {_plain(card.name)}",
        "",
    )
    yield f"A BERT of {model.bert.config.layers} layers, {model.bert.config.hidden} wide, pre-trained by benchrunner on"
    yield f"{objective.about}. To fine-tune and compare it: `benchrunner compare FOLDER --tasks ...`."
    if objective.architecture:
        yield f"In transformers it is a `{objective.architecture}`, whose losses are those it was trained with."
    if objective.direction in _RESTRICTIONS:
        yield from ("", *_RESTRICTIONS[objective.direction])
    if not objective.next_sentence:
        yield from ("", "Its objective trains no pooler, so the files have none: fine-tuning draws a new pooler.")


_LOOKS_LEFT = (
    "**Its attention looks left only.** config.json says so twice: `attention_direction` is benchrunner's key,",
    "`is_decoder` is transformers'. A library that knows neither would ignore the restriction and compute another",
    "model. The vector of a sequence is its last token's state, since the first token sees nothing but itself; a",
    "library that pools the first token, as transformers' own classifiers of sequences do, learns nothing from it.",
)

_LOOKS_RIGHT = (
    "**Its attention looks right only.** `attention_direction` in config.json says so, and each position was trained",
    "to predict the token before it. No class of transformers computes this model. Its `model_type` is one that",
    "transformers does not know, so that `AutoModel` refuses the files; `BertModel` would read the weights and",
    "compute another model. The vector of a sequence is its first token's state, which has seen all tokens.",
)
_RESTRICTIONS: Mapping[Direction, tuple[str, ...]] = {"left-to-right": _LOOKS_LEFT, "right-to-left": _LOOKS_RIGHT}
"""Direction of attention -> what a user of other libraries must know."""


def _facts(card: Card, model: PretrainingModel) -> Iterator[str]:
    config = model.bert.config
    trained = sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
    shares = ", ".join(f"{share:.0%} {replacement}" for replacement, share in card.masking.items())
    yield from _table(
        ("trained", "with"),
        ("objective", model.objective.name),
        ("input", f"{card.input}: {named(card.input).about}"),
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
        yield from _table(("figure", "at the end"), *((name, f"{value:.4g}") for name, value in card.losses.items()))


def _corpus(corpus: Manifest) -> Iterator[str]:
    totals = f"{corpus.documents:,} documents, {corpus.sentences:,} sentences, {corpus.tokens:,} tokens"
    yield from ("", "## Corpus", "", f"{len(corpus.sources):,} sources: {totals}.")
    if bad_bytes := sum(source.bad_bytes for source in corpus.sources):
        yield f"Bytes that were not UTF-8 and were replaced: {bad_bytes:,}."
    shown = corpus.sources[:SHOWN_SOURCES]
    rows = (
        (source.name, f"{source.size:,}" if source.size else "", source.sha256 or source.revision) for source in shown
    )
    yield from _table(("source", "bytes", "sha256 or commit"), *rows)
    if more := len(corpus.sources) - len(shown):
        yield from ("", f"... and {more:,} more: `corpus.json` lists all.")


def _table(*rows: tuple[str, ...]) -> Iterator[str]:
    """Write a table with the first row as its head."""
    head, *body = (f"| {' | '.join(map(_plain, row))} |" for row in rows)
    yield from ("", head, f"|{'---|' * len(rows[0])}", *body)


def _plain(text: str) -> str:
    """Escape names of files and other texts of users, so that Markdown shows them as they are."""
    return re.sub(r"([\\`*_{}\[\]<>|#&])", r"\\\1", " ".join(text.split()))
