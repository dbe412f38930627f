"""Uploads a shared folder to the Hugging Face hub as a data set, with the library huggingface_hub."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from benchrunner import RequestError, quoted

_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


@final
@dataclass(frozen=True)
class Push:
    """The upload of a shared folder, as it would be or was."""

    folder: Path
    repository: str
    fingerprint: str
    files: int
    bytes: int
    address: str = ""
    """Address of the commit; empty for a dry run."""

    @classmethod
    def plan(cls, folder: Path, repository: str, fingerprint: str) -> Push:
        """Plan an upload; raise a `RequestError` if the repository cannot have this name."""
        check_repository(repository)
        files = [path for path in folder.rglob("*") if path.is_file()]
        return cls(folder, repository, fingerprint, len(files), sum(path.stat().st_size for path in files))

    @property
    def sentence(self) -> str:
        """Say what was or would be uploaded."""
        size = f"{self.files:,} files ({self.bytes / 1e6:.1f} MB)"
        if self.address:
            return f"Uploaded {size} to the data set {self.repository}: {self.address}"
        return (
            f"Dry run: {size} would be uploaded to the data set {self.repository} of the hub, where everybody reads "
            "them. Add --yes to do it."
        )


def check_repository(name: str) -> None:
    """Raise a `RequestError` if a name is not OWNER/NAME, as the hub has it."""
    if not _REPOSITORY.fullmatch(name) or ".." in name or "--" in name or name.endswith((".git", ".", "-")):
        raise RequestError(f"--push {quoted(name)}: name a data set of the hub as OWNER/NAME.")


def uploaded(push: Push) -> Push:
    """Upload a folder in one commit; the data set is made if it is not there. Files with other names stay.

    Needs the token that `hf auth login` keeps, or that HF_TOKEN holds. No message has the token.
    """
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    token = huggingface_hub.get_token()
    if token is None:
        raise RequestError("The hub must know who uploads: run 'hf auth login', or set HF_TOKEN.")
    hub = huggingface_hub.HfApi(token=token, library_name="benchrunner")
    try:
        hub.create_repo(push.repository, repo_type="dataset", exist_ok=True)
        commit = hub.upload_folder(
            repo_id=push.repository,
            repo_type="dataset",
            folder_path=push.folder,
            commit_message=f"Add results with the fingerprint {push.fingerprint[:16]}",
        )
    except HfHubHTTPError as error:
        status = "no status" if error.response is None else f"status {error.response.status_code}"
        raise RequestError(
            f"The hub refused the upload to {push.repository} ({status}): does your token allow to write there?"
        ) from None
    except (OSError, ValueError, RuntimeError) as error:  # no connection, or what its client says of one
        raise RequestError(
            f"The hub could not be asked for {push.repository} ({type(error).__name__}): try again later."
        ) from None
    return replace(push, address=str(commit.commit_url))
