"""The fixtures of the tests of sharing."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared_folders import SharedFolder, shared_folder


@pytest.fixture(scope="package")
def original(tmp_path_factory: pytest.TempPathFactory) -> SharedFolder:
    """A shared folder that no test may change."""
    return shared_folder(tmp_path_factory.mktemp("original"))


@pytest.fixture
def folder(original: SharedFolder, tmp_path: Path) -> SharedFolder:
    """A copy of the shared folder, which a test may change."""
    return original.copy(tmp_path / "received")
