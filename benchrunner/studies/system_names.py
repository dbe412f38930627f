"""Names of systems as a command line has them: `NAME=BACKBONE`, or short ones that tell long paths apart."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from benchrunner.errors import RequestError

LONG_PATH = 24
"""Characters of a path up to which it is its own name."""
CUT = "..."
"""Stands for the parts of a path that are left out of a name."""


def by_name(backbones: Sequence[str] | Mapping[str, str]) -> dict[str, str]:
    """Map names of systems to backbones; a backbone that is given without a name is its own name."""
    return dict(backbones) if isinstance(backbones, Mapping) else {backbone: backbone for backbone in backbones}


def named_backbones(words: Sequence[str]) -> dict[str, str]:
    """Map the name of each system to its backbone; a word is `NAME=BACKBONE`, or a backbone alone.

    A word with `=` that is a file or folder is a backbone, and so is one with a slash or colon before the `=`.
    """
    paths = short_paths(word for word in dict.fromkeys(words) if len(word) > LONG_PATH and Path(word).exists())
    given = dict[str, str]()
    for word in words:
        name, backbone = _divided(word)
        name = paths.get(name, name)
        if given.setdefault(name, backbone) != backbone:
            raise RequestError(f"Two systems are named {name}: {given[name]} and {backbone}. Give each its own name.")
    return given


def _divided(word: str) -> tuple[str, str]:
    """Divide a word into a name and a backbone."""
    name, equals, backbone = word.partition("=")
    if not equals or re.search(r"[/:\\]", name) or Path(word).exists():
        return word, word
    if not backbone or not name.isprintable() or not re.fullmatch(r"\w[^,]*", name):
        raise RequestError(
            f"'{word}' is not NAME=BACKBONE: write a name that begins with a letter or digit and has no comma, then =, "
            "then the backbone, such as small=models/a."
        )
    return name, backbone


def short_paths(paths: Iterable[str]) -> Mapping[str, str]:
    """Map each path to a short name: its parts without those with which all paths begin or end, for which `...` stands.

    `{"runs/a/last": ".../a/...", "runs/b/last": ".../b/..."}`; of a single path the last part stays.
    """
    parts = {path: Path(path).parts for path in paths}
    most = min(map(len, parts.values()), default=1) - 1  # at least a part of each path stays
    begin = _shared(parts.values(), most)
    end = _shared([own[::-1] for own in parts.values()], most - begin)
    short = {}
    for path, own in parts.items():
        name = "/".join([*[CUT][:begin], *own[begin : len(own) - end], *[CUT][:end]])
        short[path] = name if len(name) < len(path) else path
    return short


def _shared(paths: Collection[Sequence[str]], most: int) -> int:
    """Count the parts with which all paths begin, up to `most`."""
    count = 0
    while count < most and len({path[count] for path in paths}) == 1:
        count += 1
    return count
