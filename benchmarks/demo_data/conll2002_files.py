"""Writes small generated data sets in the official layouts: Latin-1, IOB2; Dutch has three columns and documents."""

from __future__ import annotations

import random
from pathlib import Path

FILES = {"train": 120, "testa": 40, "testb": 30}
"""File -> its number of sentences."""
SENTENCES_OF_DOCUMENT = 5
PHRASES = {
    "esp": {
        "PER": ("José Peña", "Ana Ruiz", "Iñigo"),
        "ORG": ("Banco Norte", "Unión Marítima", "Renfe"),
        "LOC": ("Málaga", "La Coruña", "León"),
        "MISC": ("Copa Otoño", "Premio Sol"),
    },
    "ned": {
        "PER": ("Jan Smit", "Zoë de Vries", "Marieke"),
        "ORG": ("Noordbank", "Zuid Lijnen", "Brouwerij Bos"),
        "LOC": ("Groningen", "Oost Vlaanderen", "Brugge"),
        "MISC": ("Gouden Zon", "Europacup"),
    },
}
"""Language -> type -> its phrases. No word belongs to two types."""
TEMPLATES = {
    "esp": (
        "{PER} visitó {LOC} ayer .",
        "La {ORG} compró {ORG} en {LOC} .",
        "{PER} ganó la {MISC} .",
        "Llovió todo el día .",
    ),
    "ned": (
        "{PER} bezocht gisteren {LOC} .",
        "De {ORG} kocht {ORG} in {LOC} .",
        "{PER} won de {MISC} .",
        "Het regende .",
    ),
}


def write(code: str, seed: int, folder: Path) -> None:
    """Write the three files of a language below the folder. Equal seeds give equal bytes."""
    home = folder / "conll2002"
    home.mkdir(parents=True, exist_ok=True)
    for name, count in FILES.items():
        draw = random.Random(f"{code} {name} {seed}")
        blocks = []
        for number in range(count):
            if code == "ned" and number % SENTENCES_OF_DOCUMENT == 0:
                blocks.append("-DOCSTART- -DOCSTART- O\n")
            blocks.append(_sentence(code, draw) + "\n")
        (home / f"{code}.{name}").write_bytes("".join(blocks).encode("latin-1"))


def _sentence(code: str, draw: random.Random) -> str:
    lines = []
    for slot in draw.choice(TEMPLATES[code]).split():
        kind = slot.strip("{}")
        words = draw.choice(PHRASES[code][kind]).split() if slot != kind else [slot]
        for at, word in enumerate(words):
            tag = "O" if slot == kind else f"{'I' if at else 'B'}-{kind}"
            part = "" if code == "esp" else " Punc" if word == "." else " N"
            lines.append(f"{word}{part} {tag}\n")
    return "".join(lines)
