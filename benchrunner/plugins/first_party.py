"""The plugins of this project that are not installed: what the extra `all` would bring."""

from __future__ import annotations

import importlib.metadata
import re

DISTRIBUTION = "benchrunner"


def absent_plugins() -> list[str]:
    """Return the distributions of the extra `all` that are not installed."""
    try:
        requirements = importlib.metadata.requires(DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:  # a copy of the code that nobody installed
        return []
    absent = []
    for text in requirements:
        name = re.match(rf"{DISTRIBUTION}-\w+", text)
        if name is not None and re.search(r"extra == ['\"]all['\"]", text) and not _is_installed(name[0]):
            absent.append(name[0])
    return absent


def advice_on_absent_plugins() -> str:
    """Say which plugins are not installed and how they are; an empty text if all of them are."""
    absent = absent_plugins()
    if not absent:
        return ""
    return f"Not installed: {', '.join(absent)}; \"pip install '{DISTRIBUTION}[all]'\" brings them."


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
