"""A home whose plugins the helper processes of a fit have installed too."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import forked
from cluster_plugin import Home

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with pytest.MonkeyPatch.context() as patch:
        made = Home(tmp_path_factory.mktemp("home"), patch)
        information = made.site / "shared_kinds-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: shared-kinds\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text("[benchrunner]\nshared = shared_kinds\n")
        patch.setenv("PYTHONPATH", f"{os.environ['PYTHONPATH']}{os.pathsep}{HERE}")
        patch.setattr("subprocess.Popen", forked.Popen)
        patch.setattr("benchrunner.training.loop.LOG_STEPS", 1)
        patch.setattr("benchrunner.fits.computing.available_cores", lambda: 2)
        yield made
