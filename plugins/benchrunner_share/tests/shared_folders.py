"""Shared folders for tests: written once, copied, and edited as somebody would who wants to deceive."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchrunner.methods.method import Outcome
from benchrunner.results import Grid, Runner, run_study
from benchrunner_share.documents.contents import json_text, manifest
from benchrunner_share.documents.derived_files import derived_files
from benchrunner_share.share import share_study
from benchrunner_share.verifying.verify import Verification, verify_folder
from chancy import chancy
from inline import study_with


class SharedFolder:
    """A shared folder with the runner whose data verifies it."""

    def __init__(self, path: Path, runner: Runner) -> None:
        self.path, self.runner = path, runner

    def copy(self, path: Path) -> SharedFolder:
        """Copy the folder."""
        shutil.copytree(self.path, path)
        return SharedFolder(path, self.runner)

    def verification(self, **changes: Any) -> Verification:
        """Verify the folder with the runner's plugins and workspace, or with others."""
        options = {"plugins": self.runner.plugins, "workspace": self.runner.workspace}
        return verify_folder(self.path, **(options | changes))

    def differences(self, **changes: Any) -> str:
        """Verify the folder; return all differences as one text."""
        return "\n".join(self.verification(**changes).differences)

    def unverified(self, **changes: Any) -> str:
        """Verify the folder; return what could not be computed as one text. Nothing may differ."""
        verification = self.verification(**changes)
        assert verification.differences == () and not verification.is_equal
        return "\n".join(verification.unverified)

    def read(self, name: str) -> Any:
        """Read a JSON file."""
        return json.loads((self.path / name).read_text())

    def edit(self, name: str, change: Callable[[Any], object]) -> None:
        """Change the value of a JSON file in place."""
        value = self.read(name)
        change(value)
        (self.path / name).write_text(json_text(value))

    def edit_answers(self, change: Callable[[list[str]], object]) -> None:
        """Change the lines of the selected fit's answers, and hide the change from the list of files."""
        path = self.path / f"predictions/{self.selected()[1]}.answers.jsonl"
        lines = path.read_text().splitlines()
        change(lines)
        path.write_text("".join(f"{line}\n" for line in lines))
        self.deceive()

    def deceive(self) -> None:
        """Make everything agree with the edited study: write the files that follow from it, and the list of files."""
        for name, text in derived_files(self.read("study.json")):
            (self.path / name).parent.mkdir(parents=True, exist_ok=True)
            (self.path / name).write_text(text)
        self.deceive_list()

    def deceive_list(self) -> None:
        """Make the list of files agree with all files."""
        names = sorted(path.relative_to(self.path).as_posix() for path in self.path.rglob("*") if path.is_file())
        digests = {name: hashlib.sha256((self.path / name).read_bytes()).hexdigest() for name in names}
        listed = {name: digest for name, digest in digests.items() if name != "manifest.json"}
        (self.path / "manifest.json").write_text(manifest(listed))

    def deceptive_differences(self, change: Callable[[Any], object]) -> str:
        """Change the study, make everything else agree with it, and return all differences as one text."""
        self.edit("study.json", change)
        self.deceive()
        return self.differences()

    def selected(self) -> tuple[str, str]:
        """Return the ids of the selected fit and of its prediction of dev."""
        study = self.read("study.json")
        fit = study["result"]["cells"][0]["selected"]
        return fit, study["predictions"][fit]["mine/mood"]["dev"]


def shared_folder(folder: Path, **changes: Any) -> SharedFolder:
    """Share a study of known scores: two grid points with three restarts, of which one diverged."""
    runner = chancy(folder, endings={1: Outcome("diverged", "the loss is nan")} | changes.pop("endings", {}))
    options: dict[str, Any] = {"grid": Grid({"lr": (4, 8)}), "seeds": (0, 1, 2)}
    study = study_with(("words",), tuple(runner.plugins.tasks.values()), **(options | changes))
    share_study(run_study(study, runner), folder / "shared", runner, name="moods", report=False)
    return SharedFolder(folder / "shared", runner)
