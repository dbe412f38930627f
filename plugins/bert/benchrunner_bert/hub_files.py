"""Download files of models from the Hugging Face hub into the hub's own cache."""

from __future__ import annotations

from pathlib import Path

from benchrunner import CheckpointError, Workspace, first_line


def download(repository: str, name: str, workspace: Workspace, commit: str | None = None) -> Path:
    """Give the path of a file in the local cache; download the file first where it is not there."""
    path = download_if_exists(repository, name, workspace, commit)
    if path is None:
        raise CheckpointError(f"hub {repository}: there is no file {name}.")
    return path


def download_if_exists(repository: str, name: str, workspace: Workspace, commit: str | None = None) -> Path | None:
    """Do the work of `download`; None where the repository has no such file.

    Offline, a file that is not in the local cache counts as missing, except for config.json, which every model has.
    """
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
