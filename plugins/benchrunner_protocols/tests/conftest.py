"""The fixtures of the tests of protocols."""

from __future__ import annotations

from pathlib import Path

import pytest

import benchrunner_babylm
import benchrunner_bert
import benchrunner_conll
import benchrunner_glue
import benchrunner_leaderboards
import benchrunner_protocols
import benchrunner_squad
import benchrunner_studies
import benchrunner_swag
import benchrunner_transformers
from benchrunner.results import Plugins, discover
from command_line import CommandLine

PLUGINS = {
    "babylm": benchrunner_babylm,
    "bert": benchrunner_bert,
    "conll": benchrunner_conll,
    "glue": benchrunner_glue,
    "leaderboards": benchrunner_leaderboards,
    "protocols": benchrunner_protocols,
    "squad": benchrunner_squad,
    "studies": benchrunner_studies,
    "swag": benchrunner_swag,
    "transformers": benchrunner_transformers,
}


@pytest.fixture(scope="session")
def offers() -> Plugins:
    """The plugins that have the tasks, recipes and published figures of all protocols."""
    found = discover(extra=list(PLUGINS.items()), installed=False)
    assert not found.set_aside, found.set_aside
    return found


@pytest.fixture(scope="session")
def demo_data(tmp_path_factory: pytest.TempPathFactory, offers: Plugins) -> Path:
    """A folder with the generated data of every task of the protocols."""
    folder = tmp_path_factory.mktemp("demo")
    for task in offers.tasks.values():
        if task.demo_files is not None:
            task.demo_files(folder)
    return folder


@pytest.fixture
def shell(
    tmp_path: Path,
    offers: Plugins,
    demo_data: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> CommandLine:
    """Run commands on the generated data."""
    made = CommandLine(tmp_path, offers, capsys, monkeypatch)
    monkeypatch.setenv("BENCHRUNNER_DATA", str(demo_data))
    monkeypatch.chdir(tmp_path)
    return made
