"""Write a table of own data for learning curves: which of four novelists wrote a paragraph?

python benchmarks/authors_csv.py FOLDER_OF_NOVELS authors

FOLDER_OF_NOVELS holds text files named Author_Title_Year.txt, with a paragraph on each line. An author's last novel
gives the rows of dev, all others the rows of train, so that no story stands on both sides.
"""

from __future__ import annotations

import csv
import random
import sys
from pathlib import Path

AUTHORS = ("Blackmore", "Braddon", "Burnett", "Gissing")
ROWS = {"train": 500, "dev": 200}
"""Split -> paragraphs of each author."""
WORDS = range(25, 80)


def paragraphs(novels: list[Path]) -> list[str]:
    """Read the paragraphs of novels that are neither short nor long."""
    lines = [line.strip() for novel in novels for line in novel.read_text("utf-8-sig").splitlines()]
    return [line for line in lines if len(line.split()) in WORDS]


def main() -> None:
    """Write train.csv and dev.csv."""
    source, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir()
    draw = random.Random(1)
    rows: dict[str, list[tuple[str, str]]] = {"train": [], "dev": []}
    for author in AUTHORS:
        *learned, asked = sorted(source.glob(f"{author}_*.txt"), key=lambda novel: novel.stem.split("_")[-1])
        for split, novels in (("train", learned), ("dev", [asked])):
            rows[split] += [(text, author) for text in draw.sample(paragraphs(novels), ROWS[split])]
    for split, drawn in rows.items():
        draw.shuffle(drawn)
        with (folder / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([("text", "author"), *drawn])


if __name__ == "__main__":
    main()
