"""Writes small generated CSV files in the official layout, for `benchrunner demo` and tests.

The right ending has a verb for what people do with things, the wrong endings have verbs that do not fit. A small
encoder learns these words from a few hundred rows without pre-training.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

FILES = {"train": 220, "val": 80, "test": 60}
"""File -> its number of rows."""
TEXTS = ("video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source")
COLUMNS = ("", *TEXTS, "ending0", "ending1", "ending2", "ending3", "label")
"""Columns of the files. The first has no name, because pandas wrote it as an index."""

WORDS = {
    "person": "A man|A woman|The girl|The old teacher|Someone|A boy in a hat",
    "place": "kitchen|garden|street|harbour|office|park",
    "thing": "lamp|basket|bottle|letter|ball|chair|rope",
    "doing": "walks into the|stands in the|waits in the|looks around the",
    "likely": "picks up|puts down|looks at|holds|opens|reaches for|drops",
    "unlikely": "marries|swallows|forgives|pours|knits|insults|inherits",
    "then": 'and smiles|and turns away|, then leaves|with both hands|and says "well"|\nand waits',
}
"""Slot -> its choices. Some have characters that CSV must quote: a comma, quotation marks, a line end."""


def write(seed: int, folder: Path) -> None:
    """Write swag/train.csv, swag/val.csv and swag/test.csv. Equal seeds give equal bytes."""
    home = folder / "swag"
    home.mkdir(parents=True, exist_ok=True)
    for name, count in FILES.items():
        draw = random.Random(f"{name} {seed}")
        columns = COLUMNS if name != "test" else COLUMNS[:-1]
        with (home / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
            lines.writeheader()
            lines.writerows(_row(at, draw) for at in range(count))


def _row(at: int, draw: random.Random) -> dict[str, str]:
    words = {slot: draw.choice(choices.split("|")) for slot, choices in WORDS.items()}
    first = "{person} {doing} {place}.".format_map(words)
    second = draw.choice(("He", "She", "Someone", ""))
    label = draw.randrange(4)
    endings = [_ending("likely" if number == label else "unlikely", draw) for number in range(4)]
    return {
        "": str(at),
        "video-id": f"anetv_{draw.randrange(10**6):06}",
        "fold-ind": str(draw.randrange(20_000)),
        "startphrase": f"{first} {second}".rstrip(),
        "sent1": first,
        "sent2": second,
        "gold-source": "gold",
        **{f"ending{number}": ending for number, ending in enumerate(endings)},
        "label": str(label),
    }


def _ending(kind: str, draw: random.Random) -> str:
    verb, thing, then = (draw.choice(WORDS[slot].split("|")) for slot in (kind, "thing", "then"))
    return f"{verb} the {thing} {then}.".replace(" ,", ",")
