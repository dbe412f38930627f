"""Keeps what is private out of shared files: folders and the name of this machine, and quoted texts of the data."""

from __future__ import annotations

import platform
import re
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, final

from benchrunner import Workspace
from benchrunner.engine import first_line, platform_facts

_ABSOLUTE = re.compile(
    r"(?<![\w/:.])(?:~?/(?:[^\s/:;,'\"()<>|]+/)*|[A-Za-z]:[\\/](?:[^\\/:;,'\"()<>|\r\n]+[\\/])*|\\\\[^\s;,'\"()<>|]+[\\/])"
    r"(?=[^\s/\\:;,'\"()<>|])"
)
"""The folders of an absolute path: `/a/b/` of `/a/b/c`, `C:\\a\\` of `C:\\a\\b`. Addresses of the web are no paths."""
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"|“[^”]*”")
_SHORTEST = 4
"""Least number of characters of a private name that is looked for: shorter names occur in any text by chance."""


@final
class Private:
    """What must not stand in a shared file: the folders of a workspace and of the user, and the name of the machine."""

    def __init__(self, workspace: Workspace) -> None:
        folders = (
            workspace.runs,
            workspace.cache,
            workspace.data,
            Path.cwd(),
            platform_facts.home_folder(),
            Path(tempfile.gettempdir()),
        )
        spelled = {path for folder in folders if folder is not None for path in _spellings(folder)}
        machine = platform.node()
        self._folders = tuple(sorted(spelled, key=len, reverse=True))
        self._shown = [(re.compile(rf"{_as_path(folder)}([/\\]?)"), _last_part(folder)) for folder in self._folders]
        self._machine = machine if len(machine) >= _SHORTEST and machine != "localhost" else ""

    def without(self, text: str) -> str:
        """Return a text without folders of absolute paths and without the name of the machine."""
        return _ABSOLUTE.sub("", self.without_known(text))

    def without_known(self, text: str) -> str:
        """Return a text, for example HTML, without the known folders and without the name of the machine."""
        for pattern, last_part in self._shown:
            text = pattern.sub(last_part, text)
        return re.sub(rf"\b{re.escape(self._machine)}\b", "this machine", text) if self._machine else text

    def remark(self, text: str, known: Collection[str] = ()) -> str:
        """Return the first line of a message without private names and without quotes, which may be texts of rows.

        The names in `known`, such as those of tasks, are no such texts.
        """
        return self.without(
            _QUOTED.sub(
                lambda quote: quote[0] if quote[0][1:-1] in known else "'…'",
                first_line(Exception(text)) if text else "",
            )
        )

    def without_in(self, value: Any) -> Any:
        """Return a JSON value whose texts have no private names."""
        if isinstance(value, str):
            return self.without(value)
        if isinstance(value, dict):
            return {self.without(key): self.without_in(inner) for key, inner in value.items()}
        return [self.without_in(inner) for inner in value] if isinstance(value, list | tuple) else value

    def found_in(self, text: str) -> Iterator[str]:
        """Yield each private name that a text holds."""
        for folder in self._folders:
            if folder in text and re.search(_as_path(folder), text):  # the first test is fast
                yield folder
        if self._machine and re.search(rf"\b{re.escape(self._machine)}\b", text):
            yield self._machine


def _last_part(folder: str) -> Callable[[re.Match[str]], str]:
    """Return what replaces a folder in a text: nothing if a path goes on after it, else the folder's last part."""
    home = platform_facts.home_folder()
    name = "~" if home is not None and folder in _spellings(home) else Path(folder).name
    return lambda match: "" if match[1] else name


def _as_path(folder: str) -> str:
    """Return a pattern for a folder where it stands as a path of its own, and not in an address or a longer name."""
    return rf"(?<![\w.:/\\-]){re.escape(folder)}(?![\w.-])"


def _spellings(folder: Path) -> Iterator[str]:
    """Yield the absolute spellings of a folder, unless they are too short to tell anything."""
    for path in (folder.absolute(), folder.resolve()):
        if len(path.parts) > 1 and len(str(path)) > _SHORTEST:
            yield str(path)


def shared_names(backbones: Iterable[str], *, namespaces: Collection[str] = ()) -> dict[str, str]:
    """Map each backbone to its name in shared files: a path is cut to its last part. No two names are equal.

    `namespaces` are the beginnings of names that are no paths, such as "mine" in "mine/words".
    """
    names: dict[str, str] = {}
    for backbone in backbones:
        if backbone in names:
            continue
        name = base = _shared_name(backbone, namespaces)
        number = 2
        while name in names.values():
            name = f"{base}-{number}"
            number = number + 1
        names[backbone] = name
    return names


def _shared_name(backbone: str, namespaces: Collection[str]) -> str:
    prefix, separator, rest = backbone.partition(":")
    if separator and re.fullmatch(r"[a-z][\w-]+", prefix):  # run:ID or PLUGIN:NAME
        return f"{prefix}:{_shared_name(rest, namespaces)}"
    is_path = backbone.startswith(("/", ".", "~", "\\")) or "\\" in backbone or re.match(r"[A-Za-z]:[\\/]", backbone)
    has_folders = backbone.count("/") > 1 and backbone.partition("/")[0] not in namespaces
    if is_path or has_folders or (backbone and Path(backbone).exists()):
        path = Path(backbone.replace("\\", "/"))
        return (path if path.name not in ("", "..") else path.resolve()).name or "backbone"
    return backbone
