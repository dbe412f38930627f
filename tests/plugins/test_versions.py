"""Versions of plugins that are part of the identity of fits."""

from pathlib import Path

import pytest

from benchrunner.plugins.distributions import installed_version


def test_a_checkout_on_the_path_does_not_change_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its `.egg-info` is found before the installed distribution, which alone says that a folder was installed."""
    checkout, installed = tmp_path / "checkout", tmp_path / "site"
    for folder in (checkout / "twice.egg-info", installed / "twice-1.0.dist-info"):
        folder.mkdir(parents=True)
        name = "PKG-INFO" if folder.suffix == ".egg-info" else "METADATA"
        (folder / name).write_text("Metadata-Version: 2.1\nName: twice\nVersion: 1.0\n")
    (installed / "twice-1.0.dist-info" / "direct_url.json").write_text('{"url": "file:///x", "dir_info": {}}')
    monkeypatch.syspath_prepend(installed)
    alone = installed_version("twice", pytest)
    monkeypatch.syspath_prepend(checkout)
    assert alone == installed_version("twice", pytest)
    assert alone.startswith("1.0+source.")
