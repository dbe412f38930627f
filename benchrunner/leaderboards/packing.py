"""Writes the files of a submission into a zip archive or a folder, with equal bytes for equal content."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first moment that the zip format can store


def write_archive(files: Mapping[str, bytes], path: Path) -> None:
    """Write a zip archive with the files at its top level.

    Names, order, times and permissions are fixed, so equal content gives equal bytes (with the same version of zlib).
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _EARLIEST)
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
            archive.writestr(info, content, compresslevel=6)


def write_folder(files: Mapping[str, bytes], folder: Path) -> None:
    """Write the files into a folder that exists."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
