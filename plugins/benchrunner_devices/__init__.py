"""Devices for benchrunner: one fit on several GPUs, or in several processes of a CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchrunner import hookimpl

if TYPE_CHECKING:
    from benchrunner_devices.leader import DeviceTeam

__all__ = ["offer_team"]


@hookimpl
def offer_team() -> DeviceTeam:
    from benchrunner_devices.leader import DeviceTeam

    return DeviceTeam()
