"""Settings of torch that a plugin changes when it is loaded: they are set back, and the plugin is named."""

from pathlib import Path

import pytest
import torch

import forked
from benchrunner.plugins.discovery import discover
from benchrunner.process.torch_settings import SETTINGS, reset_torch, torch_settings
from inline import own, plugin

CHANGES = {
    "float32 matmul precision": "medium",
    "deterministic debug mode": 1,
    "default dtype": "float64",
    "default device": "meta",
    "autocast on the CPU": True,
    "autocast on GPUs": True,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_that_a_hook_changes_is_set_back(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    def register_tasks() -> list[object]:
        SETTINGS[name][1](torch, CHANGES[name])
        return []

    before = torch_settings()
    try:
        plugins = discover(extra=[("own", own()), ("bold", plugin(register_tasks=register_tasks))], installed=False)
        assert plugins.tasks.names
        assert torch_settings() == before
    finally:
        reset_torch(before)
    said = capsys.readouterr().err
    assert said.startswith(f"benchrunner: the plugin 'bold' set torch's {name} to {CHANGES[name]}, for all fits")


DISCOVERY = """
from benchrunner.results import discover
sys.hidden = sys.modules.pop("torch")
discover()
import torch
print(torch.get_default_dtype())
"""
"""Discovers plugins in a process that has not imported torch, for all that benchrunner can see."""


def test_a_plugin_that_brings_torch_and_changes_it_is_named(tmp_path: Path) -> None:
    text = "import sys\nsys.modules['torch'] = sys.hidden\nimport torch\nfrom benchrunner import hookimpl\n"
    hooks = "torch.set_default_dtype(torch.float64)\n@hookimpl\ndef register_tasks(): return []\n"
    (tmp_path / "bold_k.py").write_text(text + hooks)
    info = tmp_path / "bold_k-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bold_k\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[benchrunner]\nbold = bold_k\n")
    done = forked.run(["-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n{DISCOVERY}"])
    assert (done.returncode, done.stdout) == (0, "torch.float32\n"), done.stderr
    assert "the plugin 'bold' set torch's default dtype to float64" in done.stderr
