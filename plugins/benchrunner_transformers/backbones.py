"""Backbones of the library transformers: a model in a folder, a model on the hub, and the family of all of them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import CheckpointError, Workspace, read_json_object
from benchrunner.engine import Backbone, BackboneFamily, write_atomically
from benchrunner_checkpoints import hub_files, sentence_files, tensor_files
from benchrunner_transformers.names import SUMMARY, WEIGHTS, Reference, released_models

if TYPE_CHECKING:
    from benchrunner.engine import Encoder
    from benchrunner_transformers.checkpoint.own_code import OwnCode

FILES = (
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
    *sentence_files.FILES,
)
"""Names of the files that are downloaded beside the configuration and the weights: most are of tokenizers."""
_WEIGHTS = (".bin", ".gguf", ".h5", ".msgpack", ".onnx", ".ot", ".pt", ".pth", ".safetensors")
"""Ends of the names of files that no tokenizer is read from."""
_LIBRARIES = ("benchrunner", "safetensors", "tokenizers", "torch", "transformers")
"""Distributions that take part in checking a checkpoint."""


@final
@dataclass(frozen=True)
class LibraryModel(Backbone):
    """A model in a folder or on the hub, from where it is downloaded once into the hub's own cache."""

    name: str
    reference: Reference
    about: str
    on_hub: bool = False
    own_code: bool = False
    """Whether its own code computes the model, which the user trusts. Only `load` runs the code."""

    def revision(self, workspace: Workspace) -> str:
        """Hash weights and settings, the tokenizer as it is, and what further tells models apart.

        The model is loaded where it was never checked: a command with bad weights then ends before its first fit.
        """
        from benchrunner.engine import Cache

        folder = self.folder(workspace)
        code = self._code(folder, workspace)
        cache = Cache(workspace.cache)
        digest = hashlib.sha256()
        named = ("config.json", SUMMARY, *sentence_files.FILES)
        for path in (*map(folder.joinpath, named), *hub_files.weight_files(folder, WEIGHTS)):
            if path.is_file():
                digest.update(f"{path.name} {cache.file_hash(path)}\n".encode())
        if code is not None:
            digest.update(f"own code {code.digest}\n".encode())
        elif self.reference.encoder_only:
            digest.update(b"encoder only\n")
        files = digest.copy()
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.suffix not in _WEIGHTS:
                files.update(f"{path.name} {cache.file_hash(path)}\n".encode())
        memory = workspace.cache / "checked" / f"{files.hexdigest()}-{checking_code()}.json"
        digest.update(self._fingerprint(folder, memory).encode())
        return digest.hexdigest()

    def _fingerprint(self, folder: Path, memory: Path) -> str:
        """Return the fingerprint of the tokenizer; read it where the same code never read the same files before.

        No own code runs. The values of the weights of a model of the library are checked as well.
        """
        with contextlib.suppress(CheckpointError):
            kept = read_json_object(memory, error=CheckpointError).get("tokenizer") if memory.is_file() else None
            if isinstance(kept, str):
                return kept
        if self.own_code:
            from benchrunner_transformers.checkpoint.configuration import own_configuration
            from benchrunner_transformers.checkpoint.tokenizer import HubTokenizer

            settings = read_json_object(folder / "config.json", error=CheckpointError)
            tokenizer = HubTokenizer.read(folder, own_configuration(settings, None)).fingerprint
        else:
            from benchrunner_transformers.loading import load

            tokenizer = load(folder, seed=0, encoder_only=self.reference.encoder_only).tokenizer_fingerprint
        write_atomically(memory, lambda part: part.write_text(json.dumps({"tokenizer": tokenizer})))
        return tokenizer

    def layer_count(self, workspace: Workspace) -> int | None:
        if self.own_code:
            return None
        from benchrunner_transformers.checkpoint.checking import check, made_on_meta
        from benchrunner_transformers.model.layers import layers_of, no_layers

        folder = self.folder(workspace)
        checkpoint = check(folder, encoder_only=self.reference.encoder_only)
        model = made_on_meta(folder / "config.json", checkpoint.model_class, checkpoint.config)
        if layers := layers_of(model):
            return len(layers)
        raise no_layers(model)

    def weight_count(self, workspace: Workspace) -> int:
        """Count the weights in the model's files, those of its published head included."""
        files = hub_files.weight_files(self.folder(workspace), WEIGHTS)
        return sum(tensor.numel() for tensor in tensor_files.read_shapes(*files).values())

    def summary(self, workspace: Workspace) -> str:
        return sentence_files.published_summary(self.folder(workspace))

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_transformers.loading import load, load_with_code

        folder = self.folder(workspace)
        code = self._code(folder, workspace)
        if code is None:
            encoder = load(folder, seed=seed, encoder_only=self.reference.encoder_only)
        else:
            encoder = load_with_code(folder, code, workspace, seed=seed)
            encoder.notes += (f"the model is computed by its own code, {code.digest[:12]}",)
        encoder.notes += self.notes(folder)
        return encoder

    def _code(self, folder: Path, workspace: Workspace) -> OwnCode | None:
        """Return the model's own code as it is now; raise `CheckpointError` if the code is trusted no more."""
        from benchrunner_transformers.checkpoint.own_code import trusted_code

        if not self.own_code:
            return None
        config = folder / "config.json"
        settings = read_json_object(config, error=CheckpointError)
        code = trusted_code(config, settings, self.home(folder), workspace)
        if code is None:
            raise CheckpointError(f"{folder}: the code of the model changed, and is not trusted any more.")
        return code

    def notes(self, folder: Path) -> tuple[str, ...]:
        """Say which commit of a branch or tag was read."""
        return hub_files.commit_notes(self.reference.model, folder) if self.on_hub else ()

    def home(self, folder: Path) -> str:
        """Return what `--trust-code` names to trust the code beside the checkpoint."""
        return f"{self.reference.model.partition('@')[0]}@{folder.name}" if self.on_hub else self.reference.model

    def folder(self, workspace: Workspace) -> Path:
        """Return the folder; that of a model on the hub is of one commit, with all files that loading reads."""
        from benchrunner_transformers.checkpoint.tokenizer_files import versioned_files

        repository = self.reference.model
        if not self.on_hub:
            return Path(repository)
        folder = hub_files.download_checkpoint(repository, workspace, files=FILES, weights=WEIGHTS)
        options = folder / "tokenizer_config.json"
        named = read_json_object(options, error=CheckpointError) if options.is_file() else {}
        for name in versioned_files(named):
            if name == Path(name).name:  # else the tokenizer is refused when it is read
                hub_files.find_hub_file(repository, name, workspace, folder.name)
        return folder


def checking_code() -> str:
    """Hash the code that checks a checkpoint: the source of this plugin, and the versions of its libraries."""
    from importlib.metadata import version

    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    for library in _LIBRARIES:
        digest.update(f"{library} {version(library)}\n".encode())
    return digest.hexdigest()[:16]


_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+(@\w[\w./-]*)?")


@final
class TransformersFamily(BackboneFamily):
    """Finds backbones among the text models whose architecture the library transformers has.

    For a checkpoint of a BERT, the plugin `bert` is asked before this family, and loads it. A user who writes
    `transformers:MODEL` asks this family alone.
    """

    def listed(self) -> list[Backbone]:
        models = released_models().items()
        return [LibraryModel(name, Reference.parse(name), about, on_hub=True) for name, about in models]

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        parsed = Reference.parse(reference)
        folder = Path(parsed.model)
        if folder.is_dir():
            model = LibraryModel(reference, parsed, "a model in a folder")
            return _readable(model, folder / "config.json", workspace)
        if (released := parsed.released()) is not None:
            return LibraryModel(reference, *released, on_hub=True)
        if _HUB_ID.fullmatch(parsed.model) and not folder.exists():
            config = hub_files.download_hub_file(parsed.model, "config.json", workspace)
            return _readable(LibraryModel(reference, parsed, "a model on the hub", on_hub=True), config, workspace)
        return None


def _readable(model: LibraryModel, config: Path, workspace: Workspace) -> Backbone | None:
    """Return the backbone of a model, or None if there is no config.json.

    Its own code computes it if the user trusts the code; otherwise the library must have the architecture.
    """
    if not config.is_file():
        return None
    from benchrunner_transformers.checkpoint.configuration import read_settings
    from benchrunner_transformers.checkpoint.own_code import advice_on_code, trusted_code

    home = model.home(config.parent)
    settings = read_json_object(config, error=CheckpointError)
    if trusted_code(config, settings, home, workspace) is not None:
        return replace(model, about="a model with code of its own", own_code=True)
    read_settings(config, lambda settings: advice_on_code(config, settings, home, workspace))
    return model
