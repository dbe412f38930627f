"""JSON and TOML files, read strictly: every mistake is an error that names the file."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from benchrunner.errors import BenchrunnerError, DataError, RequestError
from benchrunner.io.files import decode_text, read_bytes
from benchrunner.io.messages import quoted

JSON_LIMIT = 1 << 25
"""Largest size in bytes of a file that benchrunner or a checkpoint describes itself with. Parsed values take up to
twenty times the size of the file in memory."""
DEPTH_LIMIT = 100
"""Largest number of lists and objects inside each other. Functions that call themselves end at about 1,000."""


def read_json(path: Path, *, error: type[RequestError] = DataError) -> Any:
    """Read a JSON file strictly, or raise `error` with the file and the line.

    Refused are pipes, files larger than `JSON_LIMIT`, values nested deeper than `DEPTH_LIMIT`, and objects with the
    same key twice, of which other readers would silently keep only one value.
    """
    try:
        return parse_json(read_bytes(path, JSON_LIMIT), path)
    except DataError as fault:
        raise error(str(fault)) from None


def read_json_object(path: Path, *, error: type[RequestError] = DataError) -> dict[str, Any]:
    """Read a JSON file that holds an object, as `read_json` does."""
    value = read_json(path, error=error)
    if not isinstance(value, dict):
        raise error(f"{path}: a JSON object was expected.")
    return value


def parse_json(content: bytes, path: Path | str, *, finite: bool = False) -> Any:
    """Parse the content of a JSON file strictly, as `parse_json_text` does."""
    return parse_json_text(decode_text(content, path, "is it a JSON file?"), path, finite=finite)


def parse_json_text(text: str, path: Path | str, *, line: int | None = None, finite: bool = False) -> Any:
    """Parse the JSON text of a whole file, or of one line of it; raise a `DataError` that names `path` and the line.

    With `finite`, NaN and infinite numbers are refused, which other readers of JSON do not know.
    """
    place = path if line is None else f"{path}:{line}"
    try:
        value = (_FINITE_DECODER if finite else _DECODER).decode(text)
    except json.JSONDecodeError as fault:
        number = line or fault.lineno
        raise DataError(f"{path}:{number}: not valid JSON at column {fault.colno}: {fault.msg}.") from None
    except ValueError:
        raise DataError(f"{place}: not valid JSON: a number has thousands of digits.") from None
    except RecursionError:
        raise DataError(f"{place}: {_TOO_DEEP}") from None
    except _Refused as fault:
        raise DataError(f"{place}: {fault}.") from None
    if text.count("[") + text.count("{") > DEPTH_LIMIT:  # fewer brackets cannot be nested too deep
        check_depth(value, place)
    return value


def check_depth(value: Any, path: Path | str) -> None:
    """Raise a `DataError` that names `path` if lists and objects are nested deeper than `DEPTH_LIMIT`."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(DEPTH_LIMIT + 1):
        inner = []
        for outer in level:
            values = outer.values() if isinstance(outer, dict) else outer
            inner += [part for part in values if isinstance(part, dict | list)]
        level = inner
    if level:
        raise DataError(f"{path}: {_TOO_DEEP}")


_TOO_DEEP = f"lists and objects are nested more than {DEPTH_LIMIT} deep."


class _Refused(Exception):
    """Why a value is refused that Python's own reader takes."""


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _Refused(f"the key {quoted(key)} stands twice in one object; each must stand once")
    return values


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _Refused(f"{quoted(text, 20)} is no finite number")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys)
_FINITE_DECODER = json.JSONDecoder(object_pairs_hook=_unique_keys, parse_constant=_finite, parse_float=_finite)


_LIMIT = 1 << 20
"""Largest size of a file in bytes. People write these files; tomllib parses about one megabyte in a second."""
_DOTS = 1_000
"""The most dots in a line."""


def read_toml(path: Path, error: type[BenchrunnerError]) -> dict[str, Any]:
    """Read a TOML file; raise an `error` that names the file if it cannot be read, and the line if it is not valid."""
    import tomllib

    try:
        text = decode_text(read_bytes(path, _LIMIT), path, "is it a TOML file?")
        if any(line.count(".") > _DOTS for line in text.split("\n")):  # tomllib takes hours for a key of 100,000 parts
            raise DataError(f"{path}: not valid TOML: a line has more than {_DOTS:,} dots.")
        data = tomllib.loads(text.replace("\r\n", "\n"))
        check_depth(data, path)
    except DataError as reason:
        raise error(str(reason)) from None
    except ValueError as reason:  # names line and column
        raise error(f"{path}: not valid TOML: {reason}.") from None
    except RecursionError:
        raise error(f"{path}: not valid TOML: lists or tables are nested too deep.") from None
    return data
