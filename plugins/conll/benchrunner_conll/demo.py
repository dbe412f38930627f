"""Writes a small data set of our own making in the official layout: four columns, IOB1, a line before each document.

What names what is a matter of words alone, so that a small encoder learns it from a few hundred sentences.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from benchrunner_conll.columns import DOCUMENT
from benchrunner_conll.schemes import as_iob1

FOLDER = "conll2003"
FILES = {"eng.train": 60, "eng.testa": 20, "eng.testb": 20}
"""A file and its documents."""
SENTENCES = (3, 8)
"""Of one document, at least and at most."""

NAMES = {
    "PER": "Anna Berg|Tom Hale|Ruth Ellis|Peter Lang|Clara Whitman|George Marsh|Alice|Henry|Martin|Emma",
    "ORG": "Halden Oil|Marlow Foods|Brandt Motors|Pell & Sons|Tamar Air|Northern Bank|United|Rovers|Corvex|Albion",
    "LOC": "Norwich|Lisbon|New Harbour|Bergen|Leeds|Trieste|West Island|Galway|Porto|Basel",
    "MISC": "English|Dutch|Winter Cup|Spanish|Open Games|Norwegian|French|Harvest Prize|Swiss|Italian",
}
"""A type's phrases; no word belongs to two types."""
WORDS = {
    "NN": "teacher farmer sailor painter lawyer baker report match ship market",
    "JJ": "old small heavy quiet new broken late plain",
    "VBD": "visited left praised sold bought joined beat met",
    "CD": "1 2 3 4 12 15 19 1996",
}
"""A part of speech and some of its words."""
SENTENCE_TEMPLATES = (
    "{PER} VBD the|DT {MISC} NN in|IN {LOC} .|.",
    "{ORG} VBD CD JJ NN from|IN {ORG} .|.",
    "the|DT JJ NN VBD {LOC} with|IN {PER} and|CC {PER} .|.",
    '"|" we|PRP VBD {ORG} ,|, "|" said|VBD {PER} ,|, a|DT {MISC} NN .|.',
    "the|DT NN VBD CD JJ NN .|.",
    "{LOC} CD-CD-CD",
    "{MISC} NN VBD {LOC} ,|, {ORG} said|VBD .|.",
    "{ORG} {ORG} CD CD",
    "1.|CD {PER} {LOC} CD",
)
"""Slots are types in braces, parts of speech, or a word with its own. Two phrases of one type may be neighbours."""


def write(seed: int, folder: Path) -> None:
    """The three files below the folder: the same bytes for the same seed."""
    home = folder / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    for name, count in FILES.items():
        draw = random.Random(f"{name} {seed}")
        documents = [_document(draw) for _ in range(count)]
        (home / name).write_bytes("".join(documents).encode())


def _document(draw: random.Random) -> str:
    """A border, then sentences, each with a blank line behind it; every kind of sentence is as likely as the others."""
    templates = draw.choices(SENTENCE_TEMPLATES, k=draw.randint(*SENTENCES))
    return "".join(f"{block}\n" for block in (f"{DOCUMENT} -X- O O\n", *(_sentence(one, draw) for one in templates)))


def _sentence(template: str, draw: random.Random) -> str:
    found: list[tuple[str, str, str]] = []
    for slot in template.split():
        found += _filled(slot, draw)
    tags = as_iob1(tag for _, _, tag in found)
    chunks = ["I-VP" if part == "VBD" else "I-NP" if part.isalpha() and part != "IN" else "O" for _, part, _ in found]
    return "".join(
        f"{word} {part} {chunk} {tag}\n" for (word, part, _), chunk, tag in zip(found, chunks, tags, strict=True)
    )


def _filled(slot: str, draw: random.Random) -> list[tuple[str, str, str]]:
    """Words with their part of speech and their tag in IOB2."""
    if slot.startswith("{"):
        kind = slot.strip("{}")
        first, *others = draw.choice(NAMES[kind].split("|")).split()
        return [(first, "NNP", f"B-{kind}"), *((word, "NNP", f"I-{kind}") for word in others)]
    if "|" in slot:
        word, part = slot.split("|")
        return [(word, part, "O")]
    part = slot.split("-")[0]
    return [(re.sub("[A-Z]+", lambda one: draw.choice(WORDS[one[0]].split()), slot), part, "O")]
