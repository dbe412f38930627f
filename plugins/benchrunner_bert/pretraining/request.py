"""The request of a pre-training: everything that the user asked for, and what follows from it."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

from benchrunner_bert.pretraining.corpus.corpus import Corpus
from benchrunner_bert.pretraining.corpus.manifest import SourceFacts
from benchrunner_bert.pretraining.deepspeed.configuration import decisive
from benchrunner_bert.pretraining.settings import Plan, Settings, Texts


@final
@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    size: str
    """Size of the model: `tiny` ... `large`, L/H, or L/H/A."""
    corpus: tuple[str, ...]
    """Text files, folders and hub data sets to train on, as the user wrote them."""
    out: Path
    """Folder of the run."""
    settings: Settings
    held_out: tuple[str, ...] = ()
    """Texts to evaluate on, written in the same way as the corpus."""
    texts: Texts = dataclasses.field(default_factory=Texts)
    vocabulary: Path | None = None
    """A vocab.txt; None learns a vocabulary of `Texts.vocabulary_size` pieces from the corpus."""
    plan: Plan = dataclasses.field(default_factory=Plan)
    deepspeed_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Keys that replace those of our configuration for DeepSpeed."""
    command: str = ""
    """The command line, for the model card."""
    tokens: Path | None = None
    """Folder of the corpus as tokens, which several runs can share; None keeps the tokens in the folder of the run."""
    name: str | None = None
    """Name of the finished model among the backbones; None uses the name of the run's folder."""
    runs: Path = Path("runs")
    """Folder that holds the names of pre-trained models."""

    @cached_property
    def corpus_texts(self) -> Corpus:
        """The texts to train on. They are read once for their hashes, however many steps need the hashes."""
        return self._texts(self.corpus)

    @cached_property
    def held_out_texts(self) -> Corpus | None:
        """The texts to evaluate on, if there are some."""
        return self._texts(self.held_out) if self.held_out else None

    def _texts(self, references: Sequence[str]) -> Corpus:
        texts = self.texts
        return Corpus.named(references, blank_lines=texts.blank_lines, passages_only=texts.passages_only)

    @property
    def tokens_folder(self) -> Path:
        """Folder of the corpus as tokens, with the vocabulary that was learned from it."""
        return self.tokens or self.out / "tokens"

    @property
    def held_out_folder(self) -> Path:
        """Folder of the held-out texts as tokens."""
        return self.out / "held-out"

    @property
    def model_folder(self) -> Path:
        """Folder of the finished model."""
        return self.out / "model"

    def export_folder(self, step: int) -> Path:
        """Give the folder of the model after a step of `plan.export_at`."""
        return self.out / "exports" / f"step-{step}"

    @property
    def model_name(self) -> str:
        """Name of the finished model, without the prefix of pre-trained models."""
        return self.name or self.out.resolve().name


def decisive_facts(request: Request, corpus: Sequence[SourceFacts]) -> dict[str, Any]:
    """Give everything in a request that decides the result, with the hashes of its texts."""
    held_out = request.held_out_texts
    vocabulary = request.vocabulary
    return {
        "settings": request.settings.decisive(),
        "size": request.size,
        "blank_lines": request.texts.blank_lines,
        "vocabulary": request.texts.vocabulary_size if vocabulary is None else _hash(vocabulary),
        "lowercase": request.texts.lowercase,
        "overrides": decisive(request.deepspeed_options),
        "corpus": text_hashes(corpus),
        "held_out": [] if held_out is None else text_hashes(held_out.facts),
    }


def text_hashes(sources: Sequence[SourceFacts]) -> list[list[str]]:
    """Give the name and the content's hash of each text, and say if only its passages are read."""
    return [
        [source.name, *(["passages only"] if source.passages_only else []), source.sha256 or source.revision]
        for source in sources
    ]


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
