"""Diagnosis of an installation: versions, devices, plugins, folders."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, final

from benchrunner.features.kernels import Kernels
from benchrunner.plugins.distributions import Plugin
from benchrunner.plugins.entry_points import note_on_choice, note_on_libraries
from benchrunner.plugins.registry import Plugins, SetAside
from benchrunner.workspace import Workspace

DISTRIBUTIONS = ("benchrunner", "torch", "datasets", "tokenizers", "numpy", "pyarrow")
"""Distributions whose versions matter to results."""


@final
@dataclass(frozen=True)
class Diagnosis:
    """What an installation consists of, and what is wrong with it."""

    python: str
    versions: dict[str, str]
    """Distribution -> version, or 'not installed'."""
    devices: tuple[str, ...]
    plugins: tuple[Plugin, ...]
    set_aside: tuple[SetAside, ...]
    """Plugins, or parts of them, that could not be used."""
    contests: tuple[str, ...]
    """What to do about each name that several plugins offer."""
    not_used: str
    """Which installed plugins are not used, and why; empty if all are."""
    data: Path | None
    runs: Path
    cache: Path
    offline: bool
    kernels: Kernels | None
    """What computes some operators on a CPU in place of torch."""
    capability: str
    """The vector units of the processor, as torch names them."""

    def as_json(self) -> dict[str, Any]:
        """Return the diagnosis as JSON values."""
        return {
            **vars(self),
            "plugins": [f"{plugin.name} ({plugin.distribution} {plugin.version})" for plugin in self.plugins],
            "kernels": self.kernels
            and {"name": self.kernels.name, "operators": self.kernels.operators, "notes": self.kernels.notes},
        }


def diagnose(plugins: Plugins, workspace: Workspace) -> Diagnosis:
    """Collect the versions, the devices, the plugins and the folders of this installation."""
    import torch

    gpus = [f"cuda:{number} ({torch.cuda.get_device_name(number)})" for number in range(torch.cuda.device_count())]
    versions = {}
    for name in DISTRIBUTIONS:
        versions[name] = next((found.version for found in metadata.distributions(name=name)), "not installed")
    return Diagnosis(
        python=platform.python_version(),
        versions=versions,
        devices=(f"cpu ({torch.get_num_threads()} threads)", *gpus, *["mps"] * torch.backends.mps.is_available()),
        plugins=tuple(plugins.loaded),
        set_aside=tuple(plugins.set_aside),
        contests=tuple(plugins.contests),
        not_used=f"{note_on_choice()} {note_on_libraries()}".strip(),
        data=workspace.data,
        runs=workspace.runs,
        cache=workspace.cache,
        offline=workspace.settings.offline,
        kernels=plugins.kernels,
        capability=torch.backends.cpu.get_cpu_capability(),
    )
