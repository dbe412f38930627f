"""Backbones of the library transformers: a model in a folder, a model on the hub, and the family of all of them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import CheckpointError, Workspace, read_json_object
from benchrunner.engine import Backbone, BackboneFamily, hub_files, write_atomically
from benchrunner_transformers.checkpoint.weight_files import SUMMARY, WEIGHTS, read_shapes, weight_files
from benchrunner_transformers.names import RELEASED, Reference

if TYPE_CHECKING:
    from benchrunner.engine import Encoder

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "spm.model",
    "spiece.model",
    "sentencepiece.model",
    "sentencepiece.bpe.model",
)
"""Names of the files that tokenizers are downloaded from."""
_WEIGHTS = (".bin", ".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".pt", ".pth", ".safetensors")
"""Ends of the names of files that no tokenizer is read from."""
_LIBRARIES = ("benchrunner", "safetensors", "tokenizers", "torch", "transformers")
"""Distributions that take part in checking a checkpoint."""


@final
@dataclass(frozen=True)
class FolderModel(Backbone):
    """A model in a folder."""

    name: str
    reference: Reference
    about: str = "a model in a folder"

    def revision(self, workspace: Workspace) -> str:
        return _revision(Path(self.reference.model), self.reference, workspace)

    def layer_count(self, workspace: Workspace) -> int:
        return _layer_count(Path(self.reference.model), self.reference)

    def weight_count(self, workspace: Workspace) -> int:
        return _weight_count(Path(self.reference.model))

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_transformers.loading import load

        return load(Path(self.reference.model), seed=seed, encoder_only=self.reference.encoder_only)


@final
@dataclass(frozen=True)
class HubModel(Backbone):
    """A model on the hub, downloaded once into the hub's own cache."""

    name: str
    reference: Reference
    about: str

    def revision(self, workspace: Workspace) -> str:
        return _revision(self._folder(workspace), self.reference, workspace)

    def layer_count(self, workspace: Workspace) -> int:
        return _layer_count(self._folder(workspace), self.reference)

    def weight_count(self, workspace: Workspace) -> int:
        return _weight_count(self._folder(workspace))

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_transformers.loading import load

        return load(self._folder(workspace), seed=seed, encoder_only=self.reference.encoder_only)

    def _folder(self, workspace: Workspace) -> Path:
        from benchrunner_transformers.checkpoint.tokenizer_files import versioned_files

        repository = self.reference.model
        folder = hub_files.download_checkpoint(repository, workspace, files=TOKENIZER_FILES, weights=WEIGHTS)
        options = folder / "tokenizer_config.json"
        named = read_json_object(options, error=CheckpointError) if options.is_file() else {}
        for name in versioned_files(named):
            if name == Path(name).name:  # else the tokenizer is refused when it is read
                hub_files.find_hub_file(repository, name, workspace, folder.name)
        return folder


def _revision(folder: Path, reference: Reference, workspace: Workspace) -> str:
    """Hash a model's weights and settings, its tokenizer as it is, and which part is used; check the model.

    The model is loaded where a file changed that loading may read.
    """
    from benchrunner.engine import Cache

    cache = Cache(workspace.cache)
    digest = hashlib.sha256()
    for path in (folder / "config.json", folder / SUMMARY, *weight_files(folder)):
        if path.is_file():
            digest.update(f"{path.name} {cache.file_hash(path)}\n".encode())
    if reference.encoder_only:
        digest.update(b"encoder only\n")
    files = digest.copy()
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix not in _WEIGHTS:
            files.update(f"{path.name} {cache.file_hash(path)}\n".encode())
    digest.update(_checked_tokenizer(folder, reference, files.hexdigest(), workspace).encode())
    return digest.hexdigest()


def _layer_count(folder: Path, reference: Reference) -> int:
    from benchrunner_transformers.checkpoint.checking import check, made_on_meta
    from benchrunner_transformers.model.layers import layers_of, no_layers

    checkpoint = check(folder, encoder_only=reference.encoder_only)
    model = made_on_meta(folder / "config.json", checkpoint.model_class, checkpoint.config)
    if layers := layers_of(model):
        return len(layers)
    raise no_layers(model)


def _weight_count(folder: Path) -> int:
    """Count the weights in a model's files, those of its published head included."""
    return sum(tensor.numel() for tensor in read_shapes(weight_files(folder)).values())


def _checked_tokenizer(folder: Path, reference: Reference, files: str, workspace: Workspace) -> str:
    """Return the fingerprint of a checkpoint's tokenizer; load a checkpoint that the same code never loaded before.

    The values of the weights are checked as well, so that a command ends before its first fit. `files` is a hash of
    the files.
    """
    memory = workspace.cache / "checked" / f"{files}-{checking_code()}.json"
    with contextlib.suppress(CheckpointError):
        kept = read_json_object(memory, error=CheckpointError).get("tokenizer") if memory.is_file() else None
        if isinstance(kept, str):
            return kept
    from benchrunner_transformers.loading import load

    fingerprint = load(folder, seed=0, encoder_only=reference.encoder_only).tokenizer_fingerprint
    write_atomically(memory, lambda part: part.write_text(json.dumps({"tokenizer": fingerprint})))
    return fingerprint


def checking_code() -> str:
    """Hash the code that checks a checkpoint: the source of this plugin, and the versions of its libraries."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    for library in _LIBRARIES:
        digest.update(f"{library} {version(library)}\n".encode())
    return digest.hexdigest()[:16]


_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@final
class TransformersFamily(BackboneFamily):
    """Every text model whose architecture the library transformers has.

    The plugin `bert` is asked first, and takes every BERT; with the reference `transformers:MODEL` only this family is
    asked.
    """

    def listed(self) -> list[Backbone]:
        return [HubModel(name, Reference.parse(name), about) for name, about in RELEASED.items()]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        parsed = Reference.parse(reference)
        if Path(parsed.model).is_dir():
            return _of_known_architecture(FolderModel(reference, parsed), Path(parsed.model) / "config.json")
        for name, about in RELEASED.items():
            released = Reference.parse(name).model
            if parsed.model in (released, released.rpartition("/")[2]):
                return HubModel(reference, Reference(released, parsed.encoder_only), about)
        if _HUB_ID.fullmatch(parsed.model) and not Path(parsed.model).exists():
            config = hub_files.download_hub_file(parsed.model, "config.json", workspace)
            return _of_known_architecture(HubModel(reference, parsed, "a model on the hub"), config)
        return None


def _of_known_architecture(backbone: Backbone, config: Path) -> Backbone | None:
    """Return the backbone, or None if there is no config.json; refuse architectures that the library does not have."""
    if not config.is_file():
        return None
    from benchrunner_transformers.checkpoint.configuration import read_settings

    read_settings(config)
    return backbone
