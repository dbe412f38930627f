"""Suites of task files: a folder with task files, or a data set of the hub, which is fetched at one commit."""

from __future__ import annotations

import shutil
from pathlib import Path

from benchrunner import RequestError, Workspace
from benchrunner.engine import write_folder_atomically
from benchrunner_files.formats import SUFFIXES
from benchrunner_files.toml_text import TomlText
from benchrunner_tasks import HubTable

HOME = "suites"
"""Folder of the cache with the suites that were fetched, OWNER/NAME@COMMIT."""
PATTERNS = [f"*{suffix}" for suffix in (".toml", ".txt", *SUFFIXES)]
"""Names of the files that are fetched: texts and tables, and no code."""


def task_files(name: str) -> list[str] | None:
    """List the task files of a suite; None for what is no folder and does not begin with `hub:`."""
    folder = _fetched(name) if name.startswith("hub:") else Path(name)
    if not folder.is_dir():
        return None
    paths = [str(path) for path in sorted(folder.glob("*.toml")) if "problem" in TomlText.read(path).content]
    if not paths:
        raise RequestError(f"{name}: no task file is there, which is a .toml file with a problem.")
    return paths


def _fetched(name: str) -> Path:
    """Return the folder with a copy of a data set of the hub, `hub:OWNER/NAME@REVISION`, at one commit."""
    from huggingface_hub import snapshot_download

    repository, _, revision = name.removeprefix("hub:").partition("@")
    workspace = Workspace.from_environment()

    def fetch(only_local: bool) -> Path:
        fetched = snapshot_download(
            repository,
            repo_type="dataset",
            revision=revision or None,
            cache_dir=workspace.cache / "hub",
            allow_patterns=PATTERNS,
            local_files_only=only_local,
        )
        folder = workspace.cache / HOME / f"{repository}@{Path(fetched).name}"
        if not folder.is_dir():  # files of the hub's cache are links out of their folder
            write_folder_atomically(folder, lambda part: shutil.copytree(fetched, part, dirs_exist_ok=True))
        return folder

    return HubTable.ask(name, workspace, fetch)
