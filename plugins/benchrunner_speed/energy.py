"""Energy of the processor by the counters that Linux shows of RAPL, where there are such counters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

COUNTERS = Path("/sys/class/powercap")


def counters(folder: Path = COUNTERS) -> list[Path]:
    """List the counters of whole processors that this user may read."""
    readable = []
    for package in sorted(folder.glob("intel-rapl:[0-9]*")):
        if package.name.count(":") > 1:  # a part of a processor, which the whole one counts, too
            continue
        try:
            int((package / "energy_uj").read_text(encoding="ascii"))
        except (OSError, ValueError):
            continue
        readable.append(package)
    return readable


def absence(folder: Path = COUNTERS) -> str:
    """Say why there is no energy; empty if there is."""
    if counters(folder):
        return ""
    if any(folder.glob("intel-rapl:[0-9]*")):
        return f"energy is absent: the counters in {folder} can be read by the superuser only"
    return f"energy is absent: this machine shows no counters of RAPL in {folder}"


def joules(work: Callable[[], object], packages: list[Path]) -> float:
    """Return the energy of all processors while some work runs, with that of everything else that runs meanwhile."""
    before = [_read(package, "energy_uj") for package in packages]
    work()
    used = 0
    for package, start in zip(packages, before, strict=True):
        difference = _read(package, "energy_uj") - start
        used += difference if difference >= 0 else difference + _read(package, "max_energy_range_uj")
    return used / 1e6


def _read(package: Path, name: str) -> int:
    return int((package / name).read_text(encoding="ascii"))
