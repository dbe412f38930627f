"""What a shared folder says and nobody can compute: it stands in one place of the folder, and is checked as data."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, final
from urllib.parse import urlsplit

from benchrunner import RequestError, quoted

_FIRST_DAY = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@final
@dataclass(frozen=True)
class Claims:
    """The claims about a whole study; `study.json` has them under their names."""

    name: str
    """Name of the study."""
    answered: str
    """Date and time of the newest answers."""
    benchrunner: str
    """Version that wrote the folder."""
    url: str | None
    """Address at which the folder is published."""
    left_out_bad_rows: bool
    """Whether rows that cannot be read were left out."""

    def __post_init__(self) -> None:
        for name in ("name", "answered", "benchrunner"):
            if not isinstance(getattr(self, name), str):
                raise RequestError(f"The {name} of a shared study is a text, not {quoted(getattr(self, name))}.")
        if not isinstance(self.left_out_bad_rows, bool):
            raise RequestError("left_out_bad_rows of a shared study is true or false.")
        try:
            date = datetime.datetime.fromisoformat(self.answered)
            is_date = date.isoformat(timespec="seconds") == self.answered
            is_past = _FIRST_DAY <= date < datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
        except (ValueError, TypeError):  # a time without a zone cannot be compared
            is_date = False
        if not is_date or not is_past:
            raise RequestError(f"{quoted(self.answered)} is no date and time at which answers were given.")
        if not self.name.strip():
            raise RequestError("The name of a shared study is empty.")
        if self.url is not None:
            _check_url(self.url)

    @classmethod
    def of_content(cls, content: Mapping[str, Any]) -> Claims:
        """Take the claims from the content of a study; raise a `KeyError` or a `RequestError` for wrong values."""
        return cls(**{field.name: content[field.name] for field in fields(cls)})


def _check_url(url: Any) -> None:
    """Raise a `RequestError` if an address is none of the web, or holds characters that end or break a line."""
    if not isinstance(url, str) or not url.startswith(("https://", "http://")):
        raise RequestError(f"The address of a shared folder begins with https://, not {quoted(url)}.")
    try:
        has_host = bool(urlsplit(url).hostname)
    except ValueError:
        has_host = False
    if not has_host or not url.isprintable() or any(character in url for character in " <>\"'`\\^{}|"):
        raise RequestError(f"The address {quoted(url)} is not one of the web: it has no host, or blanks or quotes.")


def checked_texts(value: Any) -> None:
    """Raise a `ValueError` if a text of a JSON value has a line break or a character that does not print."""
    if isinstance(value, str) and not value.isprintable():
        raise ValueError(f"the text {ascii(value)[:80]} has line breaks or characters that do not print")
    for inner in value.items() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        checked_texts(inner)
