"""The fits in a runs folder that one method made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchrunner.errors import RequestError
from benchrunner.fits.fit import Fit
from benchrunner.io.decoding import from_json
from benchrunner.io.files import read_regular_file
from benchrunner.io.json_files import JSON_LIMIT
from benchrunner.io.seals import read_sealed


def fits_of(method: str, runs: Path) -> Iterator[Fit]:
    """Yield the fits of a method in a runs folder; damaged folders are left out."""
    for path in sorted(runs.glob("*/fit.json")):
        try:
            if f'"{method}"'.encode() not in read_regular_file(path, JSON_LIMIT):
                continue
            fit = from_json(Fit, read_sealed(path, ""), path)
        except (OSError, RequestError):
            continue
        if fit.method == method:
            yield fit
