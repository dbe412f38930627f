"""Strict reading of TOML files: every fault is an error that names the file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from benchrunner.errors import BenchrunnerError, DataError
from benchrunner.io.files import decode_text, read_regular_file
from benchrunner.io.json_files import DEPTH_LIMIT, check_depth

_LIMIT = 1 << 20
"""Largest size of a file in bytes. People write these files; tomllib parses about one megabyte in a second."""
_KEY = r"""(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = rf"""(?<![A-Za-z0-9_"'-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{{DEPTH_LIMIT},}}+"""


def read_toml(path: Path, error: type[BenchrunnerError]) -> dict[str, Any]:
    """Read a TOML file; raise an `error` that names the file if it cannot be read, and the line if it is not valid."""
    try:
        text = decode_text(read_regular_file(path, _LIMIT), path, "is it a TOML file?")
        if _has_long_key(text):  # tomllib takes hours for a key of 100,000 parts
            raise DataError(f"{path}: not valid TOML: a key has more than {DEPTH_LIMIT} parts.")
        data = tomllib.loads(text.replace("\r\n", "\n"))
        check_depth(data, path)
    except OSError as reason:
        raise error(f"{path}: cannot be read: {reason.strerror}.") from None
    except DataError as reason:
        raise error(str(reason)) from None
    except ValueError as reason:  # names line and column
        raise error(f"{path}: not valid TOML: {reason}.") from None
    except RecursionError:
        raise error(f"{path}: not valid TOML: lists or tables are nested too deep.") from None
    return data


def _has_long_key(text: str) -> bool:
    """Return whether a key has more than `DEPTH_LIMIT` parts, joined by dots."""
    lines = [line for line in text.split("\n") if line.count(".") >= DEPTH_LIMIT]
    return any(re.search(_LONG_KEY, line) for line in lines)
