"""Learn benchrunner_bert/vocabulary.txt from a folder of public-domain novels, and write its manifest.

python benchmarks/make_vocabulary.py FOLDER_OF_TXT_FILES
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

SIZE = 8000
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PACKAGE = Path(__file__).parents[1] / "plugins" / "benchrunner_bert"


def paragraphs(files: list[Path]) -> Iterator[str]:
    """Give the lines of all files."""
    for file in files:
        yield from file.read_text(encoding="utf-8-sig", errors="replace").splitlines()


def main() -> None:
    """Write the vocabulary and the manifest."""
    files = sorted(Path(sys.argv[1]).glob("*.txt"))
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=SIZE, special_tokens=SPECIAL, continuing_subword_prefix="##", limit_alphabet=200, show_progress=False
    )
    tokenizer.train_from_iterator(paragraphs(files), trainer)
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    text = "".join(f"{piece}\n" for piece, _ in pieces)
    (PACKAGE / "vocabulary.txt").write_text(text, encoding="utf-8")
    manifest = {
        "about": "WordPiece vocabulary, uncased, learnt from public-domain English novels",
        "command": "python benchmarks/make_vocabulary.py FOLDER",
        "pieces": len(pieces),
        "sha256": hashlib.sha256(text.encode()).hexdigest(),
        "texts": {file.stem: hashlib.sha256(file.read_bytes()).hexdigest() for file in files},
    }
    (PACKAGE / "vocabulary.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
