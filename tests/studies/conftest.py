"""The fixture of tests that run study files."""

import os
import sys
from pathlib import Path

import pytest

import inline
from benchrunner.results import Result
from benchrunner_studies.dry_run import dry_run_study
from benchrunner_studies.system_commands import prepared
from chancy import chancy, compare_rates
from kitchen import Kitchen, baking


@pytest.fixture(scope="session")
def rates_compared(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """A study of the learning rates 4 and 8 with three seeds, which no test may change."""
    return compare_rates(chancy(tmp_path_factory.mktemp("rates")))


@pytest.fixture
def kitchen(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kitchen:
    monkeypatch.setenv("BENCHRUNNER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(inline.__file__).parent), *sys.path]))
    for function in (prepared, dry_run_study):
        monkeypatch.setitem(function.__kwdefaults__, "program", baking(tmp_path))
    return Kitchen(tmp_path, capsys)
