"""The kinds of package that `benchrunner new` writes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import final

from benchrunner.results import Plugins


@final
@dataclass(frozen=True)
class Scaffold:
    """A kind of package that `benchrunner new` writes."""

    about: str
    """What the package offers, as its description says it."""
    shown_by: str
    """Command that shows the offer once the package is installed; `NAME` stands for the plugin's name."""
    offers: str = ""
    """Property of `Plugins` with the values among which the new value's name must be free."""

    def taken(self, plugins: Plugins) -> Collection[str]:
        """Return the names of the values that the plugins offer already."""
        return getattr(plugins, self.offers) if self.offers else ()


SCAFFOLDS: Mapping[str, Scaffold] = {
    "task": Scaffold("a task for benchrunner", "benchrunner list tasks", "tasks"),
    "problem": Scaffold("a kind of question for benchrunner", "benchrunner list tasks", "tasks"),
    "backbone": Scaffold("a backbone for benchrunner", "benchrunner list backbones", "backbones"),
    "method": Scaffold("a method for benchrunner", "benchrunner list methods", "methods"),
    "leaderboard": Scaffold("a leaderboard for benchrunner", "benchrunner list leaderboards", "leaderboards"),
    "executor": Scaffold("an executor for benchrunner", "benchrunner list executors", "executors"),
    "command": Scaffold("a command for benchrunner", "benchrunner NAME --help"),
}
"""Kind of plugin -> what is written for it."""
