"""The fixture of the kit's tests."""

import pytest

from command_line import Shell


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Commands of the inline plugins, whose data is in a folder of its own."""
    return Shell(tmp_path_factory.mktemp("shell"), capsys)
