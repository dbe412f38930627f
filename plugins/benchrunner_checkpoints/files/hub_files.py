"""Download checkpoints from the Hugging Face hub into its own cache.

A repository is named `OWNER/NAME`, or `OWNER/NAME@REVISION` with a branch, a tag or a commit.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from benchrunner import CheckpointError, UnknownName, Workspace, read_json_object
from benchrunner.engine import first_line, hub_access, platform_facts
from benchrunner_checkpoints.files import tensor_files

_TEXTS = (".jinja", ".json", ".model", ".py", ".tiktoken", ".txt", ".vocab")
_LARGEST_TEXT = 1 << 28
"""Bytes; the largest published tokenizers have some ten million. Other files may be as large as the memory."""
_SHARDS = ".index.json"
"""End of the name of a file that says which tensor is in which of several files of weights."""


def commit_notes(repository: str, folder: Path) -> tuple[str, ...]:
    """Say which commit was read, if `repository` names a branch or a tag; `folder` is what was downloaded."""
    revision = repository.partition("@")[2]
    return (f"the revision {revision} is the commit {folder.name}",) if revision not in ("", folder.name) else ()


def download_hub_file(
    repository: str,
    name: str,
    workspace: Workspace,
    commit: str | None = None,
) -> Path:
    """Return the path of a file in the local cache; download the file first if it is not there."""
    path = find_hub_file(repository, name, workspace, commit)
    if path is None:
        raise CheckpointError(f"hub {repository}: there is no file {name}.")
    return path


def find_hub_file(
    repository: str,
    name: str,
    workspace: Workspace,
    commit: str | None = None,
) -> Path | None:
    """Return the path of a file in the local cache, downloaded if needed, or None if the repository has no such file.

    Offline, a file that is not in the local cache counts as missing, except for config.json, which every model has.
    A hub that cannot be reached is asked only once; then the local cache answers, or there is an error.
    """
    from huggingface_hub import _CACHED_NO_EXIST, hf_hub_download, try_to_load_from_cache
    from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError, RevisionNotFoundError

    repository, _, revision = repository.partition("@")
    cached = None if commit is None else try_to_load_from_cache(repository, name, revision=commit)
    if cached is _CACHED_NO_EXIST:
        return None
    if isinstance(cached, str):
        return Path(cached)
    offline = workspace.settings.offline
    wanted = f"{name} of {repository}"
    failure = None if offline else workspace.hub.failure(wanted)
    only_local = offline or failure is not None
    try:
        with workspace.hub.asking(wanted), hub_access.cache_only(only_local):
            asked = commit or revision or None
            return Path(hf_hub_download(repository, name, revision=asked, local_files_only=only_local))
    except LocalEntryNotFoundError as error:
        if offline and name != "config.json":
            return None
        if only_local and revision and not commit:
            raise _no_revision(repository, revision, only_local=True) from None
        if not only_local:  # the hub answered before, and not this time
            workspace.hub.lost(first_line(error))
        raise CheckpointError(
            f"hub {repository}: {name} is not in the local cache and cannot be fetched: {failure or first_line(error)}"
        ) from None
    except EntryNotFoundError:
        return None
    except RevisionNotFoundError:
        raise _no_revision(repository, revision, only_local=False) from None
    except Exception as error:  # a missing repository, a refused or broken connection: each has a class of its own
        raise CheckpointError(f"hub {repository}: {name} cannot be fetched: {first_line(error)}") from None


def _no_revision(repository: str, revision: str, *, only_local: bool) -> CheckpointError:
    """Return the error for a revision that the hub, or else its local cache, does not have."""
    from huggingface_hub import HfApi, constants

    known, where = [], f"of {repository}"
    if only_local:
        where += " in the local cache, and the hub was not asked"
        refs = Path(constants.HF_HUB_CACHE, f"models--{repository.replace('/', '--')}", "refs")
        known = [path.name for path in refs.glob("*")]
    else:
        with contextlib.suppress(Exception):  # the hub may refuse to list them, for reasons of many kinds
            listed = HfApi().list_repo_refs(repository)
            known = [ref.name for ref in listed.branches + listed.tags]
    return CheckpointError(
        str(UnknownName("revision", revision, known, f"See {constants.ENDPOINT}/{repository}.", where=where))
    )


def download_checkpoint(
    repository: str,
    workspace: Workspace,
    *,
    files: Sequence[str],
    weights: Sequence[str],
) -> Path:
    """Download a checkpoint, all files of one commit, and return its folder in the local cache.

    `files` are the names of the files besides config.json, which are downloaded if they exist. Of `weights`, the first
    file that exists is downloaded. A name with `.index.json` at its end is an index: its weights are downloaded too.
    """
    folder = download_hub_file(repository, "config.json", workspace).parent
    commit = folder.name
    for name in files:
        find_hub_file(repository, name, workspace, commit)
    for name in weights[:-1]:
        if (path := find_hub_file(repository, name, workspace, commit)) is not None:
            break
    else:
        path = download_hub_file(repository, weights[-1], workspace, commit)
    for name in shard_files(path):
        download_hub_file(repository, name, workspace, commit)
    return folder


def check_folder(folder: Path) -> None:
    """Raise a `CheckpointError` if a file in a checkpoint's folder cannot be read whole, before any is opened.

    A pipe may never end. A file with holes takes no room on the disk, and all of its size in memory.
    """
    for path in sorted(folder.iterdir()):
        limit = _LARGEST_TEXT if path.suffix in _TEXTS else platform_facts.memory_size()
        if path.exists() and not path.is_dir() and not (path.is_file() and path.stat().st_size <= limit):
            raise CheckpointError(
                f"{path}: not a regular file of at most {limit:,} bytes, the most that is read of such a file. Get it "
                "again from its source, or move it out of the folder."
            )


def weight_files(folder: Path, names: Sequence[str]) -> list[Path]:
    """Find the files of a checkpoint's weights, in a folder whose files can all be read.

    The first of `names` that exists is taken. A name with `.index.json` at its end stands for the files that it lists.
    """
    check_folder(folder)
    for name in names:
        path = folder / name
        if path.is_file():
            files = [folder / shard for shard in shard_files(path)] or [path]
            missing = [file.name for file in files if not file.is_file()]
            if missing:
                raise CheckpointError(f"{path}: files of weights are missing: {', '.join(missing)}.")
            for file in files:
                tensor_files.check_header(file)
            return files
    whole = " or ".join(name for name in names if not name.endswith(_SHARDS))
    raise CheckpointError(f"{folder}: no weights; {whole} was expected.")


def shard_files(index: Path) -> list[str]:
    """Return the names of the files of weights that an index lists; none for a file that is not an index."""
    if not index.name.endswith(_SHARDS):
        return []
    table = read_json_object(index, error=CheckpointError).get("weight_map")
    if not isinstance(table, dict) or not all(
        isinstance(name, str) and name == Path(name).name for name in table.values()
    ):
        raise CheckpointError(f"{index}: 'weight_map' must be a table of file names.")
    return sorted(set(table.values()))
