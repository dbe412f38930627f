"""BERT backbones: a checkpoint in a folder, a checkpoint on the hub, and fresh weights."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import Workspace
from benchrunner.engine import Backbone, write_atomically
from benchrunner_bert.configuration import Configuration
from benchrunner_checkpoints import hub_files, sentence_files

if TYPE_CHECKING:
    from benchrunner.engine import Encoder

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt", *sentence_files.FILES)
"""Files of a checkpoint besides its weights."""
VOCABULARY = Path(__file__).with_name("vocabulary.txt")
"""Vocabulary of fresh models: 8,000 uncased pieces learned from public-domain novels, which vocabulary.json lists."""


@final
@dataclass(frozen=True)
class BertCheckpoint(Backbone):
    """A BERT checkpoint.

    One on the hub is downloaded once into the hub's own cache.
    """

    name: str
    place: Path | str
    """A folder; or a hub id, perhaps with @REVISION."""
    about: str = "a checkpoint in a folder"
    for_demo: bool = False
    twin: str = ""

    def revision(self, workspace: Workspace) -> str:
        """Hash all files of the checkpoint that loading reads.

        A checkpoint whose revision is new is loaded once, so that a command with a bad one ends before its first fit.
        """
        from importlib.metadata import version

        from benchrunner.engine import Cache
        from benchrunner_bert.checkpoint import WEIGHTS

        folder = self._folder(workspace)
        cache = Cache(workspace.cache)
        digest = hashlib.sha256()
        for path in (*(folder / name for name in FILES), *hub_files.weight_files(folder, WEIGHTS)):
            if path.is_file():
                digest.update(f"{path.name} {cache.file_hash(path)}\n".encode())
        memory = workspace.cache / "checked" / f"{digest.hexdigest()}-bert-{version('benchrunner')}"
        if not memory.exists():
            self.load(workspace, seed=0)
            write_atomically(memory, lambda part: part.touch())
        return digest.hexdigest()

    def layer_count(self, workspace: Workspace) -> int:
        return self._configuration(workspace).layers

    def weight_count(self, workspace: Workspace) -> int:
        return self._configuration(workspace).weights

    def summary(self, workspace: Workspace) -> str:
        return sentence_files.published_summary(self._folder(workspace))

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_bert.checkpoint import read

        folder = self._folder(workspace)
        encoder = read(folder, seed=seed)
        if isinstance(self.place, str):
            encoder.notes += hub_files.commit_notes(self.place, folder)
        return encoder

    def _configuration(self, workspace: Workspace) -> Configuration:
        return Configuration.read(self._folder(workspace) / "config.json")

    def _folder(self, workspace: Workspace) -> Path:
        """Download what is missing, all of one commit; files in the cache need no request to the hub."""
        from benchrunner_bert.checkpoint import WEIGHTS

        if isinstance(self.place, Path):
            return self.place
        return hub_files.download_checkpoint(self.place, workspace, files=FILES[1:], weights=WEIGHTS)


@final
@dataclass(frozen=True)
class RandomBert(Backbone):
    """Fresh weights: the baseline that shows what pre-training is worth."""

    name: str
    size: str
    about: str = "fresh weights, no pre-training; reads with the built-in vocabulary"

    def revision(self, workspace: Workspace) -> str:
        config = self._configuration()
        text = f"random weights 1 {config} {hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()}"
        return hashlib.sha256(text.encode()).hexdigest()

    def layer_count(self, workspace: Workspace) -> int:
        return self._configuration().layers

    def weight_count(self, workspace: Workspace) -> int:
        return self._configuration().weights

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        """Build a model with random weights. They are the same for every `seed`: all fits start from one model."""
        from benchrunner.engine import randomness
        from benchrunner_bert.model import Bert
        from benchrunner_bert.token_head import fresh_head
        from benchrunner_bert.tokenizer import BertTokenizer

        model = Bert(self._configuration(), BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True))
        model.draw(randomness.generator(0, "random backbone"))
        model.make_token_head = partial(fresh_head, model)
        return model

    def _configuration(self) -> Configuration:
        pieces = VOCABULARY.read_text(encoding="utf-8").count("\n")
        return Configuration.of_size(self.size, pieces)
