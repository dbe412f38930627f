"""Code of a checkpoint's own: which files it is, whether the user trusts it, and its classes.

Trust is in the content of the files: a fit's copy of trusted code is trusted, and code that was edited is not. Only
`OwnCode.load_class` runs code, and only in worker processes.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, final

from benchrunner import CheckpointError, Workspace
from benchrunner.engine import first_line, write_atomically, write_folder_atomically
from benchrunner_checkpoints import hub_files

_REFERENCE = re.compile(r"(?:([\w.-]+/[\w.-]+)--)?([^\W\d]\w*\.[^\W\d]\w*)")
"""A class in `auto_map`: MODULE.CLASS of the checkpoint's own folder, or OWNER/NAME--MODULE.CLASS of a repository."""
_AT_COMMIT = re.compile(r"(.+)@([0-9a-f]{40})")
Kind = Literal["AutoConfig", "AutoModel"]
"""Name of a class in `auto_map`. Code for tokenizers is never run, and other classes have heads that are not read."""
KINDS: tuple[Kind, ...] = ("AutoConfig", "AutoModel")


@final
@dataclass(frozen=True)
class OwnCode:
    """Modelling code that a checkpoint brings, and that the user trusts."""

    files: Mapping[str, bytes]
    """Name -> content of all .py files of a folder or of a repository, without those of folders below."""
    classes: Mapping[str, str]
    """Kind of class -> MODULE.CLASS in these files; there is an AutoModel."""

    @property
    def digest(self) -> str:
        """Hash of names and contents of all files."""
        return _digest(self.files)

    def write(self, folder: Path) -> None:
        """Write the files to a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)

    def load_class(self, kind: Kind, workspace: Workspace) -> Any:
        """Import the module of a class, which runs the code, and return the class; None if there is no such class."""
        from filelock import FileLock
        from transformers.dynamic_module_utils import get_class_from_dynamic_module

        if not workspace.settings.may_run_code:
            raise CheckpointError(
                "Code of a checkpoint runs only in worker processes that fit and predict, and this process is none. "
                "Exports and measurements of speed load models elsewhere."
            )
        if kind not in self.classes:
            return None
        folder = workspace.cache / "code" / self.digest
        with FileLock(folder.with_suffix(".lock")):  # the library copies the files, and reads its copies
            if not folder.is_dir() or _digest(_files_of_folder(folder)) != self.digest:
                write_folder_atomically(folder, self.write)
            return get_class_from_dynamic_module(self.classes[kind], str(folder), local_files_only=True)


def trusted_code(path: Path, settings: Mapping[str, Any], home: str, workspace: Workspace) -> OwnCode | None:
    """Return the code that config.json asks for, if the user trusts it. Nothing of it is run.

    `home` is what holds the checkpoint: a folder, or OWNER/NAME@COMMIT.
    """
    trusted = workspace.settings.trusted_code
    if not trusted or (asked := _asked_classes(path, settings, home)) is None:
        return None
    repository, classes = asked
    if repository:
        places = [place for place in trusted if place.startswith(f"{repository}@")]
        if len(places) > 1:
            raise CheckpointError(f"{path}: code of {repository} is trusted at several commits; name one of them.")
    else:
        places = [home]
    if not places:
        return None
    files = _files(places[0], workspace)
    digest = _digest(files)
    if not any(_digest(_files(place, workspace)) == digest for place in trusted):
        return None
    for name in classes.values():
        module = f"{name.partition('.')[0]}.py"
        if module not in files:
            raise CheckpointError(f"{path}: auto_map names {name}, and {places[0]} has no file {module}.")
    return OwnCode(files, classes)


def advice_on_code(path: Path, settings: Mapping[str, Any], home: str, workspace: Workspace) -> str:
    """Say what lets a model run its own code, in whole sentences."""
    asked = _asked_classes(path, settings, home)
    if asked is None:
        return "Its auto_map has no AutoModel, which is the only code that benchrunner would run."
    option = f"--trust-code {home}"
    if asked[0]:
        option = f"--trust-code {asked[0]}@COMMIT, where the code is,"
    advice = f"benchrunner runs it only if it is trusted: read the code, then give {option} to run it."
    if workspace.settings.trusted_code:
        advice += " What --trust-code names now has other code."
    return advice


def _asked_classes(path: Path, settings: Mapping[str, Any], home: str) -> tuple[str, dict[str, str]] | None:
    """Return the repository that has the code, empty for the checkpoint's own, and its classes; None without any."""
    table = settings.get("auto_map")
    if not isinstance(table, dict) or "AutoModel" not in table:
        return None
    classes, repositories = dict[str, str](), set[str]()
    for kind in KINDS:
        if kind not in table:
            continue
        match = _REFERENCE.fullmatch(str(table[kind]))
        if match is None:
            raise CheckpointError(
                f"{path}: auto_map names {table[kind]!r}, which is neither MODULE.CLASS in the folder of the "
                "checkpoint nor OWNER/NAME--MODULE.CLASS."
            )
        is_own = match[1] is None or home.startswith(f"{match[1]}@")
        repositories.add("" if is_own else match[1])
        classes[kind] = match[2]
    if len(repositories) > 1:
        raise CheckpointError(f"{path}: auto_map takes code from several places, which benchrunner does not combine.")
    return repositories.pop(), classes


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name} {hashlib.sha256(files[name]).hexdigest()}\n".encode())
    return digest.hexdigest()


def _files(place: str, workspace: Workspace) -> dict[str, bytes]:
    """Read all .py files of a folder, or of OWNER/NAME@COMMIT."""
    match = _AT_COMMIT.fullmatch(place)
    if match is None or Path(place).is_dir():
        return _files_of_folder(Path(place))
    files = {}
    for name in _names_on_hub(match[1], match[2], workspace):
        files[name] = hub_files.download_hub_file(match[1], name, workspace, match[2]).read_bytes()
    return files


def _files_of_folder(folder: Path) -> dict[str, bytes]:
    files = {}
    for path in sorted(folder.glob("*.py")):
        if path.is_symlink():
            raise CheckpointError(
                f"{path} is a link: code is trusted only where it lies in the folder itself. Copy the file, or name a "
                "repository of the hub as OWNER/NAME@COMMIT."
            )
        if path.is_file():
            files[path.name] = path.read_bytes()
    return files


def _names_on_hub(repository: str, commit: str, workspace: Workspace) -> list[str]:
    """Return the names of all .py files of a repository at a commit; the hub is asked once.

    A hub that is not asked, or does not answer, leaves the files in its local cache.
    """
    from huggingface_hub import HfApi, constants

    memory = workspace.cache / "code" / f"{repository.replace('/', '--')}@{commit}.json"
    if memory.is_file():
        return [str(name) for name in json.loads(memory.read_text(encoding="utf-8"))]
    wanted = f"the code of {repository}"
    if workspace.settings.offline or workspace.hub.failure(wanted):
        cached = Path(constants.HF_HUB_CACHE, f"models--{repository.replace('/', '--')}", "snapshots", commit)
        if not cached.is_dir():
            raise CheckpointError(f"hub {repository}: the commit {commit} is not in the local cache.")
        return sorted(path.name for path in cached.glob("*.py"))
    try:
        with workspace.hub.asking(wanted):
            listed = HfApi().list_repo_files(repository, revision=commit)
    except Exception as error:  # a missing repository, a refused or broken connection: each has a class of its own
        raise CheckpointError(f"hub {repository}: the commit {commit} cannot be read: {first_line(error)}") from None
    names = sorted(name for name in listed if name.endswith(".py") and "/" not in name)
    write_atomically(memory, lambda part: part.write_text(json.dumps(names), encoding="utf-8"))
    return names
