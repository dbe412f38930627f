"""The fixture of the tests of GLUE."""

from pathlib import Path

import pytest
from glue_on_hub import written_demo


@pytest.fixture(scope="package")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo files of all tasks, which no test may change."""
    return written_demo(tmp_path_factory.mktemp("demo"))
