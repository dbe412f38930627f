"""Pretended GPUs: what torch says about the GPUs of a machine, for tests on machines without any."""

from collections.abc import Sequence

import pytest
import torch


def pretend(
    monkeypatch: pytest.MonkeyPatch, capabilities: Sequence[tuple[int, int]], *, name: str = "Tesla T4"
) -> None:
    """Let torch describe GPUs of these compute capabilities, one after another. No tensor can be on them."""

    def number(device: torch.device | str | int | None = None) -> int:
        return device if isinstance(device, int) else torch.device(device or "cuda").index or 0

    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.version, "hip", None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: bool(capabilities))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(capabilities))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: capabilities[number(device)])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device=None: name)
