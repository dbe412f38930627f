"""Names of systems as a command line has them: `NAME=BACKBONE`, or short ones that tell long paths apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
    """Map each path to a short name: the parts that tell it from the other paths, with `...` for what is left out.

    `{"runs/a/last": ".../a/...", "runs/b/last": ".../b/..."}`; of a single path the last part stays.
    """
    parts = {path: Path(path).parts for path in paths}
    most = min(map(len, parts.values()), default=1) - 1  # at least the first part stays
    shared = 0
    while shared < most and len(parts) > 1:
        ends = {own[-1 - shared] for own in parts.values()}
        if len(ends) > 1:
            break
        shared += 1
    heads = {path: own[: len(own) - shared] for path, own in parts.items()}
    short = {}
    for path, head in heads.items():
        others = [other for place, other in heads.items() if place != path]
        count = 1
        while count < len(head) and any(other[-count:] == head[-count:] for other in others):
            count += 1
        words = [CUT, *head[-count:]]
        if shared:
            words.append(CUT)
        name = "/".join(words)
        is_only = head not in others  # two spellings of one folder have the same parts
        short[path] = name if is_only and len(name) < len(path) else path
    return short
