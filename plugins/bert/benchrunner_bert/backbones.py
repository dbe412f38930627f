"""Names, paths and hub ids to backbones: the released models, anybody's checkpoint, and fresh weights of any size."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, final

from benchrunner import Backbone, BackboneFamily, CheckpointError, Workspace, first_line, read_json_object
from benchrunner_bert import pretrained
from benchrunner_bert.configuration import SIZES, Configuration

if TYPE_CHECKING:
    from benchrunner.engine import Encoder

RELEASED = {
    "bert/base-uncased": ("google-bert/bert-base-uncased", "BASE: 12 layers, 768 wide, 110M parameters"),
    "bert/base-cased": ("google-bert/bert-base-cased", "BASE with capital letters kept"),
    "bert/large-uncased": ("google-bert/bert-large-uncased", "LARGE: 24 layers, 1024 wide, 335M parameters"),
    "bert/large-cased": ("google-bert/bert-large-cased", "LARGE with capital letters kept"),
    "bert/large-uncased-whole-word-masking": (
        "google-bert/bert-large-uncased-whole-word-masking",
        "LARGE, pre-trained with whole words masked",
    ),
    "bert/large-cased-whole-word-masking": (
        "google-bert/bert-large-cased-whole-word-masking",
        "LARGE with capital letters, pre-trained with whole words masked",
    ),
}
"""Our name -> the hub id, and a line about it."""

MINIATURES = tuple((layers, hidden) for layers in (2, 4, 6, 8, 10, 12) for hidden in (128, 256, 512, 768))
"""Layers and width of the 24 released small models (Turc et al., 2019)."""

FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")
RANDOM = "bert/random-"
VOCABULARY = Path(__file__).with_name("vocabulary.txt")
"""8,000 uncased pieces learnt from public-domain novels (vocabulary.json says which): what fresh models read with."""

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@final
@dataclass(frozen=True)
class FolderBert(Backbone):
    """A checkpoint in a folder."""

    name: str
    folder: Path
    about: str = "a checkpoint in a folder"
    for_demo: bool = False
    twin: str = ""

    def revision(self, workspace: Workspace) -> str:
        return _revision(self.folder, workspace)

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_bert.checkpoint import read

        return read(self.folder, seed=seed)


EMBEDDED = [
    FolderBert(
        "bert/novels",
        Path(__file__).with_name("novels"),
        "a small one that comes with this plugin: 4 layers, 192 wide, pre-trained by us on 91 English novels",
        for_demo=True,
        twin=f"{RANDOM}4/192",
    )
]
"""At hand without a network. The twin reads with the same vocabulary."""


@final
@dataclass(frozen=True)
class HubBert(Backbone):
    """A checkpoint on the hub, downloaded once into the hub's own cache."""

    name: str
    repository: str
    about: str

    def revision(self, workspace: Workspace) -> str:
        return _revision(self._folder(workspace), workspace)

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        from benchrunner_bert.checkpoint import read

        return read(self._folder(workspace), seed=seed)

    def _folder(self, workspace: Workspace) -> Path:
        folder = download(self.repository, "config.json", workspace).parent
        commit = folder.name  # all files of one commit; those that are here already need no question to the hub
        for name in FILES[1:]:
            download_if_there(self.repository, name, workspace, commit)
        if download_if_there(self.repository, "model.safetensors", workspace, commit) is None:
            download(self.repository, "pytorch_model.bin", workspace, commit)
        return folder


@final
@dataclass(frozen=True)
class RandomBert(Backbone):
    """Fresh weights: the twin that shows what pre-training is worth."""

    name: str
    size: str
    about: str = "fresh weights, no pre-training; reads with the built-in vocabulary"

    def revision(self, workspace: Workspace) -> str:
        config = self._configuration()
        text = f"random weights 1 {config} {hashlib.sha256(VOCABULARY.read_bytes()).hexdigest()}"
        return hashlib.sha256(text.encode()).hexdigest()

    def load(self, workspace: Workspace, *, seed: int) -> Encoder:
        """The same weights for every seed: the seed of a fit must not change the backbone."""
        from benchrunner.engine import generator
        from benchrunner_bert.model import Bert
        from benchrunner_bert.tokenizer import BertTokenizer

        model = Bert(self._configuration(), BertTokenizer.from_vocabulary(VOCABULARY, lowercase=True))
        model.draw(generator(0, "random backbone"))
        return model

    def _configuration(self) -> Configuration:
        return Configuration.of_size(self.size, _lines(VOCABULARY))


@final
class BertFamily(BackboneFamily):
    """Everything that is a BERT."""

    def listed(self) -> list[Backbone]:
        runs = Workspace.from_environment().runs
        ours = (FolderBert(f"{pretrained.PREFIX}{one.name}", one.folder, one.about) for one in pretrained.listed(runs))
        fresh = (RandomBert(f"{RANDOM}{size}", size) for size in SIZES)
        return [*EMBEDDED, *self._released(), *self._miniatures(), *ours, *fresh]

    @staticmethod
    def _released() -> Iterator[HubBert]:
        for name, (repository, about) in RELEASED.items():
            yield HubBert(name, repository, about)

    @staticmethod
    def _miniatures() -> Iterator[HubBert]:
        named = {size: name for name, size in SIZES.items() if name not in ("base", "large")}
        for layers, hidden in MINIATURES:
            repository = f"google/bert_uncased_L-{layers}_H-{hidden}_A-{hidden // 64}"
            name = f"bert/{named[layers, hidden]}" if (layers, hidden) in named else repository
            yield HubBert(name, repository, f"a released miniature: {layers} layers, {hidden} wide")

    def find(self, reference: str, workspace: Workspace) -> Backbone | None:
        if reference.startswith(RANDOM):
            size = reference.removeprefix(RANDOM)
            Configuration.of_size(size, 1)
            return RandomBert(reference, size)
        if reference.startswith(pretrained.PREFIX) and not Path(reference).exists():
            ours = pretrained.found(reference.removeprefix(pretrained.PREFIX), workspace.runs)
            return FolderBert(reference, ours.folder, ours.about)
        for one in EMBEDDED:
            if reference == one.name:
                return one
        for hub in (*self._released(), *self._miniatures()):
            if reference in (hub.name, hub.repository, hub.name.replace("/", "-")):
                return hub
        folder = Path(reference)
        if folder.is_dir():
            return FolderBert(reference, folder) if _is_bert(folder / "config.json") else None
        if _HUB_ID.fullmatch(reference) and not folder.exists():
            config = download(reference, "config.json", workspace)
            return HubBert(reference, reference, "a checkpoint on the hub") if _is_bert(config) else None
        return None

    def convert(self, source: Path, target: Path) -> bool:
        from benchrunner_bert.pretraining.export.conversion import convert

        return convert(source, target)


def _is_bert(config: Path) -> bool:
    if not config.is_file():
        return False
    found = read_json_object(config, error=CheckpointError)
    return bool(found.get("model_type", "bert" if "num_hidden_layers" in found else None) == "bert")


def _revision(folder: Path, workspace: Workspace) -> str:
    """A hash of everything that `load` reads."""
    from benchrunner.engine import Cache
    from benchrunner_bert.checkpoint import weights_file

    cache, digest = Cache(workspace.cache), hashlib.sha256()
    for path in (*(folder / name for name in FILES), weights_file(folder)):
        if path.is_file():
            digest.update(f"{path.name} {cache.file_hash(path)}\n".encode())
    return digest.hexdigest()


def download(repository: str, name: str, workspace: Workspace, commit: str | None = None) -> Path:
    """A file of a hub repository, from the hub's cache where it is there already."""
    found = download_if_there(repository, name, workspace, commit)
    if found is None:
        raise CheckpointError(f"hub {repository}: there is no file {name}.")
    return found


def download_if_there(repository: str, name: str, workspace: Workspace, commit: str | None = None) -> Path | None:
    from huggingface_hub import _CACHED_NO_EXIST, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

    if commit is not None and try_to_load_from_cache(repository, name, revision=commit) is _CACHED_NO_EXIST:
        return None
    try:
        return Path(hf_hub_download(repository, name, revision=commit, local_files_only=workspace.settings.offline))
    except LocalEntryNotFoundError as error:
        if workspace.settings.offline and name != "config.json":
            return None
        raise CheckpointError(
            f"hub {repository}: {name} is not in the local cache and cannot be fetched: {first_line(error)}"
        ) from None
    except EntryNotFoundError:
        return None
    except Exception as error:  # a missing repository, a refused or broken connection: each has a class of its own
        raise CheckpointError(f"hub {repository}: {name} cannot be fetched: {first_line(error)}") from None


def _lines(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")
