"""Writes the package of a new plugin from the templates of its kind, which `SCAFFOLDS` lists."""

from __future__ import annotations

import builtins
import keyword
import os
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import final

from benchrunner import RequestError
from benchrunner.engine import write_folder_atomically
from benchrunner.results import Plugins, output_places
from benchrunner_kit.scaffolds.names import check_form, check_is_free

TEMPLATES = Path(__file__).parent / "templates"
"""One folder of templates for each kind, and `every` with the files of all kinds. Names of files end in `.template`, so
that no tool takes the templates for code; `NAME` in the name of a file or a folder stands for the plugin's name."""


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

    needs: tuple[str, ...] = ("benchrunner",)
    """Distributions that the package imports; empty for a repository that is no Python package."""

    @property
    def first_steps(self) -> tuple[str, ...]:
        """Commands to try in the new folder."""
        return ("pip install -e . pytest", "pytest", self.shown_by) if self.needs else (self.shown_by,)

    def taken(self, plugins: Plugins) -> Collection[str]:
        """Return the names of the values that the plugins offer already."""
        return getattr(plugins, self.offers) if self.offers else ()


SCAFFOLDS: Mapping[str, Scaffold] = {
    "task": Scaffold("a task for benchrunner", "benchrunner list tasks", "tasks"),
    "problem": Scaffold("a kind of question for benchrunner", "benchrunner list tasks", "tasks"),
    "backbone": Scaffold("a backbone for benchrunner", "benchrunner list backbones", "backbones"),
    "method": Scaffold("a method for benchrunner", "benchrunner list methods", "methods"),
    "leaderboard": Scaffold(
        "a leaderboard for benchrunner",
        "benchrunner list leaderboards",
        "leaderboards",
    ),
    "metric": Scaffold("a metric for benchrunner, and a task that it scores", "benchrunner list tasks", "tasks"),
    "recipe": Scaffold("a recipe for benchrunner", "benchrunner list recipes", "recipes"),
    "observer": Scaffold("an observer for benchrunner", "benchrunner doctor"),
    "executor": Scaffold("an executor for benchrunner", "benchrunner list executors", "executors"),
    "command": Scaffold("a command for benchrunner", "benchrunner NAME --help"),
    "board": Scaffold(
        "a repository for a board of your own", "benchrunner board build results --out site --data DATA", needs=()
    ),
}
"""Kind of plugin -> what is written for it."""


def write_plugin(kind: str, name: str, folder: Path, *, plugins: Plugins, commands: Collection[str] = ()) -> Path:
    """Write the package of a new plugin to `folder`, which must not exist; return its path.

    `kind` is one of `SCAFFOLDS`. The name must not be that of one of the `plugins`, of a value of this kind that they
    offer, or of one of the `commands`. Raises a `RequestError` if the
    name or the folder cannot be used.
    """
    if kind not in SCAFFOLDS:
        raise RequestError(f"There is no kind of plugin '{kind}'. Choose from {', '.join(SCAFFOLDS)}.")
    check_form(name)
    check_is_free(kind, name, plugins, commands if kind == "command" else SCAFFOLDS[kind].taken(plugins))
    _check_absent(folder)
    output_places.check_place(folder, is_file=False)

    def write(part: Path) -> None:
        for path, text in package_files(kind, name).items():
            (part / path).parent.mkdir(parents=True, exist_ok=True)
            (part / path).write_text(text, encoding="utf-8")
        try:
            folder.mkdir()  # fails if another process has made the folder since it was looked for
        except FileExistsError:
            _check_absent(folder)

    try:
        write_folder_atomically(folder, write)
    except OSError as error:
        raise RequestError(f"{folder} cannot be written: {error.filename}: {error.strerror}.") from None
    return folder


def _check_absent(folder: Path) -> None:
    """Raise a `RequestError` if there is anything at this path, a broken link included."""
    if os.path.lexists(folder):
        raise RequestError(f"{folder} exists already, and nothing is overwritten. Name another folder with --out.")


def package_files(kind: str, name: str) -> dict[str, str]:
    """Return the files of a new plugin's package: path in the package -> text."""
    templates = {}
    for home in (*([TEMPLATES / "every"] if SCAFFOLDS[kind].needs else []), TEMPLATES / kind):
        for path in sorted(home.rglob("*.template")):
            templates[path.relative_to(home).as_posix().removesuffix(".template")] = path.read_text(encoding="utf-8")
    values = {
        "name": name,
        "NAME": name.upper(),
        "Name": _class_name(kind, name, templates.values()),
        "dashed": name.replace("_", "-"),
        "about": SCAFFOLDS[kind].about,
        "dependencies": ", ".join(f'"{name}>=0.1,<0.2"' for name in SCAFFOLDS[kind].needs),
    }
    return {path.replace("NAME", name): Template(text).substitute(values) for path, text in templates.items()}


def _class_name(kind: str, name: str, templates: Iterable[str]) -> str:
    """Return the name of the plugin's class: 'SadMood' for 'sad_mood', and 'SplitProblem' for a problem 'split'.

    The kind follows the name where Python or a template of the package has another use for the name alone.
    """
    camel_case = "".join(word.capitalize() for word in name.split("_"))
    used: set[str] = set()
    for text in templates:
        used.update(re.findall(r"(?<![$\w])[A-Z]\w*", text))
    is_used = camel_case in used or hasattr(builtins, camel_case) or keyword.iskeyword(camel_case)
    return camel_case + kind.capitalize() if is_used else camel_case
