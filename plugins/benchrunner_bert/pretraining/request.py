"""The request of a pre-training: everything that the user asked for, and what follows from it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from benchrunner import DataError, Workspace, print_note, read_json_object, read_text
from benchrunner.results import Declared, parameter
from benchrunner_bert.pretraining.inputs import INPUTS
from benchrunner_bert.pretraining.settings import Settings

if TYPE_CHECKING:
    from benchrunner_bert.pretraining.corpus.corpus import Corpus
    from benchrunner_bert.pretraining.corpus.token_store import TokenStore


@final
@dataclass(frozen=True)
class Request(Declared):
    """What the user asked for. Every option is declared once, here or in `Settings`."""

    size: str
    """Size of the model: `tiny` ... `large`, L/H, or L/H/A."""
    corpus: tuple[str, ...]
    """Text files, folders and hub data sets to train on, as the user wrote them."""
    out: Path
    """Folder of the run."""
    settings: Settings
    held_out: tuple[str, ...] = ()
    """Texts to evaluate on, written in the same way as the corpus."""
    command: str = ""
    """The command line, for the model card."""
    quiet: bool = False
    """Whether no progress is printed."""
    vocabulary: Path | None = parameter(None, "use this vocab.txt", Path, option="vocab")
    """None learns a vocabulary of `vocabulary_size` pieces from the corpus."""
    vocabulary_size: int = parameter(
        30_522, "pieces of a vocabulary that is learned", at_least=100, at_most=5 * 10**6, option="vocab_size"
    )
    """Fewer cannot spell English. The largest is five times that of known models (XLM-V's), and 1 GB of memory."""
    blank_lines: int = parameter(
        1, "blank lines in a row that end a document of a text file; 0: one document per file", at_least=0
    )
    passages_only: bool | None = parameter(
        None,
        "read only text passages of extracted Wikipedia, no headings and lists; by default of the hub's Wikipedia",
        bool,
    )
    word_list: Path | None = parameter(
        None,
        "words, one a line: the characters of each are one word for --whole-words, as Chinese needs it",
        Path,
        option="words",
    )
    lowercase: bool | None = parameter(
        None,
        "read capital letters as small ones; by default unless a given vocabulary has some",
        bool,
    )
    name: str | None = parameter(
        None, "name of the model in 'benchrunner list', after pretrained/ (the folder's name)", str
    )
    tokens: Path | None = parameter(None, "folder of the corpus as tokens; runs can share it (OUT/tokens)", Path)
    runs: Path | None = parameter(None, "folder that holds the names of models (BENCHRUNNER_RUNS, else ./runs)", Path)
    processes: int = parameter(
        1, "processes on this machine; torchrun starts those of several machines", at_least=1, at_most=1_024
    )
    deepspeed_config: Path | None = parameter(
        None, "JSON file with keys that replace our DeepSpeed configuration", Path
    )
    kernels: bool = parameter(True, "on a CPU: let a plugin's compiled kernels compute")
    checkpoint_steps: int = parameter(1000, "steps between checkpoints", at_least=1, at_most=10**12)
    keep_checkpoints: int = parameter(2, "number of checkpoints to keep", at_least=1, at_most=10**6)
    evaluate_steps: int = parameter(1000, "steps between evaluations on --held-out", at_least=1, at_most=10**12)
    held_out_instances: int = parameter(256, "sequences of an evaluation", at_least=1, at_most=10**8)
    log_steps: int = parameter(10, "steps between lines of the log", at_least=1, at_most=10**12)
    export_at: tuple[int, ...] = parameter((), "also keep the models of these steps", int, separator=",")

    @cached_property
    def corpus_texts(self) -> Corpus:
        """The texts to train on. They are read once for their hashes, however many steps need the hashes."""
        return self._texts(self.corpus)

    @cached_property
    def held_out_texts(self) -> Corpus | None:
        """The texts to evaluate on, if there are some."""
        return self._texts(self.held_out) if self.held_out else None

    @cached_property
    def listed_words(self) -> tuple[str, ...]:
        """The listed words of two characters or more; what follows a blank in a line, such as a count, is not read."""
        if self.word_list is None:
            return ()
        lines = map(str.split, read_text(self.word_list).splitlines())
        words = tuple(line[0] for line in lines if line and len(line[0]) > 1)
        if not words:
            raise DataError(f"{self.word_list}: no line begins with a word of two characters or more; list such words.")
        return words

    def _texts(self, references: Sequence[str]) -> Corpus:
        from benchrunner_bert.pretraining.corpus.corpus import Corpus

        return Corpus.named(references, blank_lines=self.blank_lines, passages_only=self.passages_only)

    @cached_property
    def deepspeed_options(self) -> dict[str, Any]:
        """Keys that replace those of our configuration for DeepSpeed."""
        return {} if self.deepspeed_config is None else read_json_object(self.deepspeed_config)

    @property
    def tokens_folder(self) -> Path:
        """Folder of the corpus as tokens, with the vocabulary that was learned from it."""
        return self.tokens or self.out / "tokens"

    @property
    def model_folder(self) -> Path:
        """Folder of the finished model."""
        return self.out / "model"

    def export_folder(self, step: int) -> Path:
        """Give the folder of the model after a step of `export_at`."""
        return self.out / "exports" / f"step-{step}"

    @property
    def model_name(self) -> str:
        """Name of the finished model, without the prefix of pre-trained models."""
        return self.name or self.out.resolve().name

    @property
    def names(self) -> Path:
        """Folder that holds the names of pre-trained models."""
        return Workspace.from_environment(runs=self.runs).runs

    def unread_documents(self, store: TokenStore) -> int:
        """Count the documents that the input cannot read: pairs need two sentences of a document."""
        return store.lone_sentences if INPUTS[self.settings.input].pairs else 0

    def tell(self, text: str, *, also_quiet: bool = False) -> None:
        """Print a line of progress in the first process of the run, and go on where the terminal is gone."""
        if (also_quiet or not self.quiet) and not int(os.environ.get("RANK") or 0):
            with contextlib.suppress(OSError):
                print_note(f"  {text}")
