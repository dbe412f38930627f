"""Task files for benchrunner: a TOML file beside data files is a task, and may hold a leaderboard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchrunner import hookimpl, named_by_stub

if TYPE_CHECKING:
    from benchrunner.results import Plugins

__getattr__, __all__ = named_by_stub(__name__, __file__)


@hookimpl
def read_value(kind: str, name: str, plugins: Plugins) -> Any:
    """Read the task or the leaderboard of a TOML file, a task that was read before, or a folder's task files."""
    is_file = name.endswith(".toml")
    if kind == "leaderboard" and is_file:
        from benchrunner_files.boards import read_board

        return read_board(Path(name), plugins)
    if kind == "suite":
        from benchrunner_files.suites import task_files

        return task_files(name)
    if kind != "task":
        return None
    from benchrunner_files import formats, known_files

    formats.refuse_data_file(Path(name))
    return known_files.read(Path(name), plugins) if is_file else known_files.find(name, plugins)
