"""Cut the data of docs/proofs/results.md: the first 60 documents of CoNLL-2003, and articles 2 to 5 of SQuAD's dev set.

python benchmarks/results_data.py --data DIR --out SLICE

DIR/conll2003 holds eng.train and eng.testa, DIR/squad holds dev-v1.1.json. Everything else in DIR is linked, so that
SLICE can stand for DIR in every command.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from conll_batches import cut

DOCUMENTS = 60
ARTICLES = slice(1, 5)
"""Articles 2 to 5: Warsaw, Normans, Nikola Tesla, Computational complexity theory."""


def cut_articles(source: Path, target: Path) -> int:
    """Copy the articles of a SQuAD file, and return their number of questions."""
    content = json.loads(source.read_text(encoding="utf-8"))
    content["data"] = content["data"][ARTICLES]
    questions = 0
    for article in content["data"]:
        questions += sum(len(paragraph["qas"]) for paragraph in article["paragraphs"])
    target.write_text(json.dumps(content), encoding="utf-8")
    return questions


def link_others(source: Path, target: Path) -> None:
    """Link what is in a folder and not yet in the other."""
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted(source.iterdir()):
        link = target / path.name
        if not link.exists():
            link.symlink_to(path.resolve())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    data, out = arguments.data, arguments.out
    if data.resolve() == out.resolve():
        parser.error("--out is the folder of --data, whose files would be overwritten.")
    for name in ("eng.train", "eng.testa"):
        cut(data / "conll2003" / name, out / "conll2003" / name, DOCUMENTS)
    (out / "squad").mkdir(parents=True, exist_ok=True)
    questions = cut_articles(data / "squad" / "dev-v1.1.json", out / "squad" / "dev-v1.1.json")
    for folder in ("squad", ""):
        link_others(data / folder, out / folder)
    print(f"{out}: {questions:,} questions of SQuAD's dev set, {DOCUMENTS} documents of CoNLL-2003's train and testa")


if __name__ == "__main__":
    main()
