"""Writes a small generated data set in the official layout: four columns, IOB1, a line before each document.

No word belongs to two types of phrases, so a small encoder learns the task from a few hundred sentences.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from benchrunner_kinds import iob_tags

DOCUMENT = "-DOCSTART-"
"""The first field of the border line that stands where a document begins."""
FOLDER = "conll2003"
FILES = {"eng.train": 60, "eng.testa": 20, "eng.testb": 20}
"""File -> its number of documents."""
SENTENCES = (3, 8)
"""Smallest and largest number of sentences in a document."""

NAMES = {
    "PER": "Anna Berg|Tom Hale|Ruth Ellis|Peter Lang|Clara Whitman|George Marsh|Alice|Henry|Martin|Emma",
    "ORG": "Halden Oil|Marlow Foods|Brandt Motors|Pell & Sons|Tamar Air|Northern Bank|United|Rovers|Corvex|Albion",
    "LOC": "Norwich|Lisbon|New Harbour|Bergen|Leeds|Trieste|West Island|Galway|Porto|Basel",
    "MISC": "English|Dutch|Winter Cup|Spanish|Open Games|Norwegian|French|Harvest Prize|Swiss|Italian",
}
"""Type -> its phrases. No word belongs to two types."""
WORDS = {
    "NN": "teacher farmer sailor painter lawyer baker report match ship market",
    "JJ": "old small heavy quiet new broken late plain",
    "VBD": "visited left praised sold bought joined beat met",
    "CD": "1 2 3 4 12 15 19 1996",
}
"""Part of speech -> some of its words."""
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
"""Slots of a template: a type in braces, a part of speech, or `word|part of speech`. Phrases of one type may touch."""


def write(seed: int, folder: Path) -> None:
    """Write the three files below the folder. Equal seeds give equal bytes."""
    home = folder / FOLDER
    home.mkdir(parents=True, exist_ok=True)
    for name, count in FILES.items():
        draw = random.Random(f"{name} {seed}")
        documents = [_document(draw) for _ in range(count)]
        (home / name).write_bytes("".join(documents).encode())


def _document(draw: random.Random) -> str:
    """Write a border line and some sentences, each with a blank line after it. All templates are equally likely."""
    templates = draw.choices(SENTENCE_TEMPLATES, k=draw.randint(*SENTENCES))
    blocks = [f"{DOCUMENT} -X- O O\n"]
    blocks += [_sentence(template, draw) for template in templates]
    return "".join(f"{block}\n" for block in blocks)


def _as_iob1(tags: Iterable[str]) -> list[str]:
    """Write the phrases of a sentence in IOB1."""
    written = []
    for before, tag in pairwise([iob_tags.OUTSIDE, *tags]):
        if tag != iob_tags.OUTSIDE:
            follows_its_kind = iob_tags.begins_phrase(before, tag) and before[2:] == tag[2:]
            tag = f"{'B' if follows_its_kind else 'I'}{tag[1:]}"
        written.append(tag)
    return written


def _sentence(template: str, draw: random.Random) -> str:
    words: list[tuple[str, str, str]] = []
    for slot in template.split():
        words += _filled(slot, draw)
    tags = _as_iob1(tag for _, _, tag in words)
    lines = list[str]()
    for (word, part, _), tag in zip(words, tags, strict=True):
        chunk = "I-NP" if part.isalpha() else "O"
        chunk = {"VBD": "I-VP", "IN": "O"}.get(part, chunk)
        lines.append(f"{word} {part} {chunk} {tag}\n")
    return "".join(lines)


def _filled(slot: str, draw: random.Random) -> list[tuple[str, str, str]]:
    """Fill a slot: words with their part of speech and their tag in IOB2."""
    if slot.startswith("{"):
        kind = slot.strip("{}")
        first, *following = draw.choice(NAMES[kind].split("|")).split()
        return [(first, "NNP", f"B-{kind}"), *((word, "NNP", f"I-{kind}") for word in following)]
    if "|" in slot:
        word, part = slot.split("|")
        return [(word, part, "O")]
    part = slot.split("-")[0]
    return [(re.sub("[A-Z]+", lambda match: draw.choice(WORDS[match[0]].split()), slot), part, "O")]
